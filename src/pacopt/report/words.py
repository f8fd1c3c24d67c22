"""Numbers as a report says them: bounds to the safe side, estimates to the nearest."""

from collections.abc import Mapping
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

import numpy as np

from pacopt.certificate import Certificate
from pacopt.claims import AbstractClaim
from pacopt.claims.checking import is_ours
from pacopt.comparison import Comparison, Row
from pacopt.design import Design
from pacopt.scores import Ratio
from pacopt.support.rounding import PERCENT, percentage
from pacopt.support.values import named, short

#: Whole numbers below this one are written out.
WRITTEN_OUT = 1e6


def estimate(value: float, digits: int = 4) -> str:
    """A measured number, to the nearest of some digits."""
    return "∞" if np.isinf(value) else f"{value:.{digits}g}"


def certified(claim: AbstractClaim, value: float | None) -> str:
    """A certified number, rounded to the safe side."""
    return claim.missing if value is None or not np.isfinite(value) else claim.shown(value)


def noun(claim: AbstractClaim, design: Design) -> str:
    """What a claim bounds: its heading without the side."""
    return claim.heading(design).removesuffix(" at most").removesuffix(" at least").replace(" %", PERCENT)


def explained(certificate: Certificate) -> AbstractClaim | None:
    """The claim on the mean score, whose number is a sum of parts; None where nothing is claimed of it."""
    values = certificate.deployed.values
    known = [claim for claim in certificate.design.claims if values[claim.name] is not None]
    return next((claim for claim in known if is_ours(claim) and claim.parts(values) is not None), None)


def is_ratio(certificate: Certificate) -> bool:
    """Whether the first number is a mean ratio to the start, with the safeguard."""
    return isinstance(certificate.design.score, Ratio) and explained(certificate) is certificate.design.objective


def usable(certificate: Certificate) -> bool:
    """Whether what was asked for is attained, and anything ever succeeded."""
    return certificate.attained and certificate.ever_succeeded > 0


def chosen(certificate: Certificate) -> str:
    """What the certified candidate is called: nothing is deployed where what was asked for is not attained."""
    return "deployed" if usable(certificate) else "reported"


def share(part: float) -> str:
    """A measured part of one, as a percentage."""
    return f"{100 * part:.3g}{PERCENT}"


def level_percent(level: float) -> str:
    """A level that somebody chose, as a percentage."""
    return f"{percentage(level)}{PERCENT}"


def value_text(value: Any) -> str:
    """A hyperparameter for reading.

    >>> [value_text(value) for value in (0.123456, 12345.0, 20, True, "dual simplex")]
    ['0.1235', '12345', '20', 'True', 'dual simplex']
    """
    if not isinstance(value, float):
        return short(value)
    return f"{value:.0f}" if value.is_integer() and abs(value) < WRITTEN_OUT else f"{value:.4g}"


def hyper_text(hyper: Mapping[str, Any]) -> str:
    """Hyperparameters for reading; to use them, all digits are needed."""
    return named(hyper, value_text) if hyper else ""


def solve_line(hyper: Mapping[str, Any], candidate: int) -> str:
    """The Python that runs a candidate on an instance, with all digits, or by its number if it has arrays."""
    arrays = any(isinstance(value, np.ndarray) for value in hyper.values())
    chosen = f"learned.table.hyper({candidate})" if arrays else repr(dict(hyper))
    return f"learned.solve(instance, {chosen})"


def standard_row(comparison: Comparison | None) -> Row | None:
    """The textbook's hyperparameters on the test split, if both are there."""
    return comparison["standard"] if comparison is not None and "standard" in comparison else None


def added_up(parts: list[float], total: float) -> tuple[list[str], str]:
    """Texts of parts that add up, as printed, to the text of their total, which is rounded up.

    What rounding leaves over goes to the second part, which is the price of rounding for the confidence.

    >>> added_up([0.03773, 0.005868, 0.0006607], 0.0442587)
    (['0.03773', '0.00587', '0.00066'], '0.04426')
    """
    bound = Context(prec=4, rounding=ROUND_CEILING).create_decimal(total)
    unit = Decimal(1).scaleb(bound.adjusted() - 3)
    bound = bound.quantize(unit)
    rounded = [Decimal(part).quantize(unit) for part in parts]
    rounded[1] = bound - sum(rounded) + rounded[1]
    return [str(part) if part else "0" for part in rounded], str(bound)


def kept(count: int, limit: int, always: np.ndarray) -> np.ndarray:
    """At most about `limit` of `count` indices: those that are always kept, and others in equal distances."""
    if count <= limit:
        return np.arange(count)
    always = always[:limit]
    others = np.setdiff1d(np.arange(count), always)
    spread = np.linspace(0, len(others) - 1, max(limit - len(always), 0)).round().astype(int)
    return np.union1d(always, others[np.unique(spread)])
