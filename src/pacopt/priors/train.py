"""Hyperparameters that are trained by gradients on the prior split, with candidates around them."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pacopt.engines.training import Descent
from pacopt.errors import PriorError
from pacopt.instances import Instances
from pacopt.measure import DiscreteMeasure
from pacopt.priors.candidates import best_of, gathered
from pacopt.priors.course import Plan, trained
from pacopt.priors.product import checked_count
from pacopt.priors.selection import weigh
from pacopt.priors.trials import Trials
from pacopt.space import Array, Domain, Interval
from pacopt.support.numbers import is_real

#: The fewest instances, or groups, to train on, and to hold out.
LEAST = 5
#: How many candidates are made for each one kept.
CHOICE = 2


@dataclass(frozen=True, slots=True, eq=False)
class Train:
    """Candidates trained by gradients through the unrolled run, for algorithms with arrays of hyperparameters.

    A part of the prior split, `held_out`, is not trained on. On the rest Adam makes `updates` updates by batches of
    `batch` instances, with a learning rate that falls from `rate` to zero along a cosine. The gradient of each run is
    clipped at the norm `clip`, and left out if it is not finite. Training minimises the mean ratio of final to initial
    loss plus `logs` times the mean of its logarithm. The first tenth of the updates use runs of a fifth and a half
    of the steps, where gradients are tamer. Of several `restarts`, the one that does best on held-out instances after
    three twentieths of the updates continues. If training collapses, it continues from the best point so far, at half
    the rate; if gradients explode or vanish, you get a warning, which the provenance of the table records.

    The candidates are the mean of the hyperparameters over the last updates at several times, the mean of the best of
    these, and a cloud around the best: noise, less of it where the loss is more sensitive. Those that do best on
    held-out instances are kept, and weighted on these as in `Search`: half for the favourite, then a Gibbs
    measure, and a little for every candidate.

    With `dtype=numpy.float32` the updates take about half the time; candidates still run in the precision of `learn`.
    The seed of `learn` determines everything. Its `checkpoint` keeps finished parts of a training.

    >>> Train(updates=2000, candidates=16)
    Train(updates=2000, batch=64, rate=0.01, restarts=2, held_out=0.25, candidates=16, clip=1.0, logs=0.2, dtype=None)
    """

    updates: int = 3000
    batch: int = 64
    rate: float = 1e-2
    restarts: int = 2
    held_out: float = 0.25
    candidates: int = 16
    clip: float = 1.0
    logs: float = 0.2
    dtype: npt.DTypeLike | None = None

    def __post_init__(self) -> None:
        """Store a number type by name, however it is given; an invalid one is refused where it is used."""
        if self.dtype is not None:
            with suppress(TypeError):
                object.__setattr__(self, "dtype", np.dtype(self.dtype).name)

    def searched(self, trials: Trials) -> Domain:
        """No domain: training may leave the domain of the algorithm."""
        return {}

    def most(self, trials: Trials) -> tuple[int, int]:
        """Roughly how many runs of the whole prior split it makes, and how many candidates it returns."""
        self._plan()
        part = 1 + CHOICE * self.candidates * self.held_out
        return int(np.ceil(part)), checked_count(self.candidates)

    def __call__(self, trials: Trials) -> DiscreteMeasure:
        """Train, make candidates, keep the best, weigh."""
        plan, descent = self._plan()
        refuse_untrainable(trials.domain)
        fit, held_out = parted(trials.instances, self.held_out, trials.seed)
        trials.need_instances()
        training = trials.trainer(fit, held_out, descent)
        course = trained(training, plan, trials, descent)
        made = gathered(training, course, CHOICE * self.candidates, trials.seed)
        table = best_of(made, trials.run(made, held_out), self.candidates, trials)
        measure = weigh(table, np.empty(0, dtype=int), trials)
        # The betting fractions of the certificate are chosen from the favourite's runs on the whole prior split.
        trials.table({name: values[:1] for name, values in measure.support.items()})
        trials.notes["training"] = course.described()
        return measure

    def _plan(self) -> tuple[Plan, Descent]:
        updates, batch = checked_count(self.updates, "updates"), checked_count(self.batch, "instances in a batch")
        restarts = checked_count(self.restarts, "restarts")
        checked_count(self.candidates)
        for name, high in (("rate", np.inf), ("held_out", 1.0), ("clip", np.inf), ("logs", np.inf)):
            value, least = getattr(self, name), name == "logs"
            if not is_real(value) or not (0 < value < high or (least and value == 0)):
                raise PriorError(
                    f"{name} of Train is {value!r}.",
                    f"It is a number above 0{'' if high == np.inf else f', and below {high:g}'}"
                    f"{', or 0' if least else ''}.",
                    "",
                    f"Leave it out for {type(self).__dataclass_fields__[name].default!r}.",
                )
        plan = Plan(updates, restarts, float(self.rate))
        return plan, Descent(batch, plan.size, float(self.clip), float(self.logs), self.dtype)


def refuse_untrainable(domain: Domain) -> None:
    """Refuse hyperparameters without a derivative, and a space without arrays."""
    odd = [name for name, space in domain.items() if not isinstance(space, Array | Interval)]
    if odd:
        raise PriorError(
            f"The hyperparameter {odd[0]!r} is a {type(domain[odd[0]]).__name__}.",
            "Training is for real numbers: intervals and arrays.",
            "A choice or a whole number has no derivative.",
            "Make it a field of the algorithm, and train one algorithm for each value; or use pacopt.priors.Search.",
        )
    if not any(isinstance(space, Array) for space in domain.values()):
        names = ", ".join(domain) or "none"
        raise PriorError(
            f"The algorithm has no arrays of hyperparameters; it has {names}.",
            "Training is for an algorithm with an Array or a Tree among its hyperparameters.",
            "A few numbers are found by a search, which needs no gradients and looks everywhere.",
            "Use pacopt.priors.Search.",
        )


def parted(instances: Instances, part: float, seed: int) -> tuple[Instances, Instances]:
    """The instances to train on and those held out; rows of one group stay together."""
    units: Any = np.arange(len(instances)) if instances.groups is None else instances.groups
    kinds, member = np.unique(units, return_inverse=True)
    count = round(part * len(kinds))
    if min(count, len(kinds) - count) < LEAST:
        what = "instances" if instances.groups is None else "groups"
        needed = int(np.ceil(LEAST / min(part, 1 - part)))
        raise PriorError(
            f"The prior split has {len(kinds)} {what}, of which {count} would be held out.",
            f"At least {LEAST} are held out, and as many are trained on.",
            "What was trained looks better than it is on the instances that it was trained on; others decide which "
            "candidates are kept, and what they weigh.",
            f"Use pacopt.split(..., prior={needed}) or more; a few hundred are better. Or use pacopt.priors.Search.",
        )
    held = np.zeros(len(kinds), dtype=bool)
    held[np.random.default_rng([seed, 3]).permutation(len(kinds))[:count]] = True
    rows = held[member.reshape(-1)]
    return instances[~rows], instances[rows]
