"""How what is compared looks in a chart, and what it is called: the same in every section."""

from collections.abc import Sequence
from typing import NamedTuple

from pacopt.report.colours import LEARNED, MUTED, STANDARD


class Look(NamedTuple):
    """Colour and dashes of a line; mark and tone of its entry in the legend."""

    colour: str
    dash: tuple[int, int]
    mark: str
    tone: str


#: The candidate that half of the others beat: in a cloud around a trained one it hides behind what was learned.
MEDIAN = "prior median"
LOOKS = {
    "learned": Look(LEARNED, (1, 0), "solid", "learned"),
    "standard": Look(STANDARD, (8, 4), "dashed", "standard"),
    MEDIAN: Look(MUTED, (2, 3), "dotted", "muted"),
}
#: For baselines, by their place.
RIVALS = tuple(
    Look(f"var(--{tone})", dash, mark, tone)
    for dash, mark in (((6, 3), "dashed"), ((2, 2), "dotted"))
    for tone in ("rival1", "rival2", "rival3", "rival4")
)


def looks_of(names: Sequence[str], every: Sequence[str]) -> dict[str, Look]:
    """How each of these is drawn, and always alike, in whatever order and part of `every` method they come."""
    rivals = sorted(name for name in every if name not in LOOKS)
    looks = LOOKS | {name: RIVALS[place % len(RIVALS)] for place, name in enumerate(rivals)}
    return {name: looks[name] for name in names}


def in_words(name: str, usual: str = "textbook") -> str:
    """What one of them is called within a sentence."""
    return f"the {usual}" if name == "standard" else name


def called(name: str, usual: str = "textbook") -> str:
    """What one of them is called; `usual` is what one would use otherwise."""
    return usual if name == "standard" else name.removeprefix("the ")
