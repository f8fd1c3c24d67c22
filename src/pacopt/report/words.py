"""Numbers as a report says them: bounds to the safe side, estimates to the nearest."""

from collections.abc import Mapping
from decimal import ROUND_CEILING, Context, Decimal

import numpy as np

from pacopt.comparison import Comparison, Row
from pacopt.statement import percentage

#: A number and its unit stay on one line.
PERCENT = "\u00a0%"
#: Smaller percentages are written with an exponent.
READABLE = Decimal("1e-4")


def percent(rounded: str) -> str:
    """The text of a probability, rounded already, as a percentage: the digits stay, the point moves.

    >>> [percent(text).replace(PERCENT, "") for text in ("0.9924", "1", "0.00001", "1.2e-30")]
    ['99.24', '100', '0.001', '1.2e-28']
    """
    value = Decimal(rounded).scaleb(2)
    if 0 < value < READABLE:
        return f"{value:e}{PERCENT}"
    return f"{value.quantize(Decimal(1)) if value == value.to_integral_value() else value:f}{PERCENT}"


def estimate(value: float) -> str:
    """A measured number, to the nearest of four digits."""
    return "∞" if np.isinf(value) else f"{value:.4g}"


def share(part: float) -> str:
    """A measured part of one, as a percentage."""
    return f"{100 * part:.3g}{PERCENT}"


def level_percent(level: float) -> str:
    """A level that somebody chose, as a percentage."""
    return f"{percentage(level)}{PERCENT}"


def hyper_text(hyper: Mapping[str, float]) -> str:
    """Hyperparameters for reading; to deploy them, all digits are needed."""
    return ", ".join(f"{name} = {value:.4g}" for name, value in hyper.items())


def solve_line(hyper: Mapping[str, float]) -> str:
    """The Python that runs a candidate on an instance, with all digits."""
    return f"learned.solve(instance, {dict(hyper)!r})"


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
