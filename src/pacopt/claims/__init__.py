"""One statement, one file. To add one, subclass `AbstractClaim`: a share, a name, a bound and a sentence."""

import sys
from collections.abc import Mapping
from typing import Any

from pacopt.claims.absolute import Absolute
from pacopt.claims.base import AbstractClaim, Highlight, Learnt
from pacopt.claims.budget import Budget
from pacopt.claims.foreign import ForeignClaim
from pacopt.claims.gain import Gain
from pacopt.claims.quantile import Quantile
from pacopt.claims.risk import Risk
from pacopt.claims.standard import Shares, claims_with, compared_claims, shared_out, standard_claims
from pacopt.claims.subject import Subject
from pacopt.claims.success import Success
from pacopt.claims.win import Win

#: Every claim of pacopt's own.
ALL = (Risk, Success, Quantile, Absolute, Gain, Win, Budget)

__all__ = [
    "ALL",
    "Absolute",
    "AbstractClaim",
    "Budget",
    "Gain",
    "Highlight",
    "Learnt",
    "Quantile",
    "Risk",
    "Shares",
    "Subject",
    "Success",
    "Win",
    "claim_from_dict",
    "claims_with",
    "compared_claims",
    "shared_out",
    "standard_claims",
]


def claim_from_dict(stored: Mapping[str, Any]) -> AbstractClaim:
    """The stored claim; its class is looked up among the modules already imported."""
    module, _, name = str(stored["class"]).partition(":")
    own = {f"{claim.__module__}:{claim.__qualname__}": claim for claim in ALL}
    found: Any = own.get(stored["class"]) or sys.modules.get(module)
    for part in name.split(".") if stored["class"] not in own else ():
        found = getattr(found, part, None)
    if not (isinstance(found, type) and issubclass(found, AbstractClaim)):
        return ForeignClaim(dict(stored))
    try:
        return found.from_settings(stored["share"], stored["settings"])
    except Exception:  # a class that has other settings by now is not the one that made the claim
        return ForeignClaim(dict(stored))
