"""A domain as a unit cube: candidates at points, points of hyperparameters, and which points are neighbours."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf, prod
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from pacopt.space import AbstractSpace, Array, Choice, Domain, Interval, Whole


@dataclass(frozen=True, slots=True, eq=False)
class Cube:
    """The coordinates of all hyperparameters side by side, each from 0 to 1."""

    domain: Domain

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return sum(space.dimension for space in self.domain.values())

    @property
    def size(self) -> float:
        """How many candidates there are; infinite unless all hyperparameters are whole numbers or choices."""
        return prod(count(space) for space in self.domain.values())

    def coordinates(self) -> Iterator[AbstractSpace]:
        """The space of each coordinate; that of an entry, for an array."""
        for space in self.domain.values():
            entry = Interval(space.low, space.high, space.log) if isinstance(space, Array) else space
            yield from [entry] * space.dimension

    def at(self, points: Float[np.ndarray, "hyper d"]) -> dict[str, np.ndarray]:
        """The candidates at these points, by name."""
        columns = np.split(points, np.cumsum([space.dimension for space in self.domain.values()])[:-1], axis=1)
        return {
            name: space.at(part if space.shape else part[:, 0])
            for (name, space), part in zip(self.domain.items(), columns, strict=True)
        }

    def position(self, hyper: Mapping[str, Any]) -> Float[np.ndarray, " d"]:
        """The point of these hyperparameters: between 0 and 1, or beyond if they lie outside the domain."""
        return np.concatenate([np.ravel(space.position(hyper[name])) for name, space in self.domain.items()])

    def everything(self) -> Float[np.ndarray, "hyper d"]:
        """The points of all candidates of a finite domain."""
        middles = [places(space) for space in self.coordinates()]
        return np.stack([axis.ravel() for axis in np.meshgrid(*middles, indexing="ij")], axis=1)

    def kinds(self, points: Float[np.ndarray, "hyper d"]) -> Int[np.ndarray, " hyper"]:
        """A number for each point, equal for points with the same choices: only those can be near each other."""
        chosen = [
            np.clip((points[:, k] * count(space)).astype(int), -1, count(space) - 1)
            for k, space in enumerate(self.coordinates())
            if isinstance(space, Choice)
        ]
        if not chosen:
            return np.zeros(len(points), dtype=int)
        return np.unique(np.stack(chosen, axis=1), axis=0, return_inverse=True)[1].reshape(-1)


def count(space: AbstractSpace) -> float:
    """How many values a space has."""
    if isinstance(space, Choice):
        return len(space.values)
    return space.high - space.low + 1 if isinstance(space, Whole) else inf


def places(space: AbstractSpace) -> Float[np.ndarray, " value"]:
    """The coordinates of all values of a finite space."""
    if isinstance(space, Whole):
        return np.array([space.position(value) for value in range(space.low, space.high + 1)])
    return np.array([space.position(value) for value in space.values] if isinstance(space, Choice) else [])


def distinct(candidates: Mapping[str, np.ndarray]) -> tuple[Int[np.ndarray, " row"], Int[np.ndarray, " row"]]:
    """The first row of each distinct candidate, in order, and how often it occurs."""
    rows = zip(*(np.reshape(values, (len(values), -1)).tolist() for values in candidates.values()), strict=True)
    first: dict[Any, int] = {}
    counts: Counter[Any] = Counter()
    for row, values in enumerate(rows):
        key = tuple(map(tuple, values))
        first.setdefault(key, row)
        counts[key] += 1
    return np.array(list(first.values()), dtype=int), np.array([counts[key] for key in first], dtype=int)


def reaching(space: AbstractSpace, value: Any) -> AbstractSpace:
    """The algorithm's own space, widened to contain the textbook value for these instances."""
    if isinstance(space, Choice):
        return space if value in space.values else Choice(*space.values, value)
    if not isinstance(space, Interval | Whole | Array):
        return space
    low, high = float(np.min(value)), float(np.max(value))
    if space.low <= low and high <= space.high:
        return space
    room = 10.0 if space.log else 1.0
    low, high = (low / room if low > 0 else low), (high * room if high > 0 else high)
    low, high, log = min(space.low, low), max(space.high, high), space.log and low > 0
    if isinstance(space, Whole):
        return Whole(int(np.floor(low)), int(np.ceil(high)), log)
    return Array(space.shape, low, high, log) if isinstance(space, Array) else Interval(low, high, log)
