"""The trade-off between what is required and what is best: all levels certified at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from jaxtyping import Float

from pacopt.certificate import Certificate
from pacopt.claims.checking import numbers_of
from pacopt.claims.foreign import ForeignClaim
from pacopt.claims.standard import REQUIRED
from pacopt.design import Design
from pacopt.errors import DesignError
from pacopt.loss_table import LossTable

LEVELS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)


class Certified(Protocol):
    """A certificate and the table that it was made of."""

    @property
    def certificate(self) -> Certificate:
        """The certificate."""
        ...

    @property
    def table(self) -> LossTable:
        """The training table."""
        ...


@dataclass(frozen=True)
class Choice:
    """The candidate with the best objective among those that are certified to reach `level`.

    Its number for each claim of the design stands in `values` (None where no finite bound exists) and is an attribute:
    `choice.risk`.
    """

    level: float
    index: int
    hyper: dict[str, Any]
    values: Mapping[str, float | None]

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get("values", {})
        if name.startswith("__") or name not in values:
            raise AttributeError(f"There is no number {name!r}; there are {', '.join(values)}.")
        return values[name]


@dataclass(frozen=True, slots=True)
class Frontier:
    """One choice for each level that can be certified; all of them hold together, whichever is picked."""

    confidence: float
    design: Design
    choices: tuple[Choice, ...]
    unattained: tuple[float, ...]

    def __str__(self) -> str:
        claims = [claim for claim in self.design.claims if self.choices and claim.name in self.choices[0].values]
        # What is required stands first, then the objective, then the rest.
        claims.sort(key=lambda claim: (claim.name != REQUIRED, claim is not self.design.objective))
        headings = [claim.heading(self.design) for claim in claims]
        lines = [
            f"With confidence {self.confidence!r}, all lines at once:",
            f"{'level':>7}" + "".join(f"  {heading:>16}" for heading in headings) + "  hyperparameters",
        ]
        # Several levels may lead to the same choice: the highest of them says it all.
        for choice in {choice.index: choice for choice in self.choices}.values():
            hyper = ", ".join(f"{name} = {_short(value)}" for name, value in choice.hyper.items())
            numbers = "".join(
                f"  {claim.shown(choice.values[claim.name]):>{max(16, len(heading))}}"
                for claim, heading in zip(claims, headings, strict=True)
            )
            lines.append(f"{choice.level:>7g}{numbers}  {hyper}")
        lines += [f"{level:>7g}  no candidate can be certified at this level" for level in self.unattained]
        return "\n".join(lines)


def frontier(learned: Certified | Certificate, levels: Sequence[float] = LEVELS) -> Frontier:
    """For each level of success, the best certified objective among the candidates that are certified to reach it.

    The bounds behind a certificate hold for every candidate on one event. So all lines of the frontier hold together
    with the confidence of the certificate, whatever the levels are, and a line may be picked after looking; the
    hyperparameters of that line are then to be deployed.
    """
    certificate = learned if isinstance(learned, Certificate) else getattr(learned, "certificate", None)
    table = getattr(learned, "table", None)
    if certificate is None or table is None:
        raise DesignError(
            f"A {type(learned).__name__} was given.",
            "A frontier is drawn from what learn or certify returned: a certificate with its table.",
            "",
            "Pass it: pacopt.frontier(learned).",
        )
    try:
        wanted = sorted({float(level) for level in levels})
    except (TypeError, ValueError):
        wanted = []
    if not wanted or not (wanted[0] >= 0 and wanted[-1] <= 1):
        raise DesignError(f"The levels are {levels!r}.", "Levels are probabilities.", "", "Use (0.5, 0.9, 0.99).")
    design = certificate.design
    bounds = candidate_bounds(table, design, confidence=certificate.confidence)
    required, best = design[REQUIRED], design.objective
    held = design.prior.log_weights > -np.inf
    choices, unattained = [], []
    for level in wanted:
        able = held & required.meets(bounds[required.name], level)
        if not able.any():
            unattained.append(level)
            continue
        index = best.best(bounds[best.name], able)
        values = {name: float(numbers[index]) for name, numbers in bounds.items()}
        finite = {name: value if np.isfinite(value) else None for name, value in values.items()}
        choices.append(Choice(level, index, table.hyper(index), finite))
    return Frontier(certificate.confidence, design, tuple(choices), tuple(unattained))


def candidate_bounds(table: LossTable, design: Design, *, confidence: float) -> dict[str, Float[np.ndarray, " hyper"]]:
    """The number of every claim for every candidate, all at once with this confidence; but those without code."""
    claims = [claim for claim in design.claims if not isinstance(claim, ForeignClaim)]
    return {claim.name: numbers_of(claim, table, design, 1 - confidence) for claim in claims}


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else f"{value}"
