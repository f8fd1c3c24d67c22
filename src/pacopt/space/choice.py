"""One of some values without an order."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.errors import AlgorithmError
from pacopt.space.base import AbstractSpace
from pacopt.support.numbers import is_real


@dataclass(frozen=True, slots=True, init=False)
class Choice(AbstractSpace):
    """One of several values without an order: strings, booleans or numbers.

    An algorithm sees the value itself while it is traced, and may branch with `if`.

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

    @property
    def example(self) -> str:
        """Two of its values."""
        return f"Choice({', '.join(map(repr, self.values[:2]))})"

    def to_json(self) -> dict[str, Any]:
        """Its values."""
        return {"kind": self.kind, "values": list(self.values)}


def _sort(value: Any) -> type:
    return bool if isinstance(value, bool) else str if isinstance(value, str) else float
