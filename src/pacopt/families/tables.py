"""Tables of real data for classification: rows of features, and tasks that separate two kinds of rows."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from pacopt.errors import ProblemError


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of standardised features with a constant, and a label of 1 or -1 for each task.

    `Table.of(features, classes)` makes one from raw data.

    >>> table = Table.of(np.arange(12.0).reshape(4, 3), np.array(["a", "b", "a", "c"]))
    >>> table.features.shape, table.labels
    ((4, 4), array([[ 1., -1.,  1., -1.],
           [-1.,  1., -1., -1.],
           [-1., -1., -1.,  1.]]))
    """

    features: Float[np.ndarray, "row unknown"]
    labels: Float[np.ndarray, "task row"]
    name: str = field(default="table", kw_only=True)

    def __post_init__(self) -> None:
        """Refuse features and labels that do not form a table."""
        features, labels = np.asarray(self.features, dtype=float), np.asarray(self.labels, dtype=float)
        shapes = features.ndim == 2 and labels.ndim == 2 and labels.shape[1] == len(features) > 0 and len(labels) > 0
        if not shapes or not np.isfinite(features).all() or not np.isin(labels, (-1.0, 1.0)).all():
            raise ProblemError(
                f"The features have the shape {list(features.shape)} and the labels {list(labels.shape)}.",
                "Features must be finite, with shape [row, unknown], and labels 1 or -1, with shape [task, row].",
                "A logistic regression is fitted to labelled rows.",
                "Use Table.of(features, classes), which accepts classes of any kind.",
            )
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "labels", labels)

    @staticmethod
    def of(features: Any, classes: Any, *, name: str = "table") -> "Table":
        """A table from raw features and classes; constant features are left out.

        With two classes, the second in order gets the label 1. With more, each class against the rest is a task.
        """
        numbers, kinds = np.asarray(features, dtype=float), np.unique(np.asarray(classes))
        spread = numbers.std(axis=0)
        kept = numbers[:, spread > 0]
        scaled = (kept - kept.mean(axis=0)) / kept.std(axis=0)
        chosen = kinds[1:] if len(kinds) == 2 else kinds
        labels = np.where(np.asarray(classes)[None] == chosen[:, None], 1.0, -1.0)
        return Table(np.c_[scaled, np.ones(len(scaled))], labels, name=name)


def breast_cancer() -> Table:
    """A table of 569 tumours, with 30 measurements each: benign or malignant."""
    return _of_sklearn("breast cancer", lambda sets: sets.load_breast_cancer(return_X_y=True))


def digits() -> Table:
    """A table of 1797 handwritten digits, 8 x 8 pixels, 61 not constant: ten tasks, one digit against the rest."""
    return _of_sklearn("digits", lambda sets: sets.load_digits(return_X_y=True))


def wine() -> Table:
    """A table of 178 wines, with 13 measurements each: three tasks, one grower against the other two."""
    return _of_sklearn("wine", lambda sets: sets.load_wine(return_X_y=True))


def _of_sklearn(name: str, load: Callable[[Any], tuple[Any, Any]]) -> Table:
    try:
        from sklearn import datasets  # type: ignore[import-untyped]
    except ImportError as error:
        raise ProblemError(
            "scikit-learn is not installed.",
            f"The table {name!r} ships with it.",
            "",
            'Install it with pip install "pacopt[families]", or use your own table: Table.of(features, classes).',
        ) from error
    return Table.of(*load(datasets), name=name)
