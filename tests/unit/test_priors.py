"""Priors look at the prior split alone and end where good candidates are."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import beta, kstest, loguniform, norm, uniform

import pacopt
from pacopt import DiscreteMeasure, Interval, LossTable, Trials
from pacopt.bounds import ClopperPearson
from pacopt.design import default_t_grid
from pacopt.errors import CandidatesError, PriorError
from pacopt.papers import plug_in_bound
from pacopt.priors import IterativeBox, Product, Search
from pacopt.priors.cube import Cube
from pacopt.priors.strategy import strategy
from pacopt.space import Array, Choice, Whole

DOMAIN = {"step_size": Interval(1e-8, 1e2, log=True), "momentum": Interval(0.0, 1.0)}
PRIORS = [
    Search(candidates=20, rounds=2),
    Product({"step_size": loguniform(1e-4, 1.0)}, candidates=20),
    IterativeBox({"step_size": Interval(0.1, 3.0), "momentum": Interval(0.0, 0.5)}, candidates=20),
]


def bowl(best=1e-2, momentum=0.3):
    """A stand-in for an algorithm: ratios that depend on the distance to the best hyperparameters, above 1 far off."""

    def run(candidates, instances):
        distance = np.abs(np.log10(candidates["step_size"] / best)) + np.abs(candidates["momentum"] - momentum)
        losses = np.multiply.outer(distance, 1 + 0.1 * instances.fields["b"])
        return LossTable(losses=losses, start=np.ones(len(instances)), candidates=candidates)

    return run


def trials(run=None, count=40, **options):
    instances = pacopt.Instances({"b": np.random.default_rng(0).random(count)})
    return Trials(bowl() if run is None else run, instances, DOMAIN, **({"train": 100} | options))


@pytest.mark.parametrize("prior", PRIORS, ids=lambda prior: type(prior).__name__)
def test_a_prior_is_a_function_of_the_prior_split_and_the_seed(prior):
    one, same, other = prior(trials()), prior(trials()), prior(trials(seed=1))
    assert len(one) == 20
    assert one.support.keys() == DOMAIN.keys()
    assert (one.log_weights > -np.inf).all()
    for name in DOMAIN:
        assert np.array_equal(one.support[name], same.support[name])
        assert not np.array_equal(one.support[name], other.support[name])
    assert np.array_equal(one.weights, same.weights)


@pytest.mark.parametrize("domain", [{}, {"step_size": Interval(1e-6, 1e-5, log=True)}], ids=["default", "elsewhere"])
@pytest.mark.parametrize("candidates", [2, 16, 64])
def test_the_textbook_is_always_a_candidate_so_that_no_search_ends_up_behind_it(candidates, domain):
    standard = {"step_size": 1.2345e-2, "momentum": 0.3}  # as good as can be: a small search will not find it
    prior = Search(domain, candidates=candidates, explore=1, rounds=0)(trials(standard=standard))
    there = np.flatnonzero(prior.support["step_size"] == standard["step_size"])
    assert len(there) == 1
    assert prior.support["momentum"][there[0]] == standard["momentum"]
    tried = bowl(best=1.2345e-2)
    better = Search(domain, candidates=candidates, explore=1, rounds=0)(trials(tried, standard=standard))
    heaviest = int(better.weights.argmax())
    assert better.support["step_size"][heaviest] == standard["step_size"], "it is the favourite where it is best"


@pytest.mark.parametrize(
    "distribution", [uniform(2, 3), loguniform(1e-6, 1e-2), norm(0.9, 0.1), beta(2, 5)], ids=lambda d: d.dist.name
)
def test_a_product_has_the_distribution_of_each_hyperparameter(distribution):
    prior = Product({"step_size": distribution}, candidates=500)(trials())
    assert kstest(prior.support["step_size"], distribution.cdf).statistic < 0.01
    assert kstest(prior.support["momentum"], uniform().cdf).statistic < 0.01
    assert np.allclose(prior.weights, 1 / 500)


@pytest.mark.parametrize(
    ("prior", "match"),
    [
        (Product({"stepsize": uniform()}), "did you mean 'step_size'"),
        (Search({"momntum": Interval(0, 1)}), "did you mean 'momentum'"),
        (IterativeBox({"rate": Interval(0, 1)}), "no hyperparameter 'rate'"),
        (Product({"step_size": norm(0, -1)}), "values like nan"),
        (Product({}, candidates=0), "at least 1"),
        (Search(candidates=2.5), "at least 1"),
    ],
)
def test_what_makes_no_prior_is_refused(prior, match):
    with pytest.raises(CandidatesError, match=match):
        prior(trials())


def test_a_prior_may_be_a_function_of_three_lines():
    def three_steps(trials):
        steps = np.array([1e-3, 1e-2, 1e-1])
        table = trials.table({"step_size": steps, "momentum": np.full(3, 0.3)})
        return DiscreteMeasure.of(table.candidates, np.array([0.1, 0.8, 0.1]))

    tried = trials()
    measure = three_steps(tried)
    assert len(tried.t_grid(measure).points) == 3 + 8
    assert np.array_equal(trials().t_grid(measure).points, default_t_grid().points), "nothing was run on this one"


def test_nothing_is_run_twice():
    calls = []

    def run(candidates, instances):
        calls.append(len(candidates["step_size"]))
        return bowl()(candidates, instances)

    tried, candidates = trials(run), {"step_size": np.array([1e-3, 1e-2]), "momentum": np.array([0.1, 0.2])}
    first = tried.table(candidates)
    again = tried.table({name: values[::-1] for name, values in candidates.items()})
    assert calls == [2]
    assert np.array_equal(first.losses[::-1], again.losses)
    assert np.array_equal(again.candidates["step_size"], [1e-2, 1e-3])


@pytest.mark.parametrize("best", [1e-7, 1e-3, 30.0])
def test_the_search_finds_the_good_region_in_ten_decades(best):
    prior = Search(candidates=50)(trials(bowl(best)))
    favourite = int(np.argmax(prior.log_weights))
    assert prior.weights[favourite] >= 0.5
    assert abs(np.log10(prior.support["step_size"][favourite] / best)) < 0.05
    assert abs(prior.support["momentum"][favourite] - 0.3) < 0.05


def test_the_search_stays_inside_its_domain_and_works_with_one_hyperparameter():
    def run(candidates, instances):
        return LossTable(np.outer(candidates["rate"], np.ones(len(instances))), np.ones(len(instances)), candidates)

    tried = dataclasses.replace(trials(run), domain={"rate": Interval(1e-6, 1.0, log=True)})
    prior = Search({"rate": Interval(1e-3, 0.1, log=True)}, candidates=16)(tried)
    assert 1e-3 <= prior.support["rate"].min() < 1.01e-3, "the best is at the edge"
    assert prior.support["rate"].max() <= 0.1


def test_where_every_run_fails_the_search_goes_downhill():
    def run(candidates, instances):
        """Only steps below 1e-5, of momentum below 0.05, end below their start: 1 in 200 of the domain."""
        log_ratio = 20 * (np.log10(candidates["step_size"]) + 5) + 20 * (candidates["momentum"] - 0.05)
        losses = np.outer(10 ** np.minimum(log_ratio, 300), np.ones(len(instances)))
        return LossTable(losses, np.ones(len(instances)), candidates)

    tried = dataclasses.replace(trials(run), domain=DOMAIN | {"step_size": Interval(0.7e-5, 1.0, log=True)})
    prior = Search(candidates=30, explore=1)(tried)
    assert tried.table(prior.support).succeeded().all(axis=1).any()


def risky(candidates, instances):
    """Long steps are fast and fail on a growing part of the instances."""
    step = candidates["step_size"]
    failed = instances.fields["b"][None] < step[:, None]
    losses = np.where(failed, 2.0, 0.9 * (1 - step[:, None]) ** 4)
    return LossTable(losses, np.ones(len(instances)), candidates)


def test_the_search_prefers_what_succeeds_as_often_as_asked():
    domain = {"step_size": Interval(0.0, 1.0), "momentum": Interval(0.0, 1.0)}
    free = dataclasses.replace(trials(risky, count=400, train=2000), domain=domain)
    bound = dataclasses.replace(free, min_success=0.9)
    unbounded, bounded = (Search(candidates=40)(tried) for tried in (free, bound))
    steps = [float(prior.support["step_size"][prior.log_weights.argmax()]) for prior in (unbounded, bounded)]
    frequency = [float(np.mean(free.instances.fields["b"] >= step)) for step in steps]
    assert frequency[1] >= bound.wanted_success > 0.9 > 0.8 > frequency[0]
    assert steps[1] < steps[0]


@pytest.mark.parametrize(("train", "wanted"), [(100, 0.8), (1000, 0.9), (1000, 0.99), (777, 0.5)])
def test_the_wanted_frequency_is_the_smallest_that_will_be_certified(train, wanted):
    tried = trials(train=train, min_success=wanted, count=10**6)
    counts = np.arange(1.0, train + 1)
    certified = ClopperPearson().lower(counts, train, np.full(train, np.log(0.5)), 0.01 * 0.2) >= wanted
    frequency = counts[certified][0] / train
    assert frequency <= tried.wanted_success <= frequency + 1e-3
    assert trials().wanted_success is None


@pytest.mark.parametrize(("min_success", "least"), [(None, 1), (0.9, 10), (0.99, 100), (0.995, 200)])
def test_a_prior_split_that_cannot_tell_is_refused_with_the_number_needed(min_success, least):
    few = trials(count=max(0, least - 1), train=10_000, min_success=min_success)
    with pytest.raises(PriorError, match=f"At least {least} are needed"):
        Search(candidates=4, rounds=1)(few)
    Search(candidates=4, rounds=1)(trials(count=least, train=10_000, min_success=min_success))
    with pytest.raises(PriorError, match=f"At least {2 * least} are needed"):
        IterativeBox({})(few)


def test_the_published_box_has_the_published_constants():
    box = IterativeBox.published({"step_size": 1.0, "momentum": 0.8}, L=5000.0, success=0.9).box
    assert np.isclose(box["step_size"].low, 0.5 / 0.9 * 2 / 5000)
    assert np.isclose(box["step_size"].high, 3 / 0.9 * 2 / 5000)
    assert (box["momentum"].low, box["momentum"].high) == (0.4, 1.6)


def test_the_box_shrinks_to_the_heaviest_three_quarters_of_those_that_succeed():
    tables = []

    def run(candidates, instances):
        tables.append(risky(candidates, instances))
        return tables[-1]

    tried = dataclasses.replace(trials(run, count=60), min_success=None)
    start = {"step_size": Interval(0.0, 1.0), "momentum": Interval(0.0, 1.0)}
    final = IterativeBox(start, success=0.6, candidates=40, rounds=1)(tried)
    table = tables[0]
    first = LossTable(table.losses[:, :30], table.start[:30])
    often = (table.losses[:, 30:] <= 1).mean(axis=1) >= 0.6
    weights = np.where(often, plug_in_bound(first).weights, -1.0)
    kept = np.argsort(-weights, kind="stable")[: int(np.ceil(0.75 * often.sum()))]
    for name, values in final.support.items():
        low, high = table.candidates[name][kept].min(), table.candidates[name][kept].max()
        assert low <= values.min() <= low + 0.2 * (high - low)
        assert high >= values.max() >= high - 0.2 * (high - low)
    assert np.allclose(final.weights, 1 / 40)


def test_a_box_in_which_nothing_succeeds_stays_as_it_is():
    def run(candidates, instances):
        return LossTable(
            np.full((len(candidates["step_size"]), len(instances)), np.nan), np.ones(len(instances)), candidates
        )

    box = {"step_size": Interval(1.0, 2.0), "momentum": Interval(0.0, 1.0)}
    prior = IterativeBox(box, candidates=200)(trials(run))
    assert prior.support["step_size"].min() < 1.05
    assert prior.support["step_size"].max() > 1.95


class Scaled(pacopt.AbstractProblem):
    """Quadratics whose curvatures lie between 0.1 and 1, divided by the good step size."""

    def start(self, instance):
        return jnp.zeros_like(instance["b"])

    def loss(self, x, instance):
        return 0.5 * jnp.sum(instance["curvature"] * (x - instance["b"]) ** 2)


@pytest.mark.parametrize("algorithm", [pacopt.GradientDescent(), pacopt.HeavyBall()], ids=lambda a: type(a).__name__)
@pytest.mark.parametrize("good", [1e-6, 1e-2, 10.0])
def test_one_default_serves_families_seven_decades_apart(good, algorithm):
    rng = np.random.default_rng(0)
    data = {"curvature": rng.uniform(0.1, 1.0, (360, 10)) / good, "b": rng.normal(size=(360, 10))}
    split = pacopt.split(pacopt.Instances(data), prior=60, train=200, test=100, seed=0)
    learned = pacopt.learn(Scaled(), algorithm, split, steps=10)
    assert good < learned.hyper["step_size"] < 3 * good
    assert learned.comparison["learned"].mean < 0.5 * learned.comparison["standard"].mean


MIXED = {
    "step_size": Interval(1e-6, 1.0, log=True),
    "rule": Choice("polyak", "nesterov", "none"),
    "restart": Whole(1, 40),
    "warm": Choice(True, False),
}


def mixed(candidates, instances):
    """Best at step 1e-3, Nesterov, restart 17, warm; everything else costs something."""
    far = np.abs(np.log10(candidates["step_size"]) + 3) / 3 + np.abs(candidates["restart"] - 17) / 40
    far = far + 0.2 * (candidates["rule"] != "nesterov") + 0.1 * ~candidates["warm"]
    return LossTable(np.multiply.outer(far, 1 + 0.1 * instances.fields["b"]), np.ones(len(instances)), candidates)


def rows(support):
    return list(zip(*(np.asarray(support[name]).tolist() for name in sorted(support)), strict=True))


def in_space(domain, run, **options):
    return dataclasses.replace(trials(run, **options), domain=domain)


def test_a_mixed_space_is_searched_as_a_whole():
    prior = Search(candidates=64)(in_space(MIXED, mixed))
    favourite = int(prior.weights.argmax())
    best = {name: values[favourite].item() for name, values in prior.support.items()}
    assert (best["rule"], best["warm"], best["restart"]) == ("nesterov", True, 17)
    assert abs(np.log10(best["step_size"]) + 3) < 0.02
    for name, space in MIXED.items():
        assert space.holds(prior.support[name]), name


@pytest.mark.parametrize(
    "domain",
    [
        {"restart": Whole(1, 10**6)},
        {"restart": Whole(1, 10**4, log=True), "memory": Whole(1, 900)},
        {"restart": Whole(1, 900, log=True), "rate": Interval(0.0, 1.0)},
        {"restart": Whole(1, 900), "rate": Interval(0.0, 1.0), "only": Choice("one")},
        {f"rule{k}": Choice("a", "b", "c", "d") for k in range(7)},
    ],
    ids=["whole", "wholes", "logarithmic", "one choice", "choices"],
)
def test_any_mixture_of_kinds_is_searched_without_a_candidate_twice(domain):
    def run(candidates, instances):
        cost = np.zeros(len(next(iter(candidates.values()))))
        for name, space in domain.items():
            if name != "only":
                cost = cost + [abs(space.position(value) - 0.6) for value in candidates[name].tolist()]
        return LossTable(np.outer(cost / len(domain), np.ones(len(instances))), np.ones(len(instances)), candidates)

    tried = in_space(domain, run, count=10)
    prior = Search(candidates=48)(tried)
    assert len(prior) == 48 == len(set(rows(prior.support)))
    assert all(space.holds(prior.support[name]) for name, space in domain.items())
    z = tried.table(prior.support).safeguarded().mean(axis=1)
    assert z[prior.weights.argmax()] == z.min() < 0.05


@pytest.mark.parametrize(
    "domain",
    [{"rule": Choice("a", "b", "c")}, {"rule": Choice("a", "b"), "memory": Whole(1, 30)}, {"memory": Whole(3, 4)}],
    ids=["choices", "both", "two numbers"],
)
def test_a_small_finite_space_is_tried_once_and_completely(domain):
    calls = []

    def run(candidates, instances):
        calls.extend(rows(candidates))
        cost = np.linspace(0.1, 0.9, len(next(iter(candidates.values()))))
        return LossTable(np.outer(cost, np.ones(len(instances))), np.ones(len(instances)), candidates)

    size = int(
        np.prod([len(space.values) if space.static else space.high - space.low + 1 for space in domain.values()])
    )
    prior = Search(candidates=100)(in_space(domain, run, count=5))
    assert len(prior) == len(set(rows(prior.support))) == size
    assert set(calls) == set(rows(prior.support))
    assert len(calls) < size + 100


def test_batches_are_of_one_size_so_that_runs_are_compiled_once():
    sizes = set()

    def run(candidates, instances):
        sizes.add(len(candidates["step_size"]))
        return mixed(candidates, instances)

    finite = {
        "step_size": Choice(1e-4, 1e-3),
        "rule": Choice("nesterov"),
        "restart": Whole(1, 50),
        "warm": Choice(True),
    }
    for domain in (MIXED, finite):
        sizes.clear()
        Search(candidates=80)(in_space(domain, run))
        assert len(sizes) == 1


@pytest.mark.parametrize(
    "domain", [MIXED, DOMAIN, {"rule": Choice("nesterov", "none")} | MIXED], ids=["mixed", "real", "few"]
)
def test_a_search_is_a_function_of_the_seed(domain):
    run = bowl() if domain is DOMAIN else mixed
    one, same = (Search(candidates=32, rounds=2)(in_space(domain, run, seed=3)) for _ in range(2))
    assert rows(one.support) == rows(same.support)
    assert np.array_equal(one.weights, same.weights)
    other = Search(candidates=32, rounds=2)(in_space(domain, run, seed=4))
    assert rows(one.support) != rows(other.support)


@pytest.mark.parametrize("rule", ["none", "a rule with a long name"])
@pytest.mark.parametrize("restart", [3, 400])
def test_the_textbook_is_a_candidate_of_a_mixed_space_even_if_it_lies_outside(rule, restart):
    standard = {"step_size": 7.0, "rule": rule, "restart": restart, "warm": False}
    tried, textbook = in_space(MIXED, mixed, standard=standard), tuple(standard[name] for name in sorted(standard))
    assert textbook in rows(Search(candidates=20, rounds=1)(tried).support)
    given = Search({"rule": Choice("nesterov"), "restart": Whole(1, 2)}, candidates=20, rounds=1)
    assert textbook in rows(given(tried).support), "also outside of a domain that was given"


def test_failures_with_one_choice_are_no_threat_to_another():
    """Rule b fails half of the time wherever rule a is best; the favourite is where a is best all the same."""

    def run(candidates, instances):
        near = np.abs(candidates["rate"] - 0.5)[:, None] + 0 * instances.fields["b"][None]
        bad = (candidates["rule"] == "b")[:, None] & (instances.fields["b"] < 0.5)[None]
        return LossTable(np.where(bad, 2.0, near), np.ones(len(instances)), candidates)

    domain = {"rate": Interval(0.0, 1.0), "rule": Choice("a", "b")}
    prior = Search(candidates=64)(in_space(domain, run))
    favourite = int(prior.weights.argmax())
    assert prior.support["rule"][favourite] == "a"
    assert abs(prior.support["rate"][favourite] - 0.5) < 0.01


def test_near_a_cliff_the_favourite_keeps_away_from_it():
    """The faster, the more instances fail, at rates that 60 instances do not show."""
    edge = np.random.default_rng(5).normal(0.5, 0.05, 5000)

    def run(candidates, instances):
        failed = candidates["rate"][:, None] > edge[instances.fields["row"].astype(int)][None]
        return LossTable(
            np.where(failed, 2.0, 1e-3 ** candidates["rate"][:, None]), np.ones(len(instances)), candidates
        )

    chosen, boldest = [], []
    for seed in range(5):
        drawn = pacopt.Instances({"row": np.arange(60.0) + 60 * seed})
        tried = Trials(run, drawn, {"rate": Interval(0.0, 1.0)}, train=300, seed=seed)
        prior = Search(candidates=64)(tried)
        chosen.append(float(prior.support["rate"][prior.weights.argmax()]))
        boldest.append(float(edge[60 * seed : 60 * seed + 60].min()))
    truth = [float(np.where(rate > edge, 1.0, 1e-3**rate).mean()) for rate in chosen]
    lucky = [float(np.where(rate > edge, 1.0, 1e-3**rate).mean()) for rate in boldest]
    assert np.mean(truth) <= 1.02 * np.mean(lucky)
    assert max(truth) < 1.5 * min(truth)


def test_no_hyperparameters_are_one_candidate():
    for prior in (Search(), Product({})):
        measure = prior(in_space({}, None))
        assert len(measure) == 1
        assert dict(measure.support) == {}


def test_arrays_are_searched_entry_by_entry():
    """Tables that hold arrays come later; the cube and its strategy know them already."""
    cube = Cube({"rate": Interval(0.0, 1.0), "schedule": Array((2, 3), 1e-4, 1.0, log=True), "rule": Choice("a", "b")})
    assert cube.dimension == 8
    best = {"rate": 0.5, "schedule": np.full((2, 3), 1e-2), "rule": "b"}
    assert np.allclose(cube.position(best)[1:7], 0.5)
    running = strategy(cube, np.full(8, 0.3), sigma=0.2, population=16, seed=0)
    for _ in range(60):
        found = cube.at(running.ask())
        assert found["schedule"].shape == (16, 2, 3)
        cost = np.abs(np.log10(found["schedule"]) + 2).sum(axis=(1, 2)) + np.abs(found["rate"] - 0.5)
        cost = cost + (found["rule"] == "a")
        running.tell(cost.argsort().argsort().astype(float))
    assert cost.min() < 0.2


def test_a_product_spreads_over_all_kinds():
    prior = Product({"restart": norm(20, 5)}, candidates=400)(in_space(MIXED, mixed))
    assert np.isclose(prior.weights.sum(), 1)
    assert len(prior) == len(set(rows(prior.support)))
    assert prior.support["restart"].dtype.kind == "i"
    assert abs(prior.expectation(prior.support["restart"]) - 20) < 0.5
    assert abs(prior.expectation(prior.support["rule"] == "none") - 1 / 3) < 0.01
    few = Product({}, candidates=300)(in_space({"rule": Choice("a", "b", "c")}, None))
    assert len(few) == 3
    assert np.allclose(few.weights, 1 / 3, atol=0.01), "none twice, each with the weight of all of its points"


@pytest.mark.parametrize("prior", [Product({"rule": norm()}), Search({"rule": Array(3)}), Search({"restart": norm()})])
def test_what_does_not_fit_a_space_is_refused(prior):
    with pytest.raises(CandidatesError, match="A space of its shape is needed"):
        prior(in_space(MIXED, mixed))


def test_a_search_depends_on_the_training_split_through_its_size_alone():
    seen = []

    def run(candidates, instances):
        seen.append(instances.fingerprint)
        return mixed(candidates, instances)

    tried = in_space(MIXED, run)
    Search(candidates=20, rounds=1)(tried)
    assert set(seen) == {tried.instances.fingerprint}


@pytest.mark.parametrize("corner", [0.0, 1.0])
@pytest.mark.parametrize(
    "domain",
    [
        {"rate": Interval(0.0, 1.0)},
        {"memory": Whole(1, 3)},
        {"memory": Whole(1, 9), "rate": Interval(0.0, 1.0)},
        {"memory": Whole(1, 9, log=True), "schedule": Array(3)},
        {"rule": Choice("a", "b")},
        MIXED,
    ],
    ids=["real", "whole", "both", "logarithmic", "choice", "mixed"],
)
def test_a_strategy_may_start_in_a_corner_and_stays_in_the_cube(domain, corner):
    cube = Cube(domain)
    running = strategy(cube, np.full(cube.dimension, corner), sigma=0.1, population=16, seed=0)
    for _ in range(5):
        points = running.ask()
        assert points.shape == (16, cube.dimension)
        assert ((points >= 0) & (points <= 1)).all()
        running.tell(np.arange(16.0))
