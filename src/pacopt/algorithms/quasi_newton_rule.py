"""A BFGS memory without a line search: a small network of scalars decides how to use it."""

from math import log
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from pacopt.algorithms.base import AbstractAlgorithm, AbstractInitialHyper, Hyper
from pacopt.algorithms.line import Place, place_at
from pacopt.algorithms.scalars import (
    cosine,
    length,
    log_ratio,
    network,
    network_shapes,
    random_network,
    safe_ratio,
    size,
)
from pacopt.algorithms.secants import Pairs, Whole, nothing_known
from pacopt.algorithms.vectors import chosen, refuse_nonsmooth
from pacopt.problems.base import Objective, Point
from pacopt.space import Array as ArraySpace
from pacopt.space import Tree

#: The number of scalars the network sees, and the number it returns.
INPUTS, OUTPUTS = 16, 5
#: A pair with a smaller cosine is left out of the memory.
FLAT = 1e-3
#: A move is at most this many times as long as the last one, times e^o4.
LONGEST = 20.0
#: The largest curvature seen fades by this factor per step.
FADING = 0.9
#: Exponents are clipped to this range so that nothing overflows.
FAR = 9.0
#: A move that ends where the loss or gradient is not finite is repeated, shortened to this fraction.
SHORTER = 0.1


class Memory(NamedTuple):
    """The current place, the next move, what is known about curvature, and the lowest point seen."""

    place: Place
    move: Float[Array, " n"]
    secants: Whole | Pairs
    #: s'y / y'y of the last pair; before the first pair, the length of the first step over that of the gradient.
    scale: Float[Array, ""]
    #: The largest |y| / |s|, fading.
    top: Float[Array, ""]
    #: The length of the gradient at the start, and g'Hg one step ago.
    first: Float[Array, ""]
    decrement: Float[Array, ""]
    taken: Int[Array, ""]
    best: Point
    lowest: Float[Array, ""]


