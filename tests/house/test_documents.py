"""Every block of code in the documents runs, from top to bottom of its page; so does every doctest."""

import doctest
import importlib
import pkgutil
import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import jax.numpy as jnp
import numpy as np
import pytest

import alone
import pacopt
from pacopt.app.job_keys import TABLES, TOP

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: Language, title and content of a block of code; text without a language is a picture or an output.
BLOCK = r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```"
MODULES = [info.name for info in pkgutil.walk_packages(pacopt.__path__, "pacopt.")]


#: The paper's experiments, which tests/papers runs too.
LONG = {ROOT / "docs/reproduction.md"}
#: Pages on which a quotation is what their code prints.
QUOTING = {ROOT / "README.md", ROOT / "docs/certificates.md"}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow if page in LONG else (), id=page.relative_to(ROOT).as_posix())
        for page in PAGES
    ],
)
def test_a_page_runs_as_printed(page, tmp_path, monkeypatch, capsys):
    """A block with a title is a file, other Python is run, and so is every line of shell that begins with pacopt."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # a script finds modules beside it
    text = page.read_text()
    script = ModuleType(page.stem)  # a page is a script: its classes can be found again by name
    monkeypatch.setitem(sys.modules, page.stem, script)
    for language, title, block in re.findall(BLOCK, text, flags=re.MULTILINE | re.DOTALL):
        if title:
            Path(title).write_text(block)
        elif language == "python":
            exec(compile(block, str(page), "exec"), script.__dict__)
        elif language == "sh":
            for line in re.findall(r"^pacopt (.*)$", block, flags=re.MULTILINE):
                answer = alone.pacopt(*shlex.split(line, comments=True))
                assert answer.returncode == 0, f"pacopt {line}\n{answer.stderr}"
                print(answer.stdout)
        else:
            raise AssertionError(f"{page} shows {language}, which nobody runs")
    if page in QUOTING:
        check_quotes(text, capsys.readouterr().out)


def check_quotes(text, printed):
    """What a page quotes was printed, but for the last digits, which depend on the machine."""
    number = r"\d+\.?\d*(?:e-?\d+)?"
    quotes = re.findall(r"(?:^> .*\n)+", text, flags=re.MULTILINE)
    assert quotes
    for quote in quotes:
        words = " ".join(line.removeprefix("> ") for line in quote.splitlines())
        pattern = re.sub(number, lambda found: f"({number})", re.escape(words).replace("\\.", "."))
        found = re.search(re.sub(r"(?<=\d)\\\.(?=\d)", ".", pattern), " ".join(printed.split()))
        assert found, words
        expected = [float(each) for each in re.findall(number, words)]
        assert [float(each) for each in found.groups()] == pytest.approx(expected, rel=0.01), words


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_docstrings_are_true(name):
    module = importlib.import_module(name)
    results = doctest.testmod(module, extraglobs={"np": np, "jnp": jnp, "pacopt": pacopt})
    assert results.failed == 0


def test_every_public_name_stands_on_a_page_of_the_api():
    pages = "\n".join(page.read_text() for page in (ROOT / "docs/api").glob("*.md"))
    shown = set(re.findall(r"^::: pacopt\.(\S+)$", pages, flags=re.MULTILINE))
    modules = {name for name in pacopt.__all__ if isinstance(getattr(pacopt, name), ModuleType)}
    assert set(pacopt.__all__) - modules - {"__version__"} <= shown
    for module in modules:
        names = {
            name for name in getattr(pacopt, module).__all__ if isinstance(getattr(getattr(pacopt, module), name), type)
        }
        assert {f"{module}.{name}" for name in names} - {f"{module}.{name}" for name in pacopt.__all__} <= shown
    kinds = {kind.__name__ for kind in pacopt.PacoptError.__subclasses__() if kind.__module__ == "pacopt.errors"}
    assert {f"errors.{kind}" for kind in kinds} <= shown


def test_every_example_is_listed_and_shown():
    shown, listed = (ROOT / "docs/examples.md").read_text(), (ROOT / "examples/README.md").read_text()
    for path in sorted((ROOT / "examples").rglob("*.py")):
        name = path.relative_to(ROOT / "examples").as_posix()
        assert f'--8<-- "examples/{name}"' in shown
        assert f"]({name})" in listed


def test_every_example_has_a_thumbnail_that_the_gallery_shows():
    shown = (ROOT / "docs/examples.md").read_text()
    names = {path.stem for path in (ROOT / "examples").rglob("*.py")}
    assert names == {path.stem for path in (ROOT / "docs/images/examples").glob("*.png")}
    for name in names:
        assert f"(images/examples/{name}.png)" in shown


def test_the_readme_is_three_screens_long():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_no_two_pages_have_the_same_name():
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    names = re.findall(r"^ +- (.+): \S+\.md$", navigation, flags=re.MULTILINE)
    assert len(names) > 40
    assert sorted(set(names)) == sorted(names)
    titles = [re.search(r"^# (.+)$", page.read_text(), flags=re.MULTILINE) for page in (ROOT / "docs").rglob("*.md")]
    titles = [title[1] for title in titles if title]  # what is included from elsewhere has its own
    assert sorted(set(titles)) == sorted(titles)


def test_what_the_site_draws_with_is_in_the_repository():
    """No page needs the network: scripts, styles and fonts lie beside it."""
    site = ROOT / "docs"
    style = (site / "javascripts/katex/katex.min.css").read_text()
    fonts = set(re.findall(r"url\((fonts/[^)]+\.woff2)\)", style))
    assert fonts
    assert all((site / "javascripts/katex" / font).exists() for font in fonts)
    assert "MIT" in (site / "javascripts/katex/LICENSE.txt").read_text()


def test_every_command_of_the_readme_is_a_target_or_a_command():
    makefile = (ROOT / "Makefile").read_text()
    shell = "\n".join(
        re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    )
    targets = re.findall(r"^make (\w+)", shell, flags=re.MULTILINE)
    assert {"demo", "test"} <= set(targets)
    for target in targets:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)


def test_every_pacopt_command_in_the_text_of_a_page_exists_with_its_options():
    texts = [re.sub(BLOCK, "", page.read_text(), flags=re.MULTILINE | re.DOTALL) for page in PAGES]
    lines = {line for text in texts for line in re.findall(r"`pacopt ([^`]+)`", text)}
    words = {line: [word for word in line.split() if word != "..."] for line in lines}
    commands = {first for first, *_ in words.values()}
    assert commands >= {"learn", "verify", "report", "plan", "demo", "reproduce"}
    groups = {"bench": ["bench", "families"]}  # a command of several words
    helps = {command: help_of(*groups.get(command, [command] * (not command.startswith("-")))) for command in commands}
    for line, (command, *others) in words.items():
        for word in (command, *others):
            assert not word.startswith("--") or word in helps[command], line


def help_of(*command):
    answer = alone.pacopt(*command, "--help", COLUMNS="200")
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_every_key_of_a_job_is_documented():
    page = (ROOT / "docs/command_line.md").read_text()
    rows = set(re.findall(r"^\| `\[?(\w+)\]?` \|", page, flags=re.MULTILINE))
    assert rows == {*TOP, *TABLES, "domain"}
    for table, keys in TABLES.items():
        row = re.search(rf"^\| `\[{table}\]` \|.*$", page, flags=re.MULTILINE)[0]
        assert all(f"`{key}`" in row for key in keys)
