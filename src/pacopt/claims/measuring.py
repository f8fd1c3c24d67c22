"""Claims beside what they come to on other instances than those that they were made from."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pacopt.claims.base import AbstractClaim
from pacopt.claims.foreign import ForeignClaim
from pacopt.claims.over import Over, key_of
from pacopt.loss_table import LossTable

if TYPE_CHECKING:
    from pacopt.design import Design


class Measured(NamedTuple):
    """A claim, the number that it states, and what it comes to on so many other draws, with a 95 % interval."""

    claim: AbstractClaim
    certified: float
    measured: float
    draws: int
    interval: tuple[float, float] | None = None

    @property
    def name(self) -> str:
        """What is claimed, and over which baseline."""
        return measured_name(self.claim)

    @property
    def holds(self) -> bool:
        """Whether what was measured is on the right side of what is claimed.

        So many draws tell a probability no more exactly than one of them: none of 500 does not contradict one in 1000.
        """
        if self.claim.at_least:
            return self.measured >= self.certified - (1 / self.draws if self.claim.probability else 0.0)
        return self.measured <= self.certified

    @property
    def contradicted(self) -> bool:
        """Whether the 95 % interval of what was measured lies on the wrong side of what is claimed.

        A true claim whose number is close is on the wrong side of a few draws about every other time.
        """
        if self.interval is None:
            return False
        low, high = self.interval
        return high < self.certified if self.claim.at_least else low > self.certified


def measured_name(claim: AbstractClaim) -> str:
    """What is claimed, and over which baseline."""
    return f"{claim.name} over {claim.over[0]}" if isinstance(claim, Over) else claim.name


def measured_beside(values: Mapping[str, Any], design: "Design", table: LossTable) -> list[Measured]:
    """The numbers that are certified of a candidate beside those of its runs, the first row of a table.

    A claim over several baselines is as many claims. Those that state nothing are left out, and so are those whose
    numbers these runs do not tell.
    """
    found = []
    for claim, certified in one_by_one(design.claims, values):
        if certified is None or isinstance(claim, ForeignClaim):
            continue
        measured = claim.measured(table, design)
        if measured is not None:
            interval = claim.interval(table, design)
            found.append(Measured(claim, float(certified), float(measured[0]), table.shape[1], interval))
    return found


def one_by_one(claims: Iterable[AbstractClaim], values: Mapping[str, Any]) -> Iterator[tuple[AbstractClaim, Any]]:
    """Claims and their numbers, those over several baselines one by one."""
    for claim in claims:
        yield (over_alone(claim, claim.over[0]) if isinstance(claim, Over) else claim), values.get(claim.name)
        if isinstance(claim, Over):
            for baseline in claim.over[1:]:
                yield over_alone(claim, baseline), values.get(key_of(claim.name, baseline))


def over_alone(claim: Any, baseline: str) -> AbstractClaim:
    """A claim over one baseline; of several names in one it says what it says of each."""
    alone: AbstractClaim = replace(claim, over=(baseline,), described=())
    return alone
