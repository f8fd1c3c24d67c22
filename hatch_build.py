"""The long description of a package: the README without what only a clone of the repository can show.

There is no public address yet to which pictures and links could point, so pictures are left out and links become text.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

#: A picture that may itself be a link, and a link; to a file of the repository, or to another place on the page.
PICTURE = re.compile(r"\[?!\[[^\]]*\]\((?!https?:)[^)]*\)(?:\]\([^)]*\))?\n*")
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]*\)")


def long_description(readme: str) -> str:
    """The text without pictures and links into the repository; code is left as it is."""
    parts = re.split(r"(^```.*?^```\n)", readme, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else LINK.sub(r"\1", PICTURE.sub("", part)) for part in parts)


class ReadmeHook(MetadataHookInterface):
    """Fills in the readme."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling."""
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": long_description(readme)}
