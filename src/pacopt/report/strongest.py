"""A claim over several baselines is said over the strongest of them first: the one with the least certified gain."""

from typing import Any, NamedTuple

from pacopt.certificate import Certificate
from pacopt.claims import AbstractClaim, Subject
from pacopt.claims.measuring import one_by_one, over_alone
from pacopt.claims.over import Over


class Led(NamedTuple):
    """What is said of a claim first, with its number: the claim itself, or the claim over one baseline alone.

    `others` are the same claim over the other baselines, from the strongest to the weakest, and `missing` is the claim
    over all baselines over which it states nothing, without a number; None if there are none, or nothing else.
    """

    claim: AbstractClaim
    value: Any
    others: tuple[tuple[AbstractClaim, Any], ...] = ()
    missing: AbstractClaim | None = None

    def beside(self, subject: Subject, certificate: Certificate) -> tuple[str, str]:
        """What is said of the other baselines below the tiles: of those without a number, and of those with one."""
        told = [
            f"{claim.highlight(value, subject, certificate.design).value} over {_first(claim)}".replace("≥ ", "≥\u00a0")
            for claim, value in self.others
        ]
        name = f"{self.claim.name[0].upper()}{self.claim.name[1:]}"
        lacking = f"{name}: none shown over {_first(self.missing)}." if self.missing is not None else ""
        return lacking, f"{name}: {'; '.join(told)}." if told else ""


def led(claim: AbstractClaim, certificate: Certificate) -> Led:
    """What is said of this claim first, of the deployed candidate."""
    values = certificate.deployed.values
    if not isinstance(claim, Over) or len(claim.over) == 1:
        return Led(claim, values[claim.name])
    shown = [each for each in strongest_first(claim, certificate) if each[1]]
    lacking = [_first(each) for each, value in one_by_one([claim], values) if not value]
    missing = over_alone(claim, listed(lacking)) if lacking else None
    if missing is not None and not shown:
        return Led(missing, None)
    (first, value), *others = shown
    return Led(first, value, tuple(others), missing)


def strongest_first(claim: AbstractClaim, certificate: Certificate) -> list[tuple[AbstractClaim, Any]]:
    """A claim over each of its baselines, from the strongest to the weakest; last those over which it states nothing.

    The first claim over baselines, a gain, says how strong they are, so that a win leads with the same one.
    """
    values = certificate.deployed.values
    measure = next((each for each in certificate.design.spoken if isinstance(each, Over)), claim)
    gains = {_first(each): value for each, value in one_by_one([measure], values) if value}

    def rank(each: tuple[AbstractClaim, Any]) -> tuple[bool, float, float]:
        over, value = each
        return not value, gains.get(_first(over), 0.0), value or 0.0

    return sorted(one_by_one([claim], values), key=rank)


def certified_over(certificate: Certificate, baseline: str) -> tuple[AbstractClaim, Any] | None:
    """The first claim that states a number worth saying over this baseline, with that number."""
    for claim, value in one_by_one(certificate.design.claims, certificate.deployed.values):
        if not isinstance(claim, Over) or claim.over[0] != baseline or not value:
            continue
        if claim.shown(value) != claim.missing:
            return claim, value
    return None


def listed(names: list[str]) -> str:
    """Names with an "or" before the last.

    >>> listed(["L-BFGS", "Nesterov", "FISTA"])
    'L-BFGS, Nesterov or FISTA'
    """
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _first(claim: AbstractClaim) -> str:
    return claim.over[0] if isinstance(claim, Over) else claim.name
