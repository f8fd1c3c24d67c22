"""A quadcopter and its controller: the model, the quadratic programs, and flights."""

from functools import cache
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pacopt.instances import Instances
from pacopt.problems.base import Instance
from pacopt.problems.quadratic_programs import AbstractQuadraticProgram, Kinds, Vectors

#: The controller's horizon in steps of a tenth of a second; the numbers of states, inputs, and problems per flight.
AHEAD, STATES, INPUTS, PROBLEMS = 10, 12, 4, 10
#: The ranges of each state at the start of a flight, and of its goal: a yaw and a place, and otherwise rest.
STARTS = np.array([0.3, 0.3, 0.5, 0.0, 0.0, 0.0, 0.5, 0.5, 0.5, 1.0, 1.0, 0.5])
GOALS = np.array([0.0, 0.0, 1.0, 2.0, 2.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
#: The pilot: rho for states and for inputs, with an iteration limit; plans that do not finish go on to the next entry.
#: Then the relaxation, the accuracy, and the number of iterations between checks.
PILOTS = ((10.0, 1.0, 200), (30.0, 1.0, 600), (100.0, 1.0, 1000), (10.0, 10.0, 1500), (30.0, 3.0, 3000))
RELAXED, ACCURATE, LOOK = 1.6, 1e-8, 10


class Model(NamedTuple):
    """The dynamics, the cost, and the bounds.

    The states are roll, pitch, yaw, the place, and the velocities of these six; the inputs are the four motors.
    """

    follows: Float[np.ndarray, "12 12"]
    motors: Float[np.ndarray, "12 4"]
    weights: Float[np.ndarray, " 12"]
    effort: Float[np.ndarray, " 4"]
    lowest: Float[np.ndarray, " 16"]
    highest: Float[np.ndarray, " 16"]


def model() -> Model:
    """The quadcopter of the example "Model predictive control" in OSQP's documentation."""
    follows = np.diag([1.0] * 9 + [0.9846] * 3)
    speeds = {(0, 6): 0.1, (1, 7): 0.1, (2, 8): 0.1, (3, 9): 0.0992, (4, 10): 0.0992, (5, 11): 0.0992}
    tilts = {(3, 0): 0.0488, (4, 1): -0.0488, (3, 6): 0.0016, (4, 7): -0.0016}
    pulls = {(9, 0): 0.9734, (10, 1): -0.9734, (9, 6): 0.0488, (10, 7): -0.0488}
    for place, value in {**speeds, **tilts, **pulls}.items():
        follows[place] = value
    gains = [0.0726, 0.0726, 0.0152, 0.0006, 0.0006, 0.0106, 1.4512, 1.4512, 0.3049, 0.0236, 0.0236, 0.2107]
    turns = [[0, -1, 0, 1], [-1, 0, 1, 0], [-1, 1, -1, 1], [0, -1, 0, 1], [1, 0, -1, 0], [1, 1, 1, 1]]
    tilt = np.array([np.pi / 6, np.pi / 6, *[np.inf] * 10])
    return Model(
        follows,
        np.array(gains)[:, None] * np.array(turns * 2),
        np.array([0.0, 0, 10, 10, 10, 10, 0, 0, 0, 5, 5, 5]),
        np.full(INPUTS, 0.1),
        np.concatenate([np.where(np.arange(STATES) == 5, -1.0, -tilt), np.full(INPUTS, 9.6 - 10.5916)]),
        np.concatenate([tilt, np.full(INPUTS, 13.0 - 10.5916)]),
    )


class Quadcopter(AbstractQuadraticProgram):
    """The controller's programs; an instance holds the `state` of the quadcopter and its `goal`.

    The 172 variables are the states now and at the next ten steps, then the inputs of the ten steps. The 304
    constraints are the dynamics (132 equality constraints, the first 12 of which set the current state), then the
    bounds on all variables.
    """

    follows: Float[Array | np.ndarray, "12 12"]
    motors: Float[Array | np.ndarray, "12 4"]
    weights: Float[Array | np.ndarray, " 172"]
    lower: Float[Array | np.ndarray, " 304"]
    upper: Float[Array | np.ndarray, " 304"]
    eps_abs: float
    eps_rel: float

    def __init__(self, eps_abs: float = 1e-4, eps_rel: float = 1e-4) -> None:
        one, zero = model(), np.zeros(STATES * (AHEAD + 1))
        self.follows, self.motors = one.follows, one.motors
        self.weights = spread(one.weights, one.effort)
        self.lower = np.concatenate([zero, spread(one.lowest[:STATES], one.lowest[STATES:])])
        self.upper = np.concatenate([zero, spread(one.highest[:STATES], one.highest[STATES:])])
        self.eps_abs, self.eps_rel = eps_abs, eps_rel

    def matrices(self) -> tuple[Float[Array, "172 172"], Float[Array, "304 172"]]:
        """P, which is diagonal, and A."""
        steps = jnp.eye(AHEAD + 1, k=-1)
        now = jnp.kron(steps, self.follows) - jnp.eye(STATES * (AHEAD + 1))
        moved = jnp.kron(steps[:, :AHEAD], self.motors)
        return jnp.diag(self.weights), jnp.vstack([jnp.hstack([now, moved]), jnp.eye(len(self.weights))])

    def vectors(self, instance: Instance) -> Vectors:
        """q, l and u: the goal is in q, and the state in the first equality constraints."""
        wanted = jnp.concatenate([jnp.tile(instance["goal"], AHEAD + 1), jnp.zeros(INPUTS * AHEAD)])
        fixed = -jnp.asarray(instance["state"])
        lower, upper = (jnp.concatenate([fixed, each[STATES:]]) for each in (self.lower, self.upper))
        return Vectors(-self.weights * wanted, lower, upper)

    def kinds(self) -> Kinds:
        """Equality constraints come first; of the states, only the tilts and the height have bounds."""
        equal = np.arange(len(self.lower)) < STATES * (AHEAD + 1)
        return Kinds(equal, jnp.isneginf(self.lower) & jnp.isposinf(self.upper))

    def curved(self, x: Float[Array | np.ndarray, " 172"]) -> Float[Array | np.ndarray, " 172"]:
        """P x."""
        return self.weights * x

    def rows(self, x: Float[Array | np.ndarray, " 172"]) -> Float[Array, " 304"]:
        """A x, step by step."""
        states, inputs = apart(x)
        next_ones = states[:-1] @ self.follows.T + inputs @ self.motors.T
        dynamics = jnp.concatenate([-states[:1], next_ones - states[1:]])
        return jnp.concatenate([dynamics.reshape(-1), x])

    def columns(self, y: Float[Array | np.ndarray, " 304"]) -> Float[Array, " 172"]:
        """A'y, step by step."""
        dynamics = y[: STATES * (AHEAD + 1)].reshape(AHEAD + 1, STATES)
        back = jnp.concatenate([dynamics[1:] @ self.follows, jnp.zeros((1, STATES), y.dtype)])
        found = jnp.concatenate([(back - dynamics).reshape(-1), (dynamics[1:] @ self.motors).reshape(-1)])
        return found + y[STATES * (AHEAD + 1) :]


def spread(of_states: np.ndarray, of_inputs: np.ndarray) -> np.ndarray:
    """Values for all variables, from those for the states and for the inputs."""
    return np.concatenate([np.tile(of_states, AHEAD + 1), np.tile(of_inputs, AHEAD)])


def apart(x: Any) -> tuple[Any, Any]:
    """The states and the inputs among the variables, one row per step."""
    states = STATES * (AHEAD + 1)
    return x[:states].reshape(AHEAD + 1, STATES), x[states:].reshape(AHEAD, INPUTS)


@cache
def sparse_matrices() -> tuple[Any, Any]:
    """P and A as OSQP takes them."""
    from scipy import sparse

    one, states = model(), STATES * (AHEAD + 1)
    now = sparse.kron(sparse.eye(AHEAD + 1, k=-1), one.follows) - sparse.eye(states)
    moved = sparse.kron(sparse.eye(AHEAD + 1, AHEAD, k=-1), one.motors)
    A = sparse.vstack([sparse.hstack([now, moved]), sparse.eye(states + INPUTS * AHEAD)], format="csc")
    return sparse.diags(spread(one.weights, one.effort), format="csc"), A


def program(instance: Instance) -> tuple[Any, np.ndarray, Any, np.ndarray, np.ndarray]:
    """P, q, A, l and u of one instance, with sparse matrices, as OSQP takes them."""
    one, (P, A) = model(), sparse_matrices()
    q = -P.diagonal() * spread(np.asarray(instance["goal"]), np.zeros(INPUTS))
    lower, upper = (spread(each[:STATES], each[STATES:]) for each in (one.lowest, one.highest))
    fixed = np.concatenate([-np.asarray(instance["state"]), np.zeros(STATES * AHEAD)])
    return P, q, A, np.concatenate([fixed, lower]), np.concatenate([fixed, upper])


def flights(count: int, *, seed: int) -> Instances:
    """Flights from random states to random goals, each a group of ten problems, a tenth of a second apart.

    Accurate solutions steer them, so that they do not depend on any solver's settings.
    """
    rng, one = np.random.default_rng(seed), model()
    state = rng.uniform(-1, 1, (count, STATES)) * STARTS
    goal = rng.uniform(-1, 1, (count, STATES)) * GOALS
    plan, states = Pilot.of(one), []
    for _ in range(PROBLEMS):
        states.append(state)
        state = state @ one.follows.T + plan(state, goal) @ one.motors.T
    fields = {"state": np.stack(states, 1).reshape(-1, STATES), "goal": np.repeat(goal, PROBLEMS, axis=0)}
    return Instances(fields, groups=np.repeat(np.arange(count), PROBLEMS))


class Pilot(NamedTuple):
    """Finds the first inputs of many plans at once, from the program with the states eliminated: 40 unknowns.

    It uses Douglas-Rachford splitting on the 70 bounded rows, with other values of rho for plans that converge slowly.
    """

    model: Model
    free: Float[np.ndarray, "120 12"]  # where the states go without inputs
    forced: Float[np.ndarray, "120 40"]  # and what the inputs add to that
    hessian: Float[np.ndarray, "40 40"]
    bounded: np.ndarray

    @staticmethod
    def of(one: Model) -> "Pilot":
        """The pilot of a quadcopter."""
        powers = [np.linalg.matrix_power(one.follows, k) for k in range(AHEAD + 1)]
        forced = np.block(
            [
                [powers[k - j] @ one.motors if j <= k else np.zeros((STATES, INPUTS)) for j in range(AHEAD)]
                for k in range(AHEAD)
            ]
        )
        hessian = forced.T @ (np.tile(one.weights, AHEAD)[:, None] * forced) + np.diag(np.tile(one.effort, AHEAD))
        bounded = np.flatnonzero(np.isfinite(np.tile(one.lowest[:STATES], AHEAD)))
        return Pilot(one, np.vstack(powers[1:]), forced, hessian, bounded)

    def __call__(self, state: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """The inputs of the first step."""
        one, count = self.model, len(state)
        free = state @ self.free.T
        slopes = ((free - np.tile(goal, (1, AHEAD))) * np.tile(one.weights, AHEAD)) @ self.forced
        ends = [
            np.hstack(
                [
                    np.tile(each[:STATES], AHEAD)[self.bounded] - free[:, self.bounded],
                    np.tile(each[STATES:], (count, AHEAD)),
                ]
            )
            for each in (one.lowest, one.highest)
        ]
        inputs, left = np.zeros((count, INPUTS)), np.arange(count)
        for *rho, most in PILOTS:
            found, solved = self._planned(slopes[left], ends[0][left], ends[1][left], np.array(rho), int(most))
            inputs[left], left = found, left[~solved]
            if not len(left):
                break
        return np.clip(inputs, one.lowest[STATES:], one.highest[STATES:])

    def _planned(
        self, slopes: np.ndarray, low: np.ndarray, high: np.ndarray, rho: np.ndarray, most: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The first inputs, and which plans are solved accurately."""
        rows = np.vstack([self.forced[self.bounded], np.eye(INPUTS * AHEAD)])
        weight = np.where(np.arange(len(rows)) < len(self.bounded), *rho)
        inverse = np.linalg.inv(self.hessian + rows.T @ (weight[:, None] * rows))
        mixed, offset = weight[:, None] * (rows @ inverse @ rows.T), slopes @ inverse @ rows.T
        v, left = np.zeros_like(low), np.arange(len(low))
        found, solved = np.zeros((len(low), INPUTS)), np.zeros(len(low), dtype=bool)
        first = slice(len(self.bounded), len(self.bounded) + INPUTS)
        for turn in range(1, most + 1):
            z = np.clip(v, low, high)
            gap = (2 * z - v) @ mixed - offset - z
            v += RELAXED * gap
            if turn % LOOK == 0:
                found[left] = z[:, first]
                done = np.abs(gap).max(axis=1) < ACCURATE
                solved[left[done]] = True
                left, v, low, high, offset = (each[~done] for each in (left, v, low, high, offset))
                if not len(left):
                    break
        return found, solved
