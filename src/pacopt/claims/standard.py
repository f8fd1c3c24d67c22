"""The claims that are made unless others are asked for, from short arguments; and the shares between claims."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from pacopt.bounds.absolute import Truncation
from pacopt.claims.absolute import Absolute
from pacopt.claims.base import AbstractClaim
from pacopt.claims.quantile import Quantile
from pacopt.claims.risk import Risk
from pacopt.claims.success import Success
from pacopt.errors import DesignError

#: The claim that `min_success` asks something of.
REQUIRED = Success.name


@dataclass(frozen=True, slots=True)
class Shares:
    """How the failure probability is divided between the standard claims; the sum is at most one."""

    risk: float = 0.6
    success: float = 0.2
    quantile: float = 0.2
    absolute: float = 0.0

    def __post_init__(self) -> None:
        """Refuse negative shares, none at all for a statement that is always made, and more than there is."""
        values = asdict(self)
        always = self.risk > 0 and self.success > 0 and self.quantile > 0
        if not (always and self.absolute >= 0 and sum(values.values()) <= 1 + 1e-12):
            raise DesignError(
                f"The shares of epsilon are {values}.",
                "Risk, success and quantile have positive shares, and all shares sum to at most one.",
                "Statements hold together only if their failure probabilities add up to no more than epsilon.",
                "Use the default, Shares().",
            )


def standard_claims(
    *, quantile_level: float = 0.9, truncation: Truncation | None = None, shares: Shares | None = None
) -> tuple[AbstractClaim, ...]:
    """Risk, success and quantile, and the absolute loss where something is declared."""
    if shares is None:
        shares = Shares() if truncation is None else Shares(0.4, 0.2, 0.2, 0.2)
    elif (shares.absolute > 0) != (truncation is not None):
        raise DesignError(
            f"The absolute statement has a share of {shares.absolute} and the declaration {truncation}.",
            "It needs both a share of epsilon and a declared assumption on the start loss, or neither.",
            "Without an assumption no bound on a mean absolute loss exists (Bahadur & Savage 1956).",
            "Declare a Truncation, and for example Shares(0.4, 0.2, 0.2, 0.2); relative statements need nothing.",
        )
    claims: tuple[AbstractClaim, ...] = (
        Risk(shares.risk),
        Success(shares.success),
        Quantile(shares.quantile, quantile_level),
    )
    return claims if truncation is None else (*claims, Absolute(truncation, shares.absolute))


def adjusted(
    claims: Sequence[AbstractClaim],
    quantile_level: float | None,
    truncation: Truncation | None,
    shares: Shares | None,
) -> tuple[AbstractClaim, ...]:
    """The standard claims among these with what is given here in place of what they have; others stay as they are."""
    level = next((claim.level for claim in claims if isinstance(claim, Quantile)), 0.9)
    declared = next((claim.truncation for claim in claims if isinstance(claim, Absolute)), None)
    given = standard_claims(
        quantile_level=level if quantile_level is None else quantile_level,
        truncation=declared if truncation is None else truncation,
        shares=shares,
    )
    own = tuple(claim for claim in claims if not isinstance(claim, Risk | Success | Quantile | Absolute))
    return (*given, *own)


def shared_out(claims: Sequence[AbstractClaim]) -> tuple[AbstractClaim, ...]:
    """The claims with their shares divided by the sum, so that all of epsilon is used and no more.

    >>> [claim.share for claim in shared_out([Risk(0.6), Success(0.2), Quantile(0.2)])]
    [0.6, 0.2, 0.2]
    >>> [round(claim.share, 3) for claim in shared_out([Risk(0.6), Success(0.2), Quantile(0.2), Success(0.2)])]
    [0.5, 0.167, 0.167, 0.167]
    """
    total = sum(claim.share for claim in claims)
    divided: Any = [replace(claim, share=claim.share / total) for claim in claims]  # type: ignore[type-var]
    return tuple(divided)
