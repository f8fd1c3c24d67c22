"""The published construction of the prior (Sucker & Ochs 2023, App. B.4 and B.5)."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

import numpy as np

from pacopt.errors import PriorError
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.papers.sucker_ochs_2023.estimate import plug_in_bound
from pacopt.priors.product import checked_count, checked_names
from pacopt.priors.trials import Trials
from pacopt.space import Interval


@dataclass(frozen=True, slots=True, eq=False)
class IterativeBox:
    """Equal weights on draws from a box that was shrunk to where learning on the prior split went well.

    In each round, candidates are drawn uniformly from the box and weighed by the published estimate on the first half
    of the prior split. Those that succeed on the second half with frequency `success` at least are retained, of these
    the heaviest 75 %; the new box reaches from the smallest to the largest of them. If none is retained, the box stays.

    **Departs from the paper** where it says nothing: the retained part is rounded up, and a box in which nothing is
    retained stays. A frequency on half of the prior split lets through candidates that truly succeed less often, and a
    box can readmit what was filtered out; the certificate depends on neither.
    """

    box: Mapping[str, Interval]
    success: float = 0.9
    candidates: int = 200
    rounds: int = 2
    keep: float = 0.75

    @staticmethod
    def published(
        standard: Mapping[str, float], *, L: float, success: float = 0.9, candidates: int = 200
    ) -> "IterativeBox":
        """The initial box of the paper around the textbook hyperparameters, for curvatures up to L.

        Step sizes from 0.5 to 3 times 2 / (L success), everything else from half to twice its textbook value.
        """
        if not 0 < L < np.inf or not 0 < success <= 1:
            raise PriorError(
                f"L is {L} and success is {success}.", "L > 0 and 0 < success <= 1.", "", "Use the largest curvature."
            )
        unit = 2 / (L * success)
        box = {
            name: Interval(0.5 * unit, 3 * unit) if name == "step_size" else Interval(value / 2, 2 * value)
            for name, value in standard.items()
        }
        return IterativeBox(box, success, candidates)

    def __call__(self, trials: Trials) -> DiscreteMeasure:
        """Shrink the box, then draw from it."""
        if not (0 < self.success <= 1 and 0 < self.keep <= 1):
            raise PriorError(
                f"success is {self.success} and keep is {self.keep}.", "Both are parts of one.", "", "Use 0.9 and 0.75."
            )
        trials.need_instances(parts=2)
        rng = np.random.default_rng(trials.seed)
        box = dict(trials.domain) | dict(checked_names(self.box, trials.domain, spaces=True))
        for name, space in box.items():
            if not isinstance(space, Interval):
                raise PriorError(
                    f"The space of {name!r} is {space!r}.",
                    "The published box is one of real numbers.",
                    "",
                    "Use pacopt.priors.Search(), which looks in every space.",
                )
        ends = {name: (space.low, space.high) for name, space in box.items()}
        half = len(trials.instances) // 2
        for _ in range(checked_count(self.rounds, "rounds", least=0)):
            drawn = self._drawn(rng, ends)
            table = trials.table(drawn)
            first, second = table.select(columns=slice(half)), table.select(columns=slice(half, None))
            kept = self._retained(first, second, trials.epsilon)
            if len(kept):
                ends = {name: (values[kept].min(), values[kept].max()) for name, values in drawn.items()}
        return DiscreteMeasure.uniform(self._drawn(rng, ends))

    def _drawn(self, rng: np.random.Generator, ends: Mapping[str, tuple[float, float]]) -> dict[str, np.ndarray]:
        return {name: rng.uniform(low, high, checked_count(self.candidates)) for name, (low, high) in ends.items()}

    def _retained(self, first: LossTable, second: LossTable, epsilon: float) -> np.ndarray:
        """The heaviest 75 % of those that succeed often enough, as row numbers."""
        if not first.reached().any():
            return np.empty(0, dtype=int)
        weights = plug_in_bound(first, epsilon=epsilon).weights
        able = np.flatnonzero(second.reached().mean(axis=1) >= self.success)
        heaviest = able[np.argsort(-weights[able], kind="stable")]
        return heaviest[: ceil(self.keep * len(able))]
