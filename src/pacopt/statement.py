"""A certificate as text that can be read aloud."""

from dataclasses import asdict
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pacopt.certificate import Certificate


def certificate_text(certificate: "Certificate") -> str:
    """The sentence, its numbers, where they come from, and what they rest on; all numbers rounded to the safe side."""
    c, deployed, posterior, design = certificate, certificate.deployed, certificate.posterior, certificate.design
    steps = c.provenance.get("steps")
    run = f"run for {steps} steps from the start" if steps else "run from the start"
    hyper = ", ".join(f"{name} = {value!r}" for name, value in deployed.hyper.items())
    target = "its start" if design.target_ratio == 1 else f"{design.target_ratio!r} times its start"
    event = f"meets {criterion(c)}" if c.user_success else f"ends at or below {target}"
    shares = ", ".join(f"{name} {share!r}" for name, share in asdict(design.shares).items() if share)
    level = f"{percentage(design.quantile_level)} %"
    lines = [
        f"With confidence {c.confidence!r} over the draw of the {c.instances} training instances:",
        f"on a new instance from the same distribution, the algorithm with {hyper}, {run} and returning the start "
        f"unless it ended at or below it, has expected final-to-initial loss ratio at most {up(deployed.risk)}.",
        f"Without that safeguard it {event} with probability at least {down(deployed.success)}.",
    ]
    if deployed.quantile is None:
        lines.append(f"No finite bound on the {level} quantile can be given with these instances and weights.")
    else:
        lines.append(
            f"At least {level} of instances end, without the safeguard, at a ratio of at most {up(deployed.quantile)}."
        )
    if c.provenance.get("known_minimum"):
        lines.append("Loss means here the loss above the minimum that the problem states for the instance.")
    if deployed.absolute is not None:
        lines.append(f"With the safeguard its expected final loss is at most {up(deployed.absolute)}.")
    if c.min_success is not None and c.attained:
        lines.append(f"Deployed among those with a certified success probability of at least {c.min_success!r}.")
    if not c.ever_succeeded:
        lines.append(
            "No candidate succeeded on any training instance: there is nothing to deploy. Look for candidates "
            "elsewhere (smaller step sizes, a wider domain), allow more steps, or ask for less (a larger target ratio)."
        )
    if not c.attained:
        lines.append(
            f"No candidate could be certified to succeed with probability {c.min_success!r}: the one above has the "
            f"largest certified probability, {down(deployed.success)}."
        )
    lines += [
        "",
        "For a fresh candidate drawn from the posterior for each instance: "
        f"expected ratio at most {up(posterior.risk)}, success with probability at least {down(posterior.success)}.",
        "",
        f"Where {up(deployed.risk)} comes from: {deployed.empirical_risk:.4g} on the training instances + "
        f"{deployed.confidence_cost:.4g} for the confidence + {deployed.selection_cost:.4g} for the choice among "
        f"{len(design.prior)} candidates (weight {deployed.weight:.3g}).",
        f"Posterior: training mean {posterior.empirical_risk:.4g}, KL {posterior.kl:.4g} nats, t = {posterior.t:.4g}"
        + (" (at the edge of its grid: another grid might be tighter)." if posterior.t_at_edge else "."),
        f"The failure probability of {1 - c.confidence:.3g} is shared: {shares}.",
        f"Where the start loss is 0 ({c.zero_starts} of the training instances), the ratio counts as 0 if the loss "
        "stayed there, and as 1 otherwise.",
        "Theorems: betting with a mixture over t, for all candidates and posteriors; Clopper-Pearson; kl; order "
        "statistics.",
        "",
        "It rests on:",
        *(f"- {entry.text} ({entry.status})" for entry in c.ledger),
        "Not claimed: anything about one given instance, another distribution, more steps, or the minimiser. Selecting "
        "again on the same instances with other candidates voids it.",
        f"Design {design.hash}, table {c.table_hash}.",
    ]
    return "\n".join(lines)


def certificate_summary(certificate: "Certificate") -> str:
    """The sentences of a certificate and what they rest on, without how they were computed."""
    sentences = certificate_text(certificate).partition("\n\n")[0]
    ledger = "\n".join(f"- {entry.text} ({entry.status})" for entry in certificate.ledger)
    return f"{sentences}\n\nIt rests on:\n{ledger}"


def criterion(certificate: "Certificate") -> str:
    """What a user calls a success."""
    name = certificate.provenance.get("criterion")
    return f"the user's success criterion ({name})" if name else "the user's success criterion"


def percentage(level: float) -> str:
    """A level that somebody chose, in per cent, with all its digits.

    >>> [percentage(level) for level in (0.9, 0.99, 0.99999999999)]
    ['90', '99', '99.999999999']
    """
    return f"{Decimal(repr(level)).scaleb(2).normalize():f}"


def up(value: float, digits: int = 4) -> str:
    """The value rounded up to some significant digits."""
    return _rounded(value, digits, ROUND_CEILING)


def down(value: float, digits: int = 4) -> str:
    """The value rounded down to some significant digits."""
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: float, digits: int, side: str) -> str:
    rounded = Context(prec=digits, rounding=side).create_decimal(value).normalize()
    # Written out where that is easily read: 30 and not 3e+1.
    return f"{rounded:f}" if rounded == 0 or -5 < rounded.adjusted() < 6 else f"{rounded:e}"
