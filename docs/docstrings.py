"""How docstrings become Markdown: doctests as code, and the parts of a theorem as paragraphs of their own.

`mkdocs.yml` hands this to mkdocstrings as an extension of griffe, which reads the sources without importing them.
"""

from typing import Any

import griffe


class Prepared(griffe.Extension):
    """Prepares every docstring that the documentation shows."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of one object; an attribute declared as `ClassVar` is no parameter of its class."""
        if obj.docstring is not None:
            obj.docstring.value = prepared(obj.docstring.value)
        if isinstance(obj, griffe.Attribute) and str(obj.annotation) == "ClassVar":
            obj.labels.discard("instance-attribute")


def prepared(text: str) -> str:
    """The text with fences around its doctests and an empty line before each part in bold type."""
    lines, inside = [], False
    for line in text.splitlines():
        if line.startswith(">>> ") and not inside:
            lines.append("```pycon")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        elif not inside and line.startswith("**"):
            lines.append("")
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)
