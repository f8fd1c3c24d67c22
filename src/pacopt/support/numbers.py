"""What counts as a number when a user gives one."""

from typing import Any

import numpy as np

#: Made once: a union that is written where it is asked for is built anew each time, and this is asked for every run.
REAL = (int, float, np.integer, np.floating)


def is_whole(value: Any, least: int = 0) -> bool:
    """Whether it is a whole number, of Python or NumPy, and at least so large; True and False are none."""
    return not isinstance(value, bool) and isinstance(value, int | np.integer) and bool(value >= least)


def is_real(value: Any) -> bool:
    """Whether it is a real number, of Python or NumPy; True and False are none."""
    return not isinstance(value, bool) and isinstance(value, REAL)
