"""Our own parts pass the checks that users are offered, and parts with a mistake in them do not."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pacopt
from cases import ALGORITHMS, BASELINES, PROBLEMS
from own_claims import Solved
from pacopt import (
    AbstractBound,
    AbstractCellEngine,
    AbstractClaim,
    Digits,
    Interval,
    Ranged,
    Rate,
    Ratio,
    Run,
    bounds,
    claims,
)
from pacopt.engines.traced.engine import Traced
from pacopt.priors import Product, Search
from pacopt.testing import (
    CheckError,
    check_algorithm,
    check_bound,
    check_claim,
    check_engine,
    check_prior,
    check_problem,
    check_score,
)
from pacopt.testing.laws import LAWS
from statements import FRACTIONS, LAMBDAS, T_GRID

LAW = pacopt.VaryingCurvature.draw(seed=0, n=5)
INSTANCES = LAW.sample(30, seed=1)


def mean_score(atoms, weights):
    return atoms.safeguarded() @ weights


def success(atoms, weights):
    return atoms.succeeded() @ weights


def median(atoms, weights):
    order = np.argsort(atoms.ratios(), axis=1, kind="stable")
    below = np.cumsum(weights[order], axis=1) >= 0.5 - 1e-12
    return np.take_along_axis(atoms.ratios(), order, axis=1)[np.arange(len(order)), below.argmax(axis=1)]


BOUNDS = {
    # Three laws of seven: its posterior is a convex programme, and tests/theorem sums over many more.
    "betting": (bounds.MixtureBetting(T_GRID), mean_score, {"laws": LAWS[2:5]}),
    "catoni on a grid": (bounds.OnGrid(bounds.Catoni(), LAMBDAS), mean_score, {}),
    "bernstein on a grid": (bounds.OnGrid(bounds.Bernstein(), FRACTIONS), mean_score, {}),
    "kl": (bounds.SmallKL(), mean_score, {}),
    "success": (bounds.ClopperPearson(), success, {"at_least": True}),
    "success by kl": (bounds.PosteriorSuccess(), success, {"at_least": True}),
    "the median": (bounds.OrderStatistics(0.5), median, {"posterior": False}),
}


@pytest.mark.parametrize("case", PROBLEMS, ids=lambda case: case.name)
def test_our_problems_pass(case):
    check_problem(case.problem, case.sample(6, 0))


@pytest.mark.parametrize(
    "algorithm", [*(algorithm for algorithm, _ in ALGORITHMS), *BASELINES], ids=lambda a: type(a).__name__
)
def test_our_algorithms_pass_as_algorithms_and_as_engines(algorithm):
    check_algorithm(algorithm, LAW.problem, INSTANCES)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "betting" else ()) for name in BOUNDS]
)
def test_our_bounds_pass(name):
    bound, truth, options = BOUNDS[name]
    check_bound(bound, truth, **options)


@pytest.mark.parametrize("score", [Ratio(), Rate(20), Digits(6), Digits(1e-3), Ranged(7.0)], ids=repr)
def test_our_scores_pass(score):
    check_score(score)


CLAIMS = {
    "risk": (claims.Risk(), None),  # its bound is checked above
    "success": (claims.Success(), success),
    "quantile": (claims.Quantile(level=0.5), median),
    "absolute": (claims.Absolute(pacopt.Truncation.from_second_moment(3.0, 10.0)), None),
    "a user's own": (Solved(), lambda atoms, weights: (atoms.ratios() <= 0.05) @ weights),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_our_claims_pass_and_so_does_one_of_a_users_own(name):
    claim, truth = CLAIMS[name]
    check_claim(claim, truth, posterior=name != "quantile")


@pytest.mark.parametrize("prior", [Search(candidates=16, explore=1, rounds=1), Product({}, candidates=8)], ids=repr)
def test_our_priors_pass(prior):
    check_prior(prior, Traced(LAW.problem, pacopt.HeavyBall(), 5), INSTANCES)


class Deceiving(pacopt.AbstractProblem):
    """Its gradient is 0 everywhere, and its loss is not constant."""

    def start(self, instance):
        return jnp.ones(2)

    def loss(self, x, instance):
        return instance["b"][0] ** 2 * jnp.sum(jax.lax.stop_gradient(x) ** 2)


class Sinking(pacopt.AbstractProblem):
    """Its loss is positive at the start, and negative further down."""

    def start(self, instance):
        return jnp.ones(2)

    def loss(self, x, instance):
        return jnp.sum((x - 2.0) ** 2) - 1.0


class Forgetful(pacopt.AbstractStochasticAlgorithm):
    hyperparameters = {"step_size": Interval(1e-6, 1e-3, log=True)}

    def init(self, x, hyper, objective, key):
        return x

    def step(self, x, hyper, objective, key):
        return x - hyper["step_size"] * objective.gradient(x)

    def read(self, x):
        return x


@dataclass(frozen=True)
class Biased(AbstractBound):
    """A normal approximation: false on rare catastrophes."""

    theorem, assumptions = "none", ()

    def for_candidates(self, table, prior, epsilon):
        z = table.safeguarded()
        return np.minimum(1.0, z.mean(axis=1) + 2 * z.std(axis=1) / np.sqrt(z.shape[1]))

    def for_posterior(self, table, prior, posterior, epsilon):
        return posterior.expectation(self.for_candidates(table, prior, epsilon))


class WithoutUnion(Biased):
    """Right for one candidate, and claimed for all of them."""

    def for_candidates(self, table, prior, epsilon):
        z = table.safeguarded()
        return np.minimum(1.0, z.mean(axis=1) + np.sqrt(np.log(1 / epsilon) / (2 * z.shape[1])))


@dataclass(frozen=True)
class Boastful(AbstractClaim):
    share: float = 0.1
    name = "boastful"

    def bound(self, design):
        return Biased()

    def sentence(self, value, subject):
        return f"The mean is at most {self.shown(value)}."


class Stateful(AbstractCellEngine):
    """Every run depends on how many there were before."""

    space = {"factor": Interval(0.0, 1.0)}
    calls = 0

    def run(self, hyper, instance, seed):
        Stateful.calls += 1
        return Run(loss=hyper["factor"] * (1 + Stateful.calls), start_loss=1.0)


@dataclass(frozen=True, slots=True)
class Unbounded(Ranged):
    """Forgets that a run may fail."""

    def of(self, table, rows=slice(None)):
        return table.averaged(table.losses[rows] / self.top)


class Pooled(Stateful):
    """A random engine that counts replicates as instances."""

    random = True

    def run(self, hyper, instance, seed):
        return Run(loss=hyper["factor"] * (seed % 1000), start_loss=1000.0)

    def table(self, *arguments, **options):
        whole = super().table(*arguments, **options)
        return pacopt.LossTable(whole.losses, whole.start, whole.candidates, fingerprints=whole.fingerprints)


def restless(trials):
    step = np.random.default_rng().uniform(1e-5, 1e-4, 3)
    return pacopt.DiscreteMeasure.uniform({"step_size": step})


MISTAKES = {
    "a gradient that is not that of the loss": (
        lambda: check_problem(Deceiving(), INSTANCES),
        "by its gradient it should",
    ),
    "a loss that falls below zero": (
        lambda: check_problem(Sinking(), pacopt.Instances({"b": np.arange(3.0)})),
        "20 steps of descent on Sinking raised TableError: The loss .* is -1",
    ),
    "a key that is ignored": (
        lambda: check_algorithm(Forgetful(), LAW.problem, INSTANCES),
        "other seeds change nothing",
    ),
    "a normal approximation": (lambda: check_bound(Biased(), mean_score), "is false with probability"),
    "a union that is not paid for": (lambda: check_bound(WithoutUnion(), mean_score), "is false with probability"),
    "a claim with a wrong bound": (lambda: check_claim(Boastful(), mean_score), "is false with probability"),
    "an engine that remembers": (lambda: check_engine(Stateful(), INSTANCES), "same losses twice"),
    "replicates counted as instances": (
        lambda: check_engine(Pooled(), INSTANCES),
        "shape|counts replicates as instances",
    ),
    "a score beyond its range": (lambda: check_score(Unbounded(1.0)), r"outside of \[0, 1\]"),
    "a prior without a seed": (
        lambda: check_prior(restless, Traced(LAW.problem, pacopt.GradientDescent(), 3), INSTANCES),
        "called again with the same seed",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found(mistake):
    check, words = MISTAKES[mistake]
    with pytest.raises(CheckError, match=words):
        check()
