"""How long a step of an exported Adam takes beside optax's own, on a million parameters.

Both run in one process in turns, compiled, with gradients that are given; medians of each, and the median of the ratios
of neighbours. The export carries no second copy of the parameters, so that both read and write as much.
"""

import time
import warnings
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import optax

import pacopt
from pacopt.exporting.rule import rule_of
from pacopt.exporting.to_optax import transformation_of

SIZE, TURNS = 10**6, 200


class Large(pacopt.AbstractProblem):
    """As many unknowns as are timed; it is never run."""

    def start(self, instance):
        return jnp.zeros(SIZE)

    def loss(self, x, instance):
        return jnp.sum(x**2)


def exported(algorithm):
    """What a small run learned, as if for a large problem: an export runs on the problem that it was learned for."""
    law = pacopt.VaryingCurvature.draw(seed=0, n=5)
    split = pacopt.split(law.sample(150, seed=0), prior=30, train=100, test=20, seed=0)
    learned = pacopt.learn(
        law.problem, algorithm, split, steps=5, prior=pacopt.priors.Search(candidates=4, explore=1, rounds=1)
    )
    return transformation_of(replace(rule_of(learned), problem=Large()))


def compiled(transformation):
    @jax.jit
    def step(params, state, gradient):
        updates, state = transformation.update(gradient, state, params)
        return optax.apply_updates(params, updates), state

    return step


def main():
    warnings.filterwarnings("ignore", message="Parameters are float32")
    rng = np.random.default_rng(0)
    gradient = jnp.asarray(rng.standard_normal(SIZE), jnp.float32)
    rate = pacopt.Interval(1e-4, 1.0, log=True)
    each = {
        "Adam": exported(pacopt.Adam()),
        "Optax(optax.adam)": exported(pacopt.Optax(optax.adam, learning_rate=rate)),
    }
    own = optax.adam(1e-3)
    print(f"{SIZE:,} float32 parameters, {TURNS} turns")
    for name, transformation in each.items():
        seconds = {"exported": [], "optax": []}
        runs = {"exported": transformation, "optax": own}
        steps = {key: compiled(each) for key, each in runs.items()}
        states = {
            key: (jnp.zeros(SIZE, jnp.float32), each.init(jnp.zeros(SIZE, jnp.float32))) for key, each in runs.items()
        }
        for turn in range(TURNS + 20):
            for key in ("exported", "optax") if turn % 2 else ("optax", "exported"):
                before = time.perf_counter()
                states[key] = jax.block_until_ready(steps[key](*states[key], gradient))
                if turn >= 20:
                    seconds[key].append(time.perf_counter() - before)
        ours, theirs = (np.array(seconds[key]) for key in ("exported", "optax"))
        print(
            f"{name:20} {1e3 * np.median(ours):6.2f} ms, optax.adam {1e3 * np.median(theirs):6.2f} ms, "
            f"ratio {np.median(ours / theirs):.3f}"
        )


if __name__ == "__main__":
    main()
