"""Every example runs as a script of its own, with warnings as errors, and writes only where it is started."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
#: What each of them prints if it did its work.
SAYS = {
    "learn_heavy_ball": "runs/heavy_ball: verified.",
    "own_problem": "With confidence 0.99 over the draw of the 1000 training instances",
    "own_algorithm": "RMSProp: decay",
    "own_bound": "Hoeffding",
    "own_losses": "With confidence 0.95 over the draw of the 200 training instances",
    "success_predicate": "Attained: True.",
    "pick_from_the_frontier": "Chosen: step size",
    "absolute_loss": "mean loss at most",
    "logistic_regression": "Nesterov: certified mean ratio at most",
    "save_verify_load": "certificate.deployed.risk is stored as",
    "sucker_ochs_2023_figure_4": "holds: the certificate, relative, N = 1000, holds",
}


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.py")), ids=lambda path: path.stem)
def test_an_example_runs_and_says_what_it_should(path, tmp_path):
    before = {each for each in EXAMPLES.rglob("*") if "__pycache__" not in each.parts}
    command = [sys.executable, "-B", "-W", "error", path]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # threads that wait for each other beside other tests
    answer = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr == ""
    assert SAYS[path.stem] in answer.stdout
    assert before == {each for each in EXAMPLES.rglob("*") if "__pycache__" not in each.parts}
