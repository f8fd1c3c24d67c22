"""All figures, numbers and verdicts of the paper, with one call."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from pacopt.errors import PacoptError, correction
from pacopt.papers.sucker_ochs_2023.conditioning import conditioning
from pacopt.papers.sucker_ochs_2023.convergence_probability import convergence_probability
from pacopt.papers.sucker_ochs_2023.reference import REFERENCES, label
from pacopt.papers.sucker_ochs_2023.setting import Variant
from pacopt.papers.sucker_ochs_2023.step_size_posterior import step_size_posterior
from pacopt.papers.sucker_ochs_2023.tightness import bound_tightness
from pacopt.papers.sucker_ochs_2023.verdicts import Verdict

#: By the number of the figure in the paper.
EXPERIMENTS: dict[str, Callable[..., Any]] = {
    "fig1": step_size_posterior,
    "fig2": conditioning,
    "fig3": convergence_probability,
    "fig4": bound_tightness,
}


@dataclass(frozen=True, slots=True, eq=False)
class Reproduced:
    """One figure: its files, numbers, verdicts, how long it took, and drawings for a wide and a narrow page."""

    figure: str
    variant: Variant
    seconds: float
    files: tuple[Path, ...]
    numbers: Mapping[str, float]
    verdicts: tuple[Verdict, ...]
    drawings: tuple[str, str]

    @property
    def followed(self) -> str:
        """What the experiment follows where the text and the authors' code differ."""
        return "following the paper's text" if self.variant == Variant.TEXT else "following the authors' code"

    @property
    def comparison(self) -> list[tuple[str, str, str, float]]:
        """Rows: the number, the text's claim, the authors' code, ours."""
        return [
            (label(reference.number), reference.text, reference.code, self.numbers[reference.number])
            for reference in REFERENCES[self.figure]
        ]

    def to_dict(self) -> dict[str, Any]:
        """A JSON value."""
        return {
            "figure": self.figure,
            "variant": str(self.variant),
            "seconds": round(self.seconds, 2),
            "files": [str(path) for path in self.files],
            "numbers": {name: value if isfinite(value) else None for name, value in self.numbers.items()},
            "reference": [asdict(reference) for reference in REFERENCES[self.figure]],
            "verdicts": [asdict(verdict) for verdict in self.verdicts],
        }


def checked_figures(names: Iterable[str]) -> list[str]:
    """The names of figures of the paper."""
    figures = list(names)
    for name in figures:
        if name not in EXPERIMENTS:
            raise PacoptError(
                f"There is no figure {name!r}.",
                f"The paper has {', '.join(EXPERIMENTS)}.",
                "",
                correction(name, EXPERIMENTS),
            )
    return figures


def checked_variants(name: str) -> list[Variant]:
    """The text, the authors' code, or both."""
    names = [str(variant) for variant in Variant]
    if name not in (*names, "both"):
        raise PacoptError(
            f"There is no variant {name!r}.",
            f"There are {', '.join(names)} and both.",
            "",
            correction(name, (*names, "both")),
        )
    return list(Variant) if name == "both" else [Variant(name)]


def reproduce_one(figure: str, *, out: Path, seed: int, variant: Variant) -> Reproduced:
    """One experiment, with its figure."""
    draw = _drawing()
    out.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    result = EXPERIMENTS[figure](seed=seed, variant=variant)
    files = tuple(out / f"{figure}-{variant}.{kind}" for kind in ("png", "pdf"))
    drawings = draw(figure, result, files)
    seconds = time.perf_counter() - begin
    return Reproduced(figure, variant, seconds, files, result.numbers, result.verdicts, drawings)


def _drawing() -> Callable[[str, Any, tuple[Path, ...]], tuple[str, str]]:
    """What draws, once it is known that there is something to draw with."""
    try:
        from pacopt.papers.sucker_ochs_2023.drawing import draw
    except ImportError as error:
        raise PacoptError(
            f"Figures cannot be drawn: {error}.",
            "matplotlib is needed.",
            "",
            "Install it with: pip install 'pacopt[papers]'.",
        ) from error
    return draw
