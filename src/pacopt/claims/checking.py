"""What a claim of the user's own must not do: take a name that has a meaning, or return what is no number."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from pacopt.assumptions import Assumption
from pacopt.bounds.base import AbstractBound
from pacopt.bounds.exponential_family import AbstractExponentialBound
from pacopt.claims import ALL
from pacopt.claims.base import AbstractClaim, Learnt
from pacopt.claims.foreign import ForeignClaim
from pacopt.errors import DesignError
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.support.numbers import is_real

if TYPE_CHECKING:
    from pacopt.design import Design

#: What else stands beside the numbers of claims, in files and as attributes.
RESERVED = frozenset({"from_dict", "hyper", "index", "kl", "level", "to_dict", "values", "weight", "weights"})
#: The names of pacopt's claims, and of the numbers that explain them.
OURS = {claim.name: claim for claim in ALL}
EXPLAINING = frozenset(number for claim in ALL for number in claim.explaining)


def is_ours(claim: AbstractClaim) -> bool:
    """Whether it is a claim of pacopt's, whose theorem is proved and whose numbers are recomputed by formulas."""
    return type(claim) in ALL


def check_name(claim: AbstractClaim) -> None:
    """Refuse a name that stands for something else, or that no attribute can have."""
    name, needed = getattr(claim, "name", None), ""
    if not isinstance(name, str) or not name.isidentifier() or iskeyword(name) or name.startswith("_"):
        needed = "The name of a claim is a word of letters, digits and underscores that begins with a letter."
    elif name in OURS and not is_ours(claim):
        needed = f"That is the name of pacopt's own {OURS[name].__name__}."
    elif not is_ours(claim) and (name in RESERVED | EXPLAINING or any(n.startswith(f"{name}_") for n in EXPLAINING)):
        needed = f"Other numbers of a certificate are called {', '.join(sorted(RESERVED | EXPLAINING))}."
    if needed:
        raise DesignError(
            f"A claim, {type(claim).__name__}, has the name {name!r}.",
            needed,
            "Its numbers stand under this name in certificates, and would be taken for something else.",
            "Rename it.",
        )


def settled(claim: AbstractClaim) -> AbstractClaim:
    """The claim as it comes back from a file: its settings are plain values, with tuples for lists."""
    share = float(claim.share)
    if isinstance(claim, ForeignClaim):
        return claim
    if is_ours(claim):
        return claim if type(claim.share) is float else replace(claim, share=share)  # type: ignore[type-var]
    try:
        if not is_dataclass(claim):
            raise TypeError("it is no dataclass")
        stored = json.loads(json.dumps(claim.to_dict() | {"share": share}, allow_nan=False))
        again = type(claim).from_settings(share, stored["settings"])
        for field in fields(claim):
            before, after = getattr(claim, field.name), getattr(again, field.name)
            if type(before) is not list and field.name != "share" and not bool(after == before):
                raise ValueError(f"{field.name} is {before!r} and comes back as {after!r}")
    except Exception as error:  # code of the user's
        raise DesignError(
            f"The claim {claim.name!r} cannot be stored: {error}.",
            "A claim is a frozen dataclass; its fields are finite numbers, texts, booleans, None, and lists of these.",
            "A certificate is stored with its claims, and verified by claims that are read from the file.",
            "Use plain values, or write `to_dict` and `from_settings` for it.",
        ) from error
    return again


def numbers_of(claim: AbstractClaim, table: LossTable, design: "Design", epsilon: float) -> Float[np.ndarray, " hyper"]:
    """The number of a claim for every candidate; one that is no number is the worst there is."""
    if not is_ours(claim):
        _check_bound(claim, claim.bound(design))
    found: Any = claim.for_candidates(table, design, epsilon)
    values = np.asarray(found)
    if values.shape != (table.shape[0],) or values.dtype.kind not in "fiu":
        raise DesignError(
            f"The claim {claim.name!r} has {values.dtype} numbers of shape {values.shape}.",
            f"A claim has one real number for each candidate: shape ({table.shape[0]},).",
            "",
            "Correct `for_candidates` of its bound.",
        )
    return np.where(np.isnan(values), -np.inf if claim.at_least else np.inf, values.astype(float))


