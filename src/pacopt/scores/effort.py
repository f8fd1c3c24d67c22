"""How long a run takes until it meets its target."""

from dataclasses import dataclass, field, replace
from math import ceil, isfinite
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.assumptions import Assumption, Status
from pacopt.errors import DesignError
from pacopt.loss_table import LossTable
from pacopt.scores.base import AbstractScore, quantity_of
from pacopt.support.cells import refuse_other_verdicts
from pacopt.support.numbers import is_real
from pacopt.support.rounding import up

if TYPE_CHECKING:
    from pacopt.engines.base import AbstractEngine, Metric

#: The default cap is so many times the longest run of the favourite on the prior split.
ROOM = 2.0


@dataclass(frozen=True, slots=True)
class Effort(AbstractScore):
    """z = min(T, K) / K: the share of K steps that a run needs until it meets its target; 1 if it does not.

    `target` is a fraction of the start loss, or a word for what an engine calls solved, whose losses are then times. T
    is the first step at which the target is met; a run stops there, or at the `cap` K. By default `learn` sets the
    cap to twice the longest run of the favourite on the prior split, and at most its `steps`. With a `penalty` c,
    a run that does not meet its target counts as c K steps (PAR-c).

    >>> Effort(0.1, 50).of_run(20, 0.0)
    0.4
    """

    target: float | str
    cap: float | None = None
    penalty: float = 1.0
    unit: str = "steps"
    quantity: str = "loss"
    #: How many steps runs have, as long as there is no cap.
    limit: int | None = field(default=None, repr=False, compare=False)

    name: ClassVar = "effort"
    counts_steps: ClassVar = True
    relative: ClassVar = False

    def __post_init__(self) -> None:
        """Refuse what is no target, no cap and no penalty."""
        target: Any = self.target
        word = isinstance(target, str) and bool(target.strip()) and target.isprintable()
        if not word and not (is_real(target) and 0 < target < 1):
            raise DesignError(
                f"The target is {self.target!r}.",
                "It is a fraction of the start loss, above 0 and below 1, or a word for what your engine calls solved.",
                "Every run is at its start from the beginning.",
                "Use pacopt.Effort(0.1), for example.",
            )
        if self.cap is not None and not (is_real(self.cap) and 0 < self.cap < np.inf):
            raise DesignError(
                f"The cap is {self.cap!r}.",
                "It is positive and finite.",
                "A mean can be bounded only for a score between 0 and a known number.",
                "Use pacopt.Effort(0.1, 50), or leave it out.",
            )
        if not is_real(self.penalty) or not 1 <= self.penalty < np.inf:
            raise DesignError(
                f"The penalty is {self.penalty!r}.",
                "A run that does not meet its target counts as this many times the cap, at least once.",
                "",
                "Use penalty=10 for PAR-10, or leave it out.",
            )
        if not isinstance(self.unit, str) or not self.unit.strip() or not self.unit.isprintable():
            raise DesignError(f"The unit is {self.unit!r}.", "It is a word.", "", 'Use "iterations".')
        object.__setattr__(self, "target", target if word else float(target))
        object.__setattr__(self, "cap", None if self.cap is None else float(self.cap))
        object.__setattr__(self, "penalty", float(self.penalty))

    def measuring(self, metric: "Metric") -> AbstractScore:
        """The same where a word says what is met; up to a part of the start, it is said of what."""
        return self if isinstance(self.target, str) else AbstractScore.measuring(self, metric)

    @property
    def noun(self) -> str:
        """What is counted."""
        if isinstance(self.target, str):
            return f"number of {self.unit} until {self.target}"
        return f"number of {self.unit} to {self.target!r} of the start{self.aside}"

    @property
    def scale(self) -> float:
        """The value of a run that does not meet its target."""
        return self.penalty * self._cap

    @property
    def proviso(self) -> str:
        """How long it runs, and what counts beyond."""
        return f"where a run that takes more than {self._cap:g} {self.unit} counts as {self.scale:g}"

    @property
    def event(self) -> str:
        """It meets its target in time."""
        return f"{self._meets} within {self._cap:g} {self.unit}"

    @property
    def wins(self) -> str:
        """It is there first."""
        return f"needs fewer {self.unit} than"

    @property
    def range(self) -> Assumption:
        """By construction."""
        cap, most = (repr(number).removesuffix(".0") for number in (self._cap, self.scale))
        text = f"a run that does not meet its target within {cap} {self.unit} counts as {most}"
        return Assumption(text, Status.PROVED)

    def of(self, table: LossTable, rows: slice = slice(None)) -> Float[np.ndarray, "hyper instance"]:
        """T / (c K) if T <= K, else 1."""
        times = table.losses[rows]
        with np.errstate(invalid="ignore"):
            z: np.ndarray = np.where(times <= self._cap, times / self.scale, 1.0)
        return table.averaged(z)

    def of_run(self, loss: float, start: float) -> float:
        """The same for one run; what stands for its loss is T."""
        return loss / self.scale if isfinite(loss) and loss <= self._cap else 1.0

    def on_success(self, target_ratio: float) -> float:
        """1: a run may meet its target at the last step."""
        return 1.0

    def most(self, table: LossTable) -> float:
        """The cap."""
        return self._cap

    def sentence(self, value: float) -> str:
        """It uses so many steps."""
        counted = "" if self.penalty == 1 else f", where a run that does not get there counts as {self.scale:g}"
        return (
            f"Run until {self._until}, and for at most {self._cap:g} {self.unit}, it uses on average at most "
            f"{up(value)} {self.unit}{counted}."
        )

    def highlight(self, value: float) -> tuple[str, str]:
        """The mean number of steps."""
        return f"mean {self.unit} used", f"≤ {up(value)} {self.unit}"

    def running(self, steps: int) -> str:
        """Until the target is met."""
        return f"run from the start until {self._until}, for at most {steps} steps"

    def runs(self, engine: "AbstractEngine") -> "AbstractEngine":
        """The engine, stopping at the target, and at the cap where there is one."""
        if isinstance(self.target, str):
            return engine.counting(self.unit, self.cap)
        return engine.until(self.target, None if self.cap is None else int(self.cap))

    def begun(self, steps: int | None) -> "Effort":
        """With the steps of the engine as long as there is no cap; one that runs do not reach is refused."""
        if not isinstance(self.target, str) and (
            self.unit == "seconds" or (steps is not None and self.unit != "steps")
        ):
            raise DesignError(
                f"The score is {self!r}.",
                "How long it takes to a fraction of the start is counted in steps.",
                "Steps would be called something else.",
                'Leave the unit out; for seconds the target is a word: Effort("solved", unit="seconds").',
            )
        counted = None if isinstance(self.target, str) else self.cap
        if counted is not None and (not counted.is_integer() or (steps is not None and counted > steps)):
            raise DesignError(
                f"The score counts up to {counted:g} {self.unit}, and runs have {steps}.",
                "A cap is a whole number of steps, no more than runs have.",
                "",
                f"Give more steps: steps={ceil(counted)}; or leave the cap out.",
            )
        return replace(self, limit=steps)

    @property
    def open(self) -> bool:
        """Whether no cap was given."""
        return self.cap is None

    def fixed(self, favourite: LossTable | None, steps: int | None) -> "Effort":
        """With a cap of twice the longest run that met its target, and of all steps if none did."""
        times = np.empty(0) if favourite is None else favourite.losses[np.isfinite(favourite.losses)]
        longest = float(times.max()) if len(times) else 0.0
        wanted = ROOM * longest if longest > 0 else steps
        if wanted is None:
            raise DesignError(
                f"The score is {self!r}, and no run of the prior split met its target.",
                "Its cap is twice the longest run of the favourite there.",
                "",
                "Give it: pacopt.Effort(..., cap=200).",
            )
        if isinstance(self.target, str):
            return replace(self, cap=wanted if steps is None else min(wanted, steps))
        return replace(self, cap=float(ceil(wanted) if steps is None else min(ceil(wanted), steps)))

    def check(self, table: LossTable) -> None:
        """Reject times beyond the cap, and times of runs that did not succeed."""
        refuse_other_verdicts(table.losses, table.success)
        beyond = int((np.isfinite(table.losses) & (table.losses > self._cap)).sum())
        if beyond:
            raise DesignError(
                f"{beyond} runs have times above the cap of {self._cap:g} {self.unit}.",
                "A run that takes longer has not met its target, and its time is infinite.",
                "It would count as a success, and as a failure in the mean.",
                f"Use numpy.where(times <= {self._cap:g}, times, numpy.inf).",
            )

    def to_dict(self) -> dict[str, Any]:
        """Its name and its settings."""
        return {
            "cap": self._cap,
            "name": self.name,
            "penalty": self.penalty,
            "target": self.target,
            "unit": self.unit,
        } | quantity_of(self)

    @property
    def _cap(self) -> float:
        return self.cap or float(self.limit or 1)

    @property
    def _meets(self) -> str:
        word = isinstance(self.target, str)
        return f"is {self.target}" if word else f"reaches {self.target!r} times its start{self.aside}"

    @property
    def _until(self) -> str:
        return self.target if isinstance(self.target, str) else f"it {self._meets}"
