"""Every Python block of the documents runs, as one script from top to bottom of its page; so does every doctest."""

import doctest
import importlib
import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import jax.numpy as jnp
import numpy as np
import pytest

import pacopt

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = [info.name for info in pkgutil.walk_packages(pacopt.__path__, "pacopt.")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_python_of_a_page_runs_as_printed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    script = ModuleType(page.stem)  # a page is a script: its classes can be found again by name
    monkeypatch.setitem(sys.modules, page.stem, script)
    for block in blocks:
        exec(compile(block, str(page), "exec"), script.__dict__)


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
        assert {f"{module}.{name}" for name in names} - {f"bounds.{name}" for name in pacopt.__all__} <= shown
    kinds = {kind.__name__ for kind in pacopt.PacoptError.__subclasses__() if kind.__module__ == "pacopt.errors"}
    assert {f"errors.{kind}" for kind in kinds} <= shown


def test_every_example_is_listed_and_shown():
    shown, listed = (ROOT / "docs/examples.md").read_text(), (ROOT / "examples/README.md").read_text()
    for path in sorted((ROOT / "examples").rglob("*.py")):
        name = path.relative_to(ROOT / "examples").as_posix()
        assert f'--8<-- "examples/{name}"' in shown
        assert f"]({name})" in listed


def test_every_command_of_the_readme_is_a_target_or_a_command():
    makefile = (ROOT / "Makefile").read_text()
    shell = "\n".join(
        re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    )
    targets = re.findall(r"^make (\w+)", shell, flags=re.MULTILINE)
    assert {"demo", "test"} <= set(targets)
    for target in targets:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)


def test_every_pacopt_command_of_the_pages_exists_with_its_options():
    pacopt_command = Path(sys.executable).with_name("pacopt")
    lines = [line for page in PAGES for line in re.findall(r"^pacopt (.*)$", page.read_text(), flags=re.MULTILINE)]
    assert lines
    for line in lines:
        command, *words = shlex.split(line.split("#")[0].split(">")[0])
        answer = subprocess.run([pacopt_command, command, "--help"], capture_output=True, text=True, check=False)
        assert answer.returncode == 0, line
        for word in words:
            assert not word.startswith("--") or word in answer.stdout, line
