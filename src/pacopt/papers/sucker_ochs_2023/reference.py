"""What the paper says and what the authors' own code gives, to stand beside our numbers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reference:
    """A number of ours by its name, the text's claim, and the authors' code (float32, other random instances)."""

    number: str
    text: str
    code: str


#: Names of numbers, which stay as they are in JSON, in words.
_WORDS = {
    "mean/textbook, ": "mean step size / textbook's, ",
    ", code, ": ", statistic of the authors' code, ",
    ", theorem, ": ", statistic of the theorem, ",
    ", moment, ": ", exact moment, ",
    "step_size": "step size",
}


def label(number: str) -> str:
    """The name of a number in words.

    >>> label("mean/textbook, code, 5 steps")
    "mean step size / textbook's, statistic of the authors' code, 5 steps"
    """
    for name, words in _WORDS.items():
        number = number.replace(name, words)
    return number


#: By figure. Instances are random and differ, so ratios are what can be compared.
REFERENCES: dict[str, tuple[Reference, ...]] = {
    "fig1": (
        Reference("mean/textbook, code, 5 steps", "posterior near 2/(L + μ)", "0.93"),
        Reference("mean/textbook, code, 135 steps", "nearer with more steps", "0.98"),
        Reference("mean/textbook, theorem, 5 steps", "-", "0.88 (with the theorem's statistic)"),
        Reference("mean/textbook, theorem, 135 steps", "-", "0.82 (with the theorem's statistic)"),
        Reference("bound, code, 5 steps", "-", "4257"),
        Reference("bound, code, 135 steps", "-", "886"),
    ),
    "fig2": (
        Reference("textbook, mean loss", "-", "4744"),
        Reference("textbook, success", "-", "0.96"),
        Reference("strongest level, mean loss", "significantly better than standard", "445"),
        Reference("strongest level, step_size", "-", "6.54e-4"),
        Reference("strongest level, momentum", "-", "0.880"),
        Reference("strongest level, plug-in estimate", "-", "4652"),
        Reference("weakest level, success", "at least the level", "0.835"),
    ),
    "fig3": (
        Reference("success at level 0.05", "above the diagonal", "0.162"),
        Reference("success at level 0.1", "above the diagonal", "0.361"),
        Reference("success at level 0.15", "above the diagonal", "0.551"),
        Reference("success at level 0.2", "above the diagonal", "0.579"),
        Reference("success at level 0.25", "above the diagonal", "0.875"),
        Reference("success at level 0.3", "above the diagonal", "0.981"),
        Reference("success at level 0.75", "above the diagonal", "0.990"),
    ),
    "fig4": (
        Reference("step_size", "-", "7.1e-4 to 7.3e-4"),
        Reference("momentum", "-", "0.876 to 0.888"),
        Reference("lambda", "-", "0.0165 to 0.0168"),
        Reference("estimate / mean loss", "not perfectly tight", "6.5"),
        Reference("textbook / learned", "learned clearly outperforms", "11.5"),
    ),
}
