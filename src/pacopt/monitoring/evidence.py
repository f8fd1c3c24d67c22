"""Evidence against E z <= U that grows with every score: bets on larger ones, of a size that is fixed beforehand."""

import math
from dataclasses import dataclass, field
from typing import Any

from pacopt.errors import MonitorError

#: So many sizes of bets, in equal ratios from the first one to this part of the largest.
BETS, FIRST, LAST = 6, 0.5, 0.95


@dataclass(slots=True)
class Evidence:
    """Evidence that scores in use have a larger mean than `most`.

    **Theorem.** If E[z_i | the past] <= U for all i, then f_i = 1 + lam (z_i - U) with 0 < lam < 1/U is positive and
    has conditional mean at most 1. *Shiryaev & Roberts*: R_n = (R_{n-1} + 1) f_n makes R_n - n a supermartingale, so
    the expected number of scores until R >= A is at least A. *Ville*: the product M_n of the f_i is a supermartingale,
    so it ever reaches 1/a with probability at most a. Both hold for a mixture over lam with weights fixed beforehand.
    **In code** logarithms for each of six lam, in equal ratios from 0.5 to 0.95/U, with equal weights.
    **Needs** scores in [0, 1], given in the order of their instances (declared).

    >>> evidence = Evidence.against(0.01)
    >>> for z in [0, 0, 1, 1, 1]:
    ...     evidence.add(z)
    >>> evidence.log_restarting > 10
    True
    """

    most: float
    bets: list[float]
    log_r: list[float] = field(default_factory=list)
    log_m: list[float] = field(default_factory=list)

    @staticmethod
    def against(most: float) -> "Evidence":
        """No evidence yet that the mean exceeds this."""
        if not (isinstance(most, float | int) and 0 <= most < 1):
            raise MonitorError(
                f"The mean of the scores is claimed to be at most {most!r}.",
                "Only a claim below 1 can be watched.",
                "A score is never larger than 1: nothing that happens in use could speak against such a claim.",
                "Learn with more training instances, or watch another claim.",
            )
        # Nothing is known of a claim of 0 but that any other score than 0 contradicts it: a bet as large as one likes.
        largest = LAST / max(most, 1e-12)
        ratio = (largest / FIRST) ** (1 / (BETS - 1))
        return Evidence(float(most), [FIRST * ratio**k for k in range(BETS)], [-math.inf] * BETS, [0.0] * BETS)

    def add(self, z: float) -> None:
        """One more score."""
        for k, bet in enumerate(self.bets):
            factor, before = math.log1p(bet * (z - self.most)), self.log_r[k]
            # log(R + 1), without overflow
            more = before + math.log1p(math.exp(-before)) if before > 0 else math.log1p(math.exp(before))
            self.log_r[k] = more + factor
            self.log_m[k] += factor

    def restart(self) -> None:
        """Forget what `log_restarting` has gathered, after an alarm."""
        self.log_r = [-math.inf] * len(self.bets)

    @property
    def log_restarting(self) -> float:
        """log R: evidence of a change at any time, whose mean time to a false alarm at A is at least A."""
        return _log_mean(self.log_r)

    @property
    def log_lasting(self) -> float:
        """log M: evidence that the claim never held; by chance it ever reaches 1/a with probability at most a."""
        return _log_mean(self.log_m)

    def to_dict(self) -> dict[str, Any]:
        """A JSON value; no evidence at all is null."""
        return {
            "bets": self.bets,
            "log_m": self.log_m,
            "log_r": [None if value == -math.inf else value for value in self.log_r],
            "most": self.most,
        }

    @staticmethod
    def from_dict(value: dict[str, Any]) -> "Evidence":
        """What `to_dict` described."""
        evidence = Evidence.against(value["most"])
        log_r = [-math.inf if each is None else float(each) for each in value["log_r"]]
        log_m = [float(each) for each in value["log_m"]]
        sound = all(map(math.isfinite, log_m)) and all(each < math.inf for each in log_r)
        if value["bets"] != evidence.bets or not len(log_r) == len(log_m) == len(evidence.bets) or not sound:
            raise ValueError("its bets are not those of this claim")
        evidence.log_r, evidence.log_m = log_r, log_m
        return evidence


def _log_mean(logs: list[float]) -> float:
    top = max(logs)
    if top == -math.inf:
        return top
    return top + math.log(sum(math.exp(each - top) for each in logs) / len(logs))
