"""An engine: where a candidate runs on an instance. `learn` and everything after it work with any engine."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from pacopt.engines.solution import Solution
from pacopt.engines.training import AbstractTraining, Descent
from pacopt.engines.work import Progress, Tiles
from pacopt.errors import EngineError
from pacopt.instances import Instances
from pacopt.loss_table import LossTable
from pacopt.space import Domain

#: Candidates by name: an array for each hyperparameter, with a leading axis.
Candidates = Mapping[str, Any]
#: A user's verdict on the final point of a run: (point, instance) -> whether it succeeded.
Predicate = Callable[[Any, Any], Any]


class Metric(NamedTuple):
    """The name and unit of an engine's losses, if they have any; with a `largest` value they have no start."""

    name: str
    unit: str = ""
    largest: float | None = None


class Standard(NamedTuple):
    """The textbook settings, if any, and the curvatures (mu, L) that were given or estimated, if any."""

    hyper: dict[str, Any] | None = None
    curvature: tuple[float, float] | None = None


class Decided(NamedTuple):
    """What an algorithm decided at some steps of each run, by name, and what the textbook would have used there."""

    values: Mapping[str, Float[np.ndarray, "run step"]]
    textbook: Mapping[str, Float[np.ndarray, "run step"]]


class AbstractEngine(ABC):
    """Runs candidates on instances.

    To write one, derive from `AbstractCellEngine` and say how one candidate runs on one instance; this class is for
    engines that make whole tables at a time. An engine is a frozen dataclass of plain values and arrays, or has no
    fields at all, so that a stored run can find it again.
    """

    @property
    @abstractmethod
    def space(self) -> Domain:
        """What is learned: one space for each hyperparameter."""

    @property
    def random(self) -> bool:
        """Whether runs draw random numbers; if so, they get their seeds from `instances.draws`."""
        return False

    @property
    def repeatable(self) -> bool:
        """Whether a repeated run gives the same result; measured seconds do not."""
        return True

    @property
    def metric(self) -> Metric | None:
        """The name of its losses, if they are not the loss being minimised."""
        return None

    @property
    def steps(self) -> int | None:
        """The number of steps of a run, if steps are counted."""
        return None

    @abstractmethod
    def check(self, candidates: Candidates, instances: Instances) -> None:
        """Raise every error that can be detected before anything runs."""

    @abstractmethod
    def provenance(self, candidates: Candidates, instances: Instances) -> dict[str, Any]:
        """A JSON value that says what determines a table: code, candidates, instances, versions."""

    @abstractmethod
    def table(
        self,
        candidates: Candidates,
        instances: Instances,
        progress: Progress | None = None,
        store: Tiles | None = None,
    ) -> LossTable:
        """Every candidate on every instance; tiles come from the store, if there is one."""

    @abstractmethod
    def solve(self, hyper: Mapping[str, Any], instance: Mapping[str, Any], seed: int) -> Solution:
        """One instance, with the safeguard that falls back to the start if the loss did not decrease."""

    def recording(self, targets: tuple[float, ...]) -> "AbstractEngine":
        """This engine, recording when runs first reach these fractions of their start."""
        raise EngineError(
            f"{type(self).__name__} does not record when runs reach {', '.join(map(repr, targets))} times their start.",
            "A budget needs the first step at which each run met its target.",
            "",
            "Leave the budget out; or let the losses count steps, without a start.",
        )

    def counting(self, unit: str, cap: float | None) -> "AbstractEngine":
        """This engine with losses that count iterations or seconds until a run is solved; by default, itself."""
        return self

    @property
    def usual(self) -> str:
        """The name of the hyperparameters you would use otherwise."""
        return "the textbook"

    def until(self, target: float, steps: int | None) -> "AbstractEngine":
        """This engine, with runs that stop at this fraction of their start or after `steps` steps; losses are times."""
        raise EngineError(
            f"{type(self).__name__} does not stop runs at {target!r} times their start.",
            "The effort of a run is the number of steps to its target.",
            "",
            'Let losses count steps, infinite for never, without a start: then use Effort("solved").',
        )

    @property
    def trainable(self) -> bool:
        """Whether the hyperparameters are arrays made to be trained by gradients."""
        return False

    def training(self, fit: Instances, held_out: Instances, descent: Descent) -> AbstractTraining:
        """Gradient training of the hyperparameters on some instances, with others held out."""
        raise EngineError(
            f"Runs of {type(self).__name__} cannot be differentiated.",
            "Training follows the gradient of the final loss with respect to the hyperparameters.",
            "",
            "Use pacopt.priors.Search or pacopt.priors.Study, which only run candidates; or write problem and "
            "algorithm in JAX.",
        )

    def rehearse(self, candidates: Candidates, instances: Instances) -> bool:
        """Whether losses have a start; runs that depend on their order are rejected.

        Functions traced by JAX do not depend on the order, and their losses have a start.
        """
        return True

    def curves(
        self, candidates: Candidates, instances: Instances, at: Iterable[int], store: Tiles | None = None
    ) -> tuple[LossTable, Float[np.ndarray, "hyper run step"]] | None:
        """The table, and the losses at some steps along the way; None for an engine that sees only final losses."""
        return None

    def decisions(
        self, hyper: Mapping[str, Any], instances: Instances, at: Iterable[int], curvature: tuple[float, float] | None
    ) -> Decided | None:
        """What the algorithm decides at some steps of its runs, counted from 1; None if unknown."""
        return None

    def seen(self, instances: Instances) -> Instances:
        """The instances as runs see them, without anything that runs ignore; unchanged if that is unknown."""
        return instances

    def standard(self, prior: Instances, curvature: tuple[float, float] | None) -> Standard:
        """The textbook settings for instances like those of the prior split."""
        return Standard()

    @property
    def rivals(self) -> tuple[Any, ...]:
        """Algorithms whose textbook settings also serve as baselines."""
        return ()

    @abstractmethod
    def stored(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What a saved run stores of the engine so that it can be rebuilt: plain values and arrays."""
