"""Tests run with annotations checked inside the package, and with JAX as a user finds it: float32 by default.

What takes a user's own values (instances, tables, the public verbs) is not wrapped: it has errors of its own, and
they are what is tested.
"""

import os

# Workers have a core each: threads of BLAS would wait for each other by spinning.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Half of the time would go into optimising programs that run once. What is tested in a process of its own (commands,
# examples, scripts) is compiled as users have it, and `make slow` runs all tests once more like that.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=1")

import jaxtyping

INSIDE = ["problems", "algorithms", *(f"engines.traced.{name}" for name in ("cell", "parallel", "precision", "tiling"))]
jaxtyping.install_import_hook([f"pacopt.{name}" for name in INSIDE], "beartype.beartype")

import hypothesis  # noqa: E402
import jax  # noqa: E402
import pytest  # noqa: E402

from scheduling import ByFile  # noqa: E402

jax.local_devices()  # reads the flags
del os.environ["XLA_FLAGS"]
jax.config.update("jax_numpy_rank_promotion", "raise")
hypothesis.settings.register_profile("house", deadline=None, max_examples=25, derandomize=True)
hypothesis.settings.load_profile("house")


@pytest.fixture(autouse=True)
def jax_settings_stay_as_they_are():
    before = dict(jax.config.values)
    yield
    assert dict(jax.config.values) == before


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return ByFile(config, log)
