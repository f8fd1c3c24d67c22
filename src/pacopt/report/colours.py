"""The colours of the style sheet: their names for charts on a page, their values for pictures without a page."""

import re
from functools import cache
from importlib.resources import files

#: As a chart on a page names them.
LEARNED, STANDARD, MUTED, INK, SURFACE = (
    f"var(--{name})" for name in ("learned", "standard", "muted", "ink", "surface")
)


def named() -> dict[str, str]:
    """All colours by their names, as a chart on a page names them."""
    return {name: f"var(--{name})" for name in sheets()[0]}


@cache
def sheets() -> tuple[dict[str, str], dict[str, str]]:
    """The colours of a light page, and those in which a dark page differs.

    >>> sheets()[0]["surface"]
    '#ffffff'
    """
    sheet = files(__package__).joinpath("style.css").read_text(encoding="utf-8")
    light, dark, *_ = re.findall(r":root \{(.*?)\}", sheet, flags=re.DOTALL)
    return dict(re.findall(r"--(\w+): (#\w+);", light)), dict(re.findall(r"--(\w+): (#\w+);", dark))
