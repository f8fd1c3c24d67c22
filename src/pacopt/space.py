"""What a hyperparameter may be, and where good values of it are looked for."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.errors import AlgorithmError
from pacopt.support.numbers import is_real, is_whole


class AbstractSpace(ABC):
    """The values of one hyperparameter, as places in the unit cube of `dimension` coordinates, where a search moves.

    `shape` is that of one value: () for a number, a text or a boolean. A value of a `static` space is known while an
    algorithm is traced, so it may decide with `if`; a table is compiled once for each of them.
    """

    #: Under which it is stored.
    kind: ClassVar[str]
    static: ClassVar[bool] = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one value."""
        return ()

    @property
    def dimension(self) -> int:
        """How many coordinates a value has."""
        return prod(self.shape)

    @abstractmethod
    def at(self, position: np.ndarray) -> np.ndarray:
        """The values at these positions: one for each leading index, from 0 to 1 along each coordinate."""

    @abstractmethod
    def position(self, value: Any) -> Any:
        """Where a value stands: 0 at the low end, 1 at the high end, beyond if it lies outside."""

    @abstractmethod
    def holds(self, values: np.ndarray) -> bool:
        """Whether these are values of its type, one for each candidate."""

    @property
    @abstractmethod
    def words(self) -> str:
        """Where its values are, as it stands behind a name."""

    @abstractmethod
    def to_json(self) -> Any:
        """A JSON value from which `space_from_json` makes it again."""


