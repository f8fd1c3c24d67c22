"""Figures in files, and as SVG inside a page, where they take the page's colours, light or dark."""

import re
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib import rc_context
from matplotlib.figure import Figure

from pacopt.papers.sucker_ochs_2023.figures import DRAWINGS
from pacopt.support.whole import whole

#: Colours of a figure, by the names under which the page knows them.
NAMES = {
    "#0072b2": "blue",
    "#d55e00": "orange",
    "#009e73": "green",
    "#cc79a7": "purple",
    "#56b4e9": "sky",
    "#000000": "ink",
    "#777777": "muted",
}


def draw(figure: str, result: Any, files: tuple[Path, ...]) -> tuple[str, str]:
    """Draw a figure into files of one name, and return it as it stands on a wide and on a narrow page."""
    pictures = {"wide": DRAWINGS[figure](result), "narrow": DRAWINGS[figure](result, narrow=True)}
    for path in files:
        with whole(path) as file:
            pictures["wide"].savefig(file, format=path.suffix[1:], dpi=160)
    words = f"Figure {figure.removeprefix('fig')} of the paper, reproduced"
    wide, narrow = (_inline(each, f"{files[0].stem}-{name}", words) for name, each in pictures.items())
    for each in pictures.values():
        plt.close(each)
    return wide, narrow


def _inline(figure: Figure, name: str, words: str) -> str:
    """The figure as an element of a page; `name` begins all of its ids, `words` are read aloud."""
    text = StringIO()
    with rc_context({"svg.hashsalt": name, "svg.fonttype": "path"}):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    drawing = text.getvalue()
    drawing = drawing[drawing.index("<svg") :]
    for unneeded in (r"<metadata>.*?</metadata>", r"<style.*?</style>", r"<!--.*?-->"):
        drawing = re.sub(unneeded, "", drawing, flags=re.DOTALL)
    drawing = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", drawing)
    for colour, known in NAMES.items():
        drawing = drawing.replace(colour, f"var(--{known})")
    box = re.search(r'viewBox="[^"]+"', drawing)
    assert box is not None
    opening = f'<svg {box[0]} role="img" aria-label="{words}" xmlns:xlink="http://www.w3.org/1999/xlink">'
    return re.sub(r"\n\s*", "\n", opening + drawing[drawing.index(">") + 1 :])
