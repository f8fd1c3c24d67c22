"""Runs the Python of pages that ask for it, and shows below each block what it printed and drew.

A page asks with `execute: true` at its top. Its blocks run from top to bottom, as one script in an empty directory; a
block that raises ends the build. A figure of matplotlib that is open after a block stands below it. Its description is
the next one of the list `pictures` at the top of the page, or its title. `mkdocs.yml` names this file as a hook.
"""

import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

BLOCK = re.compile(r"^```python\n(.*?)^```\n", flags=re.MULTILINE | re.DOTALL)
#: Words in a picture can be read on white and on black.
GREY = "#7d8790"
LOOKS = {
    "figure.figsize": (7, 3),
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": "medium",
    "axes.titlelocation": "left",
    "svg.hashsalt": "pacopt",
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), GREY),
}


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page with outputs."""
    if not page.meta.get("execute"):
        return markdown
    script = ModuleType(Path(page.file.src_uri).stem)
    sys.modules[script.__name__] = script  # its functions can be found again by name
    pictures, described = 0, page.meta.get("pictures", [])

    def run(match: re.Match[str]) -> str:
        nonlocal pictures
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(match[1], page.file.src_uri, "exec"), script.__dict__)
        shown = [match[0]]
        if text := printed.getvalue().rstrip():
            shown.append(f"``` {{ .text .output }}\n{text}\n```\n")
        for title, drawing in drawings():
            pictures += 1
            name = f"{Path(page.file.src_uri).with_suffix('')}_{pictures}.svg"
            files.append(File.generated(config, name, content=drawing))
            words = described[pictures - 1] if pictures <= len(described) else title
            shown.append(f"![{words}]({Path(name).name}){{ .figure }}\n")
        return "\n".join(shown)

    import matplotlib
    from matplotlib import pyplot

    pyplot.close("all")  # what is open now is not of this page
    with tempfile.TemporaryDirectory() as place, inside(place), matplotlib.rc_context(LOOKS):
        matplotlib.use("svg")
        return BLOCK.sub(run, markdown)


@contextlib.contextmanager
def inside(place: str) -> Iterator[None]:
    """Another working directory, for a while."""
    before = os.getcwd()
    os.chdir(place)
    try:
        yield
    finally:
        os.chdir(before)


def drawings() -> Iterator[tuple[str, Any]]:
    """The open figures with their titles, which are closed."""
    from matplotlib import pyplot

    for number in pyplot.get_fignums():
        figure, file = pyplot.figure(number), io.BytesIO()
        figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
        yield "; ".join(axes.get_title("left") for axes in figure.axes if axes.get_title("left")), file.getvalue()
    pyplot.close("all")
