"""The paper's claims as functions of numbers. Each can come out negative."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import stdtr

#: Whose claims there are verdicts on: what the paper says, and what pacopt certifies on the same instances.
PAPER, PACOPT = "paper", "pacopt"


@dataclass(frozen=True, slots=True)
class Tally:
    """How many claims hold, of how many."""

    hold: int
    claims: int

    def __str__(self) -> str:
        return f"{self.hold} of {self.claims} {'holds' if self.claims == 1 else 'hold'}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim, whether these numbers bear it out, what they are, and whose claim it is: the paper's or pacopt's."""

    claim: str
    holds: bool
    evidence: str
    source: str = PAPER

    def __str__(self) -> str:
        return f"{'holds' if self.holds else 'DOES NOT HOLD'}: {self.claim}: {self.evidence}"


def tallies(verdicts: Iterable[Verdict]) -> dict[str, Tally]:
    """How many claims hold, by whose they are; only those who claim something."""
    found = list(verdicts)
    groups = {source: [v.holds for v in found if v.source == source] for source in (PAPER, PACOPT)}
    return {source: Tally(sum(held), len(held)) for source, held in groups.items() if held}


def mass_moves_to_textbook(distances: Float[np.ndarray, " count"], name: str) -> Verdict:
    """Mean distances of the posterior from the textbook step size, by increasing numbers of steps."""
    falls = bool(np.all(np.diff(distances) < 0))
    return Verdict(
        f"posterior mass moves to 2/(L + μ) with the number of steps, with {name}",
        falls,
        f"mean relative distance {', '.join(f'{value:.3f}' for value in distances)}"
        + ("" if falls else ", which does not fall each time"),
    )


def no_mass_beyond(mass: Float[np.ndarray, " count"], name: str) -> Verdict:
    """Posterior mass beyond 2/L, for each number of steps."""
    none = bool(np.all(np.asarray(mass) < 0.01))
    return Verdict(
        f"no posterior mass beyond 2/L (below one per cent), with {name}",
        none,
        f"at most {np.max(mass):.2g}" if none else f"up to {np.max(mass):.2g}, more than 0.01",
    )


def beats_textbook(learned: Float[np.ndarray, " instance"], textbook: Float[np.ndarray, " instance"]) -> Verdict:
    """Final losses on the same instances: a one-sided paired t-test at 0.001."""
    gain = np.asarray(textbook) - np.asarray(learned)
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    # Without any spread the sign of the gain says it all.
    p_value = float(stdtr(len(gain) - 1, -gain.mean() / error)) if error > 0 else float(gain.mean() <= 0)
    return Verdict(
        "learned beats the textbook significantly",
        p_value < 1e-3,
        f"mean loss with the safeguard {np.mean(learned):.4g} against {np.mean(textbook):.4g}, p = {p_value:.1g}"
        + ("" if p_value < 1e-3 else ", not below 0.001"),
    )


def no_further_acceleration(means: Float[np.ndarray, " level"], strongest: float) -> Verdict:
    """Mean losses of converged runs by decreasing guarantee: none is smaller than the first by more than a fifth."""
    best = float(np.min(means) / means[0])
    return Verdict(
        f"a weaker guarantee than {strongest} brings no further acceleration",
        best > 0.8,
        f"the best mean loss is {best:.2f} times that of the strongest guarantee"
        + ("" if best > 0.8 else ", less than 0.8 times"),
    )


def above_diagonal(
    levels: Float[np.ndarray, " level"], frequencies: Float[np.ndarray, "level set"], what: str
) -> Verdict:
    """Success frequencies, or lower bounds on success probabilities, against the level asked for."""
    below = np.asarray(frequencies) < np.asarray(levels)[:, None]
    return Verdict(
        f"{what} lie above the diagonal",
        not below.any(),
        f"{int(below.sum())} of {below.size} below",
    )


def admits_only_able(shares: Float[np.ndarray, " level"]) -> Verdict:
    """Shares of the final prior's draws that truly succeed less often than asked for."""
    worst = float(np.max(shares))
    return Verdict(
        "the final prior admits only what succeeds as often as asked for",
        worst <= 0.01,
        f"up to {worst:.0%} of its draws do not" + ("" if worst <= 0.01 else ", more than 1%"),
    )


def bound_holds(bound: float, truth: float, name: str) -> Verdict:
    """A bound on the mean loss against the mean loss on fresh instances."""
    evidence = f"{bound:.4g} against {truth:.4g}, {bound / truth:.2f} times"
    return Verdict(f"the {name} holds", bound >= truth, evidence, PACOPT)


def lay_above(estimate: float, truth: float, name: str) -> Verdict:
    """An estimate, which promises nothing, against the mean loss of what was deployed, on fresh instances."""
    evidence = f"{estimate:.4g} against {truth:.4g}, {estimate / truth:.2f} times"
    return Verdict(f"the {name} lay above the truth on this draw", estimate >= truth, evidence)


def good_estimate(estimate: float, truth: float, name: str) -> Verdict:
    """Within a factor of two of the truth."""
    evidence = f"{estimate / truth:.2f} times the truth" + ("" if estimate <= 2 * truth else ", more than twice")
    return Verdict(
        f"the {name} is a good estimate of the true mean (within a factor of 2)", estimate <= 2 * truth, evidence
    )
