"""A certificate as text that can be read aloud."""

from typing import TYPE_CHECKING, Any

from pacopt.claims import AbstractClaim
from pacopt.claims.checking import is_ours
from pacopt.claims.ledger import some_of
from pacopt.claims.subject import Subject
from pacopt.support import html
from pacopt.support.rounding import counted, down, up
from pacopt.support.values import ONLY, exact, is_shortened, named, readable

if TYPE_CHECKING:
    from pacopt.certificate import Certificate

__all__ = [
    "certificate_html",
    "certificate_summary",
    "certificate_text",
    "down",
    "known_texts",
    "not_the_first",
    "shortfall",
    "subject_of",
    "up",
]


def subject_of(certificate: "Certificate") -> Subject:
    """What the statements of a certificate speak of."""
    c, score, origin = certificate, certificate.design.score, certificate.origin
    steps, relative = origin.steps, score.relative
    hyper, only = named(c.deployed.hyper, exact), len(c.design.prior) == 1 and [*c.deployed.hyper] == [ONLY]
    criterion = "the user's success criterion" + (f" ({origin.criterion})" if origin.criterion else "")
    minimum = "loss above the minimum that the problem states" if origin.known_minimum else score.quantity
    return Subject(
        hyper=f"the {'algorithm' if steps else 'candidate'} with {hyper}" if not only else "the algorithm",
        run=score.running(steps) if steps else "",
        loss=minimum if relative else score.noun,
        unit=score.spoken_unit,
        criterion=criterion if c.user_success else None,
        drawn="instances" if origin.seeds is None else "runs",
        relative=relative,
        proviso=score.proviso,
        target_ratio=c.design.target_ratio,
        safeguarded=_safeguarded(c),
        score=score,
    )


def training_words(certificate: "Certificate") -> str:
    """What was drawn to certify: instances, or groups of them."""
    c, seeds = certificate, certificate.origin.seeds
    each = "" if seeds is None or seeds.replicates == 1 else f", with {seeds.replicates} runs of each"
    if c.grouped:
        rows = c.runs // (1 if seeds is None else seeds.replicates)
        return f"the {c.instances} training groups of {rows} instances in all{each}"
    return f"the {c.instances} training instance{'s' * (c.instances != 1)}{each}"


def new_words(certificate: "Certificate") -> str:
    """What the statements are about."""
    seed = "" if certificate.origin.seeds is None else " with a fresh seed"
    if certificate.grouped:
        return f"an instance drawn at random from a new group from the same distribution{seed}"
    return f"a new instance from the same distribution{seed}"


def begun_words(certificate: "Certificate") -> str:
    """Where runs begin, if that is not at the start of the problem."""
    fields = ", ".join(certificate.origin.start_reads)
    return (
        f"Runs begin at a point computed from the instance ({fields}). The start that ratios are to, and that the "
        "safeguard returns, is that of the problem."
    )


def failed_words(certificate: "Certificate") -> list[str]:
    """That runs of a baseline failed, which makes a gain over it larger."""
    return [
        f"{name[0].upper()}{name[1:]} failed in {counted(count, 'training run')}: this counts as the worst possible "
        "end, and makes the gain larger."
        for name, count in certificate.origin.failed_baselines.items()
    ]


def _safeguarded(c: "Certificate") -> bool:
    """Whether the safeguard is said before a sentence speaks of it as known."""
    known = [claim.safeguards for claim in c.design.claims if is_ours(claim) and claim.safeguards is not None]
    return bool(known) and known[0]


def known_texts(certificate: "Certificate") -> tuple[str, ...]:
    """The text of a certificate, and the one that the first version of its schema stored, with all digits at once."""
    if certificate.stored is not None:
        return (str(certificate),)
    return certificate_text(certificate), certificate_text(certificate, in_full=True)


def certificate_text(certificate: "Certificate", *, in_full: bool = False) -> str:
    """The sentences, where their numbers come from, and what they rest on; all bounds rounded to the safe side.

    Hyperparameters have four digits in the sentence, and all of them on a line of their own; `in_full`, the sentence
    has them, as it once did.
    """
    c, design, subject = certificate, certificate.design, subject_of(certificate)
    hyper = c.deployed.hyper
    shortened = not in_full and any(map(is_shortened, hyper.values())) and named(hyper, exact) in subject.hyper
    whom = subject.hyper.replace(named(hyper, exact), named(hyper, readable)) if shortened else subject.hyper
    run = f", {subject.run}" if subject.run else ""
    lines = [
        *([missed] if (missed := shortfall(c)) else []),
        f"With confidence {c.confidence!r} over the draw of {training_words(c)}, on {new_words(c)}, for {whom}{run}:",
        *(f"- {c.sentences[claim.name]}" for claim in design.spoken),
    ]
    if c.origin.known_minimum:
        lines.append("Loss here means the loss above the minimum that the problem states for the instance.")
    if c.origin.start_reads:
        lines.append(begun_words(c))
    lines += failed_words(c)
    if c.required and c.attained:
        lines.append(f"Chosen among those that are certified with {_asked(c)}.")
    if c.earlier:
        lines.append(not_the_first(c))
    if shortened:
        lines.append(f"Exact values: {named(hyper, exact)}")
    shares = ", ".join(f"{claim.name} {claim.share:.4g}" for claim in design.claims)
    lines += [
        "",
        *_drawn(c),
        *(line for claim in design.claims if is_ours(claim) for line in claim.explained(*_stored(c), design)),
        f"The failure probability of {1 - c.confidence:.3g} is shared: {shares}.",
    ]
    if subject.relative:
        lines.append(
            f"Where the start loss is 0 ({c.zero_starts} of the training instances), the ratio counts as 0 if the loss "
            "stayed there, and as 1 otherwise."
        )
    theorems = [f"{c.theorems[claim.name]} ({claim.name})" for claim in design.claims if claim.name in c.theorems]
    lines += [
        f"Theorems: {'; '.join(theorems)}.",
        "",
        "It rests on:",
        *(f"- {entry.text} ({entry.status})" for entry in c.ledger),
        f"Not claimed: anything about {_others(subject)}. Selecting again on the same instances with other candidates "
        "voids it.",
        f"Design {design.hash}, table {c.table_hash}.",
    ]
    return "\n".join(lines)


