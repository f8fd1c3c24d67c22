"""Hand-written kernels of the same recurrence, and how fast this machine can multiply and add at all."""

import numpy as np
from numba import njit, prange

#: Elements that step together: with this many LLVM keeps the recurrence vectorised and hides the latency of the fma.
WIDTH = 64


@njit(parallel=True, fastmath={"contract"})
def heavy_ball_diagonal(diagonal, b, step_size, momentum, steps, losses):
    """Heavy-ball on diagonal quadratics: parallel over candidates, vectorised over coordinates, nothing stored."""
    count = diagonal.size
    flat, right = diagonal.reshape(-1), b.reshape(-1)
    n = diagonal.shape[1]
    for i in prange(step_size.size):
        rate, inertia = step_size[i], momentum[i]
        a, c = np.zeros(WIDTH), np.zeros(WIDTH)
        x, previous = np.zeros(WIDTH), np.zeros(WIDTH)
        squares = np.empty(count + WIDTH)
        for first in range(0, count, WIDTH):
            for k in range(min(WIDTH, count - first)):
                a[k], c[k] = flat[first + k], right[first + k]
            for k in range(WIDTH):
                x[k], previous[k] = 0.0, 0.0
            for _ in range(steps):
                for k in range(WIDTH):
                    old = x[k]
                    x[k] = old - rate * (a[k] * (a[k] * old - c[k])) + inertia * (old - previous[k])
                    previous[k] = old
            for k in range(WIDTH):
                residual = a[k] * x[k] - c[k]
                squares[first + k] = residual * residual
        for j in range(losses.shape[1]):
            total = 0.0
            for k in range(n):
                total += squares[j * n + k]
            losses[i, j] = 0.5 * total


@njit(parallel=True, fastmath={"contract"})
def multiply_add(x, rounds):
    """Sixteen multiply-adds for each element and round, on all cores and in cache: a plain loop's speed."""
    for row in prange(x.shape[0]):
        for _ in range(rounds):
            for k in range(x.shape[1]):
                v = x[row, k]
                for _ in range(16):
                    v = v * 0.999 + 0.001
                x[row, k] = v


def heavy_ball_numpy(diagonal, b, step_size, momentum, steps):
    """The same with NumPy, one candidate at a time and all instances at once."""
    losses = np.empty((step_size.size, len(diagonal)))
    for i in range(step_size.size):
        x = previous = np.zeros_like(b)
        for _ in range(steps):
            gradient = diagonal * (diagonal * x - b)
            x, previous = x - step_size[i] * gradient + momentum[i] * (x - previous), x
        losses[i] = 0.5 * np.sum((diagonal * x - b) ** 2, axis=1)
    return losses
