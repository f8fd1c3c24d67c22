"""Pieces of HTML for notebooks: plain elements that take their colours from the page around them."""

from collections.abc import Collection, Iterable, Sequence
from html import escape
from itertools import groupby

#: What is said beside a table stands back a little, on light pages and on dark ones.
QUIET = "margin: 0.3em 0; font-size: 90%; opacity: 0.8"
#: Beside what has to be known.
BAR = "margin: 0.4em 0; padding: 0.2em 0.8em; border-left: 4px solid #d08700"
#: Below headings.
RULE = "1px solid rgba(128, 128, 128, 0.4)"


def boxed(*parts: str) -> str:
    """Pieces below each other; one that is empty is left out."""
    return f'<div class="pacopt" style="line-height: 1.45">{"".join(parts)}</div>'


def title(text: str) -> str:
    """What stands above a piece."""
    return f'<div style="margin: 0.5em 0 0.2em"><strong>{escape(text)}</strong></div>'


def note(text: str) -> str:
    """What stands below a piece; nothing if there is nothing to say."""
    return f'<div style="{QUIET}">{escape(text)}</div>' if text else ""


def warning(text: str) -> str:
    """What has to be known first."""
    return f'<div style="{BAR}"><strong>{escape(text)}</strong></div>'


def remark(text: str) -> str:
    """What should be known too."""
    return f'<div style="{BAR}">{escape(text)}</div>'


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, left: Collection[str] = ("",)) -> str:
    """Cells under their headings, numbers to the right; columns with these headings to the left.

    >>> table(("", "mean"), [("a <b>", "0.5")]).count("&lt;b&gt;")
    1
    """

    def cells(kind: str, texts: Sequence[str], numbers: str) -> str:
        looks = ("left; min-width: 8em" if heading in left else f"right; min-width: 4em{numbers}" for heading in header)
        found = [
            f'<{kind} style="vertical-align: top; padding: 0.2em 0.7em; text-align: {look}">{escape(text)}</{kind}>'
            for look, text in zip(looks, texts, strict=True)
        ]
        return "".join(found)

    body = "".join(f"<tr>{cells('td', row, '; white-space: nowrap')}</tr>" for row in rows)
    head = f'<thead><tr style="border-bottom: {RULE}">{cells("th", header, "")}</tr></thead>' if any(header) else ""
    whole = f'<table style="border-collapse: collapse; margin: 0.3em 0">{head}<tbody>{body}</tbody></table>'
    return f'<div style="overflow-x: auto">{whole}</div>'


def prose(text: str) -> str:
    """Lines as paragraphs; those that begin with a dash as a list."""
    parts = []
    for listed, lines in groupby(text.splitlines(), key=lambda line: line.startswith("- ")):
        told = [escape(line.removeprefix("- ")) for line in lines if line]
        if listed:
            items = "".join(f"<li>{line}</li>" for line in told)
            parts.append(f'<ul style="margin: 0.3em 0; padding-left: 1.6em">{items}</ul>')
        else:
            parts += [f'<div style="margin: 0.3em 0">{line}</div>' for line in told]
    return "".join(parts)


def folded(summary: str, content: str) -> str:
    """A piece that is shown when somebody asks for it."""
    said = f'<summary style="cursor: pointer">{escape(summary)}</summary>'
    return f'<details style="margin: 0.4em 0">{said}{content}</details>'
