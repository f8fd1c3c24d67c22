"""The trade-off between what is required and what is best: all levels certified at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from jaxtyping import Float

from pacopt.certificate import Certificate
from pacopt.claims import AbstractClaim
from pacopt.claims.checking import numbers_of
from pacopt.claims.foreign import ForeignClaim
from pacopt.claims.standard import REQUIRED
from pacopt.design import Design
from pacopt.errors import DesignError
from pacopt.loss_table import LossTable
from pacopt.support.values import named

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
    """The candidate with the best objective among those that are certified to reach `level`, or of all if it is None.

    Its number for each claim of the design stands in `values` (None where no finite bound exists) and is an attribute:
    `choice.risk`.
    """

    level: float | None
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
    #: The claim that the levels are of; None if nothing is traded.
    along: str | None = REQUIRED

    def __str__(self) -> str:
        claims = [claim for claim in self.design.claims if self.choices and claim.name in self.choices[0].values]
        # What is required stands first, then the objective, then the rest.
        claims.sort(key=lambda claim: (claim.name != self.along, claim is not self.design.objective))
        headings = [claim.heading(self.design) for claim in claims]
        lines = [
            f"With confidence {self.confidence!r}{', all lines at once' if self.along else ''}:",
            f"{'level' if self.along else '':>7}" + "".join(f"  {h:>16}" for h in headings) + "  hyperparameters",
        ]
        # Several levels may lead to the same choice: the highest of them says it all.
        for choice in {choice.index: choice for choice in self.choices}.values():
            hyper = named(choice.hyper)
            numbers = "".join(
                f"  {claim.with_unit(choice.values[claim.name], self.design):>{max(16, len(heading))}}"
                for claim, heading in zip(claims, headings, strict=True)
            )
            lines.append(f"{'' if choice.level is None else f'{choice.level:g}':>7}{numbers}  {hyper}")
        lines += [f"{level:>7g}  no candidate can be certified at this level" for level in self.unattained]
        return "\n".join(lines)


def frontier(
    learned: Certified | Certificate, levels: Sequence[float] | None = None, *, along: str | None = None
) -> Frontier:
    """For each level of success, the best certified objective among the candidates that are certified to reach it.

    `along` names another claim to trade with; its levels are what was certified of it, unless they are given. A design
    that claims nothing of success has one line, the best, unless something is named.

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
    design = certificate.design
    if along is None and REQUIRED in design:
        along = REQUIRED
    traded = None if along is None else design[along]
    for claim in (design.objective, traded):
        if isinstance(claim, ForeignClaim):
            claim.bound(design)  # says that its code is needed
    bounds = candidate_bounds(table, design, confidence=certificate.confidence)
    held = design.prior.log_weights > -np.inf
    wanted: list[Any] = [None] if traded is None else _levels(traded, bounds[traded.name][held], levels)
    choices, unattained = [], []
    for level in wanted:
        able = held if traded is None else held & traded.meets(bounds[traded.name], level)
        if not able.any():
            unattained.append(level)
            continue
        index = design.objective.best(bounds[design.objective.name], able)
        values = {name: float(numbers[index]) for name, numbers in bounds.items()}
        finite = {name: value if np.isfinite(value) else None for name, value in values.items()}
        choices.append(Choice(level, index, table.hyper(index), finite))
    return Frontier(certificate.confidence, design, tuple(choices), tuple(unattained), along)


def _levels(claim: AbstractClaim, certified: Float[np.ndarray, " held"], levels: Any) -> list[float]:
    """The levels in their order, from what is easily reached to what is not."""
    probability = claim.name == REQUIRED
    if levels is None:
        levels = LEVELS if probability else certified[np.isfinite(certified)].tolist()
    try:
        wanted = sorted({float(level) for level in levels}, reverse=not claim.at_least)
    except (TypeError, ValueError):
        wanted = []
    if probability and not (wanted and wanted[0] >= 0 and wanted[-1] <= 1):
        raise DesignError(f"The levels are {levels!r}.", "Levels are probabilities.", "", "Use (0.5, 0.9, 0.99).")
    if not all(np.isfinite(wanted)) or (not wanted and len(certified[np.isfinite(certified)])):
        raise DesignError(f"The levels are {levels!r}.", "Levels are finite numbers.", "", "Leave them out.")
    return wanted


def candidate_bounds(table: LossTable, design: Design, *, confidence: float) -> dict[str, Float[np.ndarray, " hyper"]]:
    """The number of every claim for every candidate, all at once with this confidence; but those without code."""
    claims = [claim for claim in design.claims if not isinstance(claim, ForeignClaim)]
    return {claim.name: numbers_of(claim, table, design, 1 - confidence) for claim in claims}
