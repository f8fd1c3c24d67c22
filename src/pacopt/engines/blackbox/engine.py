"""Any function as an engine: how a solver with given settings does on an instance."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import closing
from copy import copy
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any, ClassVar

import numpy as np

from pacopt.engines.base import Metric, Standard
from pacopt.engines.blackbox.checks import check_space, check_workers
from pacopt.engines.blackbox.result import Result, result_of
from pacopt.engines.blackbox.workers import answers
from pacopt.engines.cellwise import AbstractCellEngine, Call
from pacopt.engines.ended import LATE, Run, checked_run
from pacopt.engines.packing import Packed, packed
from pacopt.engines.solution import Solution
from pacopt.errors import EngineError
from pacopt.instances import Instances
from pacopt.space import Domain
from pacopt.support.contents import copy_of
from pacopt.support.machine import cores
from pacopt.support.worker import attempt

#: What an effort can be counted in.
UNITS = ("iterations", "seconds")
#: Types of instance values that cannot be modified.
PLAIN = (np.ndarray, np.generic, str, bytes, int, float)


@dataclass(frozen=True, eq=False, init=False)
class BlackBox(AbstractCellEngine):
    """Your own solver: `solve(hyper, instance)` returns its loss, or a `Result`.

    If a run raises an exception, it has failed; that is recorded and counted, and the job goes on. Each call starts
    afresh: what one run leaves behind must not change the next. `defaults` are the settings you would use otherwise;
    gains are measured against them. `metric` says what the loss is and, with a `largest` value, its range.

    Calls are made in parallel by `workers`, each a separate process, or by an `executor`; the table is the same. A call
    that takes longer than `limit` seconds is stopped, whatever it is doing, and has failed; so has one whose process
    died three times. A worker gets at most `memory` GiB. What workers print is not shown.

    >>> from pacopt import Interval
    >>> def solve(hyper, instance):
    ...     x, iterations = float(instance["x"]), 0
    ...     while x > 1e-3:
    ...         x, iterations = x * hyper["damping"], iterations + 1
    ...     return Result(loss=x, iterations=iterations, success=True)
    >>> engine = BlackBox(solve, {"damping": Interval(0.1, 0.9)}, defaults={"damping": 0.5})
    >>> engine.counting("iterations", None).table({"damping": [0.5, 0.9]}, Instances({"x": np.ones(2)})).losses
    array([[10., 10.],
           [66., 66.]])
    """

    function: Any
    domain: Domain
    defaults: Mapping[str, Any] | None
    measured: Metric | None
    #: What is counted instead of the loss, and up to where; and the fraction of the start at which a curve is cut off.
    counted: str | None
    cap: float | None
    goal: float | None
    targets: tuple[float, ...]
    #: How many processes run in parallel, how many seconds a call may take, how many GiB of memory each process has,
    #: and what makes the calls instead of them.
    workers: int
    limit: float | None
    memory: float | None
    executor: Executor | None

    #: Who makes the calls does not change their results.
    undescribed: ClassVar = frozenset({"workers", "executor"})

    def __init__(
        self,
        solve: Callable[[Mapping[str, Any], Mapping[str, Any]], Any],
        space: Domain,
        *,
        defaults: Mapping[str, Any] | None = None,
        metric: Metric | None = None,
        workers: int = 1,
        limit: float | None = None,
        memory: float | None = None,
        executor: Executor | None = None,
    ) -> None:
        check_workers(workers, limit, memory, executor)
        if not callable(solve):
            raise EngineError(
                f"An object of type {type(solve).__name__} was given.",
                "A black box is made of a function of hyperparameters and an instance.",
                "",
                "Write BlackBox(solve, {...}).",
            )
        check_space(space, defaults)
        values = {"function": solve, "domain": dict(space), "defaults": defaults, "measured": metric}
        values |= {"workers": workers, "limit": limit, "memory": memory, "executor": executor}
        for name, value in {**values, "counted": None, "cap": None, "goal": None, "targets": ()}.items():
            object.__setattr__(self, name, value)

    def _with(self, **changes: Any) -> "BlackBox":
        other = copy(self)
        for name, value in changes.items():
            object.__setattr__(other, name, value)
        return other

    @property
    def title(self) -> str:  # type: ignore[override]
        """The name of the function, or of the solver if it is one of pacopt's own."""
        whole = getattr(self.function, "__qualname__", type(self.function).__name__)
        ours = str(getattr(self.function, "__module__", "")).startswith("pacopt.")
        name = whole.partition(".")[0] if ours else whole.rpartition(".")[2]
        return "" if "<" in name else name

    @property
    def space(self) -> Domain:
        """The search space."""
        return self.domain

    @property
    def metric(self) -> Metric | None:
        """What the loss is, if it was named; None if something else is counted."""
        return None if self.counted or self.goal else self.measured

    @property
    def repeatable(self) -> bool:
        """Whether a run can be repeated exactly: not if seconds are counted."""
        return self.counted != "seconds"

    @property
    def usual(self) -> str:
        """A solver has defaults rather than textbook values."""
        return "the defaults"

    def standard(self, prior: Instances, curvature: tuple[float, float] | None) -> Standard:
        """The defaults of the solver, if given."""
        return Standard(None if self.defaults is None else dict(self.defaults))

    def counting(self, unit: str, cap: float | None) -> "BlackBox":
        """The same runs, scored by the iterations or seconds they take until solved.

        Seconds are measured in processes with one thread for linear algebra, at most one process per core.
        """
        if unit not in UNITS:
            raise EngineError(
                f"An effort in {unit} was requested.", f"A solver counts {' or '.join(UNITS)}.", "", 'Use "iterations".'
            )
        if unit == "seconds" and self.executor is not None:
            raise EngineError(
                f"Seconds are to be counted in calls that {type(self.executor).__name__} makes.",
                "They are measured in worker processes with one thread each.",
                "pacopt cannot know on which cores an executor makes its calls, or how many at a time.",
                "Use workers=... instead.",
            )
        if unit == "seconds" and self.workers > cores():
            raise EngineError(
                f"Seconds are to be counted by {self.workers} workers on {cores()} cores.",
                "Each worker needs a core of its own.",
                "Runs that share a core take longer than they would in use.",
                f"Use workers={cores()}.",
            )
        return self._with(counted=unit, cap=cap, goal=None)

    def until(self, target: float, steps: int | None) -> "BlackBox":
        """The same runs, scored by the iterations their curves take to a fraction of the start."""
        return self._with(goal=target, cap=steps, counted=None)

    @property
    def alone(self) -> bool:
        """Whether one thread at a time may call it: not if each thread has its own worker."""
        return not isinstance(self.function, Packed)

    def sent(self) -> "BlackBox":
        """The same runs, made in a worker process of the recipient, which survives calls that crash or hang."""
        return self._with(function=packed(self.function, "The function"), workers=1, executor=None)

    def recording(self, targets: tuple[float, ...]) -> "BlackBox":
        """The same runs, recording the first iteration at or below each of these fractions of the start."""
        return self._with(targets=targets)

    def run(self, hyper: Mapping[str, Any], instance: Mapping[str, Any], seed: int) -> Run:
        """One call, and what the table keeps of it. Objects are copied, as they are when sent to a worker."""
        fresh = {name: value if isinstance(value, PLAIN) else copy_of(value) for name, value in instance.items()}
        return self._kept(*self._called(hyper, fresh))

    def results(self, calls: Iterable[Call]) -> Generator[Run, None, None]:
        """The runs of some calls, in order: made here one at a time, or in parallel by workers."""
        here = self.workers == 1 and self.repeatable and not isinstance(self.function, Packed)
        if here and not (self.limit or self.memory or self.executor):
            yield from super().results(calls)
            return
        places: deque[str] = deque()

        def sent() -> Iterator[tuple[Any, Any]]:
            for call in calls:
                places.append(call.place)
                yield self.known(call.hyper), call.instance

        found = answers(
            self.function,
            sent(),
            workers=self.workers,
            limit=self.limit,
            memory=self.memory,
            executor=self.executor,
        )
        with closing(found):  # an error ends the workers at once, however long its traceback is kept
            for answer in found:
                place = places.popleft()
                result = Result() if answer.failure else self._timed(result_of(answer.value, place), answer.seconds)
                yield checked_run(self._kept(result, answer.failure), place)

    def _kept(self, result: Result, failure: str) -> Run:
        """What the table keeps of a call."""
        if failure:
            return Run(loss=inf, failure=failure, times=dict.fromkeys(self.targets, inf))
        if result.loss is not None and not isfinite(result.loss):
            return Run(loss=inf, failure="the loss is no number", times=dict.fromkeys(self.targets, inf))
        times = {target: _first(result, target) for target in self.targets}
        if self.goal is not None or self.counted is not None:
            taken = _first(result, self.goal) if self.goal is not None else _taken(result, str(self.counted))
            late = self.cap is not None and taken > self.cap
            return Run(loss=inf if late else taken, times=times)
        if result.loss is None:
            raise EngineError(
                "A result without a loss was returned.",
                "A loss is averaged, or with an Effort, iterations or seconds.",
                "",
                'Return Result(loss=...), or use learn(..., score=pacopt.Effort("solved", unit="iterations")).',
            )
        return Run(
            loss=float(result.loss) + 0.0,
            start_loss=None if result.start_loss is None else float(result.start_loss),
            success=None if result.success is None else bool(result.success),
            times=times,
        )

    def solve(self, hyper: Mapping[str, Any], instance: Mapping[str, Any], seed: int) -> Solution:
        """One instance, with the safeguard if there is a start; the losses show whether the run failed.

        It runs in this process, where it cannot be stopped; if it takes longer than the limit, it has failed.
        """
        result, failure = self._called(hyper, instance)
        kept = self._kept(result, failure)
        used = None if result.iterations is None else int(result.iterations)
        if self.goal is not None or self.counted is not None:
            loss = inf if result.loss is None else float(result.loss)
            return Solution(result.x, loss, None, loss, used, kept.loss)
        if kept.start_loss is None:
            return Solution(result.x, kept.loss, None, kept.loss, used)
        return Solution.safeguarded(result.x, result.start, kept.loss, kept.start_loss, used)

    def _called(self, hyper: Mapping[str, Any], instance: Mapping[str, Any]) -> tuple[Result, str]:
        """What the function returned, or how it failed."""
        value, seconds, failure = attempt(self.function, dict(hyper), dict(instance))
        if failure:
            return Result(), failure
        result = result_of(value, f"The function {getattr(self.function, '__name__', 'given')}")
        return self._timed(result, seconds), LATE if self.limit is not None and seconds > self.limit else ""

    def _timed(self, result: Result, seconds: float) -> Result:
        """The result with the measured seconds, if seconds are counted and the solver does not report its own."""
        measured = self.counted == "seconds" and result.seconds is None
        return replace(result, seconds=seconds) if measured else result


def _taken(result: Result, unit: str) -> float:
    """Iterations or seconds of a run that is solved; infinite if it is not."""
    number = getattr(result, unit)
    if number is None:
        raise EngineError(
            f"A result without {unit} was returned, and they are what is counted.",
            f"Return Result({unit}=...) from every run that ends.",
            "",
            "Or use another score.",
        )
    return float(number) if result.solved else inf


def _first(result: Result, target: float) -> float:
    """The first iteration at or below a fraction of the start; infinite for never."""
    if result.curve is None or not len(result.curve):
        raise EngineError(
            f"A result without a curve was returned, and {target!r} times the start is to be reached.",
            "The losses after 0, 1, 2, ... iterations tell when.",
            "",
            "Return Result(curve=[...]), or leave the target out.",
        )
    curve = np.asarray(result.curve, dtype=float)
    start = curve[0] if result.start_loss is None else float(result.start_loss)
    met = np.flatnonzero(curve <= target * start)
    return float(met[0]) if len(met) else inf
