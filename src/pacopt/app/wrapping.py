"""Text broken into lines for a terminal: what belongs to an item of a list, or to a label, is indented below it."""

import re
import textwrap

#: What lines below the first are indented by.
INDENT = "  "
#: An item of a list, or a label such as `Note:`, `learned:` or `JobError:`.
HANGING = re.compile(r"- |[A-Za-z][A-Za-z ]{0,39}: ")
#: A space at which no line is broken: a name stays with its value, a number with its unit.
FIRM = "\u00a0"


def wrapped(text: str, width: int) -> str:
    """The text in lines of at most this width, but for words that are longer: a path can still be copied.

    >>> print(wrapped("- a list has items that may be long, with rate = 0.1", 24))
    - a list has items that
      may be long, with
      rate = 0.1
    """
    return "\n".join(_lines(line, width) for line in text.split("\n"))


def _lines(line: str, width: int) -> str:
    firm = line.replace(" = ", f"{FIRM}={FIRM}").replace(" %", f"{FIRM}%")
    lines = textwrap.wrap(
        firm,
        width,
        subsequent_indent=INDENT if HANGING.match(line) else "",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines).replace(FIRM, " ")
