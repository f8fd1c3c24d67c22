"""The page on clusters, followed word by word; Slurm is two commands that start and stop jobs on this machine."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/clusters.md").read_text()
BIN = Path(sys.executable).parent
MY_JOB = """
import numpy as np
import pacopt
from my_solver import solve

instances = pacopt.Instances({"a": np.random.default_rng(0).uniform(1, 100, size=300)})
parts = (
    pacopt.BlackBox(solve, {"damping": pacopt.Interval(0.1, 1.9)}),
    pacopt.split(instances, prior=50, train=200, test=50, seed=1),
)
few = pacopt.priors.Search(candidates=8, explore=1, rounds=0)
options = {"score": pacopt.Effort("solved", 200, unit="iterations"), "prior": few}
"""
# Like Slurm's own, it keeps a copy of the script, which is deleted as soon as the command ends.
SBATCH = """#!/bin/sh
cp "$1" "$0.$$"
setsid bash "$0.$$" >/dev/null 2>&1 &
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
for job in "$@"; do kill -- "-$job"; done
"""


@pytest.fixture
def place(tmp_path):
    """A directory with the files of the page."""
    for title, block in re.findall(r"^```python title=\"([^\"]+)\"\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL):
        (tmp_path / title).write_text(block)
    return tmp_path


@pytest.mark.slow
def test_the_script_for_slurm_learns_and_saves(place):
    (place / "my_job.py").write_text(MY_JOB)
    script = (place / "slurm.py").read_text()
    assert "cores=16, processes=16" in script
    (place / "slurm.py").write_text(script.replace("cores=16, processes=16", "cores=2, processes=2"))
    commands = place / "bin"
    commands.mkdir()
    for name, text in {"sbatch": SBATCH, "scancel": SCANCEL}.items():
        (commands / name).write_text(text)
        (commands / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{commands}:{BIN}:{os.environ['PATH']}"}
    done = subprocess.run([sys.executable, "slurm.py"], cwd=place, env=environment, capture_output=True, timeout=240)
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads((place / "runs/slurm/provenance.json").read_text())
    assert any((place / "kept").rglob("*.npz"))


@contextmanager
def started(place, *words):
    process = subprocess.Popen(
        [BIN / "dask", *words], cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.slow
def test_scheduler_workers_and_a_job_as_commands(place):
    (command, worker) = re.findall(r"^(dask [^#\n]+?) +#", PAGE, flags=re.MULTILINE)
    assert subprocess.run([BIN / "pacopt", "learn", "--init"], cwd=place).returncode == 0
    with started(place, *command.split()[1:], "--port", "0", "--no-dashboard"):
        until = time.monotonic() + 30
        while not (place / "scheduler.json").exists() and time.monotonic() < until:
            time.sleep(0.1)
        address = json.loads((place / "scheduler.json").read_text())["address"]
        words = [address if word == "tcp://first:8786" else word for word in worker.split()[1:]]
        with started(place, *words, "--no-dashboard"):
            for number, where in enumerate((address, "scheduler.json")):
                learn = [BIN / "pacopt", "learn", "job.toml", "--json", "--dask", where, "--out", f"runs/{number}"]
                done = subprocess.run(learn, cwd=place, capture_output=True, timeout=240)
                assert done.returncode in (0, 1), done.stderr.decode()
    here = subprocess.run([BIN / "pacopt", "learn", "job.toml", "--json"], cwd=place, capture_output=True, timeout=240)
    assert json.loads(here.stdout)["deployed"] == json.loads(done.stdout)["deployed"]
