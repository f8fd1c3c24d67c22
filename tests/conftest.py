"""Tests run with JAX as a user finds it: float32 by default."""

import os
import signal
from pathlib import Path

# Workers have a core each: threads of BLAS would wait for each other by spinning.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Programs are compiled in a hurry. What is tested in a process of its own (commands, examples, scripts) is compiled as
# users have it, and `make slow` runs all tests once more like that.
from compiling import FLAGS

os.environ["XLA_BEFORE"] = os.environ.get("XLA_FLAGS", "")
os.environ["XLA_FLAGS"] = FLAGS + " " + os.environ["XLA_BEFORE"]

if os.environ.get("ANNOTATIONS"):  # `make slow`; tests/property/test_annotations.py does it for every commit
    import annotations_checked  # noqa: F401

import hypothesis
import jax
import pytest

from scheduling import ByFile

# A shell lets its background jobs ignore Ctrl-C, and so would all commands that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
jax.local_devices()  # reads the flags
os.environ["XLA_FLAGS"] = os.environ.pop("XLA_BEFORE")
if not os.environ["XLA_FLAGS"]:
    del os.environ["XLA_FLAGS"]
jax.config.update("jax_numpy_rank_promotion", "raise")
hypothesis.settings.register_profile("house", deadline=None, max_examples=25, derandomize=True)
hypothesis.settings.load_profile("house")


@pytest.fixture(autouse=True, scope="module")
def compiled_programs_leave_room():
    """Each takes some memory maps, of which Linux allows a process 65,530; the compiler crashes beyond."""
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and len(maps.read_bytes().splitlines()) > 20_000:
        jax.clear_caches()


@pytest.fixture(autouse=True)
def jax_settings_stay_as_they_are():
    before = dict(jax.config.values)
    yield
    assert dict(jax.config.values) == before


def pytest_collection_modifyitems(config, items):
    """Where annotations are checked, they refuse wrong types before our own errors can."""
    if os.environ.get("ANNOTATIONS"):
        left_out = [item for item in items if item.get_closest_marker("wrong_types")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return ByFile(config, log)
