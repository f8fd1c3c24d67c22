"""A bound of one's own against exact probabilities."""

from collections.abc import Callable, Sequence
from functools import partial
from math import comb

import numpy as np

from pacopt.bounds.base import AbstractBound
from pacopt.loss_table import LossTable
from pacopt.testing.checking import need, told
from pacopt.testing.laws import LAWS, SmallLaw

#: Numbers of instances and failure probabilities for which every table is looked at.
SIZES, LEVELS = (1, 2, 6), (0.05, 0.5)
#: So many tables are looked at for a law and a number of instances, at most.
TABLES, FEW = 200, 16
#: Bounds and truths may differ by this much, relative, without one of them being called wrong.
ROUNDING = 1e-9

#: What a bound speaks of, for every candidate, from one column for each atom and the weights of the atoms.
Truth = Callable[[LossTable, np.ndarray], np.ndarray]


def check_bound(
    bound: AbstractBound,
    truth: Truth,
    *,
    at_least: bool = False,
    posterior: bool = True,
    laws: Sequence[SmallLaw] = LAWS,
) -> None:
    """Raise unless a bound is false with at most its stated probability, exactly, on small laws.

    `truth(atoms, weights)` is the quantity that the bound is about, for every candidate of a law: `atoms` is a table
    with one column for each atom. All candidates count at once and, unless `posterior` is false, so do the statements
    about the mean over the prior and about one candidate.

    >>> from pacopt.bounds import ClopperPearson
    >>> check_bound(ClopperPearson(), lambda atoms, weights: atoms.succeeded() @ weights, at_least=True)
    """
    name = type(bound).__name__
    need(isinstance(bound, AbstractBound), f"{name} is no AbstractBound; for a linear one use pacopt.bounds.OnGrid")
    need(getattr(bound, "theorem", ""), f"{name} does not name its theorem")
    for law in laws:
        value = np.asarray(truth(law.atoms, law.weights), dtype=float)
        need(value.shape == law.prior.shape, f"the truth of {law.name!r} has the shape {value.shape}")
        counts = {n: comb(len(law.weights) + n - 1, n) for n in SIZES}
        for n in (n for n, count in counts.items() if count <= TABLES):
            # What is said of a posterior takes longest, and is looked at where there are few tables.
            drawn = posterior and counts[n] <= FEW
            for epsilon in LEVELS:
                wrong = law.probability(n, partial(_false, bound, law, value, epsilon, at_least, drawn))
                need(
                    wrong <= epsilon * (1 + ROUNDING),
                    f"{name} is false with probability {wrong:.6g} at epsilon = {epsilon}, on the law {law.name!r} "
                    f"with {n} instances",
                )


def _false(
    bound: AbstractBound,
    law: SmallLaw,
    truth: np.ndarray,
    epsilon: float,
    at_least: bool,
    posterior: bool,
    table: LossTable,
) -> bool:
    """Whether anything that a bound says from a table is false."""
    with told(f"{type(bound).__name__}.for_candidates"):
        said = np.asarray(bound.for_candidates(table, law.measure, epsilon), dtype=float)
    need(said.shape == truth.shape, f"for_candidates returns the shape {said.shape} for {len(truth)} candidates")
    need(not np.isnan(said).any(), "for_candidates returns NaN")
    if np.any(_beyond(said, truth, at_least)):
        return True
    measures = (law.measure, law.measure.dirac(0)) if posterior else ()
    for measure in measures:
        with told(f"{type(bound).__name__}.for_posterior"):
            drawn = float(bound.for_posterior(table, law.measure, measure, epsilon))
        if _beyond(np.array(drawn), np.array(measure.expectation(truth)), at_least):
            return True
    return False


def _beyond(said: np.ndarray, truth: np.ndarray, at_least: bool) -> np.ndarray:
    slack = ROUNDING * np.abs(np.where(np.isfinite(truth), truth, 0.0))
    wrong: np.ndarray = said > truth + slack if at_least else said < truth - slack
    return wrong
