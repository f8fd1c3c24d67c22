"""Runs that belong to one draw: exact moments and violations over small laws, and the mistake of pooling them.

A law of columns says with which probability which runs come together: replicates of one problem, rows of one group.
"""

from itertools import product

import numpy as np
import pytest

from pacopt import DiscreteMeasure, Grid, LossTable, bounds
from pacopt.columns import Columns

#: (probability, losses of the three runs of a column); all start at 1, and a loss above it is a failure.
DEPENDENT = ((0.49, (0.1, 0.1, 0.1)), (0.31, (0.9, 0.9, 0.9)), (0.2, (3.0, 3.0, 3.0)))
MIXED = ((0.4, (0.0, 0.0, 0.5)), (0.35, (1.0, 1.0, 0.0)), (0.25, (2.0, 0.3, 2.0)))
#: Of each group one row in three succeeds.
UNEVEN = ((0.5, (2.0, 0.3, 2.0)), (0.5, (2.0, 2.0, 0.1)))
LAWS = {"replicates that agree": DEPENDENT, "rows that differ": MIXED, "one row in three": UNEVEN}
ONE = DiscreteMeasure.uniform({"a": [0.0]})
GRID = Grid(np.array([0.2, 0.6, 0.95]), np.array([0.3, 0.3, 0.4]))
N, EPSILON = 4, 0.25


def tables(law, pooled=False, leads=True):
    """Every table of N columns with its probability, and with every lead: all of them are equally likely."""
    for chosen in product(law, repeat=N):
        probability = float(np.prod([p for p, _ in chosen]))
        losses = np.concatenate([runs for _, runs in chosen])[None]
        if pooled:
            yield probability, LossTable(losses, np.ones(3 * N))
            continue
        drawn = list(product(range(3), repeat=N)) if leads else [(0,) * N]
        for each in drawn:
            lead = 3 * np.arange(N) + np.array(each)
            yield probability / len(drawn), LossTable(losses, np.ones(3 * N), columns=Columns(np.full(N, 3), lead))


def mean_score(law):
    return sum(p * np.mean(np.minimum(runs, 1.0)) for p, runs in law)


def success(law):
    return sum(p * np.mean(np.array(runs) <= 1.0) for p, runs in law)


def quantile(law, level):
    values = sorted((value, p / 3) for p, runs in law for value in runs)
    total = np.cumsum([p for _, p in values])
    return values[int(np.searchsorted(total, level - 1e-12))][0]


def moment(law, pooled):
    """E sum_k w_k exp(G(t_k) - n log(1 - t_k mu))."""
    betting, mu = bounds.MixtureBetting(GRID), np.array([mean_score(law)])
    return sum(
        probability * float(np.exp(betting.log_e(betting.wealth(table), table.shape[1], mu))[0])
        for probability, table in tables(law, pooled, leads=False)  # a mean is that of all runs
    )


def false(law, bound, wrong, pooled):
    """The exact probability that what a bound says is false."""
    return sum(
        probability
        for probability, table in tables(law, pooled, leads=not isinstance(bound, bounds.MixtureBetting))
        if wrong(float(bound.for_candidates(table, ONE, EPSILON)[0]))
    )


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_the_e_value_of_averaged_columns_has_mean_one(law):
    assert moment(law, pooled=False) == pytest.approx(1.0, abs=1e-12)


def test_the_e_value_of_pooled_replicates_has_a_larger_mean():
    assert moment(DEPENDENT, pooled=True) > 1.5


STATEMENTS = {
    "mean": (bounds.MixtureBetting(GRID), lambda law: lambda value: value < mean_score(law)),
    "success": (bounds.ClopperPearson(), lambda law: lambda value: value > success(law)),
    "quantile": (bounds.OrderStatistics(0.5), lambda law: lambda value: value < quantile(law, 0.5)),
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements_on_columns_are_false_no_more_often_than_they_say(statement, law):
    bound, wrong = STATEMENTS[statement]
    assert false(law, bound, wrong(law), pooled=False) <= EPSILON


@pytest.mark.parametrize("statement", ["success", "quantile"])
def test_statements_on_pooled_replicates_are_false_too_often(statement):
    bound, wrong = STATEMENTS[statement]
    assert false(DEPENDENT, bound, wrong(DEPENDENT), pooled=True) > EPSILON


def test_a_lead_that_is_picked_for_its_outcome_is_noticed():
    """The best run of each group in place of one that was drawn."""
    bound, wrong = STATEMENTS["success"]
    picked = 0.0
    for chosen in product(UNEVEN, repeat=N):
        losses = np.concatenate([runs for _, runs in chosen])[None]
        lead = 3 * np.arange(N) + np.array([int(np.argmin(runs)) for _, runs in chosen])
        table = LossTable(losses, np.ones(3 * N), columns=Columns(np.full(N, 3), lead))
        probability = float(np.prod([p for p, _ in chosen]))
        picked += probability * wrong(UNEVEN)(float(bound.for_candidates(table, ONE, EPSILON)[0]))
    assert picked > EPSILON