def drawn_number(claim: AbstractClaim, value: Any) -> float | None:
    """The number of a claim under the posterior; None where there is none that is finite."""
    if value is not None and not (is_real(value) or (isinstance(value, np.ndarray) and value.shape == ())):
        raise DesignError(
            f"The claim {claim.name!r} has {value!r} for the posterior.",
            "It has one real number for a posterior, or None.",
            "",
            "Correct `for_posterior`.",
        )
    return float(value) if value is not None and np.isfinite(value) else None


def checked_details(claim: AbstractClaim, details: Any, taken: Iterable[str], names: Iterable[str]) -> dict[str, Any]:
    """Numbers that explain a claim; under names that begin with its own, if it is not pacopt's."""
    if is_ours(claim):
        return dict(details)
    if not isinstance(details, Mapping):
        raise DesignError(
            f"The claim {claim.name!r} is explained by {details!r}.",
            "`details` returns a dictionary.",
            "",
            "Return {} if there is nothing.",
        )
    others = [name for name in names if len(name) > len(claim.name)]
    for key in details:
        theirs = any(key == name or key.startswith(f"{name}_") for name in others) if isinstance(key, str) else True
        if theirs or not key.startswith(f"{claim.name}_") or key in taken:
            raise DesignError(
                f"A number that explains the claim {claim.name!r} is called {key!r}.",
                f"It has a name of its own that begins with {claim.name}_.",
                "It would be taken for the number of another claim.",
                f"Call it {f'{claim.name}_mean'!r}, for example.",
            )
    return {key: _plain_number(claim, key, value) for key, value in details.items()}


def checked_posterior(claim: AbstractClaim, learnt: Any, eligible: Bool[np.ndarray, " hyper"]) -> Learnt:
    """What an objective led to: a posterior on candidates that may be deployed, and numbers that explain it."""
    posterior = learnt[0] if isinstance(learnt, tuple) and len(learnt) == 2 else None
    known = isinstance(posterior, DiscreteMeasure) and len(posterior) == len(eligible)
    if posterior is None or not known or (posterior.log_weights[~eligible] > -np.inf).any():
        raise DesignError(
            f"The claim {claim.name!r} learned {posterior!r}.",
            "`learn` returns a Learnt: a posterior that holds only candidates which may be deployed, and details.",
            "What is said of a posterior is false of one that the prior does not hold.",
            "Use design.prior.restrict(eligible), for example.",
        )
    return Learnt(posterior, learnt[1])


def _check_bound(claim: AbstractClaim, bound: Any) -> None:
    if isinstance(bound, AbstractBound):
        words = isinstance(bound.theorem, str) and all(isinstance(line, Assumption) for line in bound.assumptions)
        if words:
            return
        needed, remedy = "A bound names its theorem, and its assumptions are pacopt.Assumption values.", "Correct them."
    elif isinstance(bound, AbstractExponentialBound):
        needed = "A theorem of the exponential family has a parameter, which a grid makes a bound of."
        remedy = f"Wrap it: pacopt.bounds.OnGrid({type(bound).__name__}(), pacopt.Grid.geometric(0.01, 6, 24))."
    else:
        called = isinstance(bound, type)
        needed = "A bound is an AbstractBound, with `for_candidates` and `for_posterior`."
        remedy = f"Call the class: {bound.__name__}()." if called else "Derive its class from pacopt.AbstractBound."
    raise DesignError(f"The bound of the claim {claim.name!r} is {bound!r}.", needed, "", remedy)


def _plain_number(claim: AbstractClaim, key: str, value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool | int | None):
        return value
    if not isinstance(value, float):
        raise DesignError(f"{key} of the claim {claim.name!r} is {value!r}.", "It is a number.", "", "Use float(...).")
    return value if np.isfinite(value) else None


def check_shares(claims: Sequence[AbstractClaim]) -> None:
    """Refuse shares that add up to more than there is."""
    shares = {claim.name: claim.share for claim in claims}
    whole = all(is_real(share) and share > 0 for share in shares.values())
    if not whole or sum(shares.values()) > 1 + 1e-12:
        raise DesignError(
            f"The shares of epsilon are {shares}.",
            "Each claim has a positive share, and all shares sum to at most one.",
            "Statements hold together only if their failure probabilities add up to no more than epsilon.",
            "Divide them by their sum: claims=pacopt.claims.shared_out(claims).",
        )
