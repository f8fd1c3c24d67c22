"""The line search of Moré and Thuente, one trial at a time.

**Theory** Moré and Thuente (1994): the search maintains an interval that contains a step satisfying the strong Wolfe
conditions, and trials come from cubic and quadratic interpolation; except for pathological losses, it ends after
finitely many. The rules are those of MINPACK-2's `dcsrch`, which L-BFGS-B uses, and the tests compare every trial with
SciPy's.

**Departs from the paper** A search is a value carried across the steps of an algorithm, so that one step is one trial.
After a trial whose loss is not finite (where SciPy's search stops), the next goes a tenth of the way, and nothing
beyond the failed trial is tried again.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

#: The number of trials after which a search is abandoned.
MOST_TRIALS = 20
#: A search ends when its interval is narrower than this fraction of its upper end.
NARROW = 0.1
#: While nothing is bracketed, how far beyond a trial the next may lie, relative to the last stretch.
NEAREST, FARTHEST = 1.1, 4.0
#: An interval that does not shrink to this fraction in two trials is bisected.
SHRINK = 0.66


class Sample(NamedTuple):
    """The line at one step length: the loss there and its slope."""

    step: Float[Array, ""]
    value: Float[Array, ""]
    slope: Float[Array, ""]


class Search(NamedTuple):
    """A search: the start of the line, the ends of the interval (`near` has the lower loss), and the next trial."""

    origin: Sample
    near: Sample
    far: Sample
    trial: Float[Array, ""]
    low: Float[Array, ""]
    high: Float[Array, ""]
    ceiling: Float[Array, ""]
    bracketed: Bool[Array, ""]
    second_stage: Bool[Array, ""]
    width: Float[Array, ""]
    width_before: Float[Array, ""]
    trials: Int[Array, ""]


class Progress(NamedTuple):
    """A search after one more trial, and whether that trial ended it, with a step to take or without one."""

    search: Search
    accepted: Bool[Array, ""]
    failed: Bool[Array, ""]


def searching(value: Float[Array, ""], slope: Float[Array, ""], trial: Any) -> Search:
    """A new search from step 0 with the given first trial."""
    zero = jnp.zeros_like(value)
    origin, first = Sample(zero, value, slope), zero + trial
    no, unbounded = jnp.zeros((), bool), zero + float(np.finfo(value.dtype).max) / 8
    return Search(
        origin, origin, origin, first, zero, (1 + FARTHEST) * first, unbounded, no, no, unbounded, 2 * unbounded,
        jnp.zeros((), jnp.int32),
    )  # fmt: skip


def advanced(
    search: Search, value: Float[Array, ""], slope: Float[Array, ""], *, decrease: float, curvature: float
) -> Progress:
    """The search after a trial with this loss and slope at `search.trial`, given the two Wolfe constants."""
    origin, at = search.origin, Sample(search.trial, value, slope)
    finite = jnp.isfinite(value) & jnp.isfinite(slope)
    required = decrease * origin.slope
    enough = value <= origin.value + at.step * required
    second_stage = search.second_stage | (enough & (slope >= 0))
    accepted = finite & enough & (jnp.abs(slope) <= -curvature * origin.slope)

    outside = (at.step <= search.low) | (at.step >= search.high)
    narrow = search.high - search.low <= NARROW * search.high
    trials = search.trials + 1
    over = search.bracketed & finite & (outside | narrow)
    failed = ~accepted & ((over & ~enough) | (trials >= MOST_TRIALS))
    accepted = accepted | (over & enough)

    # Until the decrease is sufficient, the interval belongs to the loss minus the required decrease.
    tilt = jnp.where(~second_stage & (value <= search.near.value) & ~enough, required, 0)
    near, far, trial, bracketed = _interpolated(search, _tilted(at, -tilt), -tilt)
    near, far = _tilted(near, tilt), _tilted(far, tilt)

    width = jnp.abs(far.step - near.step)
    slow = bracketed & (width >= SHRINK * search.width_before)
    trial = jnp.where(slow, near.step + 0.5 * (far.step - near.step), trial)
    stretch = trial - near.step
    low = jnp.where(bracketed, jnp.minimum(near.step, far.step), trial + NEAREST * stretch)
    high = jnp.where(bracketed, jnp.maximum(near.step, far.step), trial + FARTHEST * stretch)
    trial = jnp.clip(trial, 0, search.ceiling)
    stuck = bracketed & ((trial <= low) | (trial >= high) | (high - low <= NARROW * high))
    moved = search._replace(
        near=near, far=far, trial=jnp.where(stuck, near.step, trial), low=low, high=high, bracketed=bracketed,
        second_stage=second_stage, trials=trials,
        width=jnp.where(bracketed, width, search.width),
        width_before=jnp.where(bracketed, search.width, search.width_before),
    )  # fmt: skip
    nearer = search.near.step + 0.1 * (search.trial - search.near.step)
    back = search._replace(trial=nearer, ceiling=search.trial, trials=trials)
    return Progress(Search(*(_either(finite, a, b) for a, b in zip(moved, back, strict=True))), accepted, failed)


def _either(condition: Array, a: Any, b: Any) -> Any:
    if isinstance(a, Sample):
        return Sample(*(jnp.where(condition, u, v) for u, v in zip(a, b, strict=True)))
    return jnp.where(condition, a, b)


def _tilted(sample: Sample, tilt: Array) -> Sample:
    """A sample of the loss plus tilt times the step."""
    return Sample(sample.step, sample.value + sample.step * tilt, sample.slope + tilt)


def _interpolated(search: Search, at: Sample, tilt: Array) -> tuple[Sample, Sample, Array, Array]:
    """The new ends of the interval, the next trial, and whether the interval holds a minimum (`dcstep`)."""
    near, far, bracketed = _tilted(search.near, tilt), _tilted(search.far, tilt), search.bracketed
    forward = at.step > near.step
    higher = at.value > near.value
    opposite = jnp.sign(at.slope) * jnp.sign(near.slope) < 0
    flatter = jnp.abs(at.slope) < jnp.abs(near.slope)
    secant = at.step + _quotient(at.slope, at.slope - near.slope) * (near.step - at.step)

    # 1: a higher loss. The cubic step, or the mean of the cubic and quadratic steps if the quadratic is nearer.
    cubic_near, _ = _cubic(near, at)
    chord = _quotient(near.value - at.value, at.step - near.step) + near.slope
    quadratic = near.step + 0.5 * _quotient(near.slope, chord) * (at.step - near.step)
    closer = jnp.abs(cubic_near - near.step) <= jnp.abs(quadratic - near.step)
    first = jnp.where(closer, cubic_near, cubic_near + (quadratic - cubic_near) / 2)
    # 2: a lower loss and slopes of opposite signs. The farther of the cubic and the secant step.
    cubic, beyond = _cubic(at, near)
    cubic_farther = jnp.abs(cubic - at.step) > jnp.abs(secant - at.step)
    second = jnp.where(cubic_farther, cubic, secant)
    # 3: a lower loss and a flatter slope of the same sign. The cubic step counts only if it lies ahead.
    end = jnp.where(forward, search.high, search.low)
    ahead = jnp.where(beyond, cubic, end)
    inside = jnp.where(jnp.abs(ahead - at.step) < jnp.abs(secant - at.step), ahead, secant)
    limit = at.step + SHRINK * (far.step - at.step)
    inside = jnp.where(forward, jnp.minimum(limit, inside), jnp.maximum(limit, inside))
    outside = jnp.where(jnp.abs(ahead - at.step) > jnp.abs(secant - at.step), ahead, secant)
    third = jnp.where(bracketed, inside, jnp.clip(outside, search.low, search.high))
    # 4: a lower loss and a slope of the same sign that is no flatter.
    fourth = jnp.where(bracketed, _cubic(at, far)[0], end)

    trial = jnp.where(higher, first, jnp.where(opposite, second, jnp.where(flatter, third, fourth)))
    new_far = _either(higher, at, _either(opposite, near, far))
    return _either(higher, near, at), new_far, trial, bracketed | higher | opposite


def _cubic(a: Sample, b: Sample) -> tuple[Array, Array]:
    """The minimiser of the cubic through two samples, and whether it lies beyond the first, seen from the second."""
    theta = 3 * _quotient(a.value - b.value, b.step - a.step) + a.slope + b.slope
    scale = jnp.maximum(jnp.abs(theta), jnp.maximum(jnp.abs(a.slope), jnp.abs(b.slope)))
    scale = jnp.where(scale > 0, scale, 1)
    gamma = scale * jnp.sqrt(jnp.maximum(0, (theta / scale) ** 2 - (a.slope / scale) * (b.slope / scale)))
    gamma = jnp.where(b.step < a.step, -gamma, gamma)
    part = _quotient((gamma - a.slope) + theta, ((gamma - a.slope) + gamma) + b.slope)
    return a.step + part * (b.step - a.step), (part < 0) & (gamma != 0)


def _quotient(a: Array, b: Array) -> Array:
    return a / jnp.where(b == 0, 1, b)
