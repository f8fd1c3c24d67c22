"""Pages that ask for it show what their code prints and draws, as it runs when the site is built."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import pytest
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files

HOOK = Path(__file__).parents[2] / "docs/executed.py"
TEXT = """# A page

```python
x = 6
print(7 * x)
```

Words between.

```python
import matplotlib.pyplot as plt

plt.plot([x, 7])
plt.title("A line", loc="left")
```
"""


@pytest.fixture
def shown(tmp_path):
    """What becomes of the Markdown of a page, and which files are made for it."""
    spec = importlib.util.spec_from_file_location("executed", HOOK)
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    config = MkDocsConfig()
    config.load_dict({"site_name": "x", "docs_dir": str(tmp_path), "site_dir": str(tmp_path / "site")})
    config.validate()
    config.plugins._current_plugin = "executed"  # as MkDocs does while a hook runs

    def show(text, **meta):
        files = Files([])
        page = SimpleNamespace(meta=meta, file=SimpleNamespace(src_uri="a_page.md"))
        return hook.on_page_markdown(text, page, config, files), files

    return show


def test_outputs_stand_below_their_blocks_and_pictures_are_files(shown):
    before = Path.cwd()
    markdown, files = shown(TEXT, execute=True)
    assert "print(7 * x)\n```\n\n``` { .text .output }\n42\n```\n" in markdown
    assert markdown.endswith("![A line](a_page_1.svg){ .figure }\n")
    assert b"<svg" in files.src_uris["a_page_1.svg"].content_bytes
    assert Path.cwd() == before


def test_a_page_can_describe_its_pictures(shown):
    markdown, _ = shown(TEXT, execute=True, pictures=["A line that rises from 6 to 7"])
    assert markdown.endswith("![A line that rises from 6 to 7](a_page_1.svg){ .figure }\n")


def test_a_figure_left_open_elsewhere_is_not_shown(shown):
    plt.figure().suptitle("Of somebody else")
    assert "![" not in shown("```python\nx = 1\n```\n", execute=True)[0]


def test_a_page_that_does_not_ask_stays_as_it_is(shown):
    assert shown(TEXT)[0] == TEXT


def test_a_block_that_raises_ends_the_build(shown):
    with pytest.raises(ZeroDivisionError):
        shown("```python\n1 / 0\n```\n", execute=True)
