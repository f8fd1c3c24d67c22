"""Lower bounds on the minima of many logistic regressions, by Newton's method and strong convexity."""

import numpy as np
from jaxtyping import Float, Int

#: The number of instances solved side by side.
TOGETHER = 32
#: Limits on Newton steps and on halvings of one step. It ends earlier once the bound is this close to the loss.
STEPS, HALVINGS, NEAR = 60, 20, 1e-17
#: Bounds are lowered by this fraction of the start loss, log 2: about a hundred times the rounding error of a loss.
MARGIN = 1e-14


def lower_bounds(
    features: Float[np.ndarray, "row unknown"],
    rows: Int[np.ndarray, "instance picked"],
    labels: Float[np.ndarray, "instance picked"],
    penalty: Float[np.ndarray, " instance"],
) -> Float[np.ndarray, " instance"]:
    """l(x) - |g|^2 / (2 penalty) where Newton's method ends, for each instance, less a margin for rounding.

    The loss is strongly convex with constant `penalty`, so l(y) >= l(x) + g'(y - x) + penalty / 2 |y - x|^2 for all y,
    and the right-hand side is smallest at y = x - g / penalty. So the method that found x need not be trusted: whatever
    x is, the result is below the minimum, and close to it if g is small.
    """
    parts = [slice(k, k + TOGETHER) for k in range(0, len(rows), TOGETHER)]
    found = [_bounds(features[rows[part]] * labels[part][:, :, None], penalty[part]) for part in parts]
    return np.concatenate(found)


def _bounds(signed: Float[np.ndarray, "instance picked unknown"], penalty: np.ndarray) -> np.ndarray:
    x = np.zeros((len(signed), signed.shape[2]))
    # Finished instances are skipped, so that a few hard ones do not cost a step on all.
    value, slope = _value(x, signed, penalty), _slope(x, signed, penalty)
    active = np.arange(len(x))
    for _ in range(STEPS):
        active = active[_below(slope[active], penalty[active]) > NEAR]
        if not len(active):
            break
        at, data, weight = x[active], signed[active], penalty[active]
        step = np.linalg.solve(_hessian(at, data, weight), slope[active][:, :, None])[:, :, 0]
        x[active], moved = _halved(at, step, value[active], data, weight)
        value[active], slope[active] = _value(x[active], data, weight), _slope(x[active], data, weight)
        active = active[moved]
    return np.asarray(value - _below(slope, penalty) - MARGIN * np.log(2.0))


def _below(slope: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """An upper bound on how far the minimum is below the loss."""
    return np.asarray(np.sum(slope**2, axis=1) / (2 * penalty))


def _halved(
    x: np.ndarray, step: np.ndarray, value: np.ndarray, signed: np.ndarray, penalty: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The points after the step, halved until the loss does not rise, and which of them moved."""
    part = np.ones(len(x))
    for _ in range(HALVINGS):
        up = _value(x - part[:, None] * step, signed, penalty) > value
        if not up.any():
            break
        part[up] /= 2
    else:
        part[up] = 0.0
    return x - part[:, None] * step, part > 0


def _margins(x: np.ndarray, signed: np.ndarray) -> np.ndarray:
    return np.asarray((signed @ x[:, :, None])[:, :, 0])


def _value(x: np.ndarray, signed: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    losses = np.logaddexp(0.0, -_margins(x, signed)).mean(axis=1)
    return np.asarray(losses + 0.5 * penalty * np.sum(x**2, axis=1))


def _slope(x: np.ndarray, signed: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    doubt = _doubt(x, signed) / signed.shape[1]
    return np.asarray(penalty[:, None] * x - (doubt[:, None, :] @ signed)[:, 0])


def _hessian(x: np.ndarray, signed: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    doubt = _doubt(x, signed)
    weighted = signed * (doubt * (1.0 - doubt) / signed.shape[1])[:, :, None]
    return np.asarray(signed.transpose(0, 2, 1) @ weighted + penalty[:, None, None] * np.eye(x.shape[1]))


def _doubt(x: np.ndarray, signed: np.ndarray) -> np.ndarray:
    """1 / (1 + e^margin), the probability that a label is wrong, without overflow."""
    return np.asarray(0.5 * (1.0 - np.tanh(0.5 * _margins(x, signed))))
