"""The rules of the house that no linter knows."""

import ast
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


def test_no_file_has_grown_past_one_concept():
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines()) for path in SOURCES}
    assert {path: length for path, length in lengths.items() if length > 300} == {}


@pytest.mark.parametrize(
    "code",
    ["import pacopt", "import pacopt.app.commands", "import pacopt; pacopt.LossTable, pacopt.split, pacopt.Instances"],
)
def test_what_needs_no_jax_does_not_import_it(code):
    check = f"import sys; {code}; print(sorted({{'jax', 'equinox'}} & sys.modules.keys()))"
    answer = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"


def test_interrupts_are_handled_before_anything_heavy_is_imported():
    check = "import sys, pacopt.app.cli; print(sorted({'typer', 'rich', 'numpy', 'jax'} & sys.modules.keys()))"
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
    modules = ("bounds", "claims", "engines", "families", "papers", "plot", "priors", "scores", "testing")
    for name in pacopt.__all__:
        first, second = getattr(pacopt, name), getattr(pacopt, name)
        assert first is second
        assert isinstance(first, type(sys)) == (name in modules)
    assert set(pacopt.__all__) <= set(dir(pacopt))
    with pytest.raises(AttributeError, match="certify_everything"):
        pacopt.certify_everything


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
        assert "**Theorem**" in bound.__doc__
    helpers = {"__init__", "base", "baselines", "continuous", "exponential_family", "grids", "informed", "sums"}
    files = {path.stem for path in (ROOT / "src/pacopt/bounds").glob("*.py")} - helpers
    assert {bound.__module__.rsplit(".", 1)[1] for bound in bounds.ALL} == files


#: Where a claim may be named besides its own file and its formula for the audit: in the list of all, in the short
#: arguments that build claims, in names of earlier versions and in their frozen texts, and where sizes are planned for
#: the two that everybody asks for; and papers and families use claims as anybody does.
NAMING = (
    "aliases.py",
    "auditing/formulas/__init__.py",
    "auditing/v1",
    "claims/__init__.py",
    "claims/standard.py",
    "families/",
    "papers/",
    "planning/",
)


def named_in(path, claim):
    """Whether a file names a claim: imports its module or class, or reads its number by its name."""
    names = {claim.__name__}
    for node in ast.walk(ast.parse(path.read_text())):
        imported = isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pacopt.claims")
        if imported and (node.module == claim.__module__ or names & {alias.name for alias in node.names}):
            return True
        if isinstance(node, ast.Attribute) and node.attr == claim.name and _numbers(node.value):
            return True
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == claim.name:
            return True
    return False


def _numbers(node):
    """Whether an expression is what holds the numbers of claims: deployed, posterior, a choice, the bounds."""
    name = getattr(node, "attr", getattr(node, "id", ""))
    return name in ("deployed", "posterior", "choice", "bounds", "values")


def test_a_claim_is_named_in_its_own_file_and_its_formula_and_nowhere_else():
    from pacopt import claims

    package = ROOT / "src/pacopt"
    for claim in claims.ALL:
        own = {f"claims/{claim.name}.py", f"auditing/formulas/{claim.name}.py"}
        paths = {path.relative_to(package).as_posix(): path for path in package.rglob("*.py")}
        found = {name for name, path in paths.items() if named_in(path, claim)} - own
        assert {name for name in found if not name.startswith(NAMING)} == set()
    assert named_in(package / "claims/standard.py", claims.Quantile), "the test can fail"


#: Where `min_success`, the short way to ask something of one claim, and what is shown beside it, speak of that claim.
REQUIRING = {
    "certifying.py",
    "comparison.py",
    "earlier.py",
    "priors/trials.py",
    "report/candidates.py",
    "report/sections/measured.py",
    "report/sections/posterior.py",
    "stages/running.py",
    "tradeoff.py",
}


def requires(path):
    """Whether a file asks for the claim that `min_success` speaks of."""
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "pacopt.claims.standard"
        and "REQUIRED" in {alias.name for alias in node.names}
        for node in ast.walk(ast.parse(path.read_text()))
    )


def explains(path, claim):
    """Whether a file reads numbers that explain a claim, by their names."""
    names = {name for name in claim.explaining if name != "t"}  # anybody may call something t
    return any(
        (isinstance(node, ast.Constant) and node.value in names)
        or (isinstance(node, ast.Attribute) and node.attr in names)
        for node in ast.walk(ast.parse(path.read_text()))
        if not isinstance(node, ast.Constant) or isinstance(node.value, str)
    )


def test_what_explains_a_claim_is_read_by_the_claim_and_what_is_required_in_few_places():
    from pacopt import claims

    package = ROOT / "src/pacopt"
    paths = {path.relative_to(package).as_posix(): path for path in package.rglob("*.py")}
    others = {name: path for name, path in paths.items() if not name.startswith(("claims/", "auditing/", "papers/"))}
    assert {name for name, path in others.items() if requires(path)} <= REQUIRING
    for claim in claims.ALL:
        assert {name for name, path in others.items() if explains(path, claim)} == set()
    assert explains(paths["claims/risk.py"], claims.Risk), "the test can fail"
    assert requires(paths["certifying.py"])


def test_every_claim_has_a_formula_for_the_audit_and_a_page():
    from pacopt import claims
    from pacopt.auditing.formulas import FORMULAS

    pages = (ROOT / "docs/api/claims.md").read_text()
    for claim in claims.ALL:
        assert f"{claim.__module__}:{claim.__qualname__}" in FORMULAS
        assert claim.__name__ in pages


def test_the_root_of_the_package_shows_the_design():
    assert len([path for path in (ROOT / "src/pacopt").glob("*.py") if path.stem != "__main__"]) <= 24
    assert "-> pacopt" not in (ROOT / "pyproject.toml").read_text(), "no import is ignored"
