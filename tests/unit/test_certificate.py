"""The certificate: what it says, what changes it, what does not, and what it refuses."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pacopt
from pacopt import Design, DiscreteMeasure, Grid, LossTable, Shares, Truncation, certify
from pacopt.bounds.absolute import second_moment_from_kurtosis
from pacopt.errors import AssumptionError, DesignError
from pacopt.statement import down, up


def make(seed=0, rows=8, n=120, failures=0.02):
    rng = np.random.default_rng(seed)
    start = rng.lognormal(size=n)
    losses = start * rng.beta(1, 8, (rows, 1)) * rng.gamma(1, 1, (rows, n))
    losses[rng.random((rows, n)) < failures] = np.nan
    return LossTable(losses=losses, start=start)


def numbers(certificate):
    d, p = certificate.deployed, certificate.posterior
    return d.risk, d.success, np.inf if d.quantile is None else d.quantile, p.risk, p.success


@pytest.mark.parametrize("confidence", [0.99999999999, 0.99999999999999, np.float64(0.95)])
def test_levels_that_were_chosen_are_said_with_all_their_digits(confidence):
    table = make()
    certificate = certify(table, Design.uniform(table, quantile_level=0.999999999999), confidence=confidence)
    text = str(certificate)
    assert f"With confidence {float(confidence)!r} over" in text
    assert "99.9999999999 %" in text
    assert f"confidence={float(confidence)!r}," in repr(certificate)
    asked = certify(table, min_success=0.99999999)
    assert "certified with success at least 0.99999999." in str(asked)


def test_wealth_that_is_no_number_excludes_nothing():
    bound = pacopt.bounds.MixtureBetting(Grid.uniform([0.1, 0.5]))
    wealth = np.array([[np.nan, -1.0], [-3.0, -9.0]])
    upper = bound.upper(wealth, 50, np.log([0.5, 0.5]), 0.01)
    assert upper[0] == 1.0
    assert upper[1] < 1.0
    both = DiscreteMeasure.uniform({"a": [0.0, 1.0]})
    assert bound.posterior_upper(wealth, 50, both, both, 0.01) == 1.0


def test_a_certificate_lies_on_the_safe_side_of_what_was_seen():
    certificate = certify(make())
    d, p = certificate.deployed, certificate.posterior
    assert d.empirical_risk < d.risk < 1
    assert 0 < d.success < d.empirical_success
    assert p.empirical_risk < p.risk < 1
    assert d.risk == pytest.approx(d.empirical_risk + d.confidence_cost + d.selection_cost, rel=1e-12)
    assert min(d.confidence_cost, d.selection_cost) > 0
    assert sum(p.weights) == pytest.approx(1)


def test_the_posterior_is_at_least_as_good_as_a_single_term_of_the_mixture():
    table = make(seed=3)
    design = Design.uniform(table)
    found = pacopt.search_grid(
        pacopt.bounds.Betting(design.t_grid.points), table, design.prior, design.t_grid, 0.01 * design["risk"].share
    )
    assert certify(table).posterior.risk <= found.value * (1 + 1e-9)


@given(st.integers(0, 10**6), st.integers(-900, 900))
@settings(max_examples=4)
def test_what_must_not_matter_does_not(seed, power):
    table = make(seed % 100)
    rng = np.random.default_rng(seed)
    reference = certify(table)
    columns, rows = rng.permutation(table.shape[1]), rng.permutation(table.shape[0])
    scale = 2.0 ** rng.integers(-abs(power), abs(power) + 1, table.shape[1])
    with np.errstate(over="ignore", under="ignore"):
        scaled = LossTable(losses=table.losses * scale, start=table.start * scale)
    assert numbers(certify(scaled)) == pytest.approx(numbers(reference), rel=1e-12)
    shuffled = LossTable(losses=table.losses[:, columns], start=table.start[columns])
    assert numbers(certify(shuffled)) == pytest.approx(numbers(reference), rel=1e-9)
    moved = certify(LossTable(losses=table.losses[rows], start=table.start))
    assert numbers(moved) == pytest.approx(numbers(reference), rel=1e-9)
    assert rows[moved.deployed.index] == reference.deployed.index


def test_a_candidate_without_weight_changes_nothing_and_is_never_deployed():
    table = make()
    better = LossTable(losses=np.vstack([table.losses, np.zeros(table.shape[1])]), start=table.start)
    prior = DiscreteMeasure.of(better.candidates, [*np.full(8, 1 / 8), 0.0])
    assert numbers(certify(better, Design(prior))) == pytest.approx(numbers(certify(table)), rel=1e-12)
    assert certify(better, Design(prior)).posterior.weights[-1] == 0


def test_more_confidence_costs_and_more_data_pays():
    table = make(n=150)
    loose, tight = certify(table, confidence=0.9), certify(table, confidence=0.9999)
    assert loose.deployed.risk < tight.deployed.risk
    assert loose.deployed.success > tight.deployed.success
    assert loose.posterior.risk < tight.posterior.risk
    doubled = LossTable(losses=np.hstack([table.losses] * 2), start=np.hstack([table.start] * 2))
    assert certify(doubled).deployed.risk < certify(table).deployed.risk
    assert certify(doubled).deployed.success > certify(table).deployed.success


def test_degenerate_tables_get_honest_certificates():
    n = 60
    perfect = certify(LossTable(losses=np.zeros((3, n)), start=np.ones(n)))
    assert 0 < perfect.deployed.risk < 0.3
    failed = certify(LossTable(losses=np.full((3, n), np.nan), start=np.ones(n)))
    assert (failed.deployed.risk, failed.deployed.success, failed.deployed.quantile) == (1.0, 0.0, None)
    assert (failed.posterior.risk, failed.posterior.success) == (1.0, 0.0)
    assert "at most 1." in str(failed)
    idle = certify(LossTable(losses=np.ones((2, n)), start=np.ones(n)))
    assert idle.deployed.risk == 1.0
    assert idle.deployed.success > 0.8
    single = certify(LossTable(losses=[[0.1]], start=[1.0]))
    assert single.deployed.risk <= 1
    assert single.deployed.quantile is None
    at_zero = certify(LossTable(losses=np.zeros((1, n)), start=np.zeros(n)))
    assert at_zero.deployed.risk < perfect.deployed.risk  # one candidate instead of three
    for scale in (1e-300, 1e300):
        scaled = LossTable(losses=np.full((2, n), 0.25 * scale), start=np.full(n, scale))
        plain = LossTable(losses=np.full((2, n), 0.25), start=np.ones(n))
        assert certify(scaled).deployed.risk == pytest.approx(certify(plain).deployed.risk)


def test_min_success_restricts_by_what_is_certified_and_says_when_nothing_is():
    n = 400
    fast, safe = np.full(n, 0.01), np.full(n, 0.2)
    fast[:20] = np.inf
    table = LossTable(losses=[fast, safe], start=np.ones(n))
    assert certify(table).deployed.index == 0
    chosen = certify(table, min_success=0.97)
    assert (chosen.deployed.index, chosen.attained) == (1, True)
    assert chosen.posterior.weights[0] == 0
    beyond = certify(table, min_success=0.9999)
    assert not beyond.attained
    assert beyond.deployed.index == 1
    assert str(beyond).startswith("What was asked for is not attained: no candidate could be certified with success")


def test_cells_that_were_not_run_count_as_failed_even_if_a_predicate_likes_them():
    table = make(failures=0.0)
    missing = np.zeros(table.shape, dtype=bool)
    missing[:, ::4] = True
    liked = np.ones(table.shape, dtype=bool)
    raced = LossTable(losses=table.losses, start=table.start, success=liked, missing=missing)
    failed = LossTable(losses=np.where(missing, np.nan, table.losses), start=table.start)
    ours, theirs = certify(raced), certify(failed)
    assert ours.deployed.risk == theirs.deployed.risk > 0.25
    assert ours.deployed.success < 0.75


def test_a_users_predicate_enters_the_success_statement_only():
    table = make()
    predicate = np.zeros(table.shape, dtype=bool)
    judged = LossTable(losses=table.losses, start=table.start, success=predicate)
    ours, theirs = certify(table), certify(judged)
    assert theirs.deployed.success == 0
    assert theirs.deployed.risk == ours.deployed.risk
    assert "user's success criterion" in str(theirs)


def test_an_absolute_statement_needs_a_declaration():
    table = make(failures=0.0)
    with pytest.raises(DesignError, match="declared assumption"):
        Design.uniform(table, shares=Shares(0.4, 0.2, 0.2, 0.2))
    with pytest.raises(AssumptionError, match="Bahadur"):
        Truncation(1.0, np.inf, "nothing")
    with pytest.raises(AssumptionError, match="with a reason"):
        Truncation(1.0, 0.0, "")
    with pytest.raises(AssumptionError, match="with a reason"):
        Truncation(1.0, 0.0, "", second_moment=1.5)  # it would be 0.375
    design = Design.uniform(
        table, shares=Shares(0.4, 0.2, 0.2, 0.2), truncation=Truncation.from_second_moment(4.0, 8.0)
    )
    certificate = certify(table, design)
    assert certificate.deployed.absolute > np.fmin(table.losses, table.start)[certificate.deployed.index].mean()
    assert "E l0^2 <= 8.0" in str(certificate)
    assert pacopt.audit(certificate, table).passed


def test_a_declared_law_bounds_the_excess_better_than_its_second_moment():
    rhs = pacopt.GaussianVector(mean=np.array([1.0, 3.0]), factor=np.array([[2.0, 0.0], [0.5, 1.0]]))
    level = 4 * rhs.mean_start_loss()
    top = 1 / np.linalg.eigvalsh(rhs.covariance).max()
    by_law = Truncation.from_law(level, rhs.log_mgf_start_loss, top, "b is normal")
    by_moment = Truncation.from_second_moment(level, rhs.mean_square_start_loss())
    l0 = 0.5 * np.sum(rhs.sample(400_000, np.random.default_rng(0)) ** 2, axis=1)
    excess = np.maximum(l0 - level, 0)
    assert excess.mean() + 5 * excess.std() / np.sqrt(len(l0)) < by_law.excess < by_moment.excess


def test_informed_weights_follow_the_prior_split_and_leave_nobody_out():
    everything = make(seed=5, rows=40, n=1200)
    prior_part = LossTable(losses=everything.losses[:, :200], start=everything.start[:200])
    train = LossTable(losses=everything.losses[:, 200:], start=everything.start[200:])
    design = Design.informed(prior_part, train=1000)
    favourite = int(prior_part.safeguarded().mean(axis=1).argmin())
    assert design.prior.weights[favourite] >= 0.5
    assert design.prior.weights.min() >= 0.05 / 40
    assert certify(train, design).deployed.risk < certify(train).deployed.risk
    assert Design.from_dict(json.loads(json.dumps(design.to_dict()))).hash == design.hash


@pytest.mark.parametrize("confidence", [0.0, 1.0, 1.5, -0.1, np.nan])
def test_a_confidence_that_cannot_be_is_refused(confidence):
    with pytest.raises(DesignError, match="confidence"):
        certify(make(), confidence=confidence)


def test_a_grid_that_ends_too_early_is_said_with_what_another_one_takes():
    table = LossTable(losses=np.random.default_rng(0).uniform(0, 0.01, (3, 500)), start=np.ones(500))
    text = str(certify(table, Design.uniform(table, t_grid=pacopt.Grid.uniform([0.01, 0.02, 0.03]))))
    assert "t = 0.03 (at the edge of its grid: with new training instances another grid might be tighter)" in text
    wide = LossTable(losses=np.random.default_rng(0).uniform(0, 1, (3, 500)), start=np.ones(500))
    assert "at the edge" not in str(certify(wide))


def test_designs_that_do_not_fit_are_refused():
    table = make()
    other = DiscreteMeasure.uniform({"candidate": np.arange(8.0) + 1})
    with pytest.raises(DesignError, match="not the same"):
        certify(table, Design(other))
    with pytest.raises(DesignError, match="not the same"):
        certify(table, Design(DiscreteMeasure.uniform({"candidate": np.arange(7.0)})))
    for name, value in (("target_ratio", 0.0), ("target_ratio", 1.5), ("quantile_level", 1.0)):
        with pytest.raises(DesignError, match=f"{name} is"):
            Design.uniform(table, **{name: value})
    for shares in ((0.6, 0.3, 0.2), (0.0, 0.5, 0.5), (0.9, -0.1, 0.2), (np.nan, 0.2, 0.2), (0.6, 0.2, 0.2, np.nan)):
        with pytest.raises(DesignError, match="shares"):
            Shares(*shares)
    with pytest.raises(DesignError, match="t is 1"):
        Design.uniform(table, t_grid=Grid.uniform([0.5, 1.0]))
    with pytest.raises(DesignError, match="probability"):
        certify(table, min_success=1.2)


def test_a_declared_bound_that_the_table_contradicts_is_refused():
    table = LossTable(losses=np.full((2, 50), 3.0), start=np.full(50, 4.0))
    shares = Shares(0.4, 0.2, 0.2, 0.2)
    with pytest.raises(AssumptionError, match=r"start loss of instance 0 is 4.* with new training instances\."):
        certify(table, Design.uniform(table, shares=shares, truncation=Truncation.from_bound(1.0)))
    assert certify(table, Design.uniform(table, shares=shares, truncation=Truncation.from_bound(4.0))).deployed.absolute


def test_a_law_or_kurtosis_out_of_range_is_refused():
    for theta_max in (0.0, np.inf, np.nan):
        with pytest.raises(AssumptionError, match="theta_max"):
            Truncation.from_law(5.0, lambda theta: theta, theta_max, "law")
    for kurtosis, epsilon in ((0.5, 0.01), (3.0, 1.5), (np.nan, 0.1)):
        with pytest.raises(AssumptionError, match="kurtosis"):
            second_moment_from_kurtosis(np.ones(100), kurtosis, epsilon)
    with pytest.raises(AssumptionError, match="At least 28 instances"):
        second_moment_from_kurtosis(np.ones(10), 3.0, 0.01)
    assert second_moment_from_kurtosis(np.ones(1000), 3.0, 0.01) > 1


def test_a_formula_used_beyond_its_pole_is_refused():
    w = c = np.array([1.0, 1.0])

    def log_mgf(theta):
        """Right below 1; beyond it two negative factors hide the pole."""
        return -0.5 * np.log(np.prod(1 - theta * w)) + np.sum(theta * c**2 / (2 * (1 - theta * w)))

    assert Truncation.from_law(5.0, log_mgf, 1.0, "b is normal").excess == pytest.approx(0.3219, rel=1e-3)
    with pytest.raises(AssumptionError, match="convex"):
        Truncation.from_law(5.0, log_mgf, 10.0, "b is normal")


def test_levels_are_printed_as_they_are():
    table = make(n=400, failures=0.0)
    text = str(
        certify(table, Design.uniform(table, quantile_level=0.955, target_ratio=0.1234564), confidence=0.9999998)
    )
    for phrase in ("confidence 0.9999998", "95.5 %", "0.1234564 times its start"):
        assert phrase in text


def test_hyperparameters_have_four_digits_in_the_sentence_and_all_of_them_once():
    made, values = make(rows=1), {"momentum": [0.99996123456789], "rate": [0.47851625438297934], "kind": ["a"]}
    text = str(certify(LossTable(losses=made.losses, start=made.start, candidates=values)))
    assert "for the candidate with kind = 'a', momentum = 0.99996, rate = 0.4785:" in text
    assert "\nExact values: kind = 'a', momentum = 0.99996123456789, rate = 0.47851625438297934\n" in text
    assert text.count("0.47851625438297934") == 1
    short = str(certify(LossTable(losses=made.losses, start=made.start, candidates={"rate": [0.25]})))
    assert "with rate = 0.25:" in short
    assert "Exact values" not in short, "the sentence has them"


def test_printed_numbers_are_rounded_to_the_safe_side():
    assert (up(0.123441), down(0.98769)) == ("0.1235", "0.9876")
    assert (up(1.0), down(0.0), up(0.0)) == ("1", "0", "0")
    for value in (1e-308, 5e-324, 1.7e308):
        assert float(up(value)) >= value >= float(down(value))
    for value in np.random.default_rng(0).lognormal(sigma=5, size=200):
        assert float(up(value)) >= value >= float(down(value))
    text = str(certify(make()))
    for phrase in (
        "With confidence 0.99",
        "120 training instances",
        "It rests on:",
        "(declared)",
        "(proved)",
        "Not claimed",
    ):
        assert phrase in text
    assert "guarantee" not in text


def test_the_text_of_an_estimate_never_says_guarantee():
    from pacopt.papers import plug_in_bound

    assert "guarantee" not in repr(plug_in_bound(make(failures=0.0))).lower()


@pytest.mark.parametrize("seed", range(20))
def test_a_stored_design_comes_back_bit_for_bit(seed):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(int(rng.integers(1, 300)), 0.3))
    weights[rng.random(len(weights)) < 0.1] = 0.0
    weights = weights / weights.sum() if weights.sum() else np.full(len(weights), 1 / len(weights))
    design = Design(DiscreteMeasure.of({"candidate": np.arange(len(weights))}, weights))
    again = Design.from_dict(json.loads(json.dumps(design.to_dict())))
    assert again.hash == design.hash
    assert np.array_equal(again.prior.log_weights, design.prior.log_weights)
