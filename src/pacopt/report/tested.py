"""The claims beside the test split, as every part of a page judges them."""

from pacopt.claims import AbstractClaim
from pacopt.claims.measuring import Measured, measured_beside
from pacopt.report.source import Reported


def tested_claims(source: Reported) -> list[Measured]:
    """The claims that say something, beside what the test split shows of them; none without one."""
    tested, c = source.tested, source.certificate
    if tested is None:
        return []
    found = measured_beside(c.deployed.values, c.design, tested)
    return [each for each in found if not nothing(each.claim, each.certified)]


def contradicted_claims(source: Reported) -> list[Measured]:
    """Those of the claims that the test split contradicts."""
    return [each for each in tested_claims(source) if each.contradicted]


def nothing(claim: AbstractClaim, value: float) -> bool:
    """Whether a number says nothing: a probability of at least 0."""
    return claim.at_least and not value
