"""What was learned as a method of `scipy.optimize.minimize`."""

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from scipy.optimize import Bounds, OptimizeResult, OptimizeWarning

from pacopt.engines.solution import acceptable
from pacopt.engines.traced.precision import precision
from pacopt.errors import ExportError
from pacopt.exporting.leaves import joined, listed, misfit, parted
from pacopt.exporting.machine import machine_for
from pacopt.exporting.program import Program
from pacopt.exporting.rule import Rule

#: How a point with several arrays becomes one vector.
ORDER = "x0 has the numbers of each array after those of the array before it, row by row."
#: Accepts any fields of a result, by name.
RESULT: Any = OptimizeResult


@dataclass(eq=False)
class Counted:
    """The host's loss and gradient functions, with counts and the last values."""

    fun: Callable[..., Any]
    jac: Callable[..., Any]
    args: tuple[Any, ...]
    dtype: np.dtype[Any]
    losses: int = 0
    gradients: int = 0
    last: tuple[np.ndarray, float] | None = None
    #: Whether something was computed with fewer digits than in the certified runs.
    narrow: bool = False

    def loss(self, x: np.ndarray) -> float:
        """The loss at x; not evaluated twice in a row."""
        if self.last is None or not np.array_equal(self.last[0], x):
            self.losses += 1
            value = self._measured("fun", self.fun(x.copy(), *self.args))
            if value.size != 1:
                raise _shape("fun", value.shape, "one number")
            self.last = x, float(value.reshape(()))
        return self.last[1]

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """The gradient at x."""
        self.gradients += 1
        value = self._measured("jac", self.jac(x.copy(), *self.args)).astype(self.dtype)
        if value.shape != x.shape:
            raise _shape("jac", value.shape, f"an array of the shape {list(x.shape)}")
        return value

    def _measured(self, name: str, value: Any) -> np.ndarray:
        array = np.asarray(value)
        if array.dtype.kind not in "biufV":  # bfloat16 has kind V
            what = type(value).__name__ if array.dtype == object else array.dtype
            raise ExportError(f"{name} returns {what}.", "Losses and gradients are real numbers.", "", "Return these.")
        self.narrow |= array.dtype.kind in "fV" and array.dtype.itemsize < self.dtype.itemsize
        return array


def _shape(name: str, shape: tuple[int, ...], needed: str) -> ExportError:
    return ExportError(f"{name} returns an array of the shape {list(shape)}.", f"It returns {needed}.", "", "")


