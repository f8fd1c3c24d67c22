"""Newton's method with halved steps, by independent code."""

import jax.numpy as jnp
import numpy as np

import pacopt
from stepping import path


class Sharp(pacopt.AbstractProblem):
    """sum of log cosh(A x - b): whole Newton steps diverge from far away."""

    def start(self, instance):
        return instance["start"]

    def loss(self, x, instance):
        residual = instance["A"] @ x - instance["b"]
        return jnp.sum(jnp.logaddexp(residual, -residual) - jnp.log(2.0)) + 0.5e-3 * jnp.sum(x**2)


def sharp(seed=0, far=4.0):
    rng = np.random.default_rng(seed)
    return {"A": rng.normal(size=(9, 3)), "b": rng.normal(size=9), "start": far * rng.normal(size=3)}


def value(x, instance):
    residual = instance["A"] @ x - instance["b"]
    return np.sum(np.logaddexp(residual, -residual) - np.log(2.0)) + 0.5e-3 * x @ x


def trials(instance, steps):
    """The points that are tried, by formulas for gradient and Hessian, and how many steps were halved."""
    A, b, x = instance["A"], instance["b"], instance["start"]
    tried, halved, t, step = [x], 0, 1.0, None
    for _ in range(steps):
        gentle = np.tanh(A @ x - b)
        gradient = A.T @ gentle + 1e-3 * x
        if step is None:
            step = -np.linalg.solve(A.T @ np.diag(1 - gentle**2) @ A + 1e-3 * np.eye(3), gradient)
        new = x + t * step
        tried.append(new)
        if value(new, instance) <= value(x, instance) + 1e-4 * t * gradient @ step:
            x, t, step = new, 1.0, None
        else:
            t, halved = t / 2, halved + 1
    return np.array(tried), halved


def test_it_tries_what_the_formulas_say_and_returns_the_lowest():
    instance = sharp()
    tried, halved = trials(instance, 14)
    assert halved > 0
    lowest = np.minimum.accumulate([value(x, instance) for x in tried])
    ours = [value(x, instance) for x in path(pacopt.Newton(), Sharp(), instance, 14)]
    np.testing.assert_allclose(ours, lowest, rtol=1e-9)


def test_near_the_minimum_the_number_of_digits_doubles():
    instance = sharp(far=0.0)
    losses = np.array([value(x, instance) for x in path(pacopt.Newton(), Sharp(), instance, 8)])
    gaps = losses - losses.min()
    assert gaps[3] < 1e-4 * gaps[0]
    assert gaps[5] < 1e-14


def test_a_quadratic_takes_one_step_and_a_saddle_is_left_downwards():
    class Saddle(pacopt.AbstractProblem):
        def start(self, instance):
            return jnp.array([1.0, 0.1])

        def loss(self, x, instance):
            return 0.5 * x[0] ** 2 - 0.5 * instance["down"] * x[1] ** 2 + x[1] ** 4 + 1.0

    bowl = path(pacopt.Newton(), Saddle(), {"down": np.float64(-1.0)}, 1)[-1]
    assert abs(bowl[0]) < 1e-12
    saddle = path(pacopt.Newton(), Saddle(), {"down": np.float64(1.0)}, 12)[-1]
    np.testing.assert_allclose(saddle, [0.0, 0.5], atol=1e-8)
