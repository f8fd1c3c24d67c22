"""How long it takes until a monitor notices that a certificate no longer holds."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pacopt.errors import DesignError
from pacopt.monitoring.asking import check_rate
from pacopt.monitoring.evidence import Evidence
from pacopt.planning.sizes import beta_quantiles, check_law, check_probability

#: Streams that are simulated, instances before a late change, and instances after which nobody waits any longer.
STREAMS, BEFORE, LONGEST = 1000, 2000, 20_000

#: Scores of the next instance in so many streams.
Draw = Callable[[int], np.ndarray]


@dataclass(frozen=True, slots=True)
class Delay:
    """How many instances after a change an alarm comes: in half of all cases, and in nine of ten.

    `late` is the first if the change comes after 2,000 instances that only just keep what is certified. None stands for
    more than 20,000. A change at the very beginning takes longest: evidence is never below what a monitor begins with.
    """

    claim: str
    certified: float
    becomes: float
    every: float
    median: int | None
    likely: int | None
    late: int | None


def delay_of_drop(success: float, drop: float, every: float = 1e5) -> Delay:
    """The delay if runs succeed with probability `drop` only, where `success` is certified.

    >>> delay_of_drop(0.99, 0.95).median < 250
    True
    """
    check_probability("success", success)
    if not 0 <= drop < success:
        raise _no_change("drop", drop, f"A success probability of {success!r} is certified; a drop ends below it.")

    def fails(rate: float) -> Callable[[np.random.Generator], Draw]:
        return lambda rng: lambda streams: (rng.random(streams) < rate).astype(np.float64)

    return Delay("success", success, drop, every, *_delays(1 - success, fails(1 - success), fails(1 - drop), every))


def delay_of_rise(risk: float, rise: float, variation: float, every: float = 1e5) -> Delay:
    """The delay if the mean ratio is `rise`, where `risk` is certified; ratios are Beta distributed."""
    check_probability("risk", risk)
    if not risk < rise < 1:
        raise _no_change("rise", rise, f"A mean ratio of {risk!r} is certified; a rise ends above it, and below 1.")
    check_law(rise, variation)

    def beta(mean: float) -> Callable[[np.random.Generator], Draw]:
        # Quantiles at many even levels are a law that is drawn from much faster.
        values = beta_quantiles(mean, variation, (np.arange(2**14) + 0.5) / 2**14)
        return lambda rng: lambda streams: values[rng.integers(0, len(values), streams)]

    return Delay("risk", risk, rise, every, *_delays(risk, beta(risk), beta(rise), every))


def _delays(
    most: float,
    before: Callable[[np.random.Generator], Draw],
    after: Callable[[np.random.Generator], Draw],
    every: float,
) -> tuple[int | None, int | None, int | None]:
    """Median and ninth decile if the change is there at once, and the median if it comes late; by simulation."""
    check_rate(every, None)
    rng = np.random.default_rng(0)
    at_once = waiting(most, after(rng), every, np.zeros((STREAMS, 1)))
    if _decile(at_once, 5) is None:
        return None, None, None
    late = waiting(most, after(rng), every, gathered(most, before(rng), every))
    return _decile(at_once, 5), _decile(at_once, 9), _decile(late, 5)


def gathered(most: float, draw: Draw, every: float) -> np.ndarray:
    """The evidence of each bet in each stream after so many instances; an alarm begins anew."""
    bets = np.array(Evidence.against(most).bets)
    evidence = np.zeros((STREAMS, len(bets)))
    for _ in range(BEFORE):
        evidence = (evidence + 1) * (1 + (draw(STREAMS) - most)[:, None] * bets)
        evidence[evidence.mean(axis=1) >= every] = 0.0
    return evidence


def waiting(most: float, draw: Draw, every: float, evidence: np.ndarray) -> np.ndarray:
    """In each stream, the number of instances until its evidence reaches `every`; LONGEST + 1 if it never does."""
    bets = np.array(Evidence.against(most).bets)
    found, running = np.full(len(evidence), LONGEST + 1), np.arange(len(evidence))
    for count in range(1, LONGEST + 1):
        evidence = (evidence + 1) * (1 + (draw(len(running)) - most)[:, None] * bets)
        alarm = evidence.mean(axis=1) >= every
        if alarm.any():
            found[running[alarm]] = count
            running, evidence = running[~alarm], evidence[~alarm]
        if len(running) <= len(found) // 20:  # no decile that is asked for depends on the rest
            break
    return found


def _decile(delays: np.ndarray, tenths: int) -> int | None:
    """The number of instances after which so many tenths of the streams have had an alarm."""
    found = int(np.sort(delays)[len(delays) * tenths // 10 - 1])
    return None if found > LONGEST else found


def _no_change(name: str, value: float, needed: str) -> DesignError:
    return DesignError(
        f"{name} is {value!r}.",
        needed,
        "A monitor cannot notice a change that stays within what is certified.",
        "Give a larger change.",
    )