@dataclass(frozen=True, eq=False)
class Method:
    """A method for `scipy.optimize.minimize(fun, x0, jac=..., method=...)` that carries its certificate.

    `claims` are the sentences that hold here, `certificate` is the hash of the certificate, and `steps` the number of
    steps of a certified run. A result has the hash as `certificate`, or None if that run is not covered.
    """

    rule: Rule
    #: For a start, a step and the point read: what leads to each point asked for, and then to the end.
    programs: list[list[Any]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Trace it once, so that what cannot be exported is refused now; and write its docstring."""
        with precision(self.rule.dtype):
            machine = machine_for(self.rule, self.rule.point)
        stages = [_stages(each) for each in (machine.begin, machine.step, machine.read)]
        object.__setattr__(self, "programs", stages)
        more = f"options={{'maxiter': m}} makes m steps instead of {self.steps}, which is not covered" + (
            "; it has no numbers for more." if self.rule.horizon is not None else ", and says so."
        )
        words = self.rule.words("for scipy.optimize.minimize", safeguard=self.rule.judged_by_loss)
        object.__setattr__(self, "__doc__", f"{words}\n\n{ORDER} The loss and jac= are needed. {more}")

    @property
    def certificate(self) -> str:
        """The hash of the certificate."""
        return self.rule.identity

    @property
    def steps(self) -> int:
        """How many steps a certified run has."""
        return self.rule.steps

    @property
    def claims(self) -> tuple[str, ...]:
        """The sentences that hold here."""
        return self.rule.claims(safeguard=self.rule.judged_by_loss)

    def __call__(
        self,
        fun: Callable[..., Any],
        x0: Any,
        args: tuple[Any, ...] = (),
        *,
        jac: Any = None,
        bounds: Any = None,
        constraints: Any = (),
        callback: Any = None,
        maxiter: int | None = None,
        hess: Any = None,
        hessp: Any = None,
        **unknown: Any,
    ) -> Any:
        """Minimise from x0, with the safeguard; SciPy calls it."""
        del hess, hessp  # not used, as in SciPy's own gradient-only methods
        self._refuse(jac, bounds, constraints, unknown)
        steps = self._checked_steps(maxiter)
        dtype = self.rule.dtype
        start = self._checked_start(np.array(x0, dtype=dtype))
        seen = Counted(fun, jac, args, dtype)
        before = seen.loss(start)
        begin, step, read = self.programs
        state, taken, stopped = self._run(begin, parted(start, self.rule.leaves), seen), 0, False
        while taken < steps and not stopped:
            state, taken = self._run(step, state, seen), taken + 1
            if callback is not None:
                stopped = _stops(callback, joined(self._run(read, state, seen)), seen)
        x = joined(self._run(read, state, seen))
        after = seen.loss(x)
        good = acceptable(after, before)
        kept = good or not self.rule.judged_by_loss
        message = f"{taken} steps were made" + ("." if good else f", and {_trouble(before, after)}.")
        if seen.narrow:
            text = f"fun or jac returns fewer digits than {dtype}: the certificate does not cover this run."
            warnings.warn(text, OptimizeWarning, 3)
        if stopped:
            message = f"The callback stopped it after {taken} steps."
        elif not good and not kept:
            message += " The start is returned."
        return RESULT(
            x=x if kept else start,
            fun=after if kept else before,
            nit=taken,
            nfev=seen.losses,
            njev=seen.gradients,
            success=good and not stopped,
            status=0 if good and not stopped else 99 if stopped else 1,
            message=message,
            certificate=None if seen.narrow or taken != self.steps else self.certificate,
        )

    def _run(self, stages: list[Any], inputs: tuple[Any, ...], seen: Counted) -> tuple[Any, ...]:
        given: list[Any] = []
        for ask, stage in stages:
            with precision(self.rule.dtype):
                found = tuple(map(np.asarray, stage(*inputs, *given)))
            if ask is None:
                return found
            x = joined(found)
            given += [] if ask.value is None else [np.asarray(seen.loss(x), self.rule.dtype)]
            given += [] if ask.gradient is None else parted(seen.gradient(x), self.rule.leaves)
        return ()

    def _checked_start(self, x: np.ndarray) -> np.ndarray:
        size = sum(leaf.size for leaf in self.rule.leaves)
        if x.shape != (size,):
            kind = type(self.rule.problem).__name__
            raise misfit(
                f"x0 has {x.size} numbers.", f"A point of {kind} has {size}: {listed(self.rule.leaves)}. {ORDER}"
            )
        return x

    def _refuse(self, jac: Any, bounds: Any, constraints: Any, unknown: dict[str, Any]) -> None:
        if not callable(jac):
            raise ExportError(
                f"jac is {jac!r}.",
                "The gradient is needed: a function, or jac=True if fun returns both.",
                "The certificate counts gradients, and differences would be others.",
                "Pass jac=jax.grad(fun), or write it by hand.",
            )
        if _bounded(bounds) or np.any(constraints):
            raise ExportError(
                "Bounds or constraints were given.",
                "The rule was learned without any.",
                "It would leave them.",
                "Leave them out.",
            )
        if unknown:
            warnings.warn(f"Unknown options: {', '.join(unknown)}; a run makes all its steps.", OptimizeWarning, 3)

    def _checked_steps(self, maxiter: Any) -> int:
        if maxiter is None or maxiter == self.steps:
            return self.steps
        if isinstance(maxiter, bool) or not isinstance(maxiter, int | np.integer) or maxiter < 0:
            raise ExportError(f"maxiter is {maxiter!r}.", "It is a whole number.", "", "Leave it out.")
        horizon = self.rule.horizon
        if horizon is not None and maxiter > horizon:
            raise ExportError(
                f"maxiter is {maxiter}, and {type(self.rule.algorithm).__name__} has numbers for {horizon} steps.",
                f"A certified run has {self.steps} steps.",
                "What it should do after the last one was not learned.",
                f"Leave maxiter out, or learn with steps={maxiter}.",
            )
        text = f"maxiter is {maxiter}, and the certificate speaks of {self.steps} steps: it does not cover this run."
        warnings.warn(text, OptimizeWarning, 3)
        return int(maxiter)


def _stages(program: Program) -> list[Any]:
    """Each ask with the compiled program that finds its point, and finally the one for the outputs."""
    asks = program.asks
    return [(ask, jax.jit(program.until(number))) for number, ask in enumerate((*asks, None))]


def _trouble(before: float, after: float) -> str:
    if np.isnan(before) or np.isnan(after):
        return f"the loss at the {'start' if np.isnan(before) else 'end'} is not a number"
    return "the run ended above its start"


def _bounded(bounds: Any) -> bool:
    """Whether bounds, in either of SciPy's two forms, exclude anything."""
    if bounds is None:
        return False
    pairs = bounds if not isinstance(bounds, Bounds) else zip(np.ravel(bounds.lb), np.ravel(bounds.ub), strict=True)
    return any(low not in (None, -np.inf) or high not in (None, np.inf) for low, high in pairs)


def _stops(callback: Any, x: np.ndarray, seen: Counted) -> bool:
    """Whether a user's callback, in either of SciPy's two forms, ends the run."""
    try:
        if set(inspect.signature(callback).parameters) == {"intermediate_result"}:
            callback(intermediate_result=RESULT(x=x.copy(), fun=seen.loss(x)))
        else:
            callback(x.copy())
    except StopIteration:
        return True
    return False