class QuasiNewtonRule(AbstractAlgorithm, AbstractInitialHyper):
    """x_next = x - e^o0 gamma U g - e^o1 V g + o2 s - o3 g / top, where a network sets o0 to o3 at each step.

    **Theory** Broyden, Fletcher, Goldfarb and Shanno (1970): from the last move s and the change y of the gradient g,
    H is updated to (I - rho s y') H (I - rho y s') + rho s s', rho = 1 / s'y: the nearest matrix, in a weighted norm,
    that maps y to s. Started from gamma I, H is linear in gamma: H = gamma U + V, so gamma = s'y / y'y (Shanno and Phua
    1978) can come from the last pair, as in L-BFGS, and the two parts can be weighted. Near a minimum, unit steps
    converge superlinearly (Dennis and Moré 1974); elsewhere a line search has to find the length, which costs
    evaluations. Here a network sets it, and how much of the last move and of the plain gradient to add. It is trained
    for a family of problems, and nothing is promised for others; the certificate says how well it does. Untrained, all
    outputs are 0, and the method is BFGS with unit steps.

    **What the network sees** 16 scalars: the logarithms of s'y / s's and y'y / s'y over `top`, the largest |y| / |s|
    seen (fading by a factor of 0.9 per step); the cosines of (s, y), (g, s), (g, last g), (g, Ug) and (g, Vg); the
    logarithms of the length of g over that of the last g and of the first g, of the lengths of gamma Ug and Vg over
    that of g / top and over that of s, and of g'Hg over its last value; k / K and cos(pi k / K). So nothing changes if
    the coordinates are rotated, if the loss is scaled, or if irrelevant coordinates are added. Two layers of `width`
    tanh units give o0 to o4; a free number per iteration is added to each (`schedule`). A move is at most 20 e^o4 |s|
    long.

    **The first step** is along -g, with length e^t0 (loss(start) / |g|)^t1 (`first` holds t0 and t1). With t1 = 1,
    where training starts, it is Polyak's step (1969), and scaling x changes nothing either; with t1 = 0, adding a
    constant to the loss does not change it. If the loss at the start is not positive, the length is e^t0.

    **Gradients** One per step and one at the start. `read` gives the lowest point evaluated. A pair whose cosine is
    below 1e-3 is left out of the memory. A move that ends where something is not finite is repeated, a tenth as long.

    U and V are matrices, for up to a few hundred unknowns. With `memory`, that many of the last pairs represent them,
    as in L-BFGS; the two versions agree until the memory is full. Runs longer than `steps` keep using the last numbers
    of the schedule.

    >>> import jax
    >>> from pacopt import VaryingCurvature, loss_curves
    >>> law = VaryingCurvature.draw(seed=0)
    >>> rule = QuasiNewtonRule(steps=20)
    >>> candidate = jax.tree.map(lambda array: array[None], rule.initial(seed=0))
    >>> curves = loss_curves(law.problem, rule, candidate, law.sample(9, seed=1), steps=20, at=(0, 20))
    >>> bool(np.all(curves[:, :, 1] < 0.2 * curves[:, :, 0]))
    True
    """

    steps: int = eqx.field(static=True, converter=size("steps"))
    width: int = eqx.field(static=True, converter=size("width"), default=24)
    memory: int | None = eqx.field(static=True, converter=size("memory", optional=True), default=None)

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The first step, the network (a row of offsets below each matrix), and five numbers per iteration."""
        return {
            "first": ArraySpace((2,), -5.0, 5.0),
            "network": Tree(network_shapes(INPUTS, self.width, OUTPUTS)),
            "schedule": ArraySpace((max(1, self.steps - 1), OUTPUTS), -1.0, 1.0),
        }

    def initial(self, seed: int) -> dict[str, Any]:
        """BFGS with unit steps: a random network whose last layer is zero."""
        return {
            "first": np.array([0.0, 1.0]),
            "network": random_network(INPUTS, self.width, OUTPUTS, seed),
            "schedule": np.zeros((max(1, self.steps - 1), OUTPUTS)),
        }

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> Memory:
        """The start, with its loss and gradient, and the first move."""
        refuse_nonsmooth(self, objective)
        flat, _ = ravel_pytree(x)
        place = place_at(flat, x, objective)
        of_g = length(place.gradient)
        positive = (place.value > 0) & (of_g > 0)
        units = jnp.log(jnp.where(positive, place.value, 1.0)) - jnp.log(jnp.where(positive, of_g, 1.0))
        # x may be in any units, so exponents are clipped only as far as needed to prevent overflow.
        far = log(float(np.finfo(flat.dtype).max)) / 2
        first = hyper["first"]
        size = jnp.exp(jnp.clip(jnp.clip(first[0], -FAR, FAR) + jnp.clip(first[1], -FAR, FAR) * units, -far, far))
        scale = safe_ratio(size, of_g).astype(flat.dtype)
        zero = jnp.zeros_like(of_g)
        move = -size.astype(flat.dtype) * (place.gradient * safe_ratio(jnp.ones_like(of_g), of_g))
        secants = nothing_known(flat, self.memory)
        return Memory(place, move, secants, scale, zero, of_g, zero, jnp.asarray(0), x, place.value)

    def step(self, state: Memory, hyper: Hyper, objective: Objective) -> Memory:
        """The state after one move, with the memory updated and the next move decided."""
        place = place_at(state.place.x + state.move, state.best, objective)
        finite = jnp.isfinite(place.value) & jnp.all(jnp.isfinite(place.gradient))
        _, as_point = ravel_pytree(state.best)
        best = chosen(finite & (place.value < state.lowest), (as_point(place.x), place.value), state[-2:])
        moved = self._decided(state, place, hyper)
        back = state._replace(move=SHORTER * state.move, taken=state.taken + 1)
        following: Memory = chosen(finite, moved, back)
        return following._replace(best=best[0], lowest=best[1])

    def read(self, state: Memory) -> Point:
        """The lowest point evaluated so far."""
        return state.best

    def _decided(self, state: Memory, place: Place, hyper: Hyper) -> Memory:
        """The state at a new place where everything is finite."""
        s, g, last = state.move, place.gradient, state.place.gradient
        y = g - last
        of_s, of_y, of_g, of_last = length(s), length(y), length(g), length(last)
        bend = cosine(s, y, of_s, of_y)
        usable = bend > FLAT
        secant = safe_ratio(of_s, of_y)
        scale = jnp.where(usable, bend * secant, state.scale)
        secants = state.secants.updated(s, y, usable)
        top = jnp.maximum(FADING * state.top, safe_ratio(of_y, of_s))
        plain, learned = secants.applied(g)
        plain = scale * plain
        of_plain, of_learned = length(plain), length(learned)
        newton, step = jnp.sum(g * (plain + learned)), safe_ratio(of_g, top)
        time = jnp.minimum((state.taken + 1) / self.steps, 1.0).astype(g.dtype)
        inputs = jnp.stack(
            [
                log_ratio(bend * of_y, of_s * top),
                log_ratio(of_y, bend * of_s * top),
                bend,
                cosine(g, s, of_g, of_s),
                cosine(g, last, of_g, of_last),
                cosine(g, plain, of_g, of_plain),
                cosine(g, learned, of_g, of_learned),
                log_ratio(of_g, of_last),
                log_ratio(of_g, state.first),
                log_ratio(of_plain, step),
                log_ratio(of_learned, step),
                log_ratio(of_plain, of_s),
                log_ratio(of_learned, of_s),
                log_ratio(newton, state.decrement),
                time,
                jnp.cos(jnp.pi * time),
            ]
        )
        schedule = hyper["schedule"]
        out = network(hyper["network"], inputs) + schedule[jnp.minimum(state.taken, len(schedule) - 1)]
        grown = jnp.exp(jnp.clip(out, -FAR, FAR))
        move = out[2] * s - grown[0] * plain - grown[1] * learned - out[3] * (g * safe_ratio(jnp.ones_like(top), top))
        longest = LONGEST * grown[4] * of_s
        shrunk = jnp.minimum(1.0, safe_ratio(longest, length(move)))
        return Memory(
            place, shrunk * move, secants, scale, top, state.first, newton, state.taken + 1, state.best, state.lowest
        )
