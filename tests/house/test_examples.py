"""Every example runs as a script of its own, with warnings as errors, and writes only where it is started."""

from pathlib import Path

import pytest

from alone import run_script

EXAMPLES = Path(__file__).parents[2] / "examples"
#: What each of them prints if it did its work.
SAYS = {
    "learn_heavy_ball": "runs/heavy_ball: verified.",
    "own_problem": "With confidence 0.99 over the draw of the 1000 training instances",
    "own_claim": "- It ends at or below a hundredth of its start with probability at least",
    "own_losses": "With confidence 0.95 over the draw of the 200 training instances",
    "pick_from_the_frontier": "Chosen: step size",
    "absolute_loss": "mean loss at most",
    "logistic_regression": "Nesterov: certified mean ratio at most",
    "quadcopter": "Certified with 99 % confidence from 30 flights, and true on 10 fresh ones:",
    "shared_structure": "After 2 steps: at least 3.",
    "own_family": "fresh draws",
    "own_table": "it gains on average at least",
    "sparse_regression": "A new signal: ",
    "save_verify_load": "certificate.deployed.risk is stored as",
    "deblurring": "digits more than the half-quadratic method, on average.",
    "control": "With confidence 0.99 over the draw of the 600 training instances",
    "networks": "Learned: learning rate",
    "sucker_ochs_2023_figure_4": "holds: the certificate, relative, N = 1000, holds",
}


#: Two algorithms on a problem that tests/cases.py has too; what README, docs/learning.md, docs/certificates.md and
#: docs/theory.md show; what a page or a test does by a command; families, whose parts have tests of their own, and one
#: of one's own, which docs/families/index.md shows.
LONG = dict.fromkeys(
    (
        "absolute_loss",
        "sparse_regression",
        "networks",
        "own_family",
        "deblurring",
        "learn_heavy_ball",
        "logistic_regression",
        "own_losses",
        "own_problem",
        "own_table",
        "pick_from_the_frontier",
        "save_verify_load",
        "sucker_ochs_2023_figure_4",
    ),
    pytest.mark.slow,
)
PATHS = [pytest.param(path, marks=LONG.get(path.stem, ()), id=path.stem) for path in sorted(EXAMPLES.rglob("*.py"))]


@pytest.mark.parametrize("path", PATHS)
def test_an_example_runs_and_says_what_it_should(path, tmp_path):
    before = {each for each in EXAMPLES.rglob("*") if "__pycache__" not in each.parts}
    answer = run_script(path, tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr == ""
    assert SAYS[path.stem] in answer.stdout
    assert before == {each for each in EXAMPLES.rglob("*") if "__pycache__" not in each.parts}
