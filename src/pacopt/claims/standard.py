"""The claims that are made unless others are asked for, from short arguments; and the shares between claims."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf
from typing import Any

from pacopt.bounds.absolute import Truncation
from pacopt.claims.absolute import Absolute
from pacopt.claims.base import AbstractClaim
from pacopt.claims.budget import Budget
from pacopt.claims.gain import Gain
from pacopt.claims.quantile import Quantile
from pacopt.claims.risk import Risk
from pacopt.claims.success import Success
from pacopt.claims.win import Win
from pacopt.errors import DesignError
from pacopt.support.numbers import is_real

#: The claim that `min_success` asks something of.
REQUIRED = Success.name


@dataclass(frozen=True, slots=True)
class Shares:
    """How the failure probability is divided between the default claims; the sum is at most one."""

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
    """Risk, success and quantile, and the absolute loss if something is declared."""
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
    """These claims, each in its place, with what is given here in place of what they have; others stay as they are."""
    made = {type(claim): claim for claim in claims if type(claim) in (Risk, Success, Quantile, Absolute)}
    adding = Absolute not in made and truncation is not None and shares is not None and shares.absolute > 0
    lacking = [
        name
        for name, kind, changes in (
            ("shares", Risk, shares is not None),
            ("shares", Success, shares is not None),
            ("shares", Quantile, shares is not None),
            ("shares", Absolute, shares is not None and shares.absolute > 0 and not adding),
            ("quantile_level", Quantile, quantile_level is not None),
            ("truncation", Absolute, truncation is not None and not adding),
        )
        if changes and kind not in made
    ]
    if lacking or (shares is not None and Absolute in made and shares.absolute == 0):
        raise DesignError(
            f"{lacking[0] if lacking else 'shares'} is given beside the claims "
            f"{', '.join(claim.name for claim in claims)}.",
            "Short arguments are for the standard claims, and change only what is there.",
            "A claim that was not asked for would take its share of the failure probability from the others.",
            "Write the claims out: claims=pacopt.claims.shared_out([...]).",
        )
    changed: list[AbstractClaim] = []
    for claim in claims:
        new: Any = claim
        if type(new) is Quantile and quantile_level is not None:
            new = replace(new, level=quantile_level)
        if type(new) is Absolute and truncation is not None:
            new = replace(new, truncation=truncation)
        changed.append(
            new if shares is None or type(new) not in made else replace(new, share=getattr(shares, new.name))
        )
    if adding and truncation is not None and shares is not None:
        place = 1 + max(i for i, claim in enumerate(changed) if type(claim) in made)
        changed.insert(place, Absolute(truncation, shares.absolute))
    return tuple(changed)


def shared_out(claims: Sequence[AbstractClaim]) -> tuple[AbstractClaim, ...]:
    """The claims with their shares divided by the sum, so that all of epsilon is used and no more.

    >>> [claim.share for claim in shared_out([Risk(0.6), Success(0.2), Quantile(0.2)])]
    [0.6, 0.2, 0.2]
    >>> [round(claim.share, 3) for claim in shared_out([Risk(0.6), Success(0.2), Quantile(0.2), Success(0.2)])]
    [0.5, 0.167, 0.167, 0.167]
    """
    good = isinstance(claims, Sequence) and all(isinstance(claim, AbstractClaim) for claim in claims)
    shares = [claim.share for claim in claims] if good else []
    if not shares or not all(is_real(share) and 0 < share < inf for share in shares):
        raise DesignError(
            f"The claims are {claims!r}.",
            "Shares are divided between claims, each of which has a positive one.",
            "Nothing can be said with no part of the failure probability.",
            "Use pacopt.claims.shared_out([*pacopt.claims.standard_claims(), Mine()]), with Mine() and not Mine.",
        )
    divided: Any = [replace(claim, share=claim.share / sum(shares)) for claim in claims]  # type: ignore[type-var]
    return tuple(divided)


def claims_with(claims: Sequence[AbstractClaim], others: Sequence[AbstractClaim], budget: Any) -> tuple[Any, ...]:
    """These claims, a budget if there are targets for it, and others, with all shares divided anew.

    What a solver calls solved is a target with a part of the instances: {"solved": 0.99}.
    """
    if isinstance(budget, Mapping) and len(budget) == 1:
        ((word, part),) = budget.items()
        budget = Budget((word,), part=part)
    wanted = () if budget is None else (budget if isinstance(budget, Budget) else Budget(budget),)
    return shared_out((*claims, *wanted, *others)) if wanted or others else tuple(claims)


def compared_claims(
    claims: Sequence[AbstractClaim], over: tuple[str, ...], described: tuple[str, ...] = ()
) -> tuple[AbstractClaim, ...]:
    """These claims, and those of a gain over baselines of these names, with all shares divided anew."""
    return shared_out((*claims, Gain(over=over, described=described), Win(over=over, described=described)))
