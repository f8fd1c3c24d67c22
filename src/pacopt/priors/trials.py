"""What a prior may look at: the prior split, the domain, and what will be asked of the certificate."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil, sqrt
from typing import Any

import numpy as np

from pacopt.bounds.grids import Grid
from pacopt.bounds.informed import FAVOURITE, best_fraction, informed_grid
from pacopt.bounds.success import ClopperPearson
from pacopt.claims import AbstractClaim, standard_claims
from pacopt.claims.standard import REQUIRED
from pacopt.design import default_t_grid
from pacopt.engines.legs import KeptLegs
from pacopt.engines.training import AbstractTraining, Descent
from pacopt.errors import PriorError
from pacopt.instances import Instances
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.scores import AbstractScore, Ratio
from pacopt.space import Domain
from pacopt.support.cells import shared_start
from pacopt.support.progress import StageProgress, silent
from pacopt.support.values import keys

#: Runs candidates, given by name, on instances.
Run = Callable[[Mapping[str, np.ndarray], Instances], LossTable]
#: Begins a training on some instances, while others are held out.
Trainer = Callable[[Instances, Instances, Descent], AbstractTraining]


@dataclass(frozen=True, eq=False)
class Trials:
    """The prior split, and methods to try candidates on it. It cannot reach a training instance.

    A prior is any function of this value that returns a `DiscreteMeasure`. Runs are remembered, so that
    nothing is run twice, and so that they can be used to choose the betting fractions of the certificate.
    """

    run: Run
    instances: Instances
    domain: Domain
    train: int
    epsilon: float = 0.01
    claims: tuple[AbstractClaim, ...] = field(default_factory=standard_claims)
    target_ratio: float = 1.0
    score: AbstractScore = field(default_factory=Ratio)
    min_success: float | None = None
    standard: Mapping[str, float] | None = None
    seed: int = 0
    #: The number of steps of a run, if steps are counted.
    steps: int = 1
    trains: Trainer | None = None
    #: Where the finished parts of a training are kept, and what is told about them.
    kept: KeptLegs | None = None
    tell: StageProgress = silent
    #: What a prior reports about itself, as JSON values; it goes into the provenance of the table.
    notes: dict[str, Any] = field(default_factory=dict, init=False, repr=False)
    _remembered: dict[tuple[Any, ...], tuple[LossTable, int]] = field(default_factory=dict, init=False, repr=False)

    def table(self, candidates: Mapping[str, np.ndarray]) -> LossTable:
        """The candidates on all instances of the prior split."""
        keys = self._keys(candidates)
        if not all(key in self._remembered for key in keys):
            found = self.run(candidates, self.instances)
            self._remembered.update((key, (found, row)) for row, key in enumerate(keys))
            return found
        rows = [self._remembered[key] for key in keys]
        verdicts = rows[0][0].success is not None
        return LossTable(
            losses=np.stack([table.losses[row] for table, row in rows]),
            start=shared_start(table.start for table, _ in rows),
            columns=rows[0][0].columns,
            candidates=candidates,
            success=np.stack([table.success[row] for table, row in rows if table.success is not None])
            if verdicts
            else None,
        )

    def trainer(self, fit: Instances, held_out: Instances, descent: Descent) -> AbstractTraining:
        """A training on some instances of the prior split; rejected if there are no gradients."""
        if self.trains is None:
            raise PriorError(
                "These trials can run candidates, but not train them.",
                "Training needs an engine whose runs can be differentiated.",
                "",
                "Pass Trials(..., trains=engine.training, steps=engine.steps).",
            )
        return self.trains(fit, held_out, descent)

    @property
    def wanted_success(self) -> float | None:
        """The success frequency on the prior split from which `min_success` will probably be certified.

        It lies above `min_success` by what the certificate will cost and by one standard error of this split.
        """
        if self.min_success is None:
            return None
        level = FAVOURITE * self.epsilon * self.share(REQUIRED)
        low, high = 0, self.train  # the smallest count that certifies min_success lies above low
        while high - low > 1:
            middle = (low + high) // 2
            certified = ClopperPearson().lower(np.array([float(middle)]), self.train, np.zeros(1), level)[0]
            low, high = (low, middle) if certified >= self.min_success else (middle, high)
        frequency = high / self.train
        return min(1.0, frequency + sqrt(frequency * (1 - frequency) / max(1, self.instances.count)))

    def share(self, name: str) -> float:
        """The share of epsilon of the claim with this name."""
        return next(claim.share for claim in self.claims if claim.name == name)

    def need_instances(self, parts: int = 1) -> None:
        """Reject a prior split that is too small to tell whether a candidate succeeds often enough."""
        least = 1 if self.min_success is None else ceil(1 / (1 - min(self.min_success, 1 - 1e-9)) - 1e-6)
        if self.instances.count < parts * least:
            asked = "" if self.min_success is None else f", and min_success is {self.min_success}"
            what = "instances" if self.instances.groups is None else "groups"
            raise PriorError(
                f"The prior split has {self.instances.count} {what}{asked}.",
                f"At least {parts * least} are needed.",
                "Candidates are chosen on the prior split; with fewer instances one failure more or less decides "
                "whether a candidate seems to succeed as often as was asked for.",
                f"Use pacopt.split(..., prior={parts * least}) or more, or give a prior that needs no instances "
                "(pacopt.priors.Product).",
            )

    def t_grid(self, prior: DiscreteMeasure, score: AbstractScore | None = None) -> Grid:
        """Betting fractions for the heaviest candidate that was run here; the default grid if none was."""
        keys = self._keys(prior.support)
        if len(prior) == 1 and len(self.instances):
            self.table(prior.support)  # a single given candidate: the prior split has no other use
        known = [i for i, key in enumerate(keys) if key in self._remembered]
        if not known:
            return default_t_grid()
        z = (score or self.score).of(self.table({name: values[known] for name, values in prior.support.items()}))
        log_weights = prior.log_weights[known]
        favourite = int(np.lexsort((z.mean(axis=1), -log_weights))[0])
        price = -float(log_weights[favourite]) - np.log(self.epsilon * self.claims[0].share)
        return informed_grid(best_fraction(z[favourite], train=self.train, price=price))

    def _keys(self, candidates: Mapping[str, np.ndarray]) -> list[tuple[Any, ...]]:
        return keys(candidates, sorted(candidates))
