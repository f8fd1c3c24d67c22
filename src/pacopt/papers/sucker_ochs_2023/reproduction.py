"""All figures, numbers and verdicts of the paper, with one call."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pacopt.errors import PacoptError, suggest
from pacopt.papers.sucker_ochs_2023.conditioning import conditioning
from pacopt.papers.sucker_ochs_2023.convergence_probability import convergence_probability
from pacopt.papers.sucker_ochs_2023.reference import REFERENCES
from pacopt.papers.sucker_ochs_2023.setting import Variant
from pacopt.papers.sucker_ochs_2023.step_size_posterior import step_size_posterior
from pacopt.papers.sucker_ochs_2023.tightness import bound_tightness
from pacopt.papers.sucker_ochs_2023.verdicts import Verdict
from pacopt.support.whole import whole

#: By the number of the figure in the paper.
EXPERIMENTS: dict[str, Callable[..., Any]] = {
    "fig1": step_size_posterior,
    "fig2": conditioning,
    "fig3": convergence_probability,
    "fig4": bound_tightness,
}


@dataclass(frozen=True, slots=True, eq=False)
class Reproduced:
    """One figure: its files, numbers, verdicts, and how long it took."""

    figure: str
    variant: Variant
    seconds: float
    files: tuple[Path, ...]
    numbers: Mapping[str, float]
    verdicts: tuple[Verdict, ...]

    @property
    def comparison(self) -> list[tuple[str, str, str, float]]:
        """Rows: the number, the text's claim, the authors' code, ours."""
        return [
            (reference.number, reference.text, reference.code, self.numbers[reference.number])
            for reference in REFERENCES[self.figure]
        ]

    def to_dict(self) -> dict[str, Any]:
        """A JSON value."""
        return {
            "figure": self.figure,
            "variant": str(self.variant),
            "seconds": round(self.seconds, 2),
            "files": [str(path) for path in self.files],
            "numbers": dict(self.numbers),
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
                f"For {name!r}: {suggest(name, EXPERIMENTS)}",
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
            f"For {name!r}: {suggest(name, (*names, 'both'))}",
        )
    return list(Variant) if name == "both" else [Variant(name)]


def reproduce_one(figure: str, *, out: Path, seed: int, variant: Variant) -> Reproduced:
    """One experiment, with its figure."""
    draw = _drawing(figure)
    begin = time.perf_counter()
    result = EXPERIMENTS[figure](seed=seed, variant=variant)
    picture = draw(result)
    out.mkdir(parents=True, exist_ok=True)
    files = tuple(out / f"{figure}-{variant}.{kind}" for kind in ("png", "pdf"))
    for path in files:
        with whole(path) as file:
            picture.savefig(file, format=path.suffix[1:], dpi=160)
    _close(picture)
    return Reproduced(figure, variant, time.perf_counter() - begin, files, result.numbers, result.verdicts)


def _drawing(figure: str) -> Callable[[Any], Any]:
    try:
        from pacopt.papers.sucker_ochs_2023 import figures
    except ImportError as error:
        raise PacoptError(
            f"Figures cannot be drawn: {error}.",
            "matplotlib is needed.",
            "",
            "Install it with: pip install 'pacopt[papers]'.",
        ) from error
    drawings: dict[str, Callable[[Any], Any]] = {
        "fig1": figures.draw_posterior,
        "fig2": figures.draw_conditioning,
        "fig3": figures.draw_probability,
        "fig4": figures.draw_tightness,
    }
    return drawings[figure]


def _close(picture: Any) -> None:
    import matplotlib.pyplot as plt

    plt.close(picture)
