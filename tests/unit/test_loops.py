"""The loss of a run is computed from a point in memory, never in one piece with the step that made it."""

import re
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pacopt
from pacopt.algorithms.base import AbstractStochasticAlgorithm
from pacopt.engines.traced.cell import Cell
from pacopt.engines.traced.loops import looped
from pacopt.engines.traced.randomness import READY, scanned


class Waves(pacopt.AbstractProblem):
    """Only the loss has a cosine, and only a step has a floor."""

    def start(self, instance):
        return instance["x"]

    def loss(self, x, instance):
        return jnp.sum(1 + jnp.cos(x))


def moved(x):
    """A step that decides, as line searches do: cheap enough for XLA to decide again wherever the result is used."""
    other = 0.9 * x
    return jnp.where(jnp.floor(100 * jnp.sum(other)) < jnp.sum(x), other, x)


class Plain(pacopt.AbstractAlgorithm):
    hyperparameters: ClassVar = {}

    def init(self, x, hyper, objective):
        return x

    def step(self, x, hyper, objective):
        return moved(x)

    def read(self, x):
        return x


class Random(AbstractStochasticAlgorithm):
    """Draws so many numbers in each step, of which it takes the first."""

    draws: int = 1
    hyperparameters: ClassVar = {}

    def init(self, x, hyper, objective, key):
        return x

    def step(self, x, hyper, objective, key):
        return moved(x + jax.random.normal(key, (self.draws,))[0])

    def read(self, x):
        return x


def pieces(function, *arguments):
    """The operations of each fusion that the function is compiled to: what is computed in one piece."""
    text = jax.jit(function).lower(*arguments).compile().as_text()
    bodies = re.findall(r"^%?fused\S* \(.*?^}", text, flags=re.MULTILINE | re.DOTALL)
    return [set(re.findall(r" = \S+ ([a-z-]+)\(", body)) for body in bodies]


def together(cell, *, stops=False):
    """Whether a step and a loss are in one piece of the compiled run."""
    instance, seed = {"x": jnp.linspace(0.1, 1, 40)}, jnp.zeros(2, jnp.uint32)
    run = pieces(lambda *given: cell.run({}, *given, stops=stops)[1], instance, jnp.float32(7.0), seed)
    assert any("cosine" in piece for piece in run)
    assert any("floor" in piece for piece in run)
    return any({"cosine", "floor"} <= piece for piece in run)


LONG = READY // 4 + 1  # more numbers than are kept ready: they are drawn step by step


@pytest.mark.parametrize("algorithm", [Plain(), Random(), Random(LONG), Random(READY // 12)])
@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5])
def test_a_loss_is_never_computed_in_one_piece_with_a_step(algorithm, steps):
    assert not together(Cell(Waves(), algorithm, steps, (steps,), None))


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_nor_is_it_on_the_way_to_targets_or_where_curves_are_drawn(steps):
    assert not together(Cell(Waves(), Plain(), steps, (steps,), None, targets=(0.5,)))
    assert not together(Cell(Waves(), Plain(), steps, tuple(range(steps + 1)), None))
    assert not together(Cell(Waves(), Plain(), steps, (steps,), None, goal=0.5), stops=True)


def test_without_the_loop_it_would_be():
    def run(x):
        return Waves().loss(moved(x), {})

    assert any({"cosine", "floor"} <= piece for piece in pieces(run, jnp.linspace(0.1, 1, 40)))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 9])
@pytest.mark.parametrize("unroll", [1, 2, 3])
def test_a_loop_takes_every_turn_once_and_in_order(count, unroll):
    places = jnp.arange(count, dtype=float), jnp.arange(count) % 3

    def turn(state, place):
        number, kind = place
        return {"sum": 10 * state["sum"] + number, "kind": kind, "turns": state["turns"] + 1}

    start = {"sum": jnp.asarray(0.0), "kind": jnp.asarray(0), "turns": jnp.asarray(0)}
    found = looped(turn, start, places, count, unroll)
    assert int(found["turns"]) == count
    assert float(found["sum"]) == sum(k * 10 ** (count - 1 - k) for k in range(count))
    assert int(found["kind"]) == (count - 1) % 3


@pytest.mark.parametrize("steps", [1, 2, 3, 6, 7])
@pytest.mark.parametrize("draws", [1, READY // 12, LONG])
def test_a_step_has_the_random_numbers_of_its_key_however_many_are_drawn_at_a_time(steps, draws):
    algorithm, root, point = Random(draws), jax.random.key(3), jnp.linspace(0.1, 1, 5)
    expected = point
    for number in range(1, steps + 1):
        expected = algorithm.step(expected, {}, None, jax.random.fold_in(root, number))

    def run(point, root):
        def step(x, key):
            return algorithm.step(x, {}, None, key)

        return scanned(step, point, lambda number: jax.random.fold_in(root, number), steps, 2)

    np.testing.assert_allclose(jax.jit(run)(point, root), expected, rtol=1e-5)
