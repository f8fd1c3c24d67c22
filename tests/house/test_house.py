"""The rules of the house that no linter knows."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import pacopt

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def test_imports_go_one_way():
    answer = subprocess.run([Path(sys.executable).with_name("lint-imports")], cwd=ROOT, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stdout


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_file_has_grown_past_one_concept(path):
    assert len(path.read_text().splitlines()) <= 300


@pytest.mark.parametrize(
    "code",
    ["import pacopt", "import pacopt.app.cli", "import pacopt; pacopt.LossTable, pacopt.split, pacopt.Instances"],
)
def test_what_needs_no_jax_does_not_import_it(code):
    check = f"import sys; {code}; print(sorted({{'jax', 'equinox'}} & sys.modules.keys()))"
    answer = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"


def test_importing_pacopt_leaves_the_settings_of_jax_alone():
    check = (
        "import jax; before = dict(jax.config.values); import pacopt; pacopt.tabulate; pacopt.HeavyBall;"
        "print(before == dict(jax.config.values))"
    )
    answer = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert answer.stdout == "True\n"


def test_every_public_name_resolves_and_stays_what_it_is():
    for name in pacopt.__all__:
        first, second = getattr(pacopt, name), getattr(pacopt, name)
        assert first is second
        assert isinstance(first, type(sys)) == (name in ("bounds", "papers", "priors"))
    assert set(pacopt.__all__) <= set(dir(pacopt))
    with pytest.raises(AttributeError, match="certify_everything"):
        pacopt.certify_everything


def test_the_version_is_the_newest_of_the_changelog():
    newest = re.search(r"^## \[?(\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert newest[1] == pacopt.__version__


def test_every_theorem_stands_in_all_four_tables_and_says_what_it_needs():
    from pacopt import bounds
    from reference.test_against_mpmath import REFERENCE
    from simulation.simulate import STATEMENTS
    from statements import MOMENTS, VIOLATED
    from theorem.mutants import MUTANTS

    for bound in bounds.ALL:
        assert bound in MOMENTS, "exact enumeration"
        assert bound in VIOLATED, "exact enumeration"
        assert bound in MUTANTS, "mutants"
        assert bound in REFERENCE, "mpmath"
        assert bound.__name__ in STATEMENTS, "coverage"
        assert bound.assumptions
        assert bound.posterior or bound.single
        assert "**Theorem**" in bound.__doc__
    files = {path.stem for path in (ROOT / "src/pacopt/bounds").glob("*.py")} - {
        "__init__",
        "common",
        "exponential_family",
        "grids",
        "sums",
    }
    assert {bound.__module__.rsplit(".", 1)[1] for bound in bounds.ALL} == files
