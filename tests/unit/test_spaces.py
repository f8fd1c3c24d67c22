"""Hyperparameters of every kind: real and whole numbers, choices, arrays, pytrees, and none at all."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import pacopt
from pacopt import Array, Choice, DiscreteMeasure, Interval, Tree, Whole
from pacopt.errors import AlgorithmError, CandidatesError, PriorError
from pacopt.papers.sucker_ochs_2023.iterative_box import IterativeBox
from pacopt.space import space_from_json
from pacopt.stages.remarks import _edges
from pacopt.support.values import exact, is_mark, mark, named

LAW = pacopt.VaryingCurvature.draw(seed=0, n=6)
SPLIT = pacopt.split(LAW.sample(220, seed=1), prior=40, train=140, test=40, seed=2)
RNG = np.random.default_rng(0)
SPACES = (
    Interval(1e-4, 1.0, log=True),
    Interval(-1.0, 3.0),
    Whole(1, 9),
    Whole(2, 500, log=True),
    Choice("a", "b", "c"),
    Choice(True, False),
    Array((3, 2), -2.0, 1.0),
    Array(4, 1e-3, 1.0, log=True),
)


class Switched(pacopt.AbstractAlgorithm):
    """Momentum of a kind that is chosen, forgotten every so many steps."""

    hyperparameters = {
        "step_size": Interval(1e-6, 1e-2, log=True),
        "rule": Choice("polyak", "none"),
        "period": Whole(1, 20),
    }

    def init(self, x, hyper, objective):
        return x, x, jnp.zeros((), int)

    def step(self, state, hyper, objective):
        x, previous, k = state
        momentum = 0.9 if hyper["rule"] == "polyak" else 0.0  # a choice is known while this is traced
        momentum = jnp.where(k % hyper["period"] == 0, 0.0, momentum)
        return x - hyper["step_size"] * objective.gradient(x) + momentum * (x - previous), x, k + 1

    def read(self, state):
        return state[0]


class Scheduled(pacopt.AbstractAlgorithm):
    """One step size for each step, as many as are asked for at construction."""

    length: int

    @property
    def hyperparameters(self):
        return {"schedule": Array(self.length, 1e-5, 1e-3, log=True)}

    def init(self, x, hyper, objective):
        return x, jnp.zeros((), int)

    def step(self, state, hyper, objective):
        x, k = state
        return x - hyper["schedule"][k] * objective.gradient(x), k + 1

    def read(self, state):
        return state[0]


class Network(pacopt.AbstractAlgorithm):
    """A step size that a small network makes of the gradient's norm."""

    hyperparameters: dict

    def init(self, x, hyper, objective):
        return x

    def step(self, x, hyper, objective):
        g = objective.gradient(x)
        hidden = jnp.tanh(hyper["weights"]["hidden"] * jnp.log(jnp.linalg.norm(g)) + hyper["weights"]["bias"])
        return x - 3e-4 * jnp.exp(0.1 * jnp.sum(hidden)) * g

    def read(self, x):
        return x


class Fixed(pacopt.AbstractAlgorithm):
    """Gradient descent as somebody runs it today: nothing to be learned, something to be certified."""

    hyperparameters = {}

    def init(self, x, hyper, objective):
        return x

    def step(self, x, hyper, objective):
        return x - 3e-4 * objective.gradient(x)

    def read(self, x):
        return x


WEIGHTS = {"hidden": np.zeros(3), "bias": np.zeros(3)}


def switched(count=12):
    return {
        "step_size": np.geomspace(1e-5, 1e-3, count),
        "rule": np.array(["polyak", "none"])[np.arange(count) % 2],
        "period": 3 + np.arange(count),
    }


def networks(count=8):
    return {"weights": {name: RNG.uniform(-1, 1, (count, 3)) for name in WEIGHTS}}


KINDS = {
    "a mixed space": (Switched(), switched()),
    "a schedule": (Scheduled(15), {"schedule": 10 ** RNG.uniform(-4.5, -3.2, (10, 15))}),
    "a network": (Network({"weights": Tree(WEIGHTS)}), networks()),
    "nothing": (Fixed(), {}),
}


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_a_place_in_the_unit_cube_has_a_value_and_a_value_has_its_place(space):
    places = RNG.uniform(0, 1, (50, space.dimension) if space.shape else 50)
    values = space.at(places)
    assert space.holds(values)
    again = space.at(np.array([space.position(value) for value in values.tolist()]))
    assert np.array_equal(values, again) if values.dtype.kind != "f" else np.allclose(values, again)
    assert space_from_json(space.to_json()) == space


