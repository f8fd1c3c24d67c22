"""Where labels of a few marks of a scatter go: in a column where there is room, each with a line to its mark."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

#: The height of a line of text and the width of a label, as parts of the chart's; the least distance from its edge.
LINE, WIDTH, EDGE = 0.05, 0.17, 0.03
#: A mark within this distance is hidden by a line, or hides it.
NEAR = 0.02
#: What it costs to hide a mark behind a label, to cross the diagonal there, or to draw a line over a mark.
HIDDEN, CROSSED, OVER = 1.0, 0.5, 0.02
#: What a line costs by its length, across and upwards: steep ones run into the labels.
ACROSS, UP = 0.5, 3.0


class Label(NamedTuple):
    """Where a label begins, as parts of the width and of the height, and on which side: "left" or "right"."""

    x: float
    y: float
    align: str


def placed(marks: Float[np.ndarray, "label 2"], cloud: Float[np.ndarray, "point 2"]) -> list[Label]:
    """A label for each of these marks, among a cloud of others; all places are parts of the width and of the height.

    Labels stand below each other in the order of their marks, at the left or right edge: where they hide fewest marks,
    and then where their lines are short and flat.

    >>> marks = np.array([[0.9, 0.90], [0.9, 0.91]])  # two that would lie upon each other
    >>> low, high = placed(marks, marks)
    >>> low.align, high.align, bool(high.y - low.y > 0.9 * LINE)
    ('left', 'left', True)
    """
    order = np.argsort(-marks[:, 1], kind="stable")
    tall = LINE * len(marks)
    tops = np.arange(1.0, max(tall, LINE), -LINE)
    options = [(align, float(top)) for align in ("left", "right") for top in tops]
    best = min(options, key=lambda option: _cost(option[0], option[1], marks[order], cloud))
    places = _places(*best, len(marks))
    labels: list[Label] = [Label(0.0, 0.0, "left")] * len(marks)
    for (x, y), i in zip(places.tolist(), order.tolist(), strict=True):
        labels[i] = Label(x, y, best[0])
    return labels


def _places(align: str, top: float, count: int) -> Float[np.ndarray, "label 2"]:
    """The beginnings of labels below each other."""
    heights = top - LINE * (np.arange(count) + 0.5)
    return np.stack([np.full(count, EDGE if align == "left" else 1 - EDGE), heights], axis=1)


def _cost(align: str, top: float, marks: np.ndarray, cloud: np.ndarray) -> float:
    """How much is hidden by labels from here on downwards, and how long their lines are."""
    places = _places(align, top, len(marks))
    low, high = (0.0, WIDTH) if align == "left" else (1 - WIDTH, 1.0)
    bottom = top - LINE * len(marks)
    hidden = (cloud >= [low - NEAR, bottom - NEAR]).all(axis=1) & (cloud <= [high + NEAR, top + NEAR]).all(axis=1)
    crossed = max(low, bottom) < min(high, top)
    inner = places + np.array([WIDTH if align == "left" else -WIDTH, 0.0])
    along = np.linspace(0, 0.9, 20)[:, None, None]
    lines = (inner + along * (marks - inner)).reshape(-1, 1, 2)
    over = (np.abs(lines - cloud).max(axis=2) < NEAR).any(axis=0)
    across, upwards = np.abs(marks - inner).mean(axis=0) * (ACROSS, UP)
    return HIDDEN * float(hidden.sum()) + CROSSED * crossed + OVER * float(over.sum()) + float(across + upwards)
