"""The words of certificates of the first version (schema /1). Frozen, so that stored statements stay what they are."""

from collections.abc import Mapping
from typing import Any

from pacopt.support.rounding import down, percentage, up

#: The order in which shares are named.
ORDER = ("risk", "success", "quantile", "absolute")


class _Names:
    """A mapping whose values are attributes."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def text_of_version_1(stored: Mapping[str, Any]) -> str:
    """The text of a certificate of the first version, from its JSON value."""
    c, design = _Names(stored), _Names(stored["design"])
    deployed, posterior = _Names(stored["deployed"]), _Names(stored["posterior"])
    steps = c.provenance.get("steps")
    run = f"run for {steps} steps from the start" if steps else "run from the start"
    hyper = ", ".join(f"{name} = {value!r}" for name, value in deployed.hyper.items())
    target = "its start" if design.target_ratio == 1 else f"{design.target_ratio!r} times its start"
    event = f"meets {_criterion(c)}" if c.user_success else f"ends at or below {target}"
    shares = ", ".join(f"{name} {design.shares[name]!r}" for name in ORDER if design.shares[name])
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
        f"{len(design.log_weights)} candidates (weight {deployed.weight:.3g}).",
        f"Posterior: training mean {posterior.empirical_risk:.4g}, KL {posterior.kl:.4g} nats, t = {posterior.t:.4g}"
        + (" (at the edge of its grid: another grid might be tighter)." if posterior.t_at_edge else "."),
        f"The failure probability of {1 - c.confidence:.3g} is shared: {shares}.",
        f"Where the start loss is 0 ({c.zero_starts} of the training instances), the ratio counts as 0 if the loss "
        "stayed there, and as 1 otherwise.",
        "Theorems: betting with a mixture over t, for all candidates and posteriors; Clopper-Pearson; kl; order "
        "statistics.",
        "",
        "It rests on:",
        *(f"- {entry['text']} ({entry['status']})" for entry in c.ledger),
        "Not claimed: anything about one given instance, another distribution, more steps, or the minimiser. Selecting "
        "again on the same instances with other candidates voids it.",
        f"Design {c.design_hash}, table {c.table_hash}.",
    ]
    return "\n".join(lines)


def _criterion(c: Any) -> str:
    name = c.provenance.get("criterion")
    return f"the user's success criterion ({name})" if name else "the user's success criterion"
