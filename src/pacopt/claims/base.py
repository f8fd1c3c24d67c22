"""A claim: one statement of a certificate, with its share of epsilon, its theorem and its words."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from pacopt.assumptions import Assumption
from pacopt.bounds.base import AbstractBound
from pacopt.claims.subject import Subject
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.support.rounding import down, up

if TYPE_CHECKING:
    from pacopt.design import Design


class Highlight(NamedTuple):
    """A number on the first screen of a report, with its meaning."""

    label: str
    value: str
    caption: str


class Learnt(NamedTuple):
    """The posterior of an objective, and numbers that explain it."""

    posterior: DiscreteMeasure
    details: dict[str, Any]


class Watched(NamedTuple):
    """How a claim is watched in use: by a score of each run, in [0, 1], whose mean is `most` if the claim holds.

    `score` is a function of where a run ended, without the safeguard, and of where it started; `by_verdict` says that
    a user's own criterion of success comes in its place, `binary` that a run scores 0 or 1 and nothing between: a
    monitor then refuses fractions, which somebody took for this score. Where a claim says nothing, they are accepted.
    """

    most: float
    score: Callable[[float, float], float]
    by_verdict: bool = False
    binary: bool = False


class Ending(NamedTuple):
    """At least this part of the runs ends, without any safeguard, at or below this outcome.

    `by_verdict` says that it does not hold where a user's own criterion says what success is.
    """

    outcome: float
    part: float
    by_verdict: bool = False


class AbstractClaim(ABC):
    """One statement. It owns its share of epsilon, its bound, its sentence, its lines of the ledger and its unit.

    Your own claim is a frozen dataclass with a field `share`, a `name`, a `bound` and a `sentence`; everything
    else follows. `at_least` says that larger is better: a lower bound is claimed.

    >>> from dataclasses import dataclass
    >>> from pacopt.bounds import OrderStatistics
    >>> @dataclass(frozen=True)
    ... class Median(AbstractClaim):
    ...     share: float = 0.1
    ...     name = "median"
    ...
    ...     def bound(self, design):
    ...         return OrderStatistics(0.5)
    ...
    ...     def sentence(self, value, subject):
    ...         return f"Half of the instances end at a ratio of at most {self.shown(value)}."
    """

    share: float
    #: Its name in certificates, requirements and tables.
    name: ClassVar[str]
    at_least: ClassVar[bool] = False
    #: The unit after a number.
    unit: ClassVar[str] = ""
    #: Whether its number is a probability, which is measured as a share.
    probability: ClassVar[bool] = False
    #: Whether its sentence explains the safeguard, or refers to it as known; None if neither.
    safeguards: ClassVar[bool | None] = None
    #: Names of numbers that explain its own, unless they begin with its name.
    explaining: ClassVar[tuple[str, ...]] = ()
    #: Whether its sentence comes before the others, because people ask for it first.
    leading: ClassVar[bool] = False
    #: The text if it has no number.
    missing: ClassVar[str] = "no finite bound"
    #: Whether its number is a value of the score, which a chart can show among the scores of runs.
    scored: ClassVar[bool] = False

    @property
    def targets_recorded(self) -> tuple[float, ...]:
        """Fractions of the start loss for which it needs the times at which runs first reach them."""
        return ()

    @abstractmethod
    def bound(self, design: "Design") -> AbstractBound:
        """The theorem behind it."""

    @abstractmethod
    def sentence(self, value: float | None, subject: Subject) -> str:
        """Its statement about the deployed candidate; `value` is None if no finite bound exists."""

    def for_candidates(self, table: LossTable, design: "Design", epsilon: float) -> Float[np.ndarray, " hyper"]:
        """Its number for every candidate, at a total failure probability of epsilon."""
        return self.bound(design).for_candidates(table, design.prior, self.share * epsilon)

    def for_posterior(
        self, table: LossTable, design: "Design", posterior: DiscreteMeasure, epsilon: float
    ) -> float | None:
        """Its number for a fresh candidate from the posterior for each instance; None if it has no such form."""
        return self.bound(design).for_posterior(table, design.prior, posterior, self.share * epsilon)

    def details(self, table: LossTable, design: "Design", index: int, value: float, epsilon: float) -> dict[str, float]:
        """Numbers that explain its number, `value`, for one candidate."""
        return {}

    def whole(self, table: LossTable, design: "Design", index: int, epsilon: float) -> Any:
        """All that it says about one candidate, if that is more than a number: `certificate.<name>`."""
        return None

    def learn(self, table: LossTable, design: "Design", eligible: Bool[np.ndarray, " hyper"], epsilon: float) -> Learnt:
        """The posterior if it is the objective: all weight on the best of the candidates that may be deployed."""
        best = self.best(self.for_candidates(table, design, epsilon), eligible)
        return Learnt(design.prior.dirac(best), {})

    def best(self, values: Float[np.ndarray, " hyper"], eligible: Bool[np.ndarray, " hyper"]) -> int:
        """The candidate with the best number among those that may be deployed."""
        held, sign = np.flatnonzero(eligible), -1 if self.at_least else 1
        kept = sign * np.asarray(values, dtype=float)[held]
        return int(held[np.argmin(np.where(np.isnan(kept), np.inf, kept))])

    def meets(self, values: Float[np.ndarray, " hyper"], wanted: float) -> Bool[np.ndarray, " hyper"]:
        """Which candidates are certified to be at least this good."""
        met: np.ndarray = values >= wanted if self.at_least else values <= wanted
        return met

    def measured(self, table: LossTable, design: "Design") -> Float[np.ndarray, " hyper"] | None:
        """The quantity that it bounds, measured on a table for each candidate; None if that says nothing."""
        return None

    def interval(self, table: LossTable, design: "Design") -> tuple[float, float] | None:
        """A 95 % confidence interval of that quantity, from the first candidate of a table; None if there is none."""
        return None

    def ending(self, value: float, design: "Design") -> Ending | None:
        """What its number says about the distribution of final losses; None if nothing."""
        return None

    def watched(self, value: float, design: "Design") -> Watched | None:
        """How to watch its number in use; None if that is impossible."""
        return None

    def needs_safeguard(self, design: "Design") -> bool:
        """Whether it is about runs with the safeguard; by default it is if a start is known."""
        return design.score.relative

    def ledger(self, design: "Design") -> tuple[Assumption, ...]:
        """Its assumptions; for a claim that is not pacopt's, one about its theorem is added."""
        return tuple(self.bound(design).assumptions)

    def theorem(self, design: "Design") -> str:
        """The name of its theorem."""
        return self.bound(design).theorem

    def in_scores(self, design: "Design") -> bool:
        """Whether its number is a value of the score of this design."""
        return self.scored

    def shown(self, value: float | None) -> str:
        """A number rounded to the safe side, with its unit."""
        if value is None:
            return "none"
        return (down(value) if self.at_least else up(value)) + (f" {self.unit}" if self.unit else "")

    def with_unit(self, value: float | None, design: "Design") -> str:
        """A number rounded to the safe side; a value of the score has the unit of the score."""
        unit = design.score.spoken_unit if self.in_scores(design) and value is not None else ""
        return f"{self.shown(value)} {unit}".rstrip()

    def parts(self, values: Mapping[str, Any]) -> tuple[float, float, float] | None:
        """The measured value, the cost of confidence and the cost of the choice, if its number is their sum."""
        return None

    def explained(self, values: Mapping[str, Any], drawn: Mapping[str, Any], design: "Design") -> list[str]:
        """How its number is made up, in sentences; `values` and `drawn` are stored for candidate and posterior.

        The text of a certificate contains them if the claim is pacopt's own, since a text is read without other code.
        """
        return []

    def facts(self, values: Mapping[str, Any], drawn: Mapping[str, Any]) -> list[tuple[str, str, str]]:
        """Intermediate results: a name, the text for the deployed candidate, and the text for the posterior."""
        return []

    def heading(self, design: "Design") -> str:
        """The heading of its numbers in a table."""
        return f"{self.name} at {'least' if self.at_least else 'most'}"

    def highlight(self, value: float | None, subject: Subject, design: "Design") -> Highlight:
        """Its number on the first screen of a report."""
        sign = "" if value is None else "≥ " if self.at_least else "≤ "
        return Highlight(self.name, f"{sign}{self.shown(value)}", self.sentence(value, subject))

    def to_dict(self) -> dict[str, Any]:
        """A JSON value: its name, its class, its share and its settings."""
        kind = type(self)
        settings = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "share"}  # type: ignore[arg-type]
        return {
            "name": self.name,
            "class": f"{kind.__module__}:{kind.__qualname__}",
            "at_least": self.at_least,
            "share": self.share,
            "unit": self.unit,
            "settings": {name: _plain(value) for name, value in settings.items()},
        }

    @classmethod
    def from_settings(cls, share: float, settings: Mapping[str, Any]) -> "AbstractClaim":
        """The claim with these stored settings; a list comes back as a tuple."""
        return cls(share=share, **{name: _tuples(value) for name, value in settings.items()})  # type: ignore[call-arg]


def _plain(value: Any) -> Any:
    """A JSON value: a list for a tuple, Python's numbers for those of NumPy."""
    if hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _tuples(value: Any) -> Any:
    return tuple(_tuples(each) for each in value) if isinstance(value, list | tuple) else value
