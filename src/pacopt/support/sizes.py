"""How instances are best divided, if nobody says otherwise."""

from dataclasses import dataclass
from math import ceil, floor
from typing import Any

from pacopt.errors import DesignError
from pacopt.support.numbers import is_whole
from pacopt.support.rounding import counted

#: The parts for choosing candidates and for looking at the result; more than this many add little.
PART, MOST = 0.15, 200
#: One instance for each part; and nobody has more instances than this.
FEWEST, CEILING = 3, 10**9


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many instances each part of a split gets."""

    prior: int
    train: int
    test: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.prior + self.train + self.test


def recommended_split(total: int, min_success: float | None = None) -> Sizes:
    """A seventh each for the search and for the test, at most 200, and the rest for the certificate.

    The search gets enough to see a failure of a candidate that succeeds with probability `min_success`.

    >>> recommended_split(1400)
    Sizes(prior=200, train=1000, test=200)
    """
    if not is_whole(total, FEWEST) or total > CEILING:
        few = is_whole(total) and total < FEWEST
        raise DesignError(
            f"There {'is' if total == 1 else 'are'} {counted(total, 'instance') if few else f'{total!r} instances'}.",
            f"At least {FEWEST} are needed, one for each part."
            if few
            else f"Their number is whole, at least {FEWEST} and at most {CEILING:,}.",
            "",
            "Collect more instances." if few else "Give another number of instances.",
        )
    part = min(MOST, max(1, floor(PART * total)))
    needed = 1 if min_success is None else _seen(min_success)
    prior = max(part, min(needed, total // 3))
    return Sizes(prior, total - prior - part, part)


def _seen(success: float) -> int:
    return ceil(1 / (1 - min(success, 1 - 1e-9)) - 1e-6)


def sizes_of(count: int, given: dict[str, int | None]) -> dict[str, Any]:
    """The sizes given, and for the others those that are recommended."""
    if None not in given.values():
        return given
    usual = recommended_split(count)
    sizes: dict[str, Any] = {"prior": usual.prior, "train": None, "test": usual.test}
    sizes |= {name: size for name, size in given.items() if size is not None}
    if sizes["train"] is None and all(is_whole(sizes[name]) for name in ("prior", "test")):
        sizes["train"] = max(1, count - sizes["prior"] - sizes["test"])
    return sizes