def certificate_summary(certificate: "Certificate") -> str:
    """The sentences of a certificate and what they rest on, without how they were computed."""
    lines = str(certificate).partition("\n\n")[0].splitlines()
    missed = shortfall(certificate)
    if missed and lines[0] != missed:  # an earlier version said it at the end
        lines = [missed, *(line for line in lines if not line.startswith("No candidate "))]
    ledger = [f"- {entry.text} ({entry.status})" for entry in certificate.ledger]
    return "\n".join([*lines, "", "It rests on:", *ledger])


def certificate_html(certificate: "Certificate") -> str:
    """The text of a certificate for a notebook: its sentences, and below a fold where they come from."""
    said, _, behind = str(certificate).partition("\n\n")
    missed = shortfall(certificate)
    if missed:  # which an earlier version said at the end
        said = "\n".join(line for line in said.splitlines() if line != missed and not line.startswith("No candidate "))
    return html.boxed(
        html.warning(missed) if missed else "",
        html.prose(said),
        html.folded("Where the numbers come from, and what they rest on", html.prose(behind)),
    )


def not_the_first(certificate: "Certificate") -> str:
    """What earlier certificates of some of the same instances mean for this one."""
    c = certificate
    made = "One earlier certificate was" if c.earlier == 1 else f"{c.earlier} earlier certificates were"
    return (
        f"{made} made with {some_of(c.separate_draws)}. All of them hold together with probability at least "
        f"{max(0.0, round(1 - (1 + c.earlier) * (1 - c.confidence), 12))!r} only, and so does the best of them."
    )


def shortfall(certificate: "Certificate") -> str:
    """What a reader has to know first: that what was asked for is not attained; empty if it is."""
    c = certificate
    asked = "" if c.attained else "What was asked for is not attained: "
    if not c.ever_succeeded:
        return (
            f"{asked or 'Nothing succeeded: '}no candidate succeeded on any training instance. With new training "
            f"instances, {_advice(c)}: on the same ones a second certificate would be void."
        )
    if c.attained:
        return ""
    name, wanted = next((name, wanted) for name, wanted in c.required.items() if not _met(c, name, wanted))
    claim = c.design[name]
    return (
        f"{asked}no candidate could be certified with {_heading(claim, c)} {wanted!r}. The one below comes "
        f"nearest, with {_shown(claim, c.deployed.values[name], c)}."
    )


def _met(c: "Certificate", name: str, wanted: float) -> bool:
    value = c.deployed.values[name]
    return value is not None and (value >= wanted if c.design[name].at_least else value <= wanted)


def _asked(c: "Certificate") -> str:
    asked = [f"{_heading(c.design[name], c)} {wanted!r}" for name, wanted in c.required.items()]
    return " and ".join(asked)


def _drawn(c: "Certificate") -> list[str]:
    """What holds for the posterior, where it is not on one candidate."""
    values = c.posterior.values
    known = [claim for claim in c.design.claims if values.get(claim.name) is not None]
    known = [claim for claim in known if _shown(claim, values[claim.name], c) != claim.missing]
    if not known or max(c.posterior.weights) == 1.0:
        return []
    numbers = ", ".join(f"{_heading(claim, c)} {_shown(claim, values[claim.name], c)}" for claim in known)
    return [f"For a fresh candidate drawn from the posterior for each instance: {numbers}.", ""]


def _stored(c: "Certificate") -> tuple[dict[str, Any], dict[str, Any]]:
    return c.deployed.to_dict(), c.posterior.to_dict()


# A text is the same with and without the code of a claim: of a user's own, only its sentence is taken as it was made.


def _heading(claim: AbstractClaim, c: "Certificate") -> str:
    return claim.heading(c.design) if is_ours(claim) else AbstractClaim.heading(claim, c.design)


def _shown(claim: AbstractClaim, value: float | None, c: "Certificate") -> str:
    return claim.with_unit(value, c.design) if is_ours(claim) else AbstractClaim.shown(claim, value)


def _others(subject: Subject) -> str:
    """What is not claimed."""
    parts = [
        "one given instance",
        *(["more steps"] if subject.run else []),
        "another distribution",
        *(["the minimiser"] if subject.relative else []),
    ]
    return f"{', '.join(parts[:-1])}{',' if len(parts) > 2 else ''} or {parts[-1]}"


def _advice(c: "Certificate") -> str:
    """What might help where nothing succeeded, as far as there is such a thing."""
    steps, ratio = c.origin.steps, not c.user_success and c.design.target_ratio < 1
    parts = [
        f"look for candidates elsewhere{' (smaller step sizes, a wider domain)' if steps else ''}",
        *(["allow more steps"] if steps else []),
        f"ask for less{' (a larger target ratio)' if ratio else ''}",
    ]
    return f"{', '.join(parts[:-1])}{',' if len(parts) > 2 else ''} or {parts[-1]}"
