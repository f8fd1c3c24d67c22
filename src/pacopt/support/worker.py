"""What runs inside of a worker process: one call, whatever it does. Nothing heavy is imported, so that it starts fast.

One thread for linear algebra: there is a worker for each core, and measured seconds are those of one core.
"""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

#: A failure that begins so is one of the worker, and not of a run.
UNPACKED = "could not be loaded"
#: The functions that this process has unpacked, by the bytes that they came in; or why they could not be.
_KNOWN: dict[bytes, Callable[..., Any] | str] = {}


def unpack(blob: bytes) -> None:
    """Make a function ready; what that takes is not counted as time of a call."""
    import cloudpickle  # type: ignore[import-untyped]

    _KNOWN.clear()
    try:
        _KNOWN[blob] = cloudpickle.loads(blob)
    except Exception as error:
        _KNOWN[blob] = f"{UNPACKED}: {type(error).__name__}: {error}"


def called(blob: bytes, hyper: Any, instance: Any) -> tuple[Any, float, str]:
    """What a function returned without its point, the seconds that it took, and in which way it failed, if it did."""
    if blob not in _KNOWN:
        unpack(blob)
    function = _KNOWN[blob]
    if isinstance(function, str):
        return None, 0.0, function
    place, begun = os.getcwd(), time.perf_counter()
    try:
        value = function(hyper, instance)
    except Exception as error:  # a failure of this run
        return None, time.perf_counter() - begun, f"{type(error).__name__}: {error}"
    finally:
        os.chdir(place)
    seconds = time.perf_counter() - begun
    if isinstance(value, dict):
        return {name: each for name, each in value.items() if name not in ("x", "start")}, seconds, ""
    if hasattr(value, "__dataclass_fields__") and hasattr(value, "x"):
        value = replace(value, x=None, start=None) if hasattr(value, "start") else replace(value, x=None)
    return value, seconds, ""
