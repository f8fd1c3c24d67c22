"""The quadratic programs of a quadcopter's controller: a learned rho for each constraint, against OSQP itself."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pacopt.algorithms.admm import ADMM, RELAXED
from pacopt.engines.blackbox.engine import BlackBox
from pacopt.engines.blackbox.osqp import osqp
from pacopt.families.base import Family, Sizes
from pacopt.families.flights import Quadcopter, flights, program
from pacopt.priors.train import Train
from pacopt.problems.base import Instance
from pacopt.scores import Effort
from pacopt.stages.baselines import Baseline
from pacopt.support.machine import cores

#: The iteration limit for all solvers.
CAP = 100


def quadcopter(eps: float = 1e-4, *, cap: int = CAP) -> Family:
    """The family of quadcopter flights, whose problems are solved until OSQP's residuals meet tolerance `eps`.

    We learn OSQP's own iteration: a rho for each of the 304 constraints, sigma and the relaxation. A draw is a flight,
    and its ten problems are a group. The score is the number of iterations, up to `cap`, until OSQP's test stops it.
    The usual solvers are OSQP with its defaults, which adapt rho and scale the problem, and the plain iteration with
    the same values. They need `pip install "pacopt[solvers]"`.
    """
    plain, solver = ADMM([0] * 304), solved_by_osqp(eps, cap, workers=cores())
    return Family(
        name="quadcopter",
        problem=Quadcopter(eps, eps),
        sample=flights,
        algorithm=ADMM(range(304), start=1.0),
        steps=cap,
        title="Control of a quadcopter",
        usual={"OSQP": Baseline(engine=solver), "plain ADMM": Baseline(plain.defaults, plain)},
        tuned=plain,
        prior=Train(updates=200, batch=8, rate=0.1, restarts=1, candidates=2, logs=0.0),
        score=Effort("solved", cap, unit="iterations"),
        budget={"solved": 0.5},
        sizes=Sizes(60, 600, 40),
        note="The iteration is OSQP's. Over half of the gain is one tuned rho and alpha; 304 rhos add the rest.",
    )


def solved_by_osqp(eps: float, cap: int = CAP, *, workers: int = 1) -> BlackBox:
    """OSQP at these tolerances, checking its residuals after every iteration so that the count is exact.

    Everything else is at OSQP's defaults: rho is adapted, and the problem is scaled.
    """
    settings = {"check_termination": 1, "eps_abs": eps, "eps_rel": eps, "max_iter": cap}
    return osqp(program, settings=settings, workers=workers)


def rescaled(hyper: Mapping[str, Any], instance: Instance) -> tuple[Any, np.ndarray, Any, np.ndarray, np.ndarray]:
    """P, q, A, l and u of an instance, with rows scaled so that OSQP runs the learned iteration.

    OSQP has a single rho, which it multiplies by 1,000 for equality constraints. Multiplying a row by s has the effect
    of s^2 rho. So with each row multiplied by the square root of its rho, and with rho=1, scaling=0, adaptive_rho=0 and
    the learned sigma and alpha (`settings_of`), OSQP runs the learned iteration. Its x is that of the instance, and its
    y must be multiplied by the same factors; its stopping test sees the scaled rows.
    """
    from scipy import sparse

    P, q, A, lower, upper = program(instance)
    bounded = np.isfinite(lower) | np.isfinite(upper)
    factors = np.where(bounded, np.sqrt(np.asarray(hyper["rho"], dtype=float)), 1.0)
    return P, q, sparse.csc_matrix(sparse.diags(factors) @ A), factors * lower, factors * upper


def settings_of(hyper: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with which OSQP runs the learned iteration on a `rescaled` instance."""
    alpha = float(np.clip(hyper["alpha"], *RELAXED))
    return {"rho": 1.0, "scaling": 0, "adaptive_rho": 0, "sigma": float(hyper["sigma"]), "alpha": alpha}
