"""The best trials of an Optuna study as candidates."""

from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np

from pacopt.bounds.informed import informed_weights
from pacopt.errors import CandidatesError, PriorError
from pacopt.measure import DiscreteMeasure
from pacopt.priors.cube import Cube
from pacopt.priors.parameters import candidates, domain_of, optuna_here, parameters
from pacopt.priors.product import checked_count
from pacopt.priors.trials import Trials
from pacopt.priors.tried import Tried
from pacopt.priors.witness import GROUPS, INSTANCES, marks_in
from pacopt.space import AbstractSpace, Domain
from pacopt.support.arrays import digest
from pacopt.support.rounding import counted
from pacopt.support.values import keys

#: The name Optuna gives an unnamed study; it is different each time.
NAMELESS = "no-name-"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BestTrials:
    """The `top` best distinct trials of an Optuna study, which must have been made without any training instance.

    Trials that did not complete, break a constraint or have an infinite value are left out, and of trials with
    the same parameters the best one is kept. If the prior split has instances, the candidates run on them once more and
    get the weights of a `Search`: the values of a study may be of any kind, so they only decide which trials
    are the best. With an empty prior split, ranks decide: half of the weight goes to the best trial, and most of the
    rest to the k-th in proportion to 1/k.

    The study is read once, at construction. `learn` rejects it if one of its trials recorded training or
    test instances (`seen_by`).

    >>> import optuna
    >>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    >>> study.optimize(lambda trial: trial.suggest_float("damping", 0, 1) ** 2, n_trials=5)
    >>> BestTrials(study, top=2).best[0].params == study.best_params
    True
    """

    study: Any
    top: int = 50
    #: All trials of the study, and the best of them, best first.
    trials: tuple[Any, ...] = field(init=False)
    best: tuple[Any, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Read the study, and refuse one without an order or common parameters."""
        optuna = optuna_here()
        if not isinstance(self.study, optuna.Study):
            raise PriorError(
                f"A {type(self.study).__name__} was given.",
                "A study of Optuna is needed.",
                "",
                'Load it: optuna.load_study(study_name="...", storage="sqlite:///...").',
            )
        top = checked_count(self.top, "of the best trials")
        if len(self.study.directions) > 1:
            raise PriorError(
                f"The study has {len(self.study.directions)} objectives.",
                "The best trials of a study with one objective become candidates.",
                "With several objectives there is no best trial.",
                "Copy the trials into a study with one objective: study.add_trial(optuna.trial.create_trial("
                "params=trial.params, distributions=trial.distributions, value=trial.values[0])).",
            )
        trials = tuple(self.study.get_trials(deepcopy=False))
        object.__setattr__(self, "trials", trials)
        object.__setattr__(self, "best", _best(trials, str(self.study.direction.name), top))

    @property
    def domain(self) -> dict[str, AbstractSpace]:
        """The space of the study: one for each parameter of its best trials."""
        return domain_of(self.best)

    def __repr__(self) -> str:
        return f"BestTrials({self._name or 'a study'!r}, top={self.top})"

    @property
    def _name(self) -> str | None:
        name = str(self.study.study_name)
        return None if name.startswith(NAMELESS) else name

    def searched(self, trials: Trials) -> Domain:
        """The space of the study; arrays, whose entries are its parameters, keep the algorithm's space."""
        found = self.domain
        return {name: found.get(name, space) for name, space in trials.domain.items()}

    def most(self, trials: Trials) -> tuple[int, int]:
        """How many points it tries on the prior split, and how many candidates it returns."""
        return len(self.best) if len(trials.instances) else 0, len(self.best)

    def __call__(self, trials: Trials) -> DiscreteMeasure:
        """The best trials, weighted on the prior split, or by rank if it is empty."""
        self._check_names(trials.domain)
        found = candidates(trials.domain, [trial.params for trial in self.best])
        if not len(trials.instances):
            ranks = 1 / np.arange(1.0, len(self.best) + 1)
            return informed_weights(0, DiscreteMeasure.of(found, ranks / ranks.sum()))
        trials.need_instances()
        cube = Cube(self.searched(trials))
        rows = [{name: values[row] for name, values in found.items()} for row in range(len(self.best))]
        points = np.stack([cube.position(row) for row in rows])
        return Tried(cube, trials).more(points, found).selected(len(self.best))

    def seen(self, instances: set[str], groups: set[str]) -> dict[str, str]:
        """Which trials recorded some of these instances, or others of these groups, and how many instances."""
        found = {}
        for who, told in [("The study", self.study), *((f"Trial {trial.number}", trial) for trial in self.trials)]:
            attributes = told.user_attrs
            rows, others = marks_in(attributes, INSTANCES) & instances, marks_in(attributes, GROUPS) & groups
            if rows or others:
                found[who] = counted(len(rows), "instance") if rows else f"instances of {counted(len(others), 'group')}"
        return found

    def described(self, trials: Trials, measure: DiscreteMeasure) -> dict[str, Any]:
        """A JSON value: the study, and the number of the trial that each candidate was."""
        names = sorted(measure.support)
        known = keys(candidates(trials.domain, [trial.params for trial in self.best]), names)
        numbers = dict(zip(known, [trial.number for trial in self.best], strict=True))
        told = [[trial.number, trial.state.name, trial.values, trial.params] for trial in self.trials]
        shared = bool(marks_in(self.study.user_attrs, INSTANCES))
        return {
            "completed": sum(trial.state.name == "COMPLETE" for trial in self.trials),
            "hash": digest(told),
            "name": self._name,
            "numbers": [numbers[key] for key in keys(measure.support, names)],
            "recorded": sum(shared or bool(marks_in(trial.user_attrs, INSTANCES)) for trial in self.trials),
            "trials": len(self.trials),
        }

    def _check_names(self, domain: Domain) -> None:
        """Refuse parameters that are not hyperparameters, and hyperparameters that are not parameters."""
        ours = {each for name, space in domain.items() for each in parameters(name, space)}
        theirs = set(self.best[0].params)
        if ours != theirs:
            raise CandidatesError(
                f"The trials of the study have the parameters {', '.join(sorted(theirs))}.",
                f"The hyperparameters are {', '.join(sorted(ours))}.",
                "A value that is never read would be certified as if it mattered; without one nothing can be run.",
                "Make the study with the names of the hyperparameters.",
            )


def _best(trials: tuple[Any, ...], direction: str, top: int) -> tuple[Any, ...]:
    """The best distinct trials, best first; ties in the order in which they were made."""
    known = [trial for trial in trials if trial.state.name == "COMPLETE" and isfinite(trial.value)]
    able = [trial for trial in known if all(value <= 0 for value in trial.constraints.values())]
    if not able:
        broken = f", of which {len(known)} break a constraint" if known else ""
        raise PriorError(
            f"Of the {len(trials)} trials of the study, {len(known)} completed with a finite value{broken}.",
            "At least one such trial is needed.",
            "The best trials become the candidates.",
            "Run more trials: study.optimize(objective, n_trials=100).",
        )
    sign = -1 if direction == "MAXIMIZE" else 1
    found: dict[Any, Any] = {}
    for trial in sorted(able, key=lambda trial: (sign * trial.value, trial.number)):
        found.setdefault(tuple(sorted(trial.params.items())), trial)
    best = tuple(found.values())[:top]
    odd = next((trial for trial in best if trial.params.keys() != best[0].params.keys()), None)
    if odd is not None:
        one, other = sorted(best[0].params), sorted(odd.params)
        raise CandidatesError(
            f"Trial {best[0].number} has the parameters {', '.join(one)}, and trial {odd.number}, which is among the "
            f"{len(best)} best too, has {', '.join(other) or 'none'}.",
            "All candidates have the same hyperparameters.",
            "They are rows of one table, which a search space with conditions does not have.",
            "Copy the trials of one branch into a study of their own, study.add_trials([...]), and certify that one; "
            "or use a smaller `top`.",
        )
    if not best[0].params:
        raise CandidatesError(
            "The trials of the study have no parameters.",
            "Parameters become hyperparameters.",
            "",
            'Suggest them in the objective: trial.suggest_float("damping", 0, 1).',
        )
    return best
