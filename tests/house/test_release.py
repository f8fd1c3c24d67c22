"""What a stranger installs: wheel and sdist, their metadata, and the first commands in an environment of its own."""

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from pacopt import __version__

ROOT = Path(__file__).parents[2]


def text(name):
    return (ROOT / name).read_text()


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """The sdist, and the wheel that is made from it."""
    place = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(place), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return place


@pytest.fixture(scope="module")
def wheel(dist):
    return next(dist.glob("*.whl"))


@pytest.fixture(scope="module")
def metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(archive.read(name))


def test_the_version_is_the_same_everywhere(wheel):
    assert wheel.name == f"pacopt-{__version__}-py3-none-any.whl"
    assert f"\nversion: {__version__}\n" in text("CITATION.cff")
    newest = re.search(r"^## (\S+) - (\S+)$", text("CHANGELOG.md"), flags=re.MULTILINE)
    assert newest[1] == __version__
    assert f"\ndate-released: {newest[2]}\n" in text("CITATION.cff")


def test_the_changes_of_a_release_say_what_they_mean_for_certificates():
    newest = text("CHANGELOG.md").split("\n## ")[1]
    assert "\n### Guarantee\n" in newest


def test_an_index_would_take_wheel_and_sdist(dist):
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, dist.iterdir())]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout


def test_the_metadata_name_extras_and_every_python_that_is_tested(metadata):
    assert metadata["License-Expression"] == "MIT"
    assert {"papers", "optuna", "solvers", "workers", "dask", "torch", "families"} <= set(
        metadata.get_all("Provides-Extra")
    )
    workflow = re.search(r"python: \[(.*)\]", text(".github/workflows/ci.yml"))[1]
    tested = re.findall(r"3\.\d+", workflow)
    classified = re.findall(r"Python :: (3\.\d+)", " ".join(metadata.get_all("Classifier")))
    assert tested == classified
    assert metadata["Requires-Python"] == f">={tested[0]}"


def test_the_long_description_shows_nothing_that_only_a_clone_has(metadata):
    assert metadata["Description-Content-Type"] == "text/markdown"
    description = metadata.get_payload()
    assert description.startswith("# pacopt")
    assert "pip install" in description
    prose = re.sub(r"^```.*?^```", "", description, flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"!\[|<img|\]\((?!https?:)", prose)


def test_everything_that_runs_is_in_the_wheel_and_everything_that_builds_is_in_the_sdist(wheel, dist):
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name for name in archive.namelist() if ".dist-info/" not in name}
    package = ROOT / "src/pacopt"
    wanted = {
        f"pacopt/{path.relative_to(package).as_posix()}"
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert shipped == wanted
    assert "pacopt/py.typed" in shipped
    with tarfile.open(next(dist.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "hatch_build.py", "Makefile", "constraints.txt", "LICENSE", "SECURITY.md"} <= names
    assert "tests/house/test_release.py" in names


def test_workflows_call_targets_of_make():
    targets = set(re.findall(r"^([a-z]+):", text("Makefile"), flags=re.MULTILINE))
    called = set()
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        called |= set(re.findall(r"run: make (\w+)", path.read_text()))
    assert {"check", "test", "docs", "dist"} <= called <= targets


@pytest.mark.slow  # it downloads everything that pacopt needs
def test_a_stranger_installs_the_wheel_and_runs_the_first_commands(wheel, tmp_path):
    venv.create(tmp_path / "env", with_pip=True)
    tools = tmp_path / "env" / "bin"
    hidden = ("PYTHONPATH", "VIRTUAL_ENV")
    clean = {name: value for name, value in os.environ.items() if name not in hidden} | {"PATH": str(tools)}

    def run(*command):
        answer = subprocess.run(
            [tools / command[0], *command[1:]], cwd=tmp_path, env=clean, capture_output=True, text=True, check=False
        )
        assert answer.returncode == 0, answer.stdout + answer.stderr
        return answer.stdout

    run("python", "-m", "pip", "install", "--quiet", "--constraint", str(ROOT / "constraints.txt"), str(wheel))
    assert str(tmp_path) in run("python", "-c", "import pacopt; print(pacopt.__file__)")
    assert run("pacopt", "--version") == f"pacopt {__version__}\n"
    assert "verified" in run("pacopt", "demo")
    report = tmp_path / "runs" / "demo" / "report.html"
    drawn = report.read_bytes()
    report.unlink()
    run("pacopt", "report", "runs/demo")
    assert report.read_bytes() == drawn
    assert "all agree" in run("pacopt", "verify", "runs/demo")
