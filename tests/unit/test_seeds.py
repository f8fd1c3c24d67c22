"""Algorithms that draw random numbers: where seeds come from, what they change and what they do not."""

import jax
import numpy as np
import pytest

import pacopt
from pacopt import DiscreteMeasure, Interval
from pacopt.columns import Columns
from pacopt.errors import DesignError
from pacopt.priors import Search

LAW = pacopt.VaryingCurvature.draw(seed=0, n=6)
SPLIT = pacopt.split(LAW.sample(220, seed=1), prior=40, train=140, test=40, seed=2)
QUICK = Search(candidates=16, explore=1, rounds=1)
RATES = {"step_size": np.geomspace(1e-5, 5e-4, 6)}


class Noisy(pacopt.AbstractStochasticAlgorithm):
    """Gradient descent with noise in every gradient, and a random first move."""

    hyperparameters = {"step_size": Interval(1e-6, 1e-2, log=True)}

    def init(self, x, hyper, objective, key):
        return x + 0.01 * jax.random.uniform(key, x.shape)

    def step(self, x, hyper, objective, key):
        return x - hyper["step_size"] * (objective.gradient(x) + 100 * (jax.random.uniform(key, x.shape) - 0.5))

    def read(self, x):
        return x


class Deaf(Noisy):
    """Takes a key and ignores it."""

    def init(self, x, hyper, objective, key):
        return x

    def step(self, x, hyper, objective, key):
        return x - hyper["step_size"] * objective.gradient(x)


def table(instances, replicates=1, root=0, algorithm=None):
    drawn = instances.drawn(root=root, part="train", replicates=replicates)
    return pacopt.tabulate(LAW.problem, algorithm or Noisy(), RATES, drawn, steps=10)


def learned(**options):
    return pacopt.learn(LAW.problem, Noisy(), SPLIT, **{"steps": 10, "prior": DiscreteMeasure.uniform(RATES)} | options)


def test_reordering_the_instances_reorders_the_losses_and_changes_none():
    order = np.random.default_rng(0).permutation(len(SPLIT.train))
    there, back = table(SPLIT.train), table(SPLIT.train[order])
    np.testing.assert_allclose(back.losses, there.losses[:, order], rtol=1e-12)
    one = pacopt.certify(there, pacopt.Design.uniform(there))
    other = pacopt.certify(back, pacopt.Design.uniform(back))
    assert other.deployed.risk == pytest.approx(one.deployed.risk, rel=1e-9)


def test_another_root_seed_and_another_part_of_the_split_give_other_runs():
    first = table(SPLIT.train).losses
    assert not np.any(first == table(SPLIT.train, root=1).losses)
    other = SPLIT.train.drawn(root=0, part="test")
    assert not np.any(first == pacopt.tabulate(LAW.problem, Noisy(), RATES, other, steps=10).losses)


def test_equal_instances_have_seeds_of_their_own_and_so_do_replicates():
    twice = SPLIT.train[[0, 0, 0, 1]]
    losses = table(twice, replicates=3).losses
    assert len(np.unique(losses[0])) == losses.shape[1]


def test_candidates_share_random_numbers():
    """With equal candidates every difference is 0, which sharpens comparisons."""
    same = {"step_size": np.full(3, 1e-4)}
    losses = pacopt.tabulate(LAW.problem, Noisy(), same, SPLIT.test, steps=10).losses
    assert np.ptp(losses, axis=0).max() <= 1e-12 * losses.max()


def test_replicates_are_averaged_for_the_mean_and_the_first_one_speaks_for_the_rest():
    runs = table(SPLIT.train, replicates=3)
    assert runs.shape == (6, 140)
    assert runs.losses.shape == (6, 420)
    each = np.minimum(runs.run_ratios(), 1.0).reshape(6, 140, 3)
    np.testing.assert_allclose(runs.safeguarded(), each.mean(axis=2), rtol=1e-12)
    assert np.array_equal(runs.ratios(), runs.run_ratios()[:, ::3])
    alone = table(SPLIT.train, replicates=1)
    np.testing.assert_allclose(runs.ratios(), alone.ratios(), rtol=1e-12)


