"""What the test split shows: learned beside textbook, each mean and factor with its interval."""

from dataclasses import dataclass

from pacopt.certificate import Certificate
from pacopt.claims import AbstractClaim
from pacopt.claims.standard import REQUIRED
from pacopt.comparison import Comparison, Row, between, percentages, raw_runs, times
from pacopt.loss_table import LossTable
from pacopt.report.source import Reported
from pacopt.report.strongest import certified_over
from pacopt.report.words import certified, estimate, is_ratio, rivals_of
from pacopt.statement import subject_of
from pacopt.support.rounding import PERCENT, down

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
    place = f"{comparison.instances} test {comparison.noun}"
    return Measured(against_strongest(comparison), header, lines, f"Measured on {place}, not certified. {note}")


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
        "worst": estimate(row.worst, 3),
    }


def _row_name(row: Row, comparison: Comparison) -> str:
    return comparison.usual if row.name == "standard" else row.name.removeprefix("the ")


def _chance(row: Row) -> str:
    """The interval of the probability of success."""
    return percentages(row.success_interval).replace(" %", PERCENT)


def against_strongest(comparison: Comparison) -> str:
    """Learned against the strongest rival, in a few words: a number only where instances tell it."""
    rivals, mean, count = rivals_of(comparison), f"mean {comparison.averaged}", comparison.instances
    if not rivals:
        return f"a {mean} of {between(comparison['learned'].interval)} (95{PERCENT} interval)"
    rival, usual = rivals[0].name, rivals[0].name == "standard"
    factor, whose = comparison.factor("learned", rival), comparison.of_the_usual if usual else f"that of {rival}"
    if not factor.sure:
        other = f"{whose} {mean}" if usual else rival
        return f"no difference from {other} that {count} instances can show ({times(factor)})"
    word = "lower" if factor.low > 1 else "higher"
    if word == "higher":
        factor = comparison.factor(rival, "learned")
    if factor.high <= NARROW * factor.low:
        return f"{times(factor)} {word} {mean} than {whose} (95{PERCENT} interval)"
    return f"a {word} {mean} than {whose}; by how much, {count} instances do not tell ({times(factor)})"


def beside(
    certificate: Certificate, comparison: Comparison | None, table: LossTable, test: LossTable | None = None
) -> str:
    """The certified number of the objective beside what was measured on the test split."""
    objective = certificate.design.objective
    value = certificate.deployed.values[objective.name]
    if comparison is None:
        return (
            "The certificate stands alone: the test split is empty, and nothing was measured beside it. "
            f"{in_training(certificate, table)}"
        )
    if value is None or not is_ratio(certificate):
        number = comparison["learned"].values.get(objective.name)
        heading = objective.heading(certificate.design)
        interval = _interval_of(objective, certificate, test)
        measured = "" if number is None else f" Measured on the test split was {estimate(number)}{interval}."
        return f"Certified: {heading} {certified(objective, value, certificate.design)}.{measured}"
    return _means(objective.shown(value), value, comparison, certificate)


def _interval_of(claim: AbstractClaim, certificate: Certificate, test: LossTable | None) -> str:
    interval = None if test is None else claim.interval(test, certificate.design)
    return "" if interval is None else f" (95{PERCENT} interval {between(interval)})"


def in_training(certificate: Certificate, table: LossTable) -> str:
    """How raw runs of the certified candidate ended on the training instances."""
    raw = raw_runs(table, certificate.deployed.index)
    if not raw.relative:
        return f"On the training instances {raw.failures or 'none'} of {raw.runs} runs failed."
    return (
        f"On the training instances, without the safeguard, {raw.failures or 'none'} of {raw.runs} runs ended above "
        f"their start or failed, {raw.told}."
    )


def _means(shown: str, mean: float, comparison: Comparison, certificate: Certificate) -> str:
    """The certified mean ratio beside the one that was measured, or the strongest rival's."""
    rivals = rivals_of(comparison)
    if not rivals:
        learned = comparison["learned"]
        return (
            f"The certified mean is {shown}; measured on the test split was {estimate(learned.mean)} (95{PERCENT} "
            f"interval {between(learned.interval)}). There are no {comparison.usual.removesuffix('s')} hyperparameters "
            "to compare with."
        )
    rival = rivals[0]
    usual = rival.name == "standard"
    whose = f"{comparison.of_the_usual} mean" if usual else f"the mean of {rival.name}"
    interval = f"{between(rival.interval)} on the test split (95{PERCENT} interval)"
    if mean < rival.interval[0]:
        return (
            f"Even the certified mean, {shown}, is at least {down(rival.interval[0] / mean, 3)} times lower than "
            f"{whose}, which is {interval}."
        )
    text = f"The certified mean, {shown}, does not lie below {whose}, which is {interval}"
    found = certified_over(certificate, f"the {comparison.usual}" if usual else rival.name)
    if found is not None:
        said = found[0].sentence(found[1], subject_of(certificate))
        return f"{text}. Still, this is certified: {said[0].lower()}{said[1:]}"
    return f"{text}: the certificate alone does not show that the learned hyperparameters are better."
