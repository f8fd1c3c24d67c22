"""Compiled code is kept between commands where that is safe, and changes no number."""

import os
import subprocess
import sys

import jax
import pytest

from pacopt.app import compiled

SCRIPT = """
import hashlib, jax, pacopt
from pacopt.app.compiled import keep_compiled
keep_compiled()
law = pacopt.VaryingCurvature.draw(seed=0, n=10)
candidates = {"step_size": [1e-5, 2e-4, 3e-4], "momentum": [0.5, 0.9, 0.7]}
table = pacopt.tabulate(law.problem, pacopt.HeavyBall(), candidates, law.sample(40, seed=1), steps=20)
print(jax.config.jax_compilation_cache_dir, hashlib.sha256(table.losses.tobytes()).hexdigest())
"""


def run(caches, **environment):
    """Where compiled code is kept, and the hash of a table."""
    clean = {name: value for name, value in os.environ.items() if name not in compiled.DECIDED}
    answer = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=clean | {"XDG_CACHE_HOME": str(caches)} | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stderr == ""
    return answer.stdout.split()


@pytest.mark.slow  # three processes that compile
def test_kept_code_gives_the_same_bytes_and_damaged_code_is_compiled_again(tmp_path):
    place, table = run(tmp_path)
    assert place.startswith(str(tmp_path / "pacopt" / "compiled-"))
    entries = [entry for entry in os.scandir(place) if entry.name.endswith("-cache")]
    assert entries
    assert run(tmp_path) == [place, table]
    for number, entry in enumerate(entries):
        with open(entry.path, "r+b") as file:
            if number % 2:
                file.truncate(100)
            else:
                file.seek(entry.stat().st_size // 2)
                byte = file.read(1)
                file.seek(-1, os.SEEK_CUR)
                file.write(bytes([byte[0] ^ 1]))
    assert run(tmp_path) == [place, table]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return compiled.kept_at()


def test_a_place_that_others_can_write_to_is_not_used(place):
    assert compiled._ours(place)
    place.chmod(0o770)
    assert not compiled._ours(place)


def test_a_place_that_is_no_directory_is_not_used(place):
    place.parent.mkdir()
    place.write_text("something else")
    assert not compiled._ours(place)


def test_another_processor_has_another_place_and_an_unknown_one_has_none(place, tmp_path, monkeypatch):
    other = tmp_path / "cpuinfo"
    other.write_text("model : 7\nflags : sse2 avx\n")
    monkeypatch.setattr("pacopt.support.machine.PROCESSOR", other)
    assert compiled.kept_at() not in (None, place)
    other.write_text("")
    assert compiled.kept_at() is None
    other.unlink()
    assert compiled.kept_at() is None


def test_a_place_that_grew_too_large_is_emptied(place, monkeypatch):
    assert compiled._ours(place)
    (place / "old-cache").write_bytes(bytes(1000))
    monkeypatch.setattr(compiled, "MOST", 999)
    assert compiled._ours(place)
    assert not list(place.iterdir())


@pytest.mark.parametrize("name", compiled.DECIDED)
def test_a_user_who_decides_on_it_is_obeyed(place, monkeypatch, name):
    before = jax.config.jax_compilation_cache_dir
    monkeypatch.setenv(name, "false")
    compiled.keep_compiled()
    assert jax.config.jax_compilation_cache_dir == before
    assert not place.exists()