def test_all_whole_numbers_of_a_range_are_met_equally_often():
    values, counts = np.unique(Whole(1, 5).at(np.linspace(0, 1, 10_001)), return_counts=True)
    assert values.tolist() == [1, 2, 3, 4, 5]
    assert counts.max() - counts.min() <= 2


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_goes_through_learn_save_load_verify_report_and_solve(kind, tmp_path):
    algorithm, candidates = KINDS[kind]
    prior = DiscreteMeasure.uniform(pacopt.flattened(algorithm, candidates)) if candidates else None
    learned = pacopt.learn(LAW.problem, algorithm, SPLIT, steps=15, prior=prior)
    place = learned.save(tmp_path / "run")
    assert pacopt.verify(place, rerun=6, algorithm=algorithm).passed
    again = pacopt.Learned.load(place, algorithm=algorithm)
    assert str(again.certificate) == str(learned.certificate)
    assert again.solve(SPLIT.test[0]).loss == learned.solve(SPLIT.test[0]).loss
    page = (place / "report.html").read_text()
    for name in learned.table.candidates:
        assert name in page or kind == "nothing"
    line = pacopt.frontier(again).choices[0]
    assert again.solve(SPLIT.test[0], line.hyper).loss > 0
    assert again.certificate.design.hash == learned.certificate.design.hash


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_holds_what_each_candidate_does_by_itself(kind):
    algorithm, candidates = KINDS[kind]
    table = pacopt.tabulate(LAW.problem, algorithm, candidates, SPLIT.test, steps=15)
    from pacopt.engines.traced.engine import Traced

    engine = Traced(LAW.problem, algorithm, 15)
    for i in range(0, table.shape[0], 3):
        run = engine.solve(table.hyper(i), SPLIT.test[1])
        assert run.run_loss == pytest.approx(table.losses[i, 1], rel=1e-9)


def test_a_choice_is_compiled_once_for_each_of_its_values():
    traces = []

    class Counted(Switched):
        def step(self, state, hyper, objective):
            traces.append(hyper["rule"])
            return super().step(state, hyper, objective)

    pacopt.tabulate(LAW.problem, Counted(), switched(40), SPLIT.train, steps=15)
    once = len(traces)
    assert {*traces} == {"polyak", "none"}
    pacopt.tabulate(LAW.problem, Counted(), switched(40), SPLIT.train, steps=15)
    # Shapes are looked at anew for each table; nothing is compiled again.
    assert len(traces) - once < once


def test_an_array_is_shown_by_shape_norm_and_hash_and_stored_by_its_mark():
    learned = pacopt.learn(
        LAW.problem, Scheduled(15), SPLIT, steps=15, prior=DiscreteMeasure.uniform(KINDS["a schedule"][1])
    )
    stored = learned.certificate.to_dict()
    assert all(is_mark(value) for value in stored["design"]["candidates"]["schedule"])
    assert stored["deployed"]["hyper"]["schedule"] == mark(learned.hyper["schedule"])
    assert "schedule = float64[15] of norm" in str(learned.certificate)
    assert exact(learned.hyper["schedule"]) in named(learned.certificate.deployed.hyper, exact)


def test_a_certificate_of_other_arrays_is_another_one(tmp_path):
    measure = DiscreteMeasure.uniform(KINDS["a schedule"][1])
    learned = pacopt.learn(LAW.problem, Scheduled(15), SPLIT, steps=15, prior=measure)
    changed = {"schedule": np.array(learned.table.candidates["schedule"])}
    changed["schedule"][3, 7] = np.nextafter(changed["schedule"][3, 7], 1.0)
    table = pacopt.LossTable(
        learned.table.losses,
        learned.table.start,
        changed,
        provenance=learned.table.provenance,
        fingerprints=learned.table.fingerprints,
    )
    assert pacopt.audit(learned.certificate, learned.table).passed
    assert not pacopt.audit(learned.certificate, table).passed


def test_one_candidate_has_betting_fractions_from_the_prior_split():
    given = {"step_size": np.array([4e-4])}
    one = pacopt.learn(LAW.problem, pacopt.GradientDescent(), SPLIT, steps=15, prior=DiscreteMeasure.uniform(given))
    best = pacopt.learn(LAW.problem, pacopt.GradientDescent(), SPLIT, steps=15)
    default = pacopt.certify(one.table, pacopt.Design(one.certificate.design.prior))
    assert one.certificate.deployed.risk < default.deployed.risk
    mean = one.certificate.deployed.empirical_risk
    slack = best.certificate.deployed.risk / best.certificate.deployed.empirical_risk
    assert one.certificate.deployed.risk / mean < slack, "one candidate costs no choice"


