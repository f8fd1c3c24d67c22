"""What a gain is over: hyperparameters or algorithms that were fixed beforehand, run on every training instance."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pacopt.algorithms.base import AbstractAlgorithm
from pacopt.engines.base import AbstractEngine
from pacopt.engines.store import Checkpoint
from pacopt.errors import DesignError
from pacopt.instances import Instances
from pacopt.splits import Split
from pacopt.support.values import exact, named


@dataclass(frozen=True, slots=True)
class Baseline:
    """Hyperparameters to be compared with, of the algorithm that is learned or of another one.

    Without `hyper` they are what the textbook recommends for the curvature of the prior split. Another `algorithm` may
    have its own number of `steps`.

    >>> from pacopt import Nesterov
    >>> textbook, other = Baseline(), Baseline(algorithm=Nesterov(), steps=25)
    """

    hyper: Mapping[str, Any] | None = None
    algorithm: AbstractAlgorithm | None = None
    steps: int | None = None


class Opponent(NamedTuple):
    """A baseline that can be run: its name, the engine, and its hyperparameters."""

    name: str
    engine: AbstractEngine
    hyper: Mapping[str, Any]

    def __str__(self) -> str:
        kind = type(getattr(self.engine, "algorithm", self.engine)).__name__
        steps = "" if self.engine.steps is None else f", {self.engine.steps} steps"
        return f"{kind} with {named(self.hyper, exact)}{steps}"

    def described(self) -> dict[str, Any]:
        """A JSON value that says what it is."""
        return {"hyper": named(self.hyper, exact), "steps": self.engine.steps, "name": self.name}

    def losses(self, engine: AbstractEngine, train: Instances, store: Checkpoint | None) -> np.ndarray:
        """Its final losses on the training instances, as this engine runs it."""
        found = engine.table({name: np.asarray([value]) for name, value in self.hyper.items()}, train, None, store)
        losses: np.ndarray = found.losses[0]
        return losses


def opponents(
    given: Any, engine: AbstractEngine, parts: Split, curvature: tuple[float, float] | None
) -> tuple[Opponent, ...]:
    """The baselines that were asked for, by name, in their order."""
    if given is None:
        return ()
    several = isinstance(given, Mapping) and any(isinstance(each, Baseline | Mapping) for each in given.values())
    asked = dict(given) if several else {"": given}
    return tuple(_opponent(name, each, engine, parts, curvature) for name, each in asked.items())


def _opponent(
    name: str, given: Any, engine: AbstractEngine, parts: Split, curvature: tuple[float, float] | None
) -> Opponent:
    baseline = Baseline(given) if isinstance(given, Mapping) else given
    if not isinstance(baseline, Baseline):
        raise DesignError(
            f"baseline is {given!r}.",
            "It is hyperparameters, a Baseline, or several of these by name.",
            "",
            'Use pacopt.Baseline() for the textbook, or {"step_size": 0.1}.',
        )
    runs = _engine(baseline, engine)
    hyper, textbook = baseline.hyper, baseline.hyper is None
    if hyper is None:
        hyper = runs.standard(parts.prior, curvature).hyper
    if hyper is None:
        raise DesignError(
            f"The baseline {name!r} has no hyperparameters, and there is no textbook for it.",
            "A baseline is fixed before training instances are seen.",
            "",
            'Give them: pacopt.Baseline({"step_size": 0.1}).',
        )
    runs.check({key: np.asarray([value]) for key, value in hyper.items()}, parts.train)
    kind = "" if baseline.algorithm is None else f" of {type(baseline.algorithm).__name__}"
    return Opponent(name or (f"the textbook{kind}" if textbook else f"the baseline{kind}"), runs, hyper)


def _engine(baseline: Baseline, engine: AbstractEngine) -> AbstractEngine:
    """The engine of a baseline: that of the learned algorithm, or the same problem with another algorithm or length."""
    if baseline.algorithm is None and baseline.steps is None:
        return engine
    from pacopt.engines.traced.checks import checked_steps
    from pacopt.engines.traced.engine import Traced

    if not isinstance(engine, Traced):
        raise DesignError(
            f"The baseline has another algorithm or number of steps, and runs are made by {type(engine).__name__}.",
            "That is for algorithms in JAX.",
            "",
            "Give hyperparameters of the engine.",
        )
    steps = engine.length if baseline.steps is None else checked_steps(baseline.steps)
    return Traced(engine.problem, baseline.algorithm or engine.algorithm, steps, engine.dtype)
