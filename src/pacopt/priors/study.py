"""Any sampler of Optuna as the search of `learn`."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from pacopt.errors import PriorError
from pacopt.measure import DiscreteMeasure
from pacopt.priors.cube import Cube
from pacopt.priors.parameters import candidates, distributions, flat, optuna_here, quiet
from pacopt.priors.product import checked_count
from pacopt.priors.trials import Trials
from pacopt.priors.tried import Tried, looked_in
from pacopt.space import AbstractSpace, Array, Choice, Domain, Interval, Whole
from pacopt.support.values import keys


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Study:
    """Good candidates found on the prior split by a sampler of Optuna, with the weights of a `Search`.

    `sampler` is a sampler, or a class that makes one from a seed: `optuna.samplers.CmaEsSampler`. The default is TPE.
    A sampler made here has the seed of `learn`; one that you pass has its own, and is copied, so that the same
    call finds the same candidates. It is asked for `batch` points at a time, which run side by side, and told their
    scores; with `batch=1` each point knows all earlier ones. `domain` is as in `Search`. The textbook
    settings are the first point. It ends after this many `trials`, or if there is nothing left to try.

    >>> import optuna
    >>> Study(optuna.samplers.QMCSampler, trials=64)
    Study(QMCSampler, trials=64, candidates=64, batch=16)
    """

    sampler: Any = None
    domain: Domain = field(default_factory=dict)
    trials: int = 256
    candidates: int = 64
    batch: int = 16

    def __repr__(self) -> str:
        kind = self.sampler if hasattr(self.sampler, "__name__") else type(self.sampler)
        named = "TPESampler" if self.sampler is None else kind.__name__
        given = f", domain={dict(self.domain)!r}" if self.domain else ""
        return f"Study({named}{given}, trials={self.trials}, candidates={self.candidates}, batch={self.batch})"

    def searched(self, trials: Trials) -> Domain:
        """Where it searches: the given domain, else that of the algorithm, extended to the textbook settings."""
        return looked_in(self.domain, trials)

    def most(self, trials: Trials) -> tuple[int, int]:
        """How many points it tries on the prior split, and how many candidates it returns, at most."""
        cube, (count, most, _) = Cube(self.searched(trials)), self._plan()
        tried = min(cube.size, count) if cube.domain else 0
        return int(tried), max(1, int(min(tried, most)))

    def _plan(self) -> tuple[int, int, int]:
        count, most = checked_count(self.trials, "trials"), checked_count(self.candidates)
        return count, most, checked_count(self.batch, "points at a time")

    def __call__(self, trials: Trials) -> DiscreteMeasure:
        """Ask, run, tell; then select and weigh."""
        trials.need_instances()
        cube, (count, most, batch) = Cube(self.searched(trials)), self._plan()
        if not cube.domain:
            return DiscreteMeasure({}, np.zeros(1))
        with quiet() as optuna:
            study = optuna.create_study(sampler=self._sampler(trials.seed))
            asking = distributions(cube.domain)
            tried, ended, known = Tried(cube, trials), list[bool](), set[Any]()
            study.stop = lambda: ended.append(True)  # meant for Optuna's own loop; grid samplers call it
            if trials.standard is not None:
                tried = with_textbook(tried, trials.standard, study)
            first = sum(len(points) for points, _, _ in tried.batches)
            for begin in range(first, count, batch):
                asked = [study.ask(asking) for _ in range(min(batch, count - begin))]
                found = candidates(cube.domain, [trial.params for trial in asked])
                if cube.size < inf:
                    run_new(trials, found, known)
                tried = tried.more(np.stack([cube.position(row) for row in rows(found)]), found)
                for trial, score in zip(asked, tried.last.tolist(), strict=True):
                    study.tell(trial, score)
                if ended or len(known) >= cube.size:
                    break
        return tried.selected(most)

    def _sampler(self, seed: int) -> Any:
        """A sampler that nothing else uses."""
        optuna = optuna_here()
        kind = optuna.samplers.BaseSampler
        if isinstance(self.sampler, kind):
            return deepcopy(self.sampler)
        makes = optuna.samplers.TPESampler if self.sampler is None else self.sampler
        try:
            made = makes(seed=seed) if callable(makes) else None
        except TypeError:  # a grid sampler has to be given its grid, for example
            made = None
        if not isinstance(made, kind):
            raise PriorError(
                f"sampler is {self.sampler!r}.",
                "It is a sampler of Optuna, or what makes one from a seed.",
                "",
                "Use optuna.samplers.TPESampler, or optuna.samplers.CmaEsSampler(seed=1), for example.",
            )
        return made


def rows(found: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """The candidates one by one."""
    count = len(next(iter(found.values())))
    return [{name: values[row] for name, values in found.items()} for row in range(count)]


def run_new(trials: Trials, found: Mapping[str, np.ndarray], known: set[Any]) -> None:
    """Run the candidates not run before, each once: samplers return to good points, and runs are remembered."""
    new = {key: row for row, key in enumerate(keys(found, sorted(found))) if key not in known}
    if new:
        trials.table({name: values[list(new.values())] for name, values in found.items()})
        known.update(new)


def with_textbook(tried: Tried, standard: Mapping[str, Any], study: Any) -> Tried:
    """With the textbook settings as the first point: queued first, or run here if they lie outside."""
    cube = tried.cube
    tried = Tried(cube, tried.trials, textbook=(0,))
    if all(inside(space, standard[name]) for name, space in cube.domain.items()):
        study.enqueue_trial(flat(cube.domain, standard))
        return tried
    return tried.more(cube.position(standard)[None], {name: np.asarray([standard[name]]) for name in cube.domain})


def inside(space: AbstractSpace, value: Any) -> bool:
    """Whether a value lies in its space."""
    if isinstance(space, Choice):
        return value in space.values
    if isinstance(space, Interval | Whole | Array):
        return bool(np.all((space.low <= np.asarray(value)) & (np.asarray(value) <= space.high)))
    place = np.ravel(space.position(value))
    return bool(np.all((place >= 0) & (place <= 1)))