def test_replicates_are_not_counted_as_instances():
    one, three = learned(), learned(replicates=3)
    assert three.certificate.instances == one.certificate.instances == 140
    assert three.certificate.runs == 420
    assert three.certificate.deployed.success == one.certificate.deployed.success
    assert "over the draw of the 140 training instances, with 3 runs of each" in str(three.certificate)


@pytest.mark.parametrize("replicates", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_a_random_algorithm_goes_through_everything(tmp_path, replicates):
    result = learned(replicates=replicates)
    text = str(result.certificate)
    assert "on a new instance from the same distribution with a fresh seed" in text
    assert "behave like independent draws, and every run in use gets a fresh one (declared)" in text
    assert "no two instances are the same problem with a different seed in the data (declared)" in text
    assert "deterministic" not in text
    assert "At least 90 % of runs end, without the safeguard, at a ratio of at most" in text
    place = result.save(tmp_path / "run")
    assert pacopt.verify(place, rerun=8, algorithm=Noisy()).passed
    again = pacopt.Learned.load(place, algorithm=Noisy())
    instance = SPLIT.train[0]
    assert again.solve(instance).loss == result.solve(instance).loss
    assert again.solve(instance).run_loss != again.solve(instance, occurrence=1).run_loss
    trained = result.table.losses[result.certificate.deployed.index, 0]
    assert result.solve(instance).run_loss != trained, "in use there is a namespace of its own"


def test_racing_and_resuming_change_no_number(tmp_path):
    options = {"prior": DiscreteMeasure.uniform({"step_size": np.geomspace(1e-6, 5e-4, 32)}), "replicates": 3}
    whole, raced = learned(**options), learned(racing=True, **options)
    run = ~raced.table.missing
    np.testing.assert_allclose(raced.table.losses[run], whole.table.losses[run], rtol=1e-9)
    assert raced.certificate.deployed.risk == pytest.approx(whole.certificate.deployed.risk, rel=1e-9)

    def interrupt(stage, done, total):
        if stage == "train":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learned(checkpoint=tmp_path, progress=interrupt, **options)
    assert learned(checkpoint=tmp_path, **options).certificate.to_dict() == whole.certificate.to_dict()


def test_a_key_that_is_ignored_is_remarked_on():
    result = pacopt.learn(LAW.problem, Deaf(), SPLIT, steps=10, prior=QUICK)
    assert any("ignore its key" in remark for remark in result.remarks)
    assert not any("ignore its key" in remark for remark in learned().remarks)


@pytest.mark.parametrize("replicates", [0, -1, 1.5, "two", True])
def test_replicates_that_are_no_number_of_runs_are_refused(replicates):
    with pytest.raises(DesignError, match="at least once"):
        learned(replicates=replicates)


def test_replicates_of_an_algorithm_that_draws_nothing_are_refused():
    with pytest.raises(DesignError, match="draws no random numbers"):
        pacopt.learn(LAW.problem, pacopt.GradientDescent(), SPLIT, steps=10, replicates=2)


def test_a_lead_that_was_not_drawn_is_noticed_by_the_audit():
    result = learned(replicates=3)
    columns = result.table.columns
    moved = np.array(columns.lead)
    moved[5] += 1
    forged = pacopt.LossTable(
        result.table.losses,
        result.table.start,
        result.table.candidates,
        provenance=result.table.provenance,
        fingerprints=result.table.fingerprints,
        columns=Columns(columns.sizes, moved),
    )
    assert pacopt.audit(result.certificate, result.table).passed
    found = pacopt.audit(pacopt.certify(forged, result.certificate.design), forged)
    assert found.disagreement.name == "table.columns.lead"
