"""A race gives up hopeless candidates and changes nothing for those that matter."""

import numpy as np
import pytest

import pacopt
from pacopt import Design, DiscreteMeasure, LossTable
from pacopt.engines.racing import race, survivors
from pacopt.errors import DesignError

COLUMNS = pacopt.Instances({"column": np.arange(640)})


def stream(rows=64, seed=0, failing=0.02):
    """Candidates from good to hopeless, some runs of which fail; running them is looking them up."""
    rng = np.random.default_rng(seed)
    losses = rng.uniform(0, np.linspace(0.1, 3.0, rows)[:, None], (rows, len(COLUMNS)))
    losses[rng.random(losses.shape) < failing] = np.nan
    candidates = {"candidate": rng.permutation(rows).astype(float)}
    whole = LossTable(losses, np.ones(len(COLUMNS)), candidates)

    def run(chosen, instances):
        order = np.argsort(candidates["candidate"])
        rows = order[chosen["candidate"].astype(int)]
        return whole.select(rows=rows, columns=instances.fields["column"].astype(int))

    return whole, run


@pytest.mark.parametrize("seed", range(3))
def test_the_deployed_candidate_and_its_certificate_do_not_change(seed):
    whole, run = stream(seed=seed)
    raced = race(run, whole.candidates, COLUMNS)
    full, fast = (pacopt.certify(table).deployed for table in (whole, raced))
    assert fast == full
    assert raced.missing.mean() > 0.7
    given_up = raced.missing.any(axis=1)
    assert np.array_equal(raced.losses[~given_up], whole.losses[~given_up], equal_nan=True)
    assert raced.missing[given_up][:, -1].all(), "whoever is given up stays so"
    assert not raced.missing[:, : len(COLUMNS) // 16].any(), "all are seen on the first instances"


def test_whoever_is_given_up_is_certified_as_worse_than_it_is_and_keeps_its_weight():
    whole, run = stream()
    raced = race(run, whole.candidates, COLUMNS)
    design = Design.uniform(whole)
    kept, all_of_them = pacopt.certify(raced, design), pacopt.certify(whole, design)
    assert kept.posterior.risk >= all_of_them.posterior.risk * (1 - 1e-12)
    assert np.isclose(kept.deployed.weight, 1 / len(whole.losses))
    given_up = raced.missing.any(axis=1)
    assert (raced.safeguarded()[given_up].mean(axis=1) >= whole.safeguarded()[given_up].mean(axis=1)).all()
    assert not (raced.succeeded() & raced.missing).any()
    survivors_only = raced.select(rows=~given_up)
    with pytest.raises(DesignError, match="not the same"):
        pacopt.certify(survivors_only, design)
    assert pacopt.audit(kept, raced).passed


def test_a_candidate_that_succeeds_more_often_is_not_beaten_by_a_faster_one():
    n = 200
    fast, safe, neither = np.full(n, 0.01), np.full(n, 0.5), np.full(n, 0.6)
    fast[::10] = neither[::10] = 2.0
    table = LossTable(np.stack([fast, safe, neither]), np.ones(n))
    assert survivors(table.safeguarded(), table.succeeded()).tolist() == [True, True, False]


def test_equals_survive_each_other():
    assert survivors(np.full((5, 50), 0.3), np.ones((5, 50), dtype=bool)).all()
    assert survivors(np.ones((5, 50)), np.zeros((5, 50), dtype=bool)).all()


def test_the_survivors_are_those_of_the_definition():
    rng = np.random.default_rng(3)
    for _ in range(20):
        z = np.minimum(rng.uniform(0, rng.uniform(0.2, 1.5, (12, 1)), (12, 80)), 1.0)
        success = z < 0.9
        counts = success.sum(axis=1)
        expected = []
        for i in range(12):
            rivals = [j for j in range(12) if counts[j] >= counts[i]]
            leader = min(rivals, key=lambda j: z[j].mean())
            lead = z[i] - z[leader]
            expected.append(bool(lead.mean() <= 4 * lead.std() / np.sqrt(80)))
        assert survivors(z, success).tolist() == expected


def test_few_instances_are_run_without_a_race():
    whole, run = stream()
    few = race(run, whole.candidates, COLUMNS[:100])
    assert few.missing is None
    assert few.provenance["race"] == [{"candidates": 64, "instances": 100}]


def test_a_users_verdicts_are_kept():
    whole, _ = stream()
    rng = np.random.default_rng(1)
    verdicts = rng.random(whole.shape) < 0.7
    judged = LossTable(whole.losses, whole.start, whole.candidates, success=verdicts)
    order = np.argsort(whole.candidates["candidate"])

    def run_judged(chosen, instances):
        rows = order[chosen["candidate"].astype(int)]
        return judged.select(rows=rows, columns=instances.fields["column"].astype(int))

    raced = race(run_judged, whole.candidates, COLUMNS)
    assert np.array_equal(raced.success, judged.success & ~raced.missing)


def test_a_race_inside_learn_deploys_what_learning_without_it_deploys():
    law = pacopt.VaryingCurvature.draw(seed=0, n=5)
    split = pacopt.split(law.sample(800, seed=1), prior=20, train=700, test=80, seed=2)
    prior = DiscreteMeasure.uniform({"step_size": np.geomspace(1e-7, 1, 50), "momentum": np.linspace(0.1, 0.9, 50)})
    fast, full = (
        pacopt.learn(law.problem, pacopt.HeavyBall(), split, steps=20, prior=prior, racing=racing)
        for racing in (True, False)
    )
    assert fast.hyper == full.hyper
    assert np.isclose(fast.certificate.deployed.risk, full.certificate.deployed.risk, rtol=1e-9)
    assert fast.certificate.design.hash == full.certificate.design.hash
    assert fast.table.missing.mean() > 0.5
    assert pacopt.audit(fast.certificate, fast.table).passed
