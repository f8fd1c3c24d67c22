"""The first screen in words: never more than the certificate says."""

import re
from collections.abc import Container
from dataclasses import dataclass, replace

import numpy as np
from markupsafe import Markup

from pacopt.certificate import Certificate
from pacopt.claims import AbstractClaim, Subject
from pacopt.claims.checking import is_ours
from pacopt.claims.over import Over
from pacopt.report.budgets import Budgets
from pacopt.report.sections.measured import beside, keep_them
from pacopt.report.source import Reported
from pacopt.report.strongest import led
from pacopt.report.tested import contradicted_claims
from pacopt.report.words import (
    USELESS,
    certified,
    estimate,
    explained,
    hyper_text,
    is_ratio,
    level_percent,
    noun,
    training,
    useless,
    vacuous,
)
from pacopt.statement import begun_words, new_words, not_the_first, shortfall, subject_of, training_words
from pacopt.support.rounding import PERCENT
from pacopt.support.values import exact, named


@dataclass(frozen=True, slots=True)
class Number:
    """One of the certified numbers, with its unit and with what it means.

    Of a claim over several baselines: over which of them nothing is shown, and what is certified over the others.
    """

    label: str
    value: str
    unit: str
    caption: str
    missing: str = ""
    others: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """The badge (a word and its tone), the sentence, the certified numbers, and what to make of them.

    `shortfall` comes before everything else: what was asked for is not attained.
    """

    word: str
    tone: str
    shortfall: str
    sentence: Markup
    numbers: tuple[Number, ...]
    findings: tuple[str, ...]
    remarks: tuple[str, ...]


def summary_of(source: Reported) -> Summary:
    """What the first screen says."""
    c = source.certificate
    subject = short_subject(c)
    remarks = tuple(_as_sentence(remark, c.deployed.hyper) for remark in source.remarks + _remarks(c))
    if not c.ever_succeeded:
        word, tone = "Nothing succeeded", "bad"
    elif not c.attained:
        word, tone = f"Asked-for {_missed(c)} not attained", "warn"
    elif contradicted_claims(source):
        word, tone = "Certified, but contradicted", "warn"
    elif remarks:
        word, tone = "Certified, with remarks", "warn"
    else:
        word, tone = "Certified", "good"
    claims = tuple(claim for claim in ordered(c) if not over_itself(source, claim))
    numbers = tuple(_number(c, claim, subject) for claim in claims)
    findings = _findings(source)
    return Summary(word, tone, shortfall(c), _sentence(c, claims, subject), numbers, findings, remarks)


def short_subject(certificate: Certificate) -> Subject:
    """What the statements speak of, with hyperparameters for reading: all digits stand where they are to be copied."""
    subject, hyper = subject_of(certificate), certificate.deployed.hyper
    return replace(subject, hyper=subject.hyper.replace(named(hyper, exact), hyper_text(hyper)))


def ordered(c: Certificate) -> tuple[AbstractClaim, ...]:
    """The claims in the order in which people ask: gains, the budget, the rest, and gains and budgets without one."""
    budgets = Budgets.of(c, None)

    def rank(claim: AbstractClaim) -> int:
        leading, budget = claim.leading and is_ours(claim), budgets is not None and claim is budgets.claim
        if leading or budget:
            return (0 if leading else 1) if led(claim, c).value else 3
        return 2

    return tuple(sorted(c.design.spoken, key=rank))


def over_itself(source: Reported, claim: AbstractClaim) -> bool:
    """Whether a claim without a number is over nothing but what is deployed: the verdict says that in other words."""
    own = isinstance(claim, Over) and claim.over == (f"the {source.origin.usual}",)
    return own and not source.certificate.deployed.values[claim.name] and bool(keep_them(source))


def said(certificate: Certificate, claim: AbstractClaim, value: float | None, subject: Subject) -> str:
    """The sentence of a claim, in the words that were stored if there are any."""
    if useless(claim, value, certificate.design):
        return f"There is {USELESS} on the {noun(claim, certificate.design)}."
    of_design = any(each is claim for each in certificate.design.claims)
    return (of_design and certificate.sentences.get(claim.name)) or claim.sentence(value, subject)


def _remarks(c: Certificate) -> tuple[str, ...]:
    """What the certificate itself gives a reader to think about."""
    objective, more = c.design.objective, "it takes more, and new, training instances for more"
    found = []
    if c.deployed.values[objective.name] is None:
        found.append(f"no finite {noun(objective, c.design)} could be certified: {more}")
    if c.ever_succeeded and vacuous(c):
        why = "what the safeguard alone gives" if is_ratio(c) else "what every candidate has, by its range"
        scale = f"{c.design.score.scale:g}{_unit(c)}"
        found.append(f"a {noun(objective, c.design)} of at most {scale} is {why}: {more}")
    if c.earlier:
        found.append(not_the_first(c))
    return tuple(found)