def test_without_hyperparameters_the_algorithm_itself_is_certified():
    learned = pacopt.learn(LAW.problem, Fixed(), SPLIT, steps=15)
    assert len(learned.certificate.design.prior) == 1
    assert learned.certificate.deployed.weight == 1
    assert "for the algorithm, run for 15 steps" in str(learned.certificate)
    assert "prior median" not in learned.comparison


class Wrong(eqx.Module):
    pass


MISTAKES = {
    "a choice that is not hashable": (lambda: Choice(["a"], ["b"]), "hashable"),
    "a choice of one value twice": (lambda: Choice("a", "a"), "none of them twice"),
    "a choice of texts and numbers": (lambda: Choice("a", 1), "all of one type"),
    "a choice of nothing": (lambda: Choice(), "at least one value"),
    "a shape that is no shape": (lambda: Array((2.5,)), "known when the algorithm is made"),
    "a shape that depends on the instance": (lambda: Array(("n",)), "cannot depend on the instance"),
    "a whole number that is none": (lambda: Whole(0.5, 3), "whole numbers"),
    "a range of nothing": (lambda: Whole(3, 3), "low < high"),
    "an interval of texts": (lambda: Interval("a", 1), "low < high"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_space_that_makes_no_sense_is_refused(mistake):
    make, words = MISTAKES[mistake]
    with pytest.raises(AlgorithmError, match=words):
        make()


CANDIDATES = {
    "a choice that there is not": ({**switched(2), "rule": ["polyak", "nesterov"]}, r"of shape \[2\]: 'nesterov'\."),
    "half a period": ({**switched(2), "period": [1.5, 2.0]}, "values of Whole"),
    "a candidate more": ({**switched(3), "period": [1, 2]}, "one value for each candidate"),
    "a hyperparameter that there is not": ({**switched(2), "rul": [1, 2]}, "did you mean 'rule'"),
}


@pytest.mark.parametrize("case", CANDIDATES)
def test_candidates_outside_of_a_space_are_refused(case):
    candidates, words = CANDIDATES[case]
    with pytest.raises(CandidatesError, match=words):
        pacopt.tabulate(LAW.problem, Switched(), candidates, SPLIT.test, steps=5)


def test_a_pytree_of_another_structure_is_refused():
    with pytest.raises(AlgorithmError, match="have the structure"):
        pacopt.tabulate(
            LAW.problem, KINDS["a network"][0], {"weights": {"hidden": np.zeros((2, 3))}}, SPLIT.test, steps=5
        )
    wide = {"weights": {name: np.zeros((2, 4)) for name in WEIGHTS}}
    with pytest.raises(CandidatesError, match="of shape"):
        pacopt.tabulate(LAW.problem, KINDS["a network"][0], wide, SPLIT.test, steps=5)


@pytest.mark.parametrize(
    ("space", "value", "expected"),
    [
        (Whole(2, 40), 40, "period = 40 is at the edge of the range that was searched, [2, 40]: to look further"),
        (Whole(2, 40), 2, "period = 2 is at the edge"),
        (Whole(2, 40), 55, "period = 55 is outside the range that was searched"),
        (Whole(1, 40), 1, None),  # fewer than one is nothing
        (Whole(2, 40), 39, None),
        (Choice("a", "b"), "b", None),
        (Array(4, 1e-3, 1.0, log=True), np.array([0.1, 1.0, 0.999, 0.2]), "period has 2 of 4 entries at the edge of"),
        (Array(4, 1e-3, 1.0, log=True), np.array([0.1, 2.0, 0.5, 0.2]), "period has 1 of 4 entries outside the"),
        (Array(4, 0.0, 1.0), np.zeros(4), None),
    ],
)
def test_a_value_at_the_end_of_where_it_was_looked_for_is_remarked_on_with_a_space_to_write(space, value, expected):
    found = _edges({"period": value}, {"period": space}, studied=False)
    if expected is None:
        assert not found
    else:
        assert expected in found[0]
        assert f'Search({{"period": pacopt.{type(space).__name__}(' in found[0]


def test_advice_for_a_wrong_space_is_written_in_the_form_that_would_do():
    wrong = pacopt.priors.Search({"schedule": Interval(0.1, 1.0)})
    with pytest.raises(CandidatesError, match=r'Write {"schedule": pacopt\.Array\(\(8,\), low, high\)}'):
        pacopt.learn(LAW.problem, Scheduled(8), SPLIT, steps=8, prior=wrong)


def test_the_published_box_is_one_of_real_numbers():
    with pytest.raises(PriorError, match="The published box is one of real numbers"):
        pacopt.learn(LAW.problem, Switched(), SPLIT, steps=8, prior=IterativeBox({}))
