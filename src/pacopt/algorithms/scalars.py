"""What learned rules are made of: scalars that are defined everywhere, and a small network of them."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pacopt.errors import AlgorithmError
from pacopt.support.numbers import is_whole

#: Networks see logarithms divided by four and clipped to this distance from 0.
QUARTER, FAR = 0.25, 5.0


def network(weights: Any, inputs: Float[Array, " i"]) -> Float[Array, " o"]:
    """The outputs of two tanh layers and a linear one; the last row of each of the first two matrices is its offset."""
    hidden = inputs
    for layer in (weights["first"], weights["second"]):
        hidden = jnp.tanh(hidden @ layer[:-1] + layer[-1])
    return jnp.asarray(hidden @ weights["last"])


def network_shapes(inputs: int, width: int, outputs: int) -> dict[str, np.ndarray]:
    """The arrays of such a network, filled with zeros."""
    shapes = {"first": (inputs + 1, width), "second": (width + 1, width), "last": (width, outputs)}
    return {name: np.zeros(shape) for name, shape in shapes.items()}


def random_network(inputs: int, width: int, outputs: int, seed: int) -> dict[str, np.ndarray]:
    """A random network whose last layer is zero, so that its outputs are 0."""
    rng = np.random.default_rng(seed)
    drawn = network_shapes(inputs, width, outputs)
    for name, fan in (("first", inputs), ("second", width)):
        drawn[name][:-1] = rng.normal(size=(fan, width)) / np.sqrt(fan)
    return drawn


# A quotient, a length, a cosine and a logarithm; they and their derivatives are 0 where undefined.
def safe_ratio(a: Any, b: Float[Array, ""]) -> Float[Array, ""]:
    """a / b for positive b, else 0."""
    return jnp.where(b > 0, a / jnp.where(b > 0, b, 1.0), 0.0)


def length(a: Float[Array, " n"]) -> Float[Array, ""]:
    """The length of a vector, scaled by its largest entry so that no square overflows."""
    # The result does not depend on this, and the derivative of a maximum is NaN where rounding hides which entry it is.
    largest = jax.lax.stop_gradient(jnp.max(jnp.abs(a)))
    part = a / jnp.where(largest > 0, largest, 1.0)
    square = jnp.sum(part * part)
    return jnp.where(square > 0, largest * jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)


def cosine(a: Float[Array, " n"], b: Float[Array, " n"], of_a: Any, of_b: Any) -> Float[Array, ""]:
    """The cosine of the angle between two vectors with these lengths."""
    return jnp.sum(a * _inverse(of_a) * (b * _inverse(of_b)))


def _inverse(of: Float[Array, ""]) -> Float[Array, ""]:
    """1 / of for a positive length, else 0."""
    return jnp.where(of > 0, _reciprocal(jnp.where(of > 0, of, 1.0)), 0.0)


@jax.custom_jvp
def _reciprocal(b: Float[Array, ""]) -> Float[Array, ""]:
    """1 / b, with a derivative that does not overflow where 1 / b^2 does: below 1e-154, where a direction dies out."""
    return 1.0 / b


@_reciprocal.defjvp
def _reciprocal_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    found = _reciprocal(*primals)
    return found, -(found * (found * tangents[0]))


def log_ratio(a: Float[Array, ""], b: Float[Array, ""]) -> Float[Array, ""]:
    """log(a / b), as networks see it."""
    fine = (a > 0) & (b > 0) & jnp.isfinite(a) & jnp.isfinite(b)
    log = jnp.log(jnp.where(fine, a, 1.0)) - jnp.log(jnp.where(fine, b, 1.0))
    return jnp.clip(QUARTER * jnp.where(fine, log, 0.0), -FAR, FAR)


def size(name: str, *, optional: bool = False) -> Callable[[Any], Any]:
    """A converter that returns a valid size unchanged and refuses anything else."""

    def checked(value: Any) -> Any:
        if is_whole(value, 1) or (optional and value is None):
            return value
        raise AlgorithmError(
            f"{name} is {value!r}.",
            "It must be a whole number, at least 1.",
            "Sizes are fixed when an algorithm is made.",
            "Pass a positive whole number; for steps, the number of steps a run will have.",
        )

    return checked
