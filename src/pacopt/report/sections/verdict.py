"""The first screen in words: never more than the certificate says."""

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from pacopt.certificate import Certificate
from pacopt.comparison import Comparison
from pacopt.report.source import Reportable
from pacopt.report.words import estimate, level_percent, percent, standard_row
from pacopt.statement import criterion, down, up

NOTHING = (
    "No candidate succeeded on any training instance: there is nothing to deploy. Look for candidates elsewhere "
    "(smaller step sizes, a wider domain), allow more steps, or ask for less (a larger target ratio)."
)


@dataclass(frozen=True, slots=True)
class Tile:
    """One of the three numbers, with what it means."""

    label: str
    value: str
    caption: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The badge (a word and its tone), the sentence, the three numbers, and what to make of them."""

    word: str
    tone: str
    sentence: Markup
    tiles: tuple[Tile, ...]
    findings: tuple[str, ...]
    remarks: tuple[str, ...]


def verdict_of(learned: Reportable) -> Verdict:
    """What the first screen says."""
    c = learned.certificate
    remarks = learned.remarks
    if c.ever_succeeded and vacuous(c):
        remarks += ("a mean ratio of at most 1 is what the safeguard alone gives: it takes more instances for more",)
    if not c.ever_succeeded:
        word, tone = "Nothing to deploy", "bad"
    elif not c.attained:
        word, tone = "Asked-for success not attained", "warn"
    elif remarks:
        word, tone = "Certified, with remarks", "warn"
    else:
        word, tone = "Certified", "good"
    return Verdict(word, tone, _sentence(c), _tiles(c), _findings(c, learned.comparison), remarks)


def vacuous(certificate: Certificate) -> bool:
    """Whether the bound on the mean is one that every algorithm has."""
    return float(up(certificate.deployed.risk)) >= 1


def _event(c: Certificate) -> str:
    if c.user_success:
        return f"meets {criterion(c)}"
    ratio = c.design.target_ratio
    return "ends at or below its start" if ratio == 1 else f"ends at or below {ratio!r} times its start"


def _sentence(c: Certificate) -> Markup:
    deployed, steps = c.deployed, c.provenance.get("steps")
    strong = Markup("<strong>{}</strong>").format
    parts = [
        Markup(
            "With confidence {} over the draw of the {} training instances: on a new instance from the same "
            "distribution, the algorithm with {}, run{} from the start and returning the start unless it ended at or "
            "below it, has an expected final-to-initial loss ratio of at most {}."
        ).format(
            strong(level_percent(c.confidence)),
            c.instances,
            ", ".join(f"{name} = {value!r}" for name, value in deployed.hyper.items()),
            f" for {steps} steps" if steps else "",
            strong(up(deployed.risk)),
        ),
        Markup("Without that safeguard it {} with probability at least {}").format(
            _event(c), strong(percent(down(deployed.success)))
        ),
    ]
    level = level_percent(c.design.quantile_level)
    if deployed.quantile is None:
        parts[-1] += Markup("; {} on the {} quantile can be given.").format(strong("no finite bound"), level)
    else:
        parts[-1] += Markup(", and at least {} of instances end at a ratio of at most {}.").format(
            level, strong(up(deployed.quantile))
        )
    if c.provenance.get("known_minimum"):
        parts.append(Markup("Loss means the loss above the minimum that the problem states."))
    if deployed.absolute is not None:
        parts.append(
            Markup("With the safeguard its expected final loss is at most {}.").format(strong(up(deployed.absolute)))
        )
    return Markup(" ").join(parts)


def _tiles(c: Certificate) -> tuple[Tile, ...]:
    deployed, level = c.deployed, level_percent(c.design.quantile_level)
    bound = up(deployed.risk)
    loss = "loss above its minimum" if c.provenance.get("known_minimum") else "loss"
    quantile = (
        Tile(f"{level} quantile", "none", f"No finite bound on the {level} quantile with these instances and weights.")
        if deployed.quantile is None
        else Tile(
            f"{level} of instances",
            f"≤ {up(deployed.quantile)}",
            f"At least {level} of new instances end at or below this ratio, without the safeguard.",
        )
    )
    return (
        Tile(
            "mean ratio",
            f"≤ {bound}",
            f"On average the {loss} ends at no more than {percent(bound)} of its start. With the safeguard.",
        ),
        Tile(
            "success",
            f"≥ {percent(down(deployed.success))}",
            f"The probability that a run {_event(c)}, without the safeguard.",
        ),
        quantile,
    )


def _findings(c: Certificate, comparison: Comparison | None) -> tuple[str, ...]:
    deployed, found = c.deployed, []
    if not c.ever_succeeded:
        found.append(NOTHING)
    if not c.attained:
        found.append(
            f"No candidate could be certified to succeed with probability {c.min_success!r}: the one above has the "
            f"largest certified probability, {down(deployed.success)}."
        )
    elif c.min_success is not None:
        found.append(
            f"The success probability of {c.min_success!r} that was asked for is certified: at least "
            f"{down(deployed.success)}."
        )
    if c.ever_succeeded:
        found.append(_beside(c.deployed.risk, comparison))
    floor = -np.expm1(np.log(c.design.shares.risk * (1 - c.confidence) * deployed.weight) / c.instances)
    if deployed.empirical_risk < floor and not vacuous(c):
        found.append(
            f"Measured on the training instances was less, {estimate(deployed.empirical_risk)}: {c.instances} "
            f"instances cannot certify a mean below about {floor:.2g}. The quantile says more of what most of them do."
        )
    return tuple(found)


def _beside(risk: float, comparison: Comparison | None) -> str:
    """The certified mean beside what was measured on the test split."""
    standard = standard_row(comparison)
    if comparison is None:
        return "The certificate stands alone: the test split is empty, and nothing was measured beside it."
    if standard is None:
        return (
            f"The certified mean is {up(risk)}; measured on the test split was {estimate(comparison['learned'].mean)}. "
            "There are no textbook hyperparameters to compare with."
        )
    if risk < standard.mean:
        return (
            f"Even the certified mean, {up(risk)}, is {down(standard.mean / risk, 3)} times lower than the "
            f"{estimate(standard.mean)} reached with the textbook's hyperparameters on the test split."
        )
    return (
        f"The certified mean, {up(risk)}, is not below the {estimate(standard.mean)} reached with the textbook's "
        "hyperparameters on the test split: the certificate alone does not show that the learned ones are "
        "better."
    )


def against_standard(comparison: Comparison) -> str:
    """Learned against standard on the test split in a few words."""
    standard, learned = standard_row(comparison), comparison["learned"]
    if standard is None:
        return f"mean ratio {estimate(learned.mean)}"
    if learned.mean == standard.mean:
        return "the same mean ratio as the textbook's"
    if learned.mean == 0:
        return f"a mean ratio of 0, the textbook's is {estimate(standard.mean)}"
    if standard.mean == 0:
        return f"a mean ratio of {estimate(learned.mean)}, the textbook's is 0"
    lower = learned.mean < standard.mean
    factor = standard.mean / learned.mean if lower else learned.mean / standard.mean
    return f"{down(factor, 3)} times {'lower' if lower else 'higher'} mean ratio than the textbook's"
