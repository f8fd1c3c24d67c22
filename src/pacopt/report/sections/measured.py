"""What the test split shows: learned beside textbook, each mean and factor with its interval."""

from dataclasses import dataclass

import numpy as np

from pacopt.certificate import Certificate
from pacopt.claims import AbstractClaim
from pacopt.claims.measuring import measured_name
from pacopt.claims.standard import REQUIRED
from pacopt.comparison import Comparison, Row, between, percentages, raw_runs, times
from pacopt.loss_table import LossTable
from pacopt.report.endings import first_runs
from pacopt.report.looks import in_words
from pacopt.report.source import Reported
from pacopt.report.strongest import certified_over
from pacopt.report.tested import contradicted_claims, measured_runs, more_digits
from pacopt.report.words import certified, estimate, explained, is_ratio, rivals_of, says_little, standard_row, usable
from pacopt.scores import Digits
from pacopt.statement import subject_of
from pacopt.support.rounding import PERCENT, down
from pacopt.support.values import same_hyper

#: A factor is a headline if the ends of its interval are within this factor of each other and on the same side of 1:
#: its geometric middle is then off by at most 1.6, which leaves "between 6.6 and 13.9 times" and not "1.3 to 80".
NARROW = 2.5


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the table on the first screen, as text."""

    kind: str
    name: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """A headline, and the rows of a table."""

    headline: str
    header: tuple[str, ...]
    lines: tuple[Line, ...]
    note: str


def measured_of(source: Reported) -> Measured | None:
    """The comparison on the test split in words; None if it is empty."""
    comparison = source.comparison
    if comparison is None:
        return None
    lines = tuple(
        Line(
            row.name if row.name in ("learned", "standard") else "", _row_name(row, comparison), _texts(row, comparison)
        )
        for row in comparison.rows
        if row.name != "prior median"
    )
    header, note = tuple(_cells(comparison.rows[0], comparison)), comparison.note.replace(" %", PERCENT)
    if source.test is not None and (single := first_runs(source.test, comparison.noun)):
        note += f" Success is measured{single.removeprefix(',')}."
    place = f"{comparison.instances} test {comparison.noun}"
    return Measured(against_strongest(source, comparison), header, lines, f"Measured on {place}, not certified. {note}")


def _texts(row: Row, comparison: Comparison) -> tuple[str, ...]:
    return tuple(_cells(row, comparison).values())


def _cells(row: Row, comparison: Comparison) -> dict[str, str]:
    """The numbers of a row by their headings."""
    part = comparison.rows[0].values.get(REQUIRED)
    return {
        "mean": estimate(row.mean),
        f"95{PERCENT} interval": between(row.interval),
        **({} if part is None else {REQUIRED: _chance(row)}),
        comparison.failing: str(row.failures),
        "worst": estimate(row.worst, 3) if np.isfinite(row.worst) else "failed",
    }


def _row_name(row: Row, comparison: Comparison) -> str:
    return comparison.usual if row.name == "standard" else row.name.removeprefix("the ")


def _chance(row: Row) -> str:
    """The interval of the probability of success."""
    return percentages(row.success_interval).replace(" %", PERCENT)


def against_strongest(source: Reported, comparison: Comparison) -> str:
    """Learned against the strongest rival, in a few words: a number only where instances or a certificate tell it."""
    rivals, mean, count = rivals_of(comparison), f"mean {comparison.averaged}", comparison.instances
    if not rivals:
        return f"a {mean} of {between(comparison['learned'].interval)} (95{PERCENT} interval)"
    rival, usual = rivals[0].name, rivals[0].name == "standard"
    if _agree(comparison, rival):
        return f"the same as {in_words(rival, comparison.usual)} on all {count} test {comparison.noun}"
    if digits := _in_digits(source, comparison, in_words(rival, comparison.usual)):
        return digits
    factor, whose = comparison.factor("learned", rival), comparison.of_the_usual if usual else f"that of {rival}"
    if not factor.sure:
        other = f"{whose} {mean}" if usual else rival
        gain = _gain(source, in_words(rival, comparison.usual))
        if not gain:
            return f"no difference from {other} that {count} instances can show ({times(factor)})"
        word, ratio = ("lower", factor.measured) if factor.measured > 1 else ("higher", 1 / factor.measured)
        return (
            f"{estimate(ratio, 3)} times {word} {mean} than {whose}, which {count} instances alone do not show "
            f"({times(factor)}); a gain of {gain} is certified"
        )
    word = "lower" if factor.low > 1 else "higher"
    if word == "higher":
        factor = comparison.factor(rival, "learned")
    if factor.high <= NARROW * factor.low:
        return f"{times(factor)} {word} {mean} than {whose} (95{PERCENT} interval)"
    return f"a {word} {mean} than {whose}; by how much, {count} instances do not tell ({times(factor)})"


def _in_digits(source: Reported, comparison: Comparison, baseline: str) -> str:
    """How many digits more or fewer, where digits are what is averaged: few instances tell little of a mean ratio."""
    found = more_digits(source, baseline)
    if found is None:
        return ""
    low, high = found
    if low <= 0 <= high:
        return f"no difference from {baseline} in digits that {comparison.instances} instances can show"
    word, least, most = ("more", low, high) if low > 0 else ("fewer", -high, -low)
    ends = f"between {estimate(least, 3)} and {estimate(most, 3)}"
    return f"{ends} {word} digits than {baseline} (95{PERCENT} interval)"


def _agree(comparison: Comparison, rival: str) -> bool:
    """Whether learned and rival ended alike on every test instance."""
    scores = {row.name: values for row, values in zip(comparison.rows, comparison.scores, strict=True)}
    return bool((scores["learned"] == scores[rival]).all())


def _gain(source: Reported, baseline: str) -> str:
    """The certified gain over a baseline, such as "at least 1.5 times"; empty if there is none, or a doubtful one."""
    certificate = source.certificate
    found = certified_over(certificate, baseline)
    if found is None or found[0].probability or measured_name(found[0]) in _contradicted(source):
        return ""
    shown = found[0].highlight(found[1], subject_of(certificate), certificate.design).value
    return shown.replace("≥ ", "at least ")


def _contradicted(source: Reported) -> set[str]:
    """The names of the claims that the test split contradicts: no sentence here rests on them."""
    return {each.name for each in contradicted_claims(source)}


def same_as_usual(source: Reported) -> bool:
    """Whether the hyperparameters that are deployed are those that one would use otherwise."""
    deployed, comparison, usual = source.certificate.deployed, source.comparison, standard_row(source.comparison)
    if comparison is not None and usual is not None:
        return same_hyper(deployed.hyper, usual.hyper) and _agree(comparison, usual.name)
    return source.origin.textbook == deployed.index


def keep_them(source: Reported) -> str:
    """That what one would use otherwise is deployed, in a sentence, and advice if it is the best; else empty."""
    c, usual, comparison = source.certificate, source.origin.usual, source.comparison
    count = len(c.design.prior)
    if not same_as_usual(source) or not usable(c) or count == 1:
        return ""
    what = "defaults" if usual == "defaults" else f"{usual}'s hyperparameters"
    if says_little(c):
        return f"The {what} are deployed."
    surpassed = comparison is not None and any(
        comparison.factor(row.name, "learned").low > 1 for row in rivals_of(comparison)
    )
    return f"The {what} are the best of {count} candidates{'' if surpassed else ': keep them'}."


def beside(source: Reported) -> str:
    """The certified number of the objective beside what was measured on the test split."""
    certificate, comparison = source.certificate, source.comparison
    objective = certificate.design.objective
    value = certificate.deployed.values[objective.name]
    if comparison is None:
        return (
            "The certificate stands alone: the test split is empty, and nothing was measured beside it. "
            f"{in_training(certificate, source.table)}"
        )
    if value is not None and isinstance(certificate.design.score, Digits) and objective is explained(certificate):
        return _digits(source, value, comparison["learned"])
    if value is None or not is_ratio(certificate):
        number = comparison["learned"].values.get(objective.name)
        heading = objective.heading(certificate.design)
        interval = _interval_of(objective, certificate, measured_runs(source))
        measured = "" if number is None else f" On the test split it was {estimate(number)}{interval}."
        return f"Certified: {heading} {certified(objective, value, certificate.design)}.{measured}"
    rivals = [row for row in rivals_of(comparison) if row.name != "standard" or not same_as_usual(source)]
    return _means(objective.shown(value), value, comparison, source, rivals)


def _digits(source: Reported, value: float, learned: Row) -> str:
    """The digits that are gained, as on the tile: the score counts those that are not."""
    design, tested = source.certificate.design, measured_runs(source)
    (label, shown), top = design.score.highlight(value), design.score.scale
    interval = None if tested is None else design.objective.interval(tested, design)
    sure = "" if interval is None else f" (95{PERCENT} interval {between((top - interval[1], top - interval[0]))})"
    measured = estimate(top - learned.values[design.objective.name])
    return f"Certified: {label} {shown}. On the test split they were {measured}{sure}."


def _interval_of(claim: AbstractClaim, certificate: Certificate, test: LossTable | None) -> str:
    interval = None if test is None else claim.interval(test, certificate.design)
    return "" if interval is None else f" (95{PERCENT} interval {between(interval)})"


def in_training(certificate: Certificate, table: LossTable) -> str:
    """How raw runs of the certified candidate ended on the training instances."""
    raw = raw_runs(table, certificate.deployed.index)
    if not raw.relative:
        return f"On the training instances {raw.failures or 'none'} of {raw.runs:,} runs failed."
    return (
        f"On the training instances, without the safeguard, {raw.failures or 'none'} of {raw.runs} runs ended above "
        f"their start or failed, {raw.told}."
    )


def _means(shown: str, mean: float, comparison: Comparison, source: Reported, rivals: list[Row]) -> str:
    """The certified mean ratio beside the one that was measured, or the strongest rival's."""
    certificate, doubtful = source.certificate, _contradicted(source)
    if not rivals or certificate.design.objective.name in doubtful:
        learned = comparison["learned"]
        none = f" There are no {comparison.usual.removesuffix('s')} hyperparameters to compare with."
        return (
            f"The certified mean is {shown}; on the test split it was {estimate(learned.mean)} (95{PERCENT} "
            f"interval {between(learned.interval)}).{'' if rivals_of(comparison) else none}"
        )
    rival = rivals[0]
    whose = f"{comparison.of_the_usual} mean" if rival.name == "standard" else f"the mean of {rival.name}"
    interval = f"{between(rival.interval)} on the test split (95{PERCENT} interval)"
    if mean < rival.interval[0]:
        return (
            f"Even the certified mean, {shown}, is at least {down(rival.interval[0] / mean, 3)} times lower than "
            f"{whose}, which is {interval}."
        )
    text = f"The certified mean, {shown}, does not lie below {whose}, which is {interval}"
    who = in_words(rival.name, comparison.usual)
    found = certified_over(certificate, who)
    if found is not None and measured_name(found[0]) in doubtful:
        return f"{text}."
    if found is not None:
        said = found[0].sentence(found[1], subject_of(certificate))
        return f"{text}. Still, this is certified: {said[0].lower()}{said[1:]}"
    return f"{text}. No gain over {who} is certified."