def _as_sentence(remark: str, names: Container[str]) -> str:
    """A remark with a capital and a full stop; one of these names stays as it is.

    >>> [_as_sentence(text, {"beta"}) for text in ("on the test split it fails", "beta = 1 is at the edge.")]
    ['On the test split it fails.', 'beta = 1 is at the edge.']
    """
    first = remark[0] if remark.partition(" ")[0] in names else remark[0].upper()
    return f"{first}{remark[1:].removesuffix('.')}.".replace(" %", PERCENT)


def _missed(c: Certificate) -> str:
    """The first of the claims of which more was asked than could be certified."""
    for name, wanted in c.required.items():
        value = c.deployed.values[name]
        if value is None or not c.design[name].meets(np.array([value]), wanted)[0]:
            return name
    return "number"


def _sentence(c: Certificate, claims: tuple[AbstractClaim, ...], subject: Subject) -> Markup:
    run = f", {subject.run}" if subject.run else ""
    lead = Markup("With confidence {} over the draw of {}, on {}, for {}{}:").format(
        _strong(level_percent(c.confidence)), training_words(c), new_words(c), subject.hyper, run
    )
    parts = [lead, *(text for claim in claims for text in _sentences(c, claim, subject))]
    if c.origin.known_minimum:
        parts.append(Markup("Loss means the loss above the minimum that the problem states."))
    if c.origin.start_reads:
        parts.append(Markup("{}").format(begun_words(c)))
    return Markup(" ").join(parts)


def _sentences(c: Certificate, claim: AbstractClaim, subject: Subject) -> list[Markup]:
    """What holds against the strongest baseline, and against which of them nothing could be shown."""
    first = led(claim, c)
    found = [_stressed(c, first.claim, first.value, subject)]
    if first.missing is not None:
        found.append(Markup("{}").format(first.missing.sentence(None, subject)))
    return found


def _stressed(c: Certificate, claim: AbstractClaim, value: float | None, subject: Subject) -> Markup:
    """The sentence of a claim with its number in bold."""
    sentence = said(c, claim, value, subject)
    texts = [claim.shown(value), claim.highlight(value, subject, c.design).value.removeprefix("≥ ")]
    shown = "|".join(re.escape(text) for text in texts)
    *_, place = [None, *re.finditer(rf"(?<![\w.])(?:{shown})(?!\w|\.\d)", sentence)]
    if value is None or place is None:
        return Markup("{}").format(sentence)
    before, after = sentence[: place.start()], sentence[place.end() :]
    return Markup("{}{}{}").format(before, _strong(place[0]), after)


def _strong(text: str) -> Markup:
    return Markup("<strong>{}</strong>").format(text)


def _number(c: Certificate, claim: AbstractClaim, subject: Subject) -> Number:
    first = led(claim, c)
    claim, value = first.claim, first.value
    label, shown, caption = claim.highlight(value, subject, c.design)
    if useless(claim, value, c.design):
        return Number(label, USELESS, "", said(c, claim, value, subject))
    if caption == claim.sentence(value, subject):
        caption = said(c, claim, value, subject)
    sign, _, rest = shown.partition(" ")
    number, _, unit = rest.partition(" ")
    signed = sign in ("≤", "≥") and bool(unit)
    if not signed and any(map(str.isdigit, shown)) and c.design.score.unit not in label and claim.in_scores(c.design):
        unit, signed = c.design.score.unit, True
    missing, others = first.beside(subject, c)
    return Number(label, f"{sign} {number}" if signed else shown, unit if signed else "", caption, missing, others)


def _unit(c: Certificate) -> str:
    return f" {c.design.score.unit}" if c.design.score.unit else ""


def _findings(source: Reported) -> tuple[str, ...]:
    c, found = source.certificate, []
    for name, wanted in c.required.items() if c.attained else ():
        claim, side = c.design[name], "least" if c.design[name].at_least else "most"
        number = certified(claim, c.deployed.values[name], c.design)
        found.append(f"The {name} of at {side} {wanted!r} that was asked for is certified: at {side} {number}.")
    if not source.learned:
        found.append("There is no test split: nothing was measured beside the certificate.")
    elif c.ever_succeeded:
        found += [keep_them(source), beside(source)]
    return tuple(text for text in (*found, _floor(c)) if text)


def _floor(c: Certificate) -> str:
    """That so few instances cannot certify a mean as small as the one that was measured."""
    claim, scale = explained(c), c.design.score.scale
    parts = None if claim is None else claim.parts(c.deployed.values)
    if claim is None or parts is None or vacuous(c):
        return ""
    price = np.log(claim.share * (1 - c.confidence) * c.deployed.weight)
    floor, measured = -scale * np.expm1(price / c.instances), parts[0]
    if measured >= floor:
        return ""
    text = (
        f"The mean on the training instances was smaller, {estimate(measured)}{_unit(c)}, but "
        f"{training(c).replace('training ', '')} cannot certify one below about {floor:.2g}."
    )
    for other in c.design.claims:
        if other.in_scores(c.design) and other is not claim and c.deployed.values[other.name] is not None:
            return f"{text} The {noun(other, c.design)} says more of what most of them do."
    return text
