"""The loss table against hand-written kernels, side by side in one run: `make bench`."""

import time
from concurrent.futures import ThreadPoolExecutor
from os import sched_getaffinity

import jax
import jax.numpy as jnp
import numpy as np

import pacopt
from benchmarks.native import heavy_ball_diagonal, heavy_ball_numpy, multiply_add
from benchmarks.side_by_side import show, side_by_side

STEPS, N_COORDINATES = 50, 50


class Diagonal(pacopt.AbstractProblem):
    """As a user writes it; the gradient comes from autodiff."""

    def start(self, instance):
        return jnp.zeros(N_COORDINATES)

    def loss(self, x, instance):
        return 0.5 * jnp.sum((instance["diagonal"] * x - instance["b"]) ** 2)


class Dense(pacopt.AbstractProblem):
    """As a user writes it, with one matrix for each instance."""

    def start(self, instance):
        return jnp.zeros(N_COORDINATES)

    def loss(self, x, instance):
        return 0.5 * jnp.sum((instance["A"] @ x - instance["b"]) ** 2)


def candidates(count, scale):
    rng = np.random.default_rng(1)
    return {"step_size": scale * rng.uniform(0.1, 1, count), "momentum": rng.uniform(0.5, 0.95, count)}


def diagonal(rows=500, columns=1000):
    law = pacopt.VaryingCurvature.draw(seed=0)
    instances, hypers = law.sample(columns, seed=1), candidates(rows, 4e-4)
    a, b = instances.fields["diagonal"], instances.fields["b"]

    def ours(dtype=np.float64):
        return pacopt.tabulate(Diagonal(), pacopt.HeavyBall(), hypers, instances, steps=STEPS, dtype=dtype)

    begin = time.perf_counter()
    table = ours()
    first = time.perf_counter() - begin
    losses = np.empty((rows, columns))
    heavy_ball_diagonal(a, b, hypers["step_size"], hypers["momentum"], STEPS, losses)
    reference = heavy_ball_numpy(a, b, hypers["step_size"], hypers["momentum"], STEPS)

    flops = 8.0 * rows * columns * N_COORDINATES * STEPS
    native = "native: numba, fused, parallel, vectorised"
    contestants = {
        native: lambda: heavy_ball_diagonal(a, b, hypers["step_size"], hypers["momentum"], STEPS, losses),
        "pacopt.tabulate: the user's loss, autodiff, float64": ours,
        "pacopt.tabulate, float32": lambda: ours(np.float32),
    }
    seconds = side_by_side(contestants, rounds=15)
    seconds |= side_by_side(
        {
            "NumPy, one candidate at a time": lambda: heavy_ball_numpy(
                a, b, hypers["step_size"], hypers["momentum"], STEPS
            )
        },
        rounds=1,
    )
    padded = {name: np.resize(values, 15) for name, values in seconds.items()}
    show(f"Diagonal quadratics, heavy-ball, M={rows} N={columns} n=50 K={STEPS}", padded, flops, native)

    work = np.ones((2 * len(sched_getaffinity(0)), 1024))
    rates = side_by_side({"loop": lambda: multiply_add(work, 4000)}, rounds=5)["loop"]
    print(f"A plain multiply-add loop in cache reaches {2 * 16 * 4000 * work.size / rates.min() / 1e9:.1f} GF/s.")
    print(f"The first call took {first:.2f} s, compilation included.")
    for name, other in (("native", losses), ("NumPy", reference)):
        difference = np.abs(table.losses - other) / np.maximum(other, table.start)
        print(f"Largest difference from {name}, relative to the larger of loss and start: {difference.max():.1e}")


def dense(rows=200, columns=200):
    rng = np.random.default_rng(2)
    A, b = rng.standard_normal((columns, 50, 50)), rng.standard_normal((columns, 50))
    instances, hypers = pacopt.Instances({"A": A, "b": b}), candidates(rows, 4e-3)
    X = rng.standard_normal((columns, 50, rows))
    rounds = 2 * STEPS  # a step has two matrix products, with A and with its transpose
    halves = [slice(0, columns // 2), slice(columns // 2, columns)]
    with jax.enable_x64(True):
        device_A, device_X = jnp.asarray(A), jnp.asarray(X)
        product = jax.jit(lambda a, x: a @ x)

    def jax_products():
        with jax.enable_x64(True):
            for _ in range(rounds):
                product(device_A, device_X).block_until_ready()

    with ThreadPoolExecutor(2) as pool:

        def numpy_products():
            for _ in range(rounds):
                list(pool.map(lambda half: np.matmul(A[half], X[half]), halves))

        batched = "batched products alone, NumPy on two threads"
        contestants = {
            batched: numpy_products,
            "batched products alone, JAX": jax_products,
            "pacopt.tabulate: the user's loss, autodiff": lambda: pacopt.tabulate(
                Dense(), pacopt.HeavyBall(), hypers, instances, steps=STEPS
            ),
        }
        seconds = side_by_side(contestants, rounds=7)
    flops = 2.0 * rounds * rows * columns * 50 * 50
    show(f"Dense quadratics, one 50 x 50 matrix each, M={rows} N={columns} K={STEPS}", seconds, flops, batched)


if __name__ == "__main__":
    diagonal()
    dense()
