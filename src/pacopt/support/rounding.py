"""Numbers as they are printed: bounds rounded to the safe side, others with as many digits as are read."""

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pacopt.support.intervals import Factor


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number of things in words.

    >>> counted(1, "file"), counted(2000, "file"), counted(2, "does", "do")
    ('1 file', '2,000 files', '2 do')
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def and_more(others: int, noun: str = "") -> str:
    """The end of a sentence about the first of several: how many others there are.

    >>> and_more(0), and_more(1), and_more(3, "pair")
    ('', ', and so is 1 more', ', and so are 3 more pairs')
    """
    if not others:
        return ""
    return f", and so {'is' if others == 1 else 'are'} " + (
        counted(others, f"more {noun}") if noun else f"{others:,} more"
    )


#: Whole numbers below this one are written out.
WRITTEN_OUT = 1e6
#: Smaller numbers than this one never look whole if they are not.
CLOSE = 10.0
#: A number with more digits than anybody reads.
LONG = re.compile(r"(?<![\w.])-?\d+\.\d{5,}(?:e[+-]?\d+)?(?![\w.])")


def legible(value: float) -> str:
    """A number with four digits, or with as many as it takes not to look whole if it is not.

    >>> [legible(value) for value in (0.123456, 0.99996123, 12345.0, 4.00213e-07)]
    ['0.1235', '0.99996', '12345', '4.002e-7']
    """
    if value.is_integer() and abs(value) < WRITTEN_OUT:
        return f"{value:.0f}"
    digits = 4
    while digits < 17 and abs(value) < CLOSE and float(f"{value:.{digits}g}").is_integer():
        digits += 1  # a momentum of 0.99996 is not one of 1
    return re.sub(r"e([+-])0+", r"e\1", f"{value:.{digits}g}")


def in_few_digits(text: str) -> str:
    """A text with its long numbers made legible.

    >>> in_few_digits("Nesterov with step_size = 0.0003999960000399996, 50 steps")
    'Nesterov with step_size = 0.0004, 50 steps'
    """
    return LONG.sub(lambda number: legible(float(number[0])), text)


def percentage(level: float) -> str:
    """A level that somebody chose, in per cent, with all its digits.

    >>> [percentage(level) for level in (0.9, 0.99, 0.99999999999)]
    ['90', '99', '99.999999999']
    """
    return f"{Decimal(repr(level)).scaleb(2).normalize():f}"


def up(value: float, digits: int = 4) -> str:
    """The value rounded up to some significant digits."""
    return _rounded(value, digits, ROUND_CEILING)


def down(value: float, digits: int = 4) -> str:
    """The value rounded down to some significant digits."""
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: float, digits: int, side: str) -> str:
    rounded = Context(prec=digits, rounding=side).create_decimal(value).normalize()
    # Written out where that is easily read: 30 and not 3e+1.
    return f"{rounded:f}" if rounded == 0 or -5 < rounded.adjusted() < 6 else f"{rounded:e}"


#: Smaller percentages are written with an exponent.
READABLE = Decimal("1e-4")
#: A number and its unit stay on one line.
PERCENT = "\u00a0%"


def percent(rounded: str) -> str:
    """The text of a probability, rounded already, as a percentage: the digits stay, the point moves.

    >>> [percent(text).replace(PERCENT, "") for text in ("0.9924", "1", "0.00001", "1.2e-30")]
    ['99.24', '100', '0.001', '1.2e-28']
    """
    value = Decimal(rounded).scaleb(2)
    if 0 < value < READABLE:
        return f"{value:e}{PERCENT}"
    return f"{value.quantize(Decimal(1)) if value == value.to_integral_value() else value:f}{PERCENT}"


def between(interval: tuple[float, float], digits: int = 3) -> str:
    """An interval in words, its ends rounded outwards.

    >>> between((0.028049, 0.056299))
    '0.028 to 0.0563'
    """
    return f"{down(interval[0], digits)} to {up(interval[1], digits)}"


def percentages(interval: tuple[float, float]) -> str:
    """An interval of probabilities in per cent, its ends rounded outwards.

    >>> percentages((0.98345, 1.0))
    '98.3 to 100 %'
    """
    return f"{between((100 * interval[0], 100 * interval[1]))} %"


def times(factor: "Factor") -> str:
    """By how much a mean is smaller, in words, rounded outwards.

    >>> from pacopt.support.intervals import Factor
    >>> times(Factor(10.6, 6.643, 13.911)), times(Factor(np.inf, 6.643, np.inf))
    ('between 6.64 and 14 times', 'at least 6.64 times')
    """
    low = down(factor.low, 3)
    return f"between {low} and {up(factor.high, 3)} times" if isfinite(factor.high) else f"at least {low} times"