@dataclass(frozen=True, slots=True)
class Interval(AbstractSpace):
    """Real numbers; it says where good ones are looked for, and values outside are allowed.

    `log` says that decades count alike, as for step sizes.
    """

    low: float
    high: float
    log: bool = False

    kind: ClassVar = "interval"

    def __post_init__(self) -> None:
        """Refuse an empty interval, and a logarithmic one that reaches zero."""
        _check_ends(self.low, self.high, self.log)

    def at(self, position: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """The values at these positions, from 0 (low) to 1 (high) in the scale of the interval.

        >>> Interval(1e-4, 1.0, log=True).at(np.array([0.0, 0.5, 1.0]))
        array([1.e-04, 1.e-02, 1.e+00])
        """
        if self.log:
            ends = np.log10([self.low, self.high])
            values: np.ndarray = 10 ** (ends[0] + position * (ends[1] - ends[0]))
        else:
            values = self.low + position * (self.high - self.low)
        # The ends are hit exactly, whatever the logarithm rounds to.
        clipped: np.ndarray = np.clip(values, self.low, self.high)
        return clipped

    def position(self, value: float) -> float:
        """Where a value stands: 0 at low, 1 at high, in the scale of the interval; beyond if it lies outside.

        >>> Interval(1e-4, 1.0, log=True).position(1e-2)
        0.5
        """
        # A logarithmic scale has no place for zero and below: they stand as far below as the interval is wide.
        if self.log:
            low, high = np.log10([self.low, self.high])
            return float((np.log10(value) - low) / (high - low)) if value > 0 else -1.0
        return float((value - self.low) / (self.high - self.low))

    def holds(self, values: np.ndarray) -> bool:
        """Whether these are real numbers."""
        return values.dtype.kind in "fiu" and values.ndim == 1

    @property
    def words(self) -> str:
        """Its ends."""
        return f"in [{self.low:g}, {self.high:g}]{', in decades' if self.log else ''}"

    def to_json(self) -> list[Any]:
        """Its ends, and whether decades count."""
        return [self.low, self.high, self.log]


@dataclass(frozen=True, slots=True)
class Whole(AbstractSpace):
    """Whole numbers from low to high, both included: a restart period, a memory, a number of inner steps.

    >>> Whole(1, 4).at(np.array([0.0, 0.3, 1.0]))
    array([1, 2, 4])
    """

    low: int
    high: int
    log: bool = False

    kind: ClassVar = "whole"

    def __post_init__(self) -> None:
        """Refuse ends that are not whole, an empty range, and a logarithmic one that reaches zero."""
        whole = all(isinstance(end, int | np.integer) and not isinstance(end, bool) for end in (self.low, self.high))
        _check_ends(self.low, self.high, self.log, "whole numbers, " if not whole else "")
        if not whole or max(abs(self.low), abs(self.high)) >= 2**53:
            raise AlgorithmError(
                f"The domain is the whole numbers from {self.low!r} to {self.high!r}.",
                "Both ends are whole numbers, below 2^53.",
                "",
                "Use pacopt.Interval for real numbers.",
            )
        for name in ("low", "high"):
            object.__setattr__(self, name, int(getattr(self, name)))

    def at(self, position: Float[np.ndarray, " hyper"]) -> np.ndarray:
        """Each number has an equal part of the scale around it."""
        inner = self._widened().at(np.asarray(position, dtype=np.float64))
        values: np.ndarray = np.clip(np.rint(inner), self.low, self.high).astype(np.int64)
        return values

    def position(self, value: float) -> float:
        """The middle of the part that belongs to this number."""
        return self._widened().position(value)

    def _widened(self) -> Interval:
        return Interval(self.low - 0.5, self.high + 0.5, self.log)

    def holds(self, values: np.ndarray) -> bool:
        """Whether these are whole numbers."""
        return values.dtype.kind in "iu" and values.ndim == 1

    @property
    def words(self) -> str:
        """Its ends."""
        return f"whole, from {self.low} to {self.high}{', in decades' if self.log else ''}"

    def to_json(self) -> dict[str, Any]:
        """Its ends, and whether decades count."""
        return {"kind": self.kind, "low": self.low, "high": self.high, "log": self.log}


@dataclass(frozen=True, slots=True, init=False)
class Choice(AbstractSpace):
    """One of some values without an order: texts, booleans or numbers.

    An algorithm sees the value itself while it is traced, and may decide with `if`.

    >>> Choice("polyak", "nesterov").at(np.array([0.2, 0.7]))
    array(['polyak', 'nesterov'], dtype='<U8')
    """

    values: tuple[str | bool | int | float, ...]

    kind: ClassVar = "choice"
    static: ClassVar = True

    def __init__(self, *values: str | bool | int | float) -> None:
        for value in values:
            real = is_real(value) and np.isfinite(value)
            if not isinstance(value, str | bool) and not real:
                raise AlgorithmError(
                    f"{value!r} was given as one of the values of a choice.",
                    "A choice is between texts, booleans or finite numbers.",
                    "Its values stand in statements and files, and runs are compiled once for each of them, so they "
                    "are hashable and can be printed.",
                    "Name what you choose between, and look it up in the algorithm: RULES[hyper['rule']].",
                )
        kinds = {_sort(value) for value in values}
        if not values or len(kinds) > 1 or len(set(values)) < len(values):
            raise AlgorithmError(
                f"The values of a choice are {values!r}.",
                "It has at least one value, all of one type, and none of them twice.",
                "",
                'Use pacopt.Choice("a", "b"), for example.',
            )
        object.__setattr__(self, "values", values)

    def at(self, position: Float[np.ndarray, " hyper"]) -> np.ndarray:
        """Each value has an equal part of [0, 1]."""
        index = np.clip((np.asarray(position) * len(self.values)).astype(int), 0, len(self.values) - 1)
        values: np.ndarray = np.array(self.values)[index]
        return values

    def position(self, value: Any) -> float:
        """The middle of the part that belongs to this value."""
        return (self.values.index(value) + 0.5) / len(self.values) if value in self.values else -1.0

    def holds(self, values: np.ndarray) -> bool:
        """Whether these are some of its values."""
        return values.ndim == 1 and all(value in self.values for value in values.tolist())

    @property
    def words(self) -> str:
        """Its values."""
        return f"one of {', '.join(map(str, self.values))}"

    def to_json(self) -> dict[str, Any]:
        """Its values."""
        return {"kind": self.kind, "values": list(self.values)}


@dataclass(frozen=True, slots=True)
class Array(AbstractSpace):
    """An array of real numbers whose shape is fixed at construction: a schedule, a matrix, a preconditioner.

    Good entries are looked for between low and high; values outside are allowed.

    >>> Array((50,), 1e-4, 1.0, log=True).dimension
    50
    """

    size: int | tuple[int, ...]
    low: float = -1.0
    high: float = 1.0
    log: bool = False

    kind: ClassVar = "array"

    def __post_init__(self) -> None:
        """Refuse a shape that is none."""
        _check_ends(self.low, self.high, self.log)
        shape = self.size if isinstance(self.size, tuple | list) else (self.size,)
        if not shape or not all(is_whole(length, 1) for length in shape):
            raise AlgorithmError(
                f"An array of the shape {self.size!r} is asked for.",
                "A shape is made of whole numbers, at least 1, that are known when the algorithm is made.",
                "Candidates are stored side by side, so the shape cannot depend on the instance.",
                "Use pacopt.Array((50,)), for example; for one number use pacopt.Interval.",
            )
        object.__setattr__(self, "size", tuple(int(length) for length in shape))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one value."""
        return tuple(self.size) if isinstance(self.size, tuple) else (self.size,)

    @property
    def dimension(self) -> int:
        """The number of entries."""
        return prod(self.shape)

    def at(self, position: Float[np.ndarray, "hyper d"]) -> np.ndarray:
        """One array for each row of coordinates."""
        return Interval(self.low, self.high, self.log).at(position).reshape(len(position), *self.shape)

    def position(self, value: Any) -> np.ndarray:
        """Where each entry stands."""
        inner = Interval(self.low, self.high, self.log)
        return np.array([inner.position(entry) for entry in np.ravel(value)])

    def holds(self, values: np.ndarray) -> bool:
        """Whether these are arrays of that shape."""
        return values.dtype.kind in "fiu" and values.shape[1:] == self.shape

    @property
    def words(self) -> str:
        """Shape and ends."""
        return f"of shape {list(self.shape)}, {Interval(self.low, self.high, self.log).words}"

    def to_json(self) -> dict[str, Any]:
        """Shape and ends."""
        return {"kind": self.kind, "size": list(self.shape), "low": self.low, "high": self.high, "log": self.log}


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A pytree of arrays with the structure and the shapes of `like`: the weights of a network, say.

    The algorithm sees the pytree. A table of candidates holds each of its arrays by a name of its own
    (`weights.hidden.0`), with a leading axis. Entries are looked for between low and high.
    """

    like: Any
    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        """Refuse an empty range."""
        _check_ends(self.low, self.high, False)


#: What is known of each hyperparameter, by its name.
Domain = Mapping[str, AbstractSpace]

_KINDS: dict[str, Any] = {
    Whole.kind: lambda low, high, log: Whole(low, high, log),
    Choice.kind: lambda values: Choice(*values),
    Array.kind: lambda size, low, high, log: Array(tuple(size), low, high, log),
}


def space_from_json(stored: Any) -> AbstractSpace:
    """The space that `to_json` described."""
    if isinstance(stored, Mapping):
        settings = dict(stored)
        made: AbstractSpace = _KINDS[settings.pop("kind")](**settings)
        return made
    return Interval(*stored)


def _sort(value: Any) -> type:
    return bool if isinstance(value, bool) else str if isinstance(value, str) else float


def _check_ends(low: Any, high: Any, log: Any, also: str = "") -> None:
    if not (is_real(low) and is_real(high)) or not -np.inf < low < high < np.inf or (log and low <= 0):
        raise AlgorithmError(
            f"The domain is [{low}, {high}]{' in logarithmic scale' if log else ''}.",
            f"low < high is needed, both {also}finite, and low > 0 in logarithmic scale.",
            "A search needs room.",
            "Correct the bounds.",
        )
