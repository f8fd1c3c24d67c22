"""What a solver reports about a run, as far as it does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pacopt.errors import EngineError
from pacopt.support.numbers import is_real


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """How a run of a solver ended; leave out what you do not know.

    `loss` is the final loss (an objective, a residual, a validation error), `start_loss` that at the start, `success`
    the solver's own flag. `curve` holds the losses after 0, 1, 2, ... iterations. `solve` returns `x`, or `start`
    if the run ended above its start loss.
    """

    loss: float | None = None
    start_loss: float | None = None
    iterations: float | None = None
    seconds: float | None = None
    success: bool | None = None
    curve: Sequence[float] | None = None
    x: Any = None
    start: Any = None

    @property
    def solved(self) -> bool:
        """The solver's verdict; without one, whether its loss is a number."""
        if self.success is not None:
            return bool(self.success)
        return self.loss is None or bool(np.isfinite(self.loss))


KNOWN = tuple(field.name for field in fields(Result))


def result_of(value: Any, place: str) -> Result:
    """What a solve function returned, checked: a number is a loss, and a mapping has the names of a `Result`."""
    if isinstance(value, Result):
        pass
    elif isinstance(value, Mapping) and value and value.keys() <= set(KNOWN):
        value = Result(**value)
    elif _is_number(value):
        value = Result(loss=float(value))
    if not isinstance(value, Result):
        raise EngineError(
            f"{place} returned {_shown(value)}.",
            "A solve function returns a loss, a pacopt.Result, or a mapping with some of its names: "
            f"{', '.join(KNOWN)}.",
            "A value that is misunderstood would be certified as something else.",
            "Return float(loss), or pacopt.Result(loss=..., iterations=..., success=...).",
        )
    for name in ("loss", "start_loss", "iterations", "seconds"):
        number = getattr(value, name)
        if number is None:
            continue
        if not _is_number(number):
            raise _wrong(place, name, number, "It is a number.", f"Convert it with float({name}).")
        if number < 0:
            raise EngineError(
                f"{place} returned {name} = {number!r}.",
                "It is not negative.",
                "A score is a fraction of the largest possible number, so it starts at 0.",
                "Subtract a lower bound from the losses: the smallest value they can have.",
            )
    if value.success is not None and not isinstance(value.success, bool | np.bool_):
        raise _wrong(place, "success", value.success, "It is True or False.", 'Write success=status == "solved".')
    if value.curve is not None and not _is_curve(value.curve):
        needed = "It is a sequence of numbers, none of them negative: losses after 0, 1, 2, ... iterations."
        raise _wrong(place, "curve", value.curve, needed, "Use a list of floats.")
    return value


def _is_number(number: Any) -> bool:
    return is_real(number) or (isinstance(number, np.ndarray) and number.shape == () and number.dtype.kind in "fiu")


def _is_curve(curve: Any) -> bool:
    try:
        numbers = np.asarray(curve)
    except (TypeError, ValueError):
        return False
    return numbers.ndim == 1 and numbers.dtype.kind in "fiu" and not (numbers < 0).any()


def _wrong(place: str, name: str, found: Any, needed: str, remedy: str) -> EngineError:
    return EngineError(f"{place} returned {name} = {_shown(found)}.", needed, "", remedy)


def _shown(value: Any) -> str:
    text = repr(value)
    return f"{text[:80]} ..." if len(text) > 80 else text
