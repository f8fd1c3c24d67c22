"""What an engine with differentiable runs offers: hyperparameters that follow a gradient."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

#: Everything needed to resume a training, as arrays by name.
State = Mapping[str, np.ndarray]
#: The hyperparameters of one candidate, by name.
Values = Mapping[str, np.ndarray]


class Descent(NamedTuple):
    """How training descends: instances per batch, updates per leg, the norm at which each run's gradient is clipped.

    What is minimised is the mean of the ratio of final to initial loss plus `logs` times the mean of its logarithm.
    Above 1 the ratio counts as 1 + its logarithm, so that one diverging run does not drown out all others. The runs of
    updates have the number type `dtype`, if it is not that of the engine.
    """

    batch: int
    updates: int
    clip: float
    logs: float
    dtype: Any = None


class Leg(NamedTuple):
    """Some updates, or none: where they led, and the mean of what is minimised, during them and on held-out instances.

    `norms` are the medians over each batch of the norms of its gradients, before they were clipped. `left_out` is how
    many runs had no finite gradient; an update without any is left out.
    """

    state: State
    loss: float
    held_out: float
    norms: Float[np.ndarray, " update"]
    left_out: int = 0


class AbstractTraining(ABC):
    """A training under way on some instances, with others held out."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """A hash of everything that determines it except seeds: code, instances, settings, versions."""

    @abstractmethod
    def begun(self, seed: int) -> State:
        """The state before the first update; a different seed gives a different start."""

    @abstractmethod
    def judged(self, state: State) -> float:
        """What is minimised, on held-out instances, by whole runs with the mean over the last updates."""

    @abstractmethod
    def leg(self, state: State, rates: Float[np.ndarray, " update"], steps: int, seed: int) -> Leg:
        """The updates of one leg with these learning rates, by runs of `steps` steps; the seed draws the batches."""

    @abstractmethod
    def values(self, state: State) -> Values:
        """The hyperparameters."""

    @abstractmethod
    def averaged(self, state: State) -> Values:
        """Their mean over the last updates."""

    @abstractmethod
    def mean(self, several: list[Values]) -> Values:
        """The mean of several candidates, on the scales on which they are trained."""

    @abstractmethod
    def shaken(self, state: State, amount: float, seed: int) -> Values:
        """The mean over the last updates plus noise: this much where the loss does not change, less where it does."""
