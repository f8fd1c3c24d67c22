"""The scheduler of our tests (`tests/scheduling.py`)."""

import re
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
CONFTEST = """
from scheduling import ByFile

def pytest_xdist_make_scheduler(config, log):
    return ByFile(config, log)
"""
FILE = """
import os, time, pytest

@pytest.mark.parametrize("k", range(4))
def test_it(k):
    time.sleep(0.05)
    if k in {crashes}:
        os._exit(1)
"""


def test_a_test_that_crashes_its_worker_fails_once_and_all_others_run(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    apart = tmp_path / "tests" / "theorem"
    apart.mkdir(parents=True)
    for k, crashes in enumerate([(), (2,), (), (0, 3)]):
        (apart.parent / f"test_{k}.py").write_text(FILE.format(crashes=crashes))
    (apart / "test_apart.py").write_text(FILE.format(crashes=(1, 3)))
    command = [sys.executable, "-m", "pytest", "-n", "2", "--import-mode=importlib", f"-opythonpath={TESTS}", "-rf"]
    output = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False).stdout
    crashed = re.findall(r"^FAILED tests/(?:theorem/)?test_(\w+)\.py::test_it\[(\d)\]", output, re.MULTILINE)
    assert sorted(crashed) == [("1", "2"), ("3", "0"), ("3", "3"), ("apart", "1"), ("apart", "3")], output
    assert "5 failed, 15 passed" in output
