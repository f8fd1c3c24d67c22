"""Training of an algorithm in JAX: Adam through the unrolled run, many updates in one compiled loop."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax  # type: ignore[import-untyped]
from jaxtyping import Float

from pacopt.algorithms.base import AbstractInitialHyper
from pacopt.engines.traced.cell import Cell
from pacopt.engines.traced.differentiability import check_gradients, differentiated
from pacopt.engines.traced.nesting import flat_space, flattened
from pacopt.engines.traced.precision import in_precision, precision
from pacopt.engines.traced.static import divided, united
from pacopt.engines.traced.unrolled import descended, final_ratio
from pacopt.engines.training import AbstractTraining, Descent, Leg, State, Values
from pacopt.errors import EngineError
from pacopt.instances import Instances
from pacopt.support.arrays import digest
from pacopt.support.machine import available_memory

#: The most held-out instances run after each leg.
LOOKED_AT = 1000
#: Where training starts in a space if the algorithm does not say: at most this far from its middle.
AROUND = 0.1
#: What a step keeps for the backward pass, in sizes of a point or state, and the most bytes all steps may keep.
RESIDUALS, STATES, PLENTY = 16, 2, 2**28
#: The second moments of Adam; added to their root.
SMALL = 1e-8
#: Lengths below this are not scaled up.
TINY = 1e-30


@dataclass(frozen=True, eq=False)
class TracedTraining(AbstractTraining):
    """Adam (Kingma & Ba 2015) with clipped gradients, in the logarithm of hyperparameters on a logarithmic scale."""

    cell: Cell
    fit: Instances
    held_out: Instances
    descent: Descent
    dtype: np.dtype[Any]
    #: Code, instances and versions, as a JSON value.
    about: Mapping[str, Any]
    _compiled: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def identity(self) -> str:
        """A hash of everything it was given."""
        return digest([dict(self.about), *map(str, self.descent), str(self.dtype), optax.__version__])

    def begun(self, seed: int) -> State:
        """The state where the algorithm says to start, else around the middle of each space."""
        algorithm, space = self.cell.algorithm, flat_space(self.cell.algorithm)
        if isinstance(algorithm, AbstractInitialHyper):
            given = flattened(algorithm, algorithm.initial(seed))
        else:
            rng = np.random.default_rng(seed)
            places = {name: rng.uniform(0.5 - AROUND, 0.5 + AROUND, each.dimension) for name, each in space.items()}
            given = {
                name: each.at(places[name][None] if each.shape else places[name])[0] for name, each in space.items()
            }
        theta = {name: self._inner(name, np.asarray(given[name], dtype=np.float64)) for name in space}
        zero = {name: np.zeros_like(array) for name, array in theta.items()}
        parts = {"theta": theta, "mean": theta, "first": zero, "second": zero}
        return _joined(parts) | {"count": np.zeros((), dtype=np.int64)}

    def judged(self, state: State) -> float:
        """The mean loss, some instances at a time, so that memory does not depend on how many are held out."""
        arrays, rest = divided(self.cell)
        with precision(self.dtype):
            mean = {name: jnp.asarray(self._cast(array)) for name, array in _parted(state)[0]["mean"].items()}
            if "how" not in self._compiled:
                self._compiled["how"] = self._how
            return float(_judged(rest, self.descent, self._compiled["how"], arrays, mean, self._pool()[1]))

    def leg(self, state: State, rates: Float[np.ndarray, " update"], steps: int, seed: int) -> Leg:
        """One compiled loop."""
        arrays, rest = divided(self.cell)
        with precision(self.dtype):
            given = jax.tree.map(lambda array: jnp.asarray(self._cast(array)), _parted(state))
            rows = np.random.default_rng(seed).integers(len(self.fit), size=(len(rates), self.descent.batch))
            words = np.random.default_rng([seed, 1]).integers(2**32, size=(*rows.shape, 2), dtype=np.uint32)
            batch = (jnp.asarray(rows.astype(np.int32)), jnp.asarray(words), jnp.asarray(self._cast(rates)))
            call = (arrays, given, self._pool()[0], batch, jnp.asarray(steps, dtype=np.int32))
            if "leg" not in self._compiled:
                self._begin(rest, call)
            found, told = self._compiled["leg"](*call)
            losses, norms, left_out = (np.asarray(each, dtype=np.float64) for each in told)
            if not state["count"] and (left_out[0] > 0 or norms[0] == 0):
                self._refuse_first(rest, call)
            state = _joined(jax.tree.map(lambda array: np.asarray(array, np.float64), found[0]))
        count = np.asarray(found[1], dtype=np.int64)
        known = losses[np.isfinite(losses)]
        loss = float(known.mean()) if len(known) else np.nan
        reached = state | {"count": count}
        return Leg(reached, loss, self.judged(reached), norms, int(left_out.sum()))

    def values(self, state: State) -> Values:
        """The last ones."""
        return self._outer(_parted(state)[0]["theta"])

    def averaged(self, state: State) -> Values:
        """An exponential average."""
        return self._outer(_parted(state)[0]["mean"])

    def mean(self, several: list[Values]) -> Values:
        """The mean of each number, or of its logarithm."""
        inner = [{name: self._inner(name, array) for name, array in one.items()} for one in several]
        return self._outer({name: np.mean([one[name] for one in inner], axis=0) for name in inner[0]})

    def shaken(self, state: State, amount: float, seed: int) -> Values:
        """Gaussian noise over the root of the second moment of the gradient, as in an update of Adam."""
        parts, rng = _parted(state)[0], np.random.default_rng([seed, 2])
        size = max(float(np.sqrt(np.mean(np.concatenate([np.ravel(v) for v in parts["second"].values()])))), SMALL)
        noise = {
            name: amount * rng.normal(size=array.shape) * size / (np.sqrt(parts["second"][name]) + size)
            for name, array in parts["mean"].items()
        }
        return self._outer({name: parts["mean"][name] + noise[name] for name in noise})

    def _begin(self, rest: Any, call: Any) -> None:
        """Refuse what has no gradient, or too little memory; then compile."""
        with differentiated(self.cell):
            lowered = _leg.lower(rest, self.descent, self._how, *call)
        compiled = lowered.compile()
        needed, here = _bytes(compiled), available_memory()
        if here is not None and needed > here:
            raise EngineError(
                f"Training by batches of {self.descent.batch} needs about {needed / 2**30:.1f} GiB of memory, and "
                f"{here / 2**30:.1f} GiB are available.",
                "States of the runs of a batch are kept for the way back.",
                "",
                f"Use a smaller batch: Train(batch={max(1, int(self.descent.batch * here / needed / 2))}).",
            )
        self._compiled["leg"] = compiled

    def _refuse_first(self, rest: Any, call: Any) -> None:
        """Refuse bad first gradients, naming the instance and the hyperparameter."""
        arrays, (parts, _), fit, (rows, words, _), steps = call
        gradients = jax.jit(_gradients, static_argnums=(0, 1, 2))
        found = gradients(rest, self.descent.logs, self._how, arrays, parts["theta"], fit, rows[0], words[0], steps)
        check_gradients(found, np.asarray(rows[0]))

    def _pool(self) -> Any:
        """The instances of both parts, on the device that runs them."""
        if "pool" not in self._compiled:
            parts = (self.fit, self.held_out[:LOOKED_AT])
            self._compiled["pool"] = tuple(
                {name: jnp.asarray(in_precision(name, array, self.dtype)) for name, array in part.fields.items()}
                for part in parts
            )
        return self._compiled["pool"]

    @property
    def _how(self) -> "_How":
        """How to run: sparing if the states of all steps, and what is computed from them, would take up too much."""
        one = {name: array[0] for name, array in self._pool()[0].items()}
        values, seed = self.values(self.begun(0)), np.zeros(2, dtype=np.uint32)

        def carried(instance: Any) -> tuple[Any, Any]:
            return self.cell.start_point(instance), self.cell.begun(values, instance, seed)[0]

        point, state = (sum(leaf.size for leaf in jax.tree.leaves(each)) for each in jax.eval_shape(carried, one))
        kept = max(RESIDUALS * point, STATES * state) * self.dtype.itemsize * self.cell.steps * self.descent.batch
        return _How(self._logs, kept > PLENTY)

    @property
    def _logs(self) -> frozenset[str]:
        """The hyperparameters on a logarithmic scale."""
        return frozenset(n for n, space in flat_space(self.cell.algorithm).items() if getattr(space, "log", False))

    def _inner(self, name: str, value: np.ndarray) -> np.ndarray:
        return np.log(value) if name in self._logs else np.asarray(value)

    def _outer(self, theta: Mapping[str, np.ndarray]) -> Values:
        return {name: np.exp(array) if name in self._logs else array for name, array in theta.items()}

    def _cast(self, array: np.ndarray) -> np.ndarray:
        return array.astype(self.dtype) if array.dtype.kind == "f" else array.astype(np.int32)


class _How(NamedTuple):
    """The hyperparameters on a logarithmic scale, and whether memory is spared."""

    logs: frozenset[str]
    sparing: bool


def _ratio(cell: Cell, how: _How, theta: Any, instance: Any, seed: Any, steps: Any) -> Any:
    values = {name: jnp.exp(array) if name in how.logs else array for name, array in theta.items()}
    return final_ratio(cell, values, instance, seed, steps, sparing=how.sparing)


def _gradients(rest: Any, weight: float, how: _How, arrays: Any, theta: Any, *batch: Any) -> tuple[Any, Any]:
    """What is minimised, on each row of a batch, and its gradients."""
    pool, rows, words, steps = batch
    cell: Cell = united(arrays, rest)
    instances = {name: array[rows] for name, array in pool.items()}

    def loss(theta: Any, instance: Any, seed: Any) -> Any:
        return descended(_ratio(cell, how, theta, instance, seed, steps), weight)

    return jax.vmap(jax.value_and_grad(loss), in_axes=(None, 0, 0))(theta, instances, words)


def _clipped(gradients: Any, clip: float) -> tuple[Any, Any]:
    """The mean of the gradients, each clipped to this length and left out if it is not finite, and their norms.

    So one exploding run neither dominates an update nor prevents it.
    """
    leaves = jax.tree.leaves(gradients)
    norms = jnp.sqrt(sum(jnp.sum(each.reshape(len(each), -1) ** 2, axis=1) for each in leaves))
    fine = jnp.isfinite(norms)
    factors = jnp.where(fine, jnp.minimum(1.0, clip / jnp.maximum(norms, TINY)), 0.0) / jnp.maximum(fine.sum(), 1)

    def mean(each: Any) -> Any:
        flat = each.reshape(len(each), -1)
        return (factors @ jnp.where(fine[:, None], flat, 0.0)).reshape(each.shape[1:])

    return jax.tree.map(mean, gradients), jnp.where(fine, norms, jnp.nan)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _leg(rest: Any, descent: Descent, how: _How, arrays: Any, state: Any, pool: Any, batch: Any, steps: Any) -> Any:
    """The updates of one leg: the state after them, losses and norms of gradients."""
    adam = optax.scale_by_adam(eps=SMALL)

    def update(carry: Any, each: Any) -> Any:
        (parts, count), (rows, words, rate) = carry, each
        losses, gradients = _gradients(rest, descent.logs, how, arrays, parts["theta"], pool, rows, words, steps)
        gradient, norms = _clipped(gradients, descent.clip)
        memory = optax.ScaleByAdamState(count, parts["first"], parts["second"])
        moves, memory = adam.update(gradient, memory)
        theta = jax.tree.map(lambda old, move: old - rate * move, parts["theta"], moves)
        share = jnp.maximum(1 / (memory.count + 1.0), 1 / descent.updates).astype(rate.dtype)
        mean = jax.tree.map(lambda old, new: old + share * (new - old), parts["mean"], theta)
        new = {"theta": theta, "mean": mean, "first": memory.mu, "second": memory.nu}, memory.count
        some = jnp.any(jnp.isfinite(norms))
        told = (
            jnp.nanmean(jnp.where(jnp.isfinite(losses), losses, jnp.nan)),
            jnp.nanmedian(norms),
            jnp.isnan(norms).sum(),
        )
        return jax.tree.map(lambda a, b: jnp.where(some, a, b), new, carry), told

    return jax.lax.scan(update, state, batch)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _judged(rest: Any, descent: Descent, how: _How, arrays: Any, theta: Any, pool: Any) -> Any:
    """What is minimised, on held-out instances."""
    cell: Cell = united(arrays, rest)
    count = len(next(iter(pool.values())))
    words = jnp.stack([jnp.arange(count, dtype=np.uint32), jnp.zeros(count, dtype=np.uint32)], axis=1)
    steps = jnp.asarray(cell.steps, dtype=np.int32)
    ratios = jax.lax.map(
        lambda row: _ratio(cell, how, theta, row[0], row[1], steps), (pool, words), batch_size=min(count, descent.batch)
    )
    return descended(ratios, descent.logs)


def _joined(parts: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    return {f"{part}/{name}": array for part, arrays in parts.items() for name, array in arrays.items()}


def _parted(state: State) -> tuple[dict[str, dict[str, np.ndarray]], np.ndarray]:
    parts: dict[str, dict[str, np.ndarray]] = {}
    for key, array in state.items():
        if "/" in key:
            part, name = key.split("/", 1)
            parts.setdefault(part, {})[name] = array
    return parts, state["count"]


def _bytes(compiled: Any) -> int:
    """The memory a compiled function needs besides its inputs, according to its compiler."""
    analysis = compiled.memory_analysis()
    return 0 if analysis is None else int(analysis.temp_size_in_bytes + analysis.output_size_in_bytes)
