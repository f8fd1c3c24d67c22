"""Any function as an engine: how a solver with given settings does on an instance."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
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
    """A solver of your own: `solve(hyper, instance)` returns its loss, or a `Result`.

    An exception is a failure of that run, recorded and counted, and never ends the job. Each call starts afresh: what
    one run leaves behind must not change the next. `defaults` are the settings that you would use otherwise; over them
    a gain is claimed. `metric` names what the loss is, and with a `largest` value gives its range.

    So many `workers` run side by side in processes of their own, or an `executor` runs them; the table is the same. A
    call that takes longer than `limit` seconds is stopped, whatever it is doing, and has failed; so has one whose
    process died three times. A worker gets at most `memory` GiB. What workers print is not shown.

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
    #: What is counted in place of the loss, and up to where; and the part of the start at which a curve is cut off.
    counted: str | None
    cap: float | None
    goal: float | None
    targets: tuple[float, ...]
    #: How many processes run side by side, how long a call may take in seconds, what memory they have in GiB, and who
    #: runs them instead.
    workers: int
    limit: float | None
    memory: float | None
    executor: Executor | None

    #: By whom calls are made changes nothing of what they come to.
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
        """The name of the function; of one of pacopt's own solvers, that of the solver."""
        whole = getattr(self.function, "__qualname__", type(self.function).__name__)
        ours = str(getattr(self.function, "__module__", "")).startswith("pacopt.")
        name = whole.partition(".")[0] if ours else whole.rpartition(".")[2]
        return "" if "<" in name else name

    @property
    def space(self) -> Domain:
        """What is searched."""
        return self.domain

    @property
    def metric(self) -> Metric | None:
        """What its loss is called."""
        return None if self.counted or self.goal else self.measured

    @property
    def repeatable(self) -> bool:
        """Not if seconds are counted."""
        return self.counted != "seconds"

    @property
    def usual(self) -> str:
        """A solver has defaults, and no textbook."""
        return "the defaults"

    def standard(self, prior: Instances, curvature: tuple[float, float] | None) -> Standard:
        """The defaults of the solver, if they are given."""
        return Standard(None if self.defaults is None else dict(self.defaults))

    def counting(self, unit: str, cap: float | None) -> "BlackBox":
        """The same runs, of which iterations or seconds until they are solved are counted.

        Seconds are measured in processes with one thread for linear algebra, at most one for each core.
        """
        if unit not in UNITS:
            raise EngineError(
                f"An effort in {unit} is asked for.", f"A solver counts {' or '.join(UNITS)}.", "", 'Use "iterations".'
            )
        if unit == "seconds" and self.executor is not None:
            raise EngineError(
                f"Seconds are to be counted in calls that {type(self.executor).__name__} makes.",
                "They are measured in worker processes with one thread each.",
                "Nobody here knows on which cores, and how many at a time, an executor makes its calls.",
                "Use workers=... in its place.",
            )
        if unit == "seconds" and self.workers > cores():
            raise EngineError(
                f"Seconds are to be counted by {self.workers} workers on {cores()} cores.",
                "There is a core for each worker.",
                "Runs that wait for each other take longer than a run in use.",
                f"Use workers={cores()}.",
            )
        return self._with(counted=unit, cap=cap, goal=None)

    def until(self, target: float, steps: int | None) -> "BlackBox":
        """The same runs, of which the iterations to a part of the start are counted, by their curves."""
        return self._with(goal=target, cap=steps, counted=None)

    @property
    def alone(self) -> bool:
        """Not where each thread has a worker of its own."""
        return not isinstance(self.function, Packed)

    def sent(self) -> "BlackBox":
        """The same runs, each made by a worker of whoever is sent this: a call may crash or hang, and he goes on."""
        return self._with(function=packed(self.function, "The function"), workers=1, executor=None)

    def recording(self, targets: tuple[float, ...]) -> "BlackBox":
        """The same runs, with the first iterations at or below these parts of their start."""
        return self._with(targets=targets)

    def run(self, hyper: Mapping[str, Any], instance: Mapping[str, Any], seed: int) -> Run:
        """One call, and what the table keeps of it. Objects are copied, as they are on their way to a worker."""
        fresh = {name: value if isinstance(value, PLAIN) else copy_of(value) for name, value in instance.items()}
        return self._kept(*self._called(hyper, fresh))

    def results(self, calls: Iterable[Call]) -> Iterator[Run]:
        """The runs of some calls, in order: one after the other here, or side by side in workers."""
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
                "What is averaged is a loss, or with an Effort iterations or seconds.",
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
        """One instance, with the safeguard where there is a start; a run that failed says so by its losses.

        It is made here, where nobody can stop it; if it takes longer than the limit, it has failed.
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
        """What the function returned, or in which way it failed."""
        value, seconds, failure = attempt(self.function, dict(hyper), dict(instance))
        if failure:
            return Result(), failure
        result = result_of(value, f"The function {getattr(self.function, '__name__', 'given')}")
        return self._timed(result, seconds), LATE if self.limit is not None and seconds > self.limit else ""

    def _timed(self, result: Result, seconds: float) -> Result:
        """With the seconds that were measured, if they are counted and the solver does not tell its own."""
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
