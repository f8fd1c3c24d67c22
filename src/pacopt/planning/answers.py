"""What a plan says, in words: what a wish needs, what N instances can certify, and what they can never show."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from pacopt.errors import DesignError
from pacopt.planning.budgets import certifiable_budget, needed_for_budget
from pacopt.planning.delays import BEFORE, LONGEST, Delay, delay_of_drop, delay_of_rise
from pacopt.planning.floors import fewest_for_gain, fewest_for_risk, largest_gain, least_risk, unseen
from pacopt.planning.gains import LIKELY, needed_for_gain, predicted_gain
from pacopt.planning.guesses import Guesses
from pacopt.planning.sizes import certifiable_success, needed_for_risk, needed_for_success, predicted_risk
from pacopt.planning.units import Unit
from pacopt.support.rounding import down, up
from pacopt.support.sizes import CEILING


@dataclass(frozen=True, slots=True)
class Need:
    """How many training instances a wish needs, None if no number will do; and that in words."""

    train: int | None
    answer: str


def needs(
    guesses: Guesses, success: float | None, risk: float | None, within: float | None, gain: float | None
) -> list[Need]:
    """What each wish needs."""
    found, compared, unit = [], guesses.compared, guesses.unit
    if success is not None:
        train = needed_for_success(success, guesses.left, guesses.failure_rate)
        found.append(_need(f"A success probability of {success!r}", train, _failing(guesses)))
    if risk is not None:
        train = needed_for_risk(risk, guesses.mean, guesses.variation, guesses.left)
        least = fewest_for_risk(risk, guesses.mean, guesses.risk_epsilon)
        found.append(_need(f"A {unit.mean(risk)}", train, f"if it truly is {unit.shown(guesses.mean)}", least))
    if within is not None:
        train = needed_for_budget(within, guesses.left, guesses.late_rate, guesses.targets or 1)
        claim = f"A share of {within!r} of all instances within the budget"
        found.append(_need(claim, train, _late(guesses)))
    if gain is not None and compared is not None:
        train, even = (needed_for_gain(gain, compared, guesses.left, chance) for chance in (LIKELY, 0.5))
        least = fewest_for_gain(gain, compared.factor, compared.mean, guesses.gain_epsilon)
        half = "" if even is None or even > CEILING else f" to show in nine of ten cases, {even:,} in half of them"
        found.append(_need(f"A gain of {gain:g}", train, f"{_truly(guesses)}", least, half))
    return found


def expected(guesses: Guesses, train: int) -> str:
    """What this many training instances can certify."""
    mean, compared, unit = guesses.mean, guesses.compared, guesses.unit
    certified = certifiable_success(train, guesses.left, guesses.failure_rate)
    risk = predicted_risk(mean, guesses.variation, train, guesses.left)
    parts = [
        f"success with probability at least {down(certified)} {_failing(guesses)}",
        f"a bound of about {up(risk * unit.top)}{unit.name and ' '}{unit.name} on a {unit.mean(mean)}",
    ]
    if guesses.targets is not None:
        within = certifiable_budget(train, guesses.left, guesses.late_rate, guesses.targets)
        parts.append(f"at least {down(within)} of all instances within the budget {_late(guesses)}")
    if compared is not None:
        gain = predicted_gain(compared, train, guesses.left)
        shown = "no gain" if gain is None else f"a gain of about {down(gain)}"
        parts.append(f"{shown} {_truly(guesses)}")
    return "; ".join(parts)


def never_shown(guesses: Guesses, train: int) -> tuple[str, ...]:
    """What no method can show with so many training instances; nothing if the confidence is too low to say."""
    rate, missed = unseen(train, guesses.risk_epsilon), 2 * guesses.risk_epsilon
    if rate == 0:
        return ()
    least = least_risk(guesses.mean, train, guesses.risk_epsilon)
    bound = guesses.unit.shown(float(down(least)), 4)
    worst = "a score of 1" if guesses.unit == Unit() else f"a run that scores {guesses.unit.shown(1.0, 4)}"
    said = [
        f"What {train:,} training instances can never show: that there are no catastrophes. One ({worst}) that "
        f"happens on one instance in {round(1 / unseen(train, 0.25)):,} is absent from half of all such samples, and "
        f"one that happens on one instance in {round(1 / rate):,} from {100 * missed:.2g} % of them, more often than "
        f"the claim may be wrong. So no method can exclude it: on a {guesses.unit.mean(guesses.mean)}, half of "
        f"the bounds of any valid method are at least {bound}, which is {down(least / guesses.mean)} times as much."
    ]
    if guesses.compared is not None and guesses.gain_epsilon < 0.5:
        most = largest_gain(guesses.compared.factor, guesses.mean, train, guesses.gain_epsilon)
        none = " So a gain can be shown only by luck, if at all." if most <= 1 else ""
        said.append(
            f"Likewise half of the gains that any valid method claims are at most {up(most)}, {_truly(guesses)}.{none}"
        )
    return tuple(said)


def delays(
    success: float | None, drop: float | None, risk: float | None, rise: float | None, variation: float, every: float
) -> tuple[Delay, ...]:
    """How long it takes to notice that success drops, or that the mean ratio rises, from what is certified."""
    found = []
    if drop is not None:
        found.append(delay_of_drop(_watched("drop", "success", success), drop, every))
    if rise is not None:
        found.append(delay_of_rise(_watched("rise", "risk", risk), rise, variation, every))
    return tuple(found)


def noticed(delay: Delay, unit: Unit) -> str:
    """A delay in words."""
    mean = "mean ratio" if unit == Unit() else "mean"
    change = {
        "success": f"A success probability that drops from {_given(delay.certified, down)} to {delay.becomes!r}",
        "risk": f"A {mean} that rises from {_given(delay.certified * unit.top, up)}{unit.name and ' '}{unit.name} to "
        f"{unit.shown(delay.becomes)}",
    }[delay.claim]
    rate = f"with on average at most one false alarm in {delay.every:,.0f} instances"
    if delay.median is None:
        return f"{change} takes more than {LONGEST:,} instances to be noticed, {rate}."
    likely, late = (f"more than {LONGEST:,}" if each is None else f"{each:,}" for each in (delay.likely, delay.late))
    return (
        f"{change} is noticed after {delay.median:,} instances in half of all cases and after {likely} in nine of ten, "
        f"{rate}; if {BEFORE:,} good ones came before, after {late} in half."
    )


def caution(guesses: Guesses) -> str:
    """What all of this rests on."""
    budget = " and a budget" if guesses.targets is not None else ""
    certificate = f"default certificate of learn, with a gain over a baseline{budget}"
    exact = "success and budget are" if guesses.targets is not None else "success are"
    ratio = guesses.unit == Unit()
    predicted = f"on the {'ratio' if ratio else 'mean'}{' and gains' if guesses.compared else ''}"
    return (
        f"All with confidence {guesses.confidence!r}, for the {certificate}, if its favourite is deployed. Sizes for "
        f"{exact} exact; bounds {predicted} are predictions for {'ratios' if ratio else 'scores'} with a Beta "
        "distribution. None of this is a certificate."
    )


def _given(value: float, rounded: Callable[[float], str]) -> str:
    """What somebody gave as it is, and what was computed rounded as everywhere else."""
    short = f"{value:.4g}"
    return short if math.isclose(float(short), value, rel_tol=1e-12) else rounded(value)


def _need(claim: str, train: int | None, condition: str, least: int | None = None, chance: str = "") -> Need:
    if train is None:
        return Need(None, f"{claim} cannot be certified with any number of instances {condition}.")
    if train > CEILING:
        return Need(
            train, f"{claim} needs more than {CEILING:,} training instances, {condition}, more than anybody has."
        )
    floor = "" if least is None else f" With fewer than {least:,} no method shows it in half of all cases."
    return Need(train, f"{claim} needs {train:,} training instances{chance}, {condition}.{floor}")


def _failing(guesses: Guesses) -> str:
    rate = guesses.failure_rate
    return "if no run fails" if rate == 0 else f"if {100 * rate:g} % of the runs fail"


def _late(guesses: Guesses) -> str:
    rate = guesses.late_rate
    return "if no run is late" if rate == 0 else f"if {100 * rate:g} % of the runs are late"


def _truly(guesses: Guesses) -> str:
    factor = 1.0 if guesses.compared is None else guesses.compared.factor
    return f"if it truly is {factor:g} at a {guesses.unit.mean(guesses.mean)}"


def _watched(change: str, claim: str, certified: float | None) -> float:
    if certified is None:
        raise DesignError(
            f"{change} is given, but not the value that it starts from.",
            f"A monitor compares with what is certified: {claim}.",
            "",
            f"Give {claim} too, or the number of instances.",
        )
    return certified
