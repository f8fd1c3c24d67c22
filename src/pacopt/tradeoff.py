"""The trade-off between what is required and what is best: all levels certified at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

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
from pacopt.support import html
from pacopt.support.frames import data_frame, params, real
from pacopt.support.values import named

if TYPE_CHECKING:
    from pandas import DataFrame

LEVELS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
#: What is said of a level that is out of reach.
UNATTAINED = "no candidate can be certified"


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
    """The candidate with the best objective among those certified to reach `level`, or among all if it is None.

    `values` holds its number for each claim of the design (None if no finite bound exists), also as an attribute:
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
    """One choice for each level that can be certified; all hold at once, so any of them may be picked."""

    confidence: float
    design: Design
    choices: tuple[Choice, ...]
    unattained: tuple[float, ...]
    #: The claim that the levels are of; None if nothing is traded.
    along: str | None = REQUIRED

    @property
    def claims(self) -> tuple[AbstractClaim, ...]:
        """The claims whose numbers are known: first the one traded against, then the objective, then the rest."""
        known = [claim for claim in self.design.claims if self.choices and claim.name in self.choices[0].values]
        return tuple(sorted(known, key=lambda claim: (claim.name != self.along, claim is not self.design.objective)))

    def __str__(self) -> str:
        headings = [claim.heading(self.design) for claim in self.claims]
        lines = [
            self._lead,
            f"{'level' if self.along else '':>7}" + "".join(f"  {h:>16}" for h in headings) + "  hyperparameters",
        ]
        for level, *numbers, hyper in self._rows():
            padded = (f"  {text:>{max(16, len(heading))}}" for text, heading in zip(numbers, headings, strict=True))
            lines.append(f"{level:>7}{''.join(padded)}  {hyper}")
        lines += [f"{level:>7g}  {UNATTAINED} at this level" for level in self.unattained]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        headings = [claim.heading(self.design) for claim in self.claims]
        header = ["level" if self.along else "", *headings, "hyperparameters"]
        cells = html.table(header, self._rows(), left=("hyperparameters",))
        levels = ", ".join(f"{level:g}" for level in self.unattained)
        return html.boxed(html.title(self._lead), cells, html.note(f"At {levels}: {UNATTAINED}." if levels else ""))

    @property
    def _lead(self) -> str:
        return f"With confidence {self.confidence!r}{', all lines at once' if self.along else ''}:"

    def _rows(self) -> list[tuple[str, ...]]:
        """The level, the numbers and the hyperparameters of each choice."""
        # Several levels may lead to the same choice: the highest of them says it all.
        return [
            (
                "" if choice.level is None else f"{choice.level:g}",
                *(claim.with_unit(choice.values[claim.name], self.design) for claim in self.claims),
                named(choice.hyper),
            )
            for choice in {choice.index: choice for choice in self.choices}.values()
        ]

    def to_dataframe(self) -> "DataFrame":
        """One row for each level that can be certified, in pandas: `certified_...` for each claim, and `params_...`."""
        choices, names = self.choices, [claim.name for claim in self.claims]
        return data_frame(
            {"level": real([choice.level for choice in choices]), "candidate": [choice.index for choice in choices]}
            | {f"certified_{name}": real([choice.values[name] for choice in choices]) for name in names}
            | params([choice.hyper for choice in choices])
        )


def frontier(
    learned: Certified | Certificate, levels: Sequence[float] | None = None, *, along: str | None = None
) -> Frontier:
    """For each level of success, the best certified objective among the candidates certified to reach it.

    `along` names another claim to trade off; by default the levels are its certified numbers. If the design
    does not claim success and no claim is named, there is one line: the best candidate.

    The bounds behind a certificate hold for all candidates at once. So all lines of the frontier hold together with the
    confidence of the certificate, whatever the levels are, and you may pick a line after looking; then deploy the
    hyperparameters of that line.
    """
    certificate = learned if isinstance(learned, Certificate) else getattr(learned, "certificate", None)
    table = getattr(learned, "table", None)
    if certificate is None or table is None:
        raise DesignError(
            f"A {type(learned).__name__} was given.",
            "A frontier needs what learn or certify returned: a certificate with its table.",
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
    """The levels, from the easiest to the hardest."""
    probability = claim.name == REQUIRED
    if levels is None:
        levels = LEVELS if probability else certified[np.isfinite(certified)].tolist()
    try:
        wanted = sorted({float(level) for level in levels}, reverse=not claim.at_least)
    except (TypeError, ValueError):
        wanted = []
    if probability and not (wanted and wanted[0] >= 0 and wanted[-1] <= 1):
        raise DesignError(
            f"The levels are {levels!r}.", "Levels are probabilities.", "", "Use (0.5, 0.9, 0.99), for example."
        )
    if not all(np.isfinite(wanted)) or (not wanted and len(certified[np.isfinite(certified)])):
        raise DesignError(f"The levels are {levels!r}.", "Levels are finite numbers.", "", "Leave them out.")
    return wanted


def candidate_bounds(table: LossTable, design: Design, *, confidence: float) -> dict[str, Float[np.ndarray, " hyper"]]:
    """The number of every claim for every candidate, all at once with this confidence; none for claims without code."""
    claims = [claim for claim in design.claims if not isinstance(claim, ForeignClaim)]
    return {claim.name: numbers_of(claim, table, design, 1 - confidence) for claim in claims}
