"""What a learned rule sees and how it decides: scalars that are defined everywhere, and a small network of them."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pacopt.errors import AlgorithmError
from pacopt.support.numbers import is_whole

#: Logarithms are shown to a network at a quarter of their size, and no further than this from 0.
QUARTER, FAR = 0.25, 5.0


def network(weights: Any, inputs: Float[Array, " i"]) -> Float[Array, " o"]:
    """Two layers of tanh and a linear one; the last row of the first two matrices is added."""
    hidden = inputs
    for layer in (weights["first"], weights["second"]):
        hidden = jnp.tanh(hidden @ layer[:-1] + layer[-1])
    return jnp.asarray(hidden @ weights["last"])


def network_shapes(inputs: int, width: int, outputs: int) -> dict[str, np.ndarray]:
    """Zeros, as many as such a network has numbers."""
    shapes = {"first": (inputs + 1, width), "second": (width + 1, width), "last": (width, outputs)}
    return {name: np.zeros(shape) for name, shape in shapes.items()}


def random_network(inputs: int, width: int, outputs: int, seed: int) -> dict[str, np.ndarray]:
    """A random network whose last layer is zero, so that it says nothing yet."""
    rng = np.random.default_rng(seed)
    drawn = network_shapes(inputs, width, outputs)
    for name, fan in (("first", inputs), ("second", width)):
        drawn[name][:-1] = rng.normal(size=(fan, width)) / np.sqrt(fan)
    return drawn


# A quotient, a root, a cosine and a logarithm that are 0 where they are not defined, and so are their derivatives.
def safe_ratio(a: Any, b: Float[Array, ""]) -> Float[Array, ""]:
    """a / b for a positive b, else 0."""
    return jnp.where(b > 0, a / jnp.where(b > 0, b, 1.0), 0.0)


def length(a: Float[Array, " n"]) -> Float[Array, ""]:
    """The length of a vector, by its largest entry, so that no square overflows."""
    # The result does not depend on it, and the derivative of a maximum is NaN where rounding hides who has it.
    largest = jax.lax.stop_gradient(jnp.max(jnp.abs(a)))
    part = a / jnp.where(largest > 0, largest, 1.0)
    square = jnp.sum(part * part)
    return jnp.where(square > 0, largest * jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)


def cosine(a: Float[Array, " n"], b: Float[Array, " n"], of_a: Any, of_b: Any) -> Float[Array, ""]:
    """The cosine of the angle between two vectors of these lengths."""
    return jnp.sum(a * safe_ratio(jnp.ones_like(of_a), of_a) * (b * safe_ratio(jnp.ones_like(of_b), of_b)))


def log_ratio(a: Float[Array, ""], b: Float[Array, ""]) -> Float[Array, ""]:
    """log(a / b) as a network sees it."""
    fine = (a > 0) & (b > 0) & jnp.isfinite(a) & jnp.isfinite(b)
    log = jnp.log(jnp.where(fine, a, 1.0)) - jnp.log(jnp.where(fine, b, 1.0))
    return jnp.clip(QUARTER * jnp.where(fine, log, 0.0), -FAR, FAR)


def size(name: str, *, optional: bool = False) -> Callable[[Any], Any]:
    """What makes a size of a rule of what a user gave, or refuses it."""

    def checked(value: Any) -> Any:
        if is_whole(value, 1) or (optional and value is None):
            return value
        raise AlgorithmError(
            f"{name} of a rule is {value!r}.",
            "It is a whole number, at least 1.",
            "Its numbers are counted when it is made.",
            "Use steps=50, with the steps that a run will have.",
        )

    return checked
