"""All candidates with what is known about each, as the charts of posterior and frontier need them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pacopt.claims import AbstractClaim
from pacopt.claims.standard import REQUIRED
from pacopt.design import Design
from pacopt.report.figures import Axis
from pacopt.report.source import Reported
from pacopt.report.words import certified, chosen, standard_row
from pacopt.tradeoff import candidate_bounds

#: Decades are drawn from this ratio on where the domain is in decades, and from that one on where it is not known.
SPREAD, UNKNOWN_SPREAD = 8.0, 100.0
#: Shown are all candidates between these percentiles, and all that are heavier than this.
MIDDLE, HEAVY = (5, 95), 1e-4
#: A few candidates that leave the others less than this part of an axis are not drawn.
CROWDED = 0.4


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Values and weights, certified bounds, the deployed one, and the textbook's hyperparameters if there are any.

    `values` are those that an axis can show; an array has none. `textbook` is the number of the candidate with the
    textbook's hyperparameters, where one is known.
    `chosen` is what the deployed one is called. `bounds` are those of each claim whose code is at hand, by its name.
    `level` is what was asked for and attained of the claim that is traded against the objective, if anything was.
    """

    design: Design
    values: Mapping[str, np.ndarray]
    prior: np.ndarray
    posterior: np.ndarray
    bounds: Mapping[str, np.ndarray]
    deployed: int
    chosen: str
    standard: dict[str, Any] | None
    usual: str
    level: float | None
    decades: Mapping[str, bool]
    textbook: int | None = None

    @staticmethod
    def of(source: Reported) -> "Candidates":
        """The candidates of a certificate; their bounds are recomputed, as a certificate stores one of them."""
        c, standard = source.certificate, standard_row(source.comparison)
        bounds = candidate_bounds(source.table, c.design, confidence=c.confidence)
        return Candidates(
            design=c.design,
            values={name: values for name, values in source.table.candidates.items() if values.ndim == 1},
            usual=source.origin.usual,
            prior=c.design.prior.weights,
            posterior=np.asarray(c.posterior.weights),
            bounds=bounds,
            deployed=c.deployed.index,
            chosen=chosen(c),
            standard=None if standard is None else standard.hyper,
            level=c.required.get(REQUIRED) if c.attained else None,
            decades=_decades(source),
            textbook=source.origin.textbook,
        )

    def __len__(self) -> int:
        return len(self.prior)

    @property
    def claims(self) -> list[AbstractClaim]:
        """The claims whose bounds are known: what is required stands first, then the objective, then the rest."""
        known = [claim for claim in self.design.claims if claim.name in self.bounds]
        return sorted(known, key=lambda claim: (claim.name != REQUIRED, claim is not self.design.objective))

    @property
    def traded(self) -> AbstractClaim | None:
        """The claim that is traded against the objective; None where there is no such pair."""
        names = (self.design.objective.name, REQUIRED)
        return self.design[REQUIRED] if len(set(names)) == 2 and all(n in self.bounds for n in names) else None

    @property
    def able(self) -> np.ndarray | None:
        """Which candidates are certified to reach the level; None where there is none."""
        if self.level is None or REQUIRED not in self.bounds:
            return None
        return self.design[REQUIRED].meets(self.bounds[REQUIRED], self.level)

    def costs(self, claim: AbstractClaim) -> np.ndarray:
        """The bounds of a claim, the smaller the better."""
        return -self.bounds[claim.name] if claim.at_least else self.bounds[claim.name]

    def told(self, i: int) -> tuple[str, ...]:
        """What is certified of one candidate, in the order of `claims`."""
        return tuple(certified(claim, float(self.bounds[claim.name][i]), self.design) for claim in self.claims)

    def headings(self) -> tuple[str, ...]:
        """What stands above these texts."""
        return tuple(claim.heading(self.design) for claim in self.claims)

    def best(self) -> list[int]:
        """Those with weight and a finite number, by their number of the objective, the best first."""
        if self.design.objective.name not in self.bounds:
            return []
        costs = self.costs(self.design.objective)
        order = np.argsort(costs, kind="stable")
        return [int(i) for i in order if self.prior[i] > 0 and np.isfinite(costs[i])]

    def undominated(self) -> list[int]:
        """Those with weight that no other one beats in both the objective and what is traded against it.

        The best in the objective, and each that is better in the other one than all that are better in the objective.
        """
        if self.traded is None:
            return []
        objective, other = self.costs(self.design.objective), self.costs(self.traded)
        found: list[int] = []
        best = np.inf
        for i in np.lexsort((other, objective)).tolist():
            if self.prior[i] > 0 and np.isfinite(objective[i]) and other[i] < best:
                found.append(i)
                best = float(other[i])
        return found

    def numeric(self, name: str) -> bool:
        """Whether a hyperparameter is a number, and has an axis."""
        return self.values[name].dtype.kind in "fiu" and bool(np.isfinite(self.values[name]).all())

    def axis(self, name: str) -> Axis:
        """An axis for one hyperparameter, in decades where its domain is or where its values ask for it.

        It holds those with weight, the textbook's, and the middle of the others; a few that were tried far away would
        leave no room for the rest.
        """
        values = self.values[name].astype(float)
        ends = [*np.percentile(values, MIDDLE, method="inverted_cdf"), *values[self.posterior > HEAVY]]
        ends += [values[self.deployed]] + ([] if self.standard is None else [self.standard[name]])
        return self._around(name, ends)

    def wide_axis(self, name: str, among: np.ndarray) -> Axis:
        """An axis for one hyperparameter that holds all of these candidates, and the textbook's.

        If a few of them would leave the others less than a part of it, it holds the others.
        """
        values = self.values[name].astype(float)[among]
        wide = self._around(name, [*values, *([] if self.standard is None else [self.standard[name]])])
        narrow = self.axis(name)
        return wide if np.ptp(wide.parts(np.array([narrow.low, narrow.high]))) > CROWDED else narrow

    def _around(self, name: str, ends: Sequence[float]) -> Axis:
        spread = SPREAD if self.decades.get(name) else np.inf if name in self.decades else UNKNOWN_SPREAD
        return Axis.around(ends, log=bool(min(ends) > 0 and max(ends) > spread * min(ends)))


def _decades(source: Reported) -> dict[str, bool]:
    """Which hyperparameters were looked for in decades, where a search says so."""
    return (
        {name: getattr(space, "log", False) for name, space in source.origin.domain.items()} if source.learned else {}
    )
