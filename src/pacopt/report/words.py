"""Numbers as a report says them: bounds to the safe side, estimates to the nearest."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from pacopt.certificate import Certificate
from pacopt.claims import AbstractClaim
from pacopt.claims.checking import is_ours
from pacopt.comparison import Comparison, Row
from pacopt.design import Design
from pacopt.scores import Ratio
from pacopt.support.rounding import PERCENT, legible, percentage
from pacopt.support.values import exact, named, short

#: A bound on what is at most `scale` by itself, or nearly, says nothing if it is so many times larger.
FAR = 10.0
#: From this part of the largest possible mean on, a bound on the mean says next to nothing.
LITTLE = 0.9
#: What is said in place of such a bound.
USELESS = "no useful bound"


def estimate(value: float, digits: int = 4) -> str:
    """A measured number, to the nearest of some digits, with the exponents that bounds have.

    >>> [estimate(value) for value in (0.123456, 4.0021e-7, 3e17)]
    ['0.1235', '4.002e-7', '3e+17']
    """
    return "∞" if np.isinf(value) else plain(f"{value:.{digits}g}")


def plain(text: str) -> str:
    """A text with exponents as this page writes them.

    >>> plain("shift = 1e-06")
    'shift = 1e-6'
    """
    return re.sub(r"(?<=\d)e([+-])0+(?=\d)", r"e\1", text)


def certified(claim: AbstractClaim, value: float | None, design: Design) -> str:
    """A certified number, rounded to the safe side."""
    if value is None or not np.isfinite(value) or (claim.leading and not value):
        return claim.missing
    if useless(claim, value, design):
        return USELESS
    return claim.shown(value)


def useless(claim: AbstractClaim, value: float | None, design: Design) -> bool:
    """Whether a number is so far above all scores that it says nothing: 2e27 times the start."""
    if value is None or claim.at_least or not claim.in_scores(design):
        return False
    return bool(value > FAR * design.score.scale)


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


def vacuous(certificate: Certificate) -> bool:
    """Whether the bound on the mean score is one that every candidate has."""
    claim = explained(certificate)
    if claim is None or claim is not certificate.design.objective:
        return False
    shown = claim.shown(certificate.deployed.values[claim.name]).removesuffix(claim.unit)
    return float(shown) >= certificate.design.score.scale


def says_little(certificate: Certificate) -> bool:
    """Whether the bound on the mean score is close to one that every candidate has."""
    claim = explained(certificate)
    return claim is not None and bool(
        certificate.deployed.values[claim.name] >= LITTLE * certificate.design.score.scale
    )


def training(certificate: Certificate, count: int | None = None) -> str:
    """What was drawn to certify, such as "340 training instances"."""
    count = certificate.instances if count is None else count
    return f"{count} training {'group' if certificate.grouped else 'instance'}{'' if count == 1 else 's'}"


def usable(certificate: Certificate) -> bool:
    """Whether what was asked for is attained, and anything ever succeeded."""
    return certificate.attained and certificate.ever_succeeded > 0


def chosen(certificate: Certificate) -> str:
    """What the certified candidate is called: nothing is deployed where what was asked for is not attained."""
    return "deployed" if usable(certificate) else "reported"


def share(part: float) -> str:
    """A measured part of one, as a percentage."""
    return f"{estimate(100 * part, 3)}{PERCENT}"


def level_percent(level: float) -> str:
    """A level that somebody chose, as a percentage."""
    return f"{percentage(level)}{PERCENT}"


def value_text(value: Any) -> str:
    """A hyperparameter for reading.

    >>> [value_text(value) for value in (0.123456, 0.99996123, 12345.0, 20, True, "dual simplex")]
    ['0.1235', '0.99996', '12345', '20', 'True', 'dual simplex']
    """
    return legible(value) if isinstance(value, float) else short(value)


def all_digits(value: Any) -> str:
    """A hyperparameter for code: to the last digit.

    >>> [all_digits(value) for value in (0.1 + 0.2, 1e-6, "dual simplex")]
    ['0.30000000000000004', '1e-6', "'dual simplex'"]
    """
    return plain(exact(value)) if isinstance(value, float) else exact(value)


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


def kept(count: int, limit: int, always: np.ndarray) -> np.ndarray:
    """At most about `limit` of `count` indices: those that are always kept, and others in equal distances."""
    if count <= limit:
        return np.arange(count)
    always = always[:limit]
    others = np.setdiff1d(np.arange(count), always)
    spread = np.linspace(0, len(others) - 1, max(limit - len(always), 0)).round().astype(int)
    return np.union1d(always, others[np.unique(spread)])


def undrawn(far: int, others: int = 0, more: str = "") -> str:
    """Why so many marks are missing from a chart; empty if none is.

    >>> undrawn(12, 400)
    'not drawn: 12 far away, 400 others for lack of room'
    """
    told = [f"{far} far away{more}"] if far else []
    told += [f"{others}{' others' if far else ''} for lack of room"] if others else []
    return f"not drawn: {', '.join(told)}" if told else ""


def rivals_of(comparison: Comparison) -> list[Row]:
    """All that the learned hyperparameters are compared with on the test split, the smallest mean first."""
    rows = [row for row in comparison.rows if row.name not in ("learned", "prior median")]
    return sorted(rows, key=lambda row: row.mean)
