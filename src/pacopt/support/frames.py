"""Data frames of pandas, which is imported when one is asked for."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pacopt.errors import ExportError

if TYPE_CHECKING:
    from pandas import DataFrame


def data_frame(columns: Mapping[str, Any]) -> "DataFrame":
    """A data frame with these columns, or how to install pandas."""
    try:
        import pandas
    except ImportError as error:
        raise ExportError(
            "pandas is not installed.",
            "A data frame needs it.",
            "pacopt itself works without it, so it is an extra.",
            'Install it: pip install "pacopt[pandas]".',
        ) from error
    return pandas.DataFrame(dict(columns))


def params(hypers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A column for each hyperparameter of some candidates; an array is one value, and what one does not have is None.

    >>> params([{"rate": 0.5}, {}])
    {'params_rate': [0.5, None]}
    """
    names = dict.fromkeys(name for hyper in hypers for name in hyper)
    return {f"params_{name}": single([hyper.get(name) for hyper in hypers]) for name in names}


def single(values: Sequence[Any]) -> Any:
    """One value for each row, also where a value is an array."""
    if not any(isinstance(value, np.ndarray) for value in values):
        return list(values)
    found = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        found[row] = value
    return found


def real(values: Sequence[float | None]) -> np.ndarray:
    """Numbers; NaN where there is none."""
    return np.array(values, dtype=float)
