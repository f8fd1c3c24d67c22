"""A proximal gradient method in which a small network of scalars sets step size, momenta and threshold at each step."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from pacopt.algorithms.base import AbstractAlgorithm, AbstractInitialHyper, Hyper
from pacopt.algorithms.scalars import (
    length,
    log_ratio,
    network,
    network_shapes,
    random_network,
    safe_ratio,
    size,
)
from pacopt.algorithms.vectors import chosen, evaluated, first_length, proximal
from pacopt.problems.base import Objective, Point
from pacopt.space import Array as ArraySpace
from pacopt.space import Tree

Vector = Float[Array, " n"]
Scalar = Float[Array, ""]

#: The number of scalars the network sees, and the number it returns.
INPUTS, OUTPUTS = 19, 4
#: Where training starts: a step size of one over the curvature, and a momentum of one half.
START = (0.0, 0.5, 0.0, 0.0)
#: Limits on the size of exponents and of momenta.
FAR, MOST = 3.0, 3.0
#: A point that lies above the best by more than this fraction of the gain so far is abandoned.
GUARD = 0.03


class Memory(NamedTuple):
    """The last three points with their gradients, newest first, the best point, and scalars."""

    points: Float[Array, "3 n"]
    gradients: Float[Array, "3 n"]
    value: Scalar
    #: The best point, its gradient and its loss.
    best: tuple[Vector, Vector, Scalar]
    #: The residual of a plain proximal step from the previous point, and the length of the residual at the start.
    residual: Vector
    first: Scalar
    #: The loss at the start, and the fraction of a plain step's largest entry that the proximal map removes there.
    start: Scalar
    threshold: Scalar
    #: The curvature: step sizes are in units of one over it.
    top: Scalar
    taken: Int[Array, ""]
    like: Point


class ProximalRule(AbstractAlgorithm, AbstractInitialHyper):
    """x_next = prox(z - t g(z) / L, t theta / L), z = x + b1 (x - x1) + b2 (x1 - x2): a network sets all four.

    **Theory** Proximal gradient steps from a point ahead, as in FISTA (Beck and Teboulle 2009), with a second momentum
    and a separate threshold, as in unfolded networks (Gregor and LeCun 2010). Those learn their numbers once for all
    instances; here they are set by what is seen of the instance. g(z) = g + b1 (g - g1) + b2 (g1 - g2) combines the
    gradients g, g1, g2 of the smooth part at x, x1, x2. If the smooth part is quadratic, that is its gradient at z;
    otherwise it is an extrapolated gradient. Nothing is promised for a rule trained on other problems; the certificate
    says how well it does. Untrained, it has a step size of 1 / L and a momentum of one half.

    **What the network sees** 19 scalars, computed from the last move s, the change y of the gradient along it, the
    residual p = x - prox(x - g / L, 1 / L) of a plain proximal step, and the residual of the step before. They are the
    logarithms of s'y / s's and y'y / s'y over L, both over all coordinates and over the support, where x is not zero;
    the cosines of (p, s), of (p, s) on the support, of (p, last p) and of the last two moves; the logarithms of the
    lengths of p over last p, of p over the first p, of s over p, of p on the support over p, and of the last two moves;
    the number of nonzero entries, by how much it changed, and how many came or went, as fractions of all entries; how
    much of the first step the proximal map removes (for the LASSO, penalty / |A'b|_inf); k / K and cos(pi k / K). So
    nothing changes if x or the loss is scaled. Two layers of `width` tanh units give log t, b1, b2 and log theta; a
    free number per step is added to each (`schedule`). In training, the scalars are treated as constants: derivatives
    pass through points, not through scalars, which takes half the time and trains better.

    **Guard** If the loss at x exceeds the lowest by more than 0.03 of the gain so far, or is not finite, the next step
    is a plain proximal step from the best point.

    **L** is `curvature`, the largest curvature of the smooth part, if given; pass it whenever all instances share it.
    Otherwise L is the largest |y| / |s| seen so far, or |g|^2 / loss before the first step.

    **Gradients** One per step and one at the start. `read` gives the lowest point evaluated. For a problem without a
    proximal map, prox is the identity. Runs longer than `steps` keep using the last numbers of the schedule.

    >>> from pacopt import VaryingCurvature, loss_curves
    >>> law = VaryingCurvature.draw(seed=0)
    >>> rule = ProximalRule(steps=20)
    >>> candidate = jax.tree.map(lambda array: array[None], rule.initial(seed=0))
    >>> curves = loss_curves(law.problem, rule, candidate, law.sample(9, seed=1), steps=20, at=(0, 20))
    >>> bool(np.all(curves[:, :, 1] < 0.5 * curves[:, :, 0]))
    True
    """

    steps: int = eqx.field(static=True, converter=size("steps"))
    width: int = eqx.field(static=True, converter=size("width"), default=16)
    curvature: float | None = eqx.field(static=True, default=None)

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The network (a row of offsets below each matrix), and four numbers per step."""
        return {
            "network": Tree(network_shapes(INPUTS, self.width, OUTPUTS)),
            "schedule": ArraySpace((self.steps, OUTPUTS), -2.0, 2.0),
        }

    def initial(self, seed: int) -> dict[str, Any]:
        """Proximal gradient steps with constant momentum: a random network whose last layer is zero."""
        return {
            "network": random_network(INPUTS, self.width, OUTPUTS, seed),
            "schedule": np.tile(START, (self.steps, 1)),
        }

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> Memory:
        """The start, with its loss and gradient."""
        flat, _ = ravel_pytree(x)
        value, g = _evaluated(flat, x, objective)
        if self.curvature is None:
            top = safe_ratio(jnp.ones_like(value), first_length(jnp.abs(value), jnp.sum(g**2)))
        else:
            top = jnp.full_like(value, self.curvature)
        ahead = flat - _per(g, top)
        landed = _prox(ahead, 1.0, top, x, objective)
        threshold = safe_ratio(_largest(ahead - landed), _largest(ahead - flat))
        three = jnp.stack([flat] * 3), jnp.stack([g] * 3)
        residual = flat - landed
        taken = jnp.asarray(0)
        return Memory(*three, value, (flat, g, value), residual, length(residual), value, threshold, top, taken, x)

    def step(self, state: Memory, hyper: Hyper, objective: Objective) -> Memory:
        """The state after one step, decided from scalars and evaluated where it ends."""
        points, gradients, top, best = state.points, state.gradients, state.top, state.best
        inputs, residual = self._seen(state, objective)
        out = network(hyper["network"], inputs) + hyper["schedule"][jnp.minimum(state.taken, self.steps - 1)]
        t, theta = jnp.exp(jnp.clip(out[0], -FAR, FAR)), jnp.exp(jnp.clip(out[3], -FAR, FAR))
        b1, b2 = MOST * jnp.tanh(out[1] / MOST), MOST * jnp.tanh(out[2] / MOST)
        lost = ~(state.value <= best[2] + GUARD * (state.start - best[2]))
        weights = jnp.stack([1 + b1, b2 - b1, -b2])
        origin, slope = chosen(lost, best[:2], (weights @ points, weights @ gradients))
        t, theta = jnp.where(lost, 1.0, t), jnp.where(lost, 1.0, theta)
        x = _prox(origin - t * _per(slope, top), t * theta, top, state.like, objective)
        value, g = _evaluated(x, state.like, objective)
        finite = jnp.isfinite(value) & jnp.all(jnp.isfinite(g))
        x, g, value = chosen(finite, (x, g, value), best)
        back = lost | ~finite
        behind = chosen(back, (best[0], best[1], best[0], best[1]), (points[0], gradients[0], points[1], gradients[1]))
        if self.curvature is None:
            top = jnp.maximum(top, safe_ratio(length(g - behind[1]), length(x - behind[0])))
        return state._replace(
            points=jnp.stack([x, behind[0], behind[2]]),
            gradients=jnp.stack([g, behind[1], behind[3]]),
            value=value,
            best=chosen(value < best[2], (x, g, value), best),
            residual=residual,
            top=top,
            taken=state.taken + 1,
        )

    def read(self, state: Memory) -> Point:
        """The lowest point evaluated so far."""
        _, as_point = ravel_pytree(state.like)
        return as_point(state.best[0])

    def _seen(self, state: Memory, objective: Objective) -> tuple[Float[Array, " i"], Vector]:
        """What the network sees, and the residual of a plain proximal step."""
        x, top = state.points[0], state.top
        p = x - _prox(x - _per(state.gradients[0], top), 1.0, top, state.like, objective)
        moves = state.points[:2] - state.points[1:]
        used, was = x != 0, state.points[1] != 0
        pair = jnp.stack([moves[0], _per(state.gradients[0] - state.gradients[1], top), p])
        every = jnp.concatenate([pair, pair * used[None, :], jnp.stack([state.residual, moves[1]])])
        # All inner products at once, of vectors scaled alike: one matrix product forward and one backward.
        unit = jax.lax.stop_gradient(_largest(every))
        every = every * safe_ratio(jnp.ones_like(unit), unit)
        products = every @ every.T
        of = _root(jnp.diagonal(products))

        def cos(i: int, j: int) -> Scalar:
            return safe_ratio(products[i, j], of[i] * of[j])

        s, y, ps, s_on, y_on, p_on, q, before = range(8)
        count, old = jnp.mean(used, dtype=x.dtype), jnp.mean(was, dtype=x.dtype)
        time = jnp.minimum(state.taken / self.steps, 1.0).astype(x.dtype)
        seen = [
            log_ratio(products[s, y], products[s, s]),
            log_ratio(products[y, y], products[s, y]),
            log_ratio(products[s_on, y_on], products[s_on, s_on]),
            log_ratio(products[y_on, y_on], products[s_on, y_on]),
            cos(ps, s),
            cos(p_on, s_on),
            cos(ps, q),
            cos(s, before),
            log_ratio(of[ps], of[q]),
            log_ratio(of[ps] * unit, state.first),
            log_ratio(of[s], of[ps]),
            log_ratio(of[p_on], of[ps]),
            log_ratio(of[s], of[before]),
            jnp.sqrt(count),
            4.0 * (count - old),
            jnp.sqrt(jnp.mean(used != was, dtype=x.dtype)),
            log_ratio(state.threshold, jnp.ones_like(top)),
            time,
            jnp.cos(jnp.pi * time),
        ]
        return jax.lax.stop_gradient(jnp.stack(seen)), jax.lax.stop_gradient(p)


def _root(a: Float[Array, " k"]) -> Float[Array, " k"]:
    """Square roots; they and their derivatives are 0 where undefined."""
    return jnp.where(a > 0, jnp.sqrt(jnp.where(a > 0, a, 1.0)), 0.0)


def _per(vector: Vector, top: Scalar) -> Vector:
    """A vector divided by the curvature; zero if the curvature is zero."""
    return vector * safe_ratio(jnp.ones_like(top), top)


def _largest(values: Array) -> Scalar:
    return jnp.max(jnp.abs(values))


def _prox(vector: Vector, weight: Any, top: Scalar, like: Point, objective: Objective) -> Vector:
    """The proximal map of a vector, with step size weight / top."""
    _, as_point = ravel_pytree(like)
    mapped, _ = ravel_pytree(proximal(as_point(vector), weight * safe_ratio(jnp.ones_like(top), top), objective))
    return mapped


def _evaluated(x: Vector, like: Point, objective: Objective) -> tuple[Scalar, Vector]:
    """The loss, used only to find the best point, and the gradient of the smooth part."""
    _, as_point = ravel_pytree(like)
    value, gradient = evaluated(as_point(x), objective)
    return jax.lax.stop_gradient(value), ravel_pytree(gradient)[0]
