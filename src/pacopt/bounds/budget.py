"""How many instances reach a target within so many steps, for all steps and several targets at once."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from scipy.special import betainc, betaincinv

from pacopt.assumptions import FIXED_BEFORE, IID
from pacopt.bounds.base import AbstractBound
from pacopt.bounds.success import PADDING
from pacopt.bounds.sums import by_rows
from pacopt.errors import DesignError
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.support.numbers import is_real

#: A part of the start loss, or a word for what losses without a start count to.
Target = float | str
FOREVER = float(np.finfo(np.float64).max)
#: At smaller levels the padding drowns in subnormal numbers.
LEAST_LEVEL = 1e-290


@dataclass(frozen=True)
class ReachedWithin(AbstractBound):
    """Upper bounds on the steps within which a share q of the instances reaches the last of some targets.

    **Theorem** (Clopper & Pearson, with a union over ranks). T(tau) is the step at which a run first meets the target
    tau, d the number of columns with T > m. For all candidates, targets tau_s of weight v_s and all steps m at once,
    P(T(tau_s) <= m) >= BetaInv(eps pi(alpha) v_s / ((d + 1)(d + 2)); N - d, d + 1), and 0 if d = N. The steps cost
    nothing: if the bound fails anywhere, an order statistic of T has come too early, and there are only N of these.
    A run that meets a target has met all larger ones, so the best bound of the smaller targets counts as well.
    **Needs** times that are first ones, or later.
    """

    targets: tuple[Target, ...]
    weights: tuple[float, ...]
    part: float = 0.9

    theorem: ClassVar = "Clopper & Pearson 1934, with a union over ranks"
    assumptions: ClassVar = (IID, FIXED_BEFORE)

    def for_candidates(self, table: LossTable, prior: DiscreteMeasure, epsilon: float) -> Float[np.ndarray, " hyper"]:
        """The steps for the last target; infinite if that large a share cannot be shown."""
        return self.steps(table, prior, epsilon, self.targets[-1])

    def for_posterior(
        self, table: LossTable, prior: DiscreteMeasure, posterior: DiscreteMeasure, epsilon: float
    ) -> float:
        """The largest over the support: it holds whichever of them is drawn."""
        return float(np.max(self.for_candidates(table, prior, epsilon)[posterior.log_weights > -np.inf]))

    def steps(
        self, table: LossTable, prior: DiscreteMeasure, epsilon: float, target: Target
    ) -> Float[np.ndarray, " hyper"]:
        """The steps within which the share reaches one of the targets."""
        n = table.shape[1]
        d = np.arange(0.0, n)
        # Increasing in d: with the part as the truth, the probability of so few late runs, over its share.
        cost = betainc(n - d, d + 1, self.part) * (d + 1) * (d + 2)

        def smallest(rows: slice) -> np.ndarray:
            found = np.full(len(prior.log_weights[rows]), np.inf)
            for each, weight in self._as_hard_as(target):
                levels = epsilon * weight * np.exp(prior.log_weights[rows]) * PADDING
                # So many late runs are still good enough.
                late = np.where(levels > LEAST_LEVEL, np.searchsorted(cost, levels, side="right") - 1, -1)
                times = np.sort(table.time_to(each, rows), axis=1)
                reached = np.take_along_axis(times, np.clip(n - late - 1, 0, n - 1)[:, None], axis=1)[:, 0]
                found = np.minimum(found, np.where(late >= 0, reached, np.inf))
            return found

        return by_rows(table, smallest)

    def stairs(self, table: LossTable, index: int, level: float) -> "Stairs":
        """Everything that holds for one candidate at once; `level` is its part of epsilon."""
        row = slice(index, index + 1)
        late, n = np.arange(0.0, table.shape[1]), table.shape[1]
        parts = []
        for weight in self.weights:
            levels = level * weight * PADDING / ((late + 1) * (late + 2))
            usable = levels > LEAST_LEVEL
            bounds = betaincinv(n - late, late + 1, np.where(usable, levels, 0.5))
            parts.append(np.append(np.nan_to_num(np.where(usable, bounds, 0.0), nan=0.0), 0.0))
        times = [np.sort(table.time_to(target, row)[0]) for target in self.targets]
        return Stairs(self.targets, tuple(times), tuple(parts))

    def _as_hard_as(self, target: Target) -> list[tuple[Target, float]]:
        """The targets whose runs have met this one, with their weights."""
        pairs = list(zip(self.targets, self.weights, strict=True))
        return pairs[self.targets.index(target) :]


@dataclass(frozen=True, slots=True, eq=False)
class Stairs:
    """The least share of instances that reaches each target within each number of steps; all of it holds at once."""

    targets: tuple[Target, ...]
    #: For each target the sorted times, and the bound for every number of late runs.
    times: tuple[np.ndarray, ...]
    parts: tuple[np.ndarray, ...]

    def probability(self, steps: float, target: Target | None = None) -> float:
        """The least share of the instances that reaches the target within these steps; 0 if nothing is shown."""
        if not is_real(steps) or steps != steps:
            raise DesignError(f"steps is {steps!r}.", "It is a number of steps.", "", "Use probability(30, 0.1).")
        # A run that never meets the target is late, however long one waits.
        within = min(float(steps), FOREVER)
        found = [
            float(parts[len(times) - int(np.searchsorted(times, within, side="right"))])
            for times, parts in self._as_hard_as(target)
        ]
        return max(found, default=0.0)

    def steps(self, probability: float, target: Target | None = None) -> float | None:
        """The fewest steps within which at least this share reaches the target; None if no number is shown."""
        if not is_real(probability) or not 0 <= probability <= 1:
            raise DesignError(f"probability is {probability!r}.", "It is a probability.", "", "Use steps(0.9, 0.1).")
        found = inf
        for times, parts in self._as_hard_as(target):
            enough = np.flatnonzero(parts[:-1] >= probability)
            if len(enough):
                found = min(found, float(times[len(times) - 1 - enough[-1]]))
        return None if found == inf else int(found) if found.is_integer() else found

    def _as_hard_as(self, target: Target | None) -> list[tuple[np.ndarray, np.ndarray]]:
        """Times and bounds of the targets whose runs have met this one; the last target if none is named."""
        chosen = self.targets[-1] if target is None else target
        if not isinstance(chosen, str) and not (is_real(chosen) and chosen == chosen):
            raise DesignError(
                f"target is {target!r}.", "It is a fraction of the start, or a word.", "", f"Use {self.targets[-1]!r}."
            )
        if isinstance(chosen, str) or isinstance(self.targets[0], str):
            held = [k for k, each in enumerate(self.targets) if each == chosen]
        else:
            held = [k for k, each in enumerate(self.targets) if each <= chosen]  # type: ignore[operator]
        return [(self.times[k], self.parts[k]) for k in held]
