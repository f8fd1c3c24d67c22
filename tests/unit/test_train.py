import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pacopt
from pacopt.engines.base import AbstractEngine
from pacopt.engines.traced import training as traced_training
from pacopt.errors import EngineError, PriorError
from pacopt.priors import Search, Train
from pacopt.priors.course import CURRICULUM, Course, Plan
from pacopt.priors.train import parted
from pacopt.priors.trials import Trials

LAW = pacopt.VaryingCurvature.draw(seed=0, n=8)
RULE = pacopt.ScalarRule(steps=8, width=3)
SMALL = Train(updates=200, batch=8, rate=2e-2, restarts=2, candidates=6)


class Schedule(pacopt.AbstractAlgorithm):
    """Gradient descent with a step size for each step."""

    hyperparameters = {"steps": pacopt.Array((4,), 1e-3, 1e-1, log=True)}

    def init(self, x, hyper, objective):
        return x, jnp.asarray(0)

    def step(self, state, hyper, objective):
        x, k = state
        return x - hyper["steps"][k] * objective.gradient(x), k + 1

    def read(self, state):
        return state[0]


class Bowl(pacopt.AbstractProblem):
    """A quadratic, or what `kind` makes of it."""

    kind: str = "plain"

    def start(self, instance):
        return instance["x"]

    def loss(self, x, instance):
        value = jnp.sum(instance["h"] * x**2)
        if self.kind == "loop":
            return jax.lax.while_loop(lambda v: v > 1e9, lambda v: v / 2, value)
        if self.kind == "root":  # the second derivative at 0 is no number
            return value + jnp.sum(jnp.sqrt(x**2 + 0.0 * x) ** 3)
        if self.kind == "steps":
            return value * 0 + jnp.floor(jnp.sum(jnp.abs(instance["x"])))
        return value


def bowls(count=60, zero=False):
    rng = np.random.default_rng(0)
    x = np.zeros((count, 3)) if zero else rng.normal(size=(count, 3))
    return pacopt.Instances({"x": x, "h": rng.uniform(1, 10, size=(count, 3)), "row": np.arange(count) * 1.0})


def trials_of(engine, instances, seed=0, **more):
    return Trials(
        engine.table, instances, engine.space, train=100, seed=seed, steps=engine.steps, trains=engine.training, **more
    )


@pytest.fixture(scope="module")
def trained():
    engine = pacopt.Traced(LAW.problem, RULE, 8)
    trials = trials_of(engine, LAW.sample(200, seed=1))
    return engine, trials, SMALL(trials)


def test_training_improves_on_instances_that_it_has_not_seen(trained):
    engine, _, measure = trained
    fresh = LAW.sample(500, seed=2)
    begun = engine.table(jax.tree.map(lambda array: array[None], RULE.initial(0)), fresh).ratios().mean()
    favourite = {name: values[:1] for name, values in measure.support.items()}
    assert engine.table(favourite, fresh).ratios().mean() < 0.8 * begun


def test_the_favourite_comes_first_and_weighs_most(trained):
    _, _, measure = trained
    assert len(measure) == 6
    assert measure.weights.argmax() == 0
    assert measure.weights[0] > 0.5


def test_the_course_of_the_training_stands_in_the_notes(trained):
    _, trials, _ = trained
    notes = trials.notes["training"]
    assert len(notes["held_out"]) == Plan(200, 2, 1.0).legs
    assert [seed for seed, _ in notes["starts"]] == [0, 1]
    assert notes["held_out"][-1] < notes["held_out"][len(CURRICULUM)]
    assert notes["remarks"] == []


def test_the_same_seed_gives_the_same_candidates_and_another_one_others():
    engine = pacopt.Traced(Bowl(), Schedule(), 4)
    pacopt.testing.check_prior(Train(updates=30, batch=4, candidates=4), engine, bowls())


def test_an_algorithm_that_draws_random_numbers_can_be_trained():
    class Noisy(pacopt.AbstractStochasticAlgorithm):
        hyperparameters = Schedule.hyperparameters

        def init(self, x, hyper, objective, key):
            return x, jnp.asarray(0)

        def step(self, state, hyper, objective, key):
            x, k = state
            noise = 0.01 * jax.random.normal(key, x.shape)
            return x - hyper["steps"][k] * (objective.gradient(x) + noise), k + 1

        def read(self, state):
            return state[0]

    engine = pacopt.Traced(Bowl(), Noisy(), 4)
    pacopt.testing.check_prior(Train(updates=30, batch=4, candidates=4), engine, bowls())


def test_hyperparameters_in_logarithmic_scale_stay_positive():
    engine = pacopt.Traced(Bowl(), Schedule(), 4)
    measure = Train(updates=60, batch=8, rate=0.5, candidates=8)(trials_of(engine, bowls()))
    assert (measure.support["steps"] > 0).all()


def test_learning_with_it_gives_a_certificate_that_audits_itself(tmp_path):
    split = pacopt.split(LAW.sample(360, seed=3), prior=100, train=200, test=60, seed=0)
    stages = []
    learned = pacopt.learn(
        LAW.problem, RULE, split, steps=8, prior=SMALL, progress=lambda stage, done, total: stages.append(stage)
    )
    deployed = {name: values[[learned.certificate.deployed.index]] for name, values in learned.table.candidates.items()}
    true = pacopt.tabulate(LAW.problem, RULE, deployed, LAW.sample(5000, seed=4), steps=8).ratios().mean()
    assert true < learned.certificate.deployed.risk < 1.3 * true
    assert learned.table.provenance["training"]["start"] in (0, 1)
    assert any(stage.startswith("training, ") for stage in stages)
    pacopt.audit(learned.certificate, learned.table)
    learned.save(tmp_path / "run")
    again = pacopt.Learned.load(tmp_path / "run")
    assert again.certificate.deployed.risk == learned.certificate.deployed.risk


def test_a_training_that_was_interrupted_goes_on_where_it_stopped(tmp_path, monkeypatch):
    split = pacopt.split(bowls(200), prior=60, train=140, test=0, seed=0)
    prior = Train(updates=60, batch=4, candidates=4, restarts=1)
    job = {"steps": 4, "prior": prior, "progress": False}
    whole = pacopt.learn(Bowl(), Schedule(), split, **job)
    leg, made = traced_training.TracedTraining.leg, []

    def stopped(self, *arguments):
        if len(made) == 4:
            raise KeyboardInterrupt
        made.append(arguments)
        return leg(self, *arguments)

    monkeypatch.setattr(traced_training.TracedTraining, "leg", stopped)
    with pytest.raises(KeyboardInterrupt):
        pacopt.learn(Bowl(), Schedule(), split, **job, checkpoint=tmp_path / "kept")
    made.clear()
    monkeypatch.setattr(traced_training.TracedTraining, "leg", lambda *a: made.append(a) or leg(*a))
    again = pacopt.learn(Bowl(), Schedule(), split, **job, checkpoint=tmp_path / "kept")
    assert len(made) == Plan(60, 1, 1.0).legs - 4
    assert again.certificate.deployed.risk == whole.certificate.deployed.risk
    np.testing.assert_array_equal(again.table.losses, whole.table.losses)


def test_sparing_memory_changes_no_gradient(monkeypatch):
    engine, instances = pacopt.Traced(Bowl(), Schedule(), 4), bowls(40)
    descent = SMALL._plan()[1]
    found = []
    for plenty in (2**28, 0):
        monkeypatch.setattr(traced_training, "PLENTY", plenty)
        training = engine.training(instances[:30], instances[30:], descent)
        found.append(training.leg(training.begun(0), np.full(descent.updates, 1e-3), 4, 0))
    np.testing.assert_allclose(found[1].norms, found[0].norms, rtol=1e-9)
    assert found[1].held_out == pytest.approx(found[0].held_out, rel=1e-12)


def test_the_gradient_is_that_of_finite_differences():
    engine, instances = pacopt.Traced(Bowl(), Schedule(), 4), bowls(20)
    descent = Train(batch=4, updates=20)._plan()[1]
    training = engine.training(instances[:10], instances[10:], descent)
    state = training.begun(0)
    leg = training.leg(state, np.zeros(descent.updates), 4, 0)

    def loss(theta):
        """The mean of what goes down over the batches of the leg, from a table."""
        table = engine.table({"steps": np.exp(theta)[None]}, instances[:10])
        rows = np.random.default_rng(0).integers(10, size=(descent.updates, 4))
        ratios = table.losses[0] / table.starts
        return (ratios + 0.2 * np.log(ratios))[rows].mean()

    assert leg.loss == pytest.approx(loss(state["theta/steps"]), rel=1e-12)
    # With rates of zero nothing moves, and the first moment of Adam is a mean of gradients, the last weighing most.
    np.testing.assert_array_equal(leg.state["theta/steps"], state["theta/steps"])
    slopes = [(loss(state["theta/steps"] + h) - loss(state["theta/steps"] - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
    one = training.leg(state, np.zeros(descent.updates), 4, 0).state["first/steps"]
    assert np.corrcoef(one, slopes)[0, 1] > 0.9


def test_collapsed_and_vanished_and_exploded_trainings_say_so():
    from pacopt.engines.training import Leg

    fine, huge, none = np.ones(3), np.full(3, 1e9), np.zeros(3)
    legs = [Leg({}, 0.0, 0.0, norms, left_out=1) for norms in (fine, huge, none)]
    beginning = Leg({}, 0.0, 1.0, np.empty(0))
    course = Course(0, beginning, tuple(legs), batch=8)
    told = "; ".join(course.remarks)
    for word in ("no finite gradient", "exploded in 1 of 3 legs", "vanished in 1 of 3 legs"):
        assert word in told
    assert Course(0, beginning, (Leg({}, 0.0, 0.0, fine),)).remarks == ()


def courses(*held_out, beginning=0.0):
    """A course with these losses on held-out instances."""
    from pacopt.engines.training import Leg

    legs = tuple(Leg({}, 0.0, each, np.ones(3)) for each in held_out)
    return Course(0, Leg({}, 0.0, beginning, np.empty(0)), legs)


def test_a_course_goes_back_if_it_collapses_or_stays_above_the_best_for_four_legs():
    assert not courses(0.9, 0.9, -1.0, -0.97, -0.96).fallen
    assert courses(0.9, 0.9, -1.0, -0.4).fallen
    assert not courses(0.9, 0.9, -1.0, -0.97, -0.96, -0.95).fallen
    assert courses(0.9, 0.9, -1.0, -0.97, -0.96, -0.95, -0.94).fallen
    assert not courses(0.9, 0.9).fallen  # by shorter runs


def test_a_training_that_gains_nothing_says_so():
    assert "nothing improved on where it began" in "; ".join(courses(-0.5, -0.6, beginning=-1.0).remarks)


@pytest.mark.filterwarnings("ignore:Training")
def test_a_training_never_ends_with_less_than_it_began_with():
    engine = pacopt.Traced(LAW.problem, RULE, 8)
    instances = LAW.sample(400, seed=3)
    measure = Train(updates=40, batch=8, rate=3.0, restarts=1, candidates=4)(trials_of(engine, instances))
    untrained = jax.tree.map(lambda array: array[None], RULE.initial(0))
    favourite = {name: values[:1] for name, values in measure.support.items()}
    means = [
        pacopt.tabulate(LAW.problem, RULE, hyper, instances, steps=8).ratios().mean()
        for hyper in (favourite, untrained)
    ]
    assert means[0] < 1.05 * means[1]


def test_a_training_that_explodes_warns_and_returns_the_best_that_there_was():
    engine = pacopt.Traced(Bowl(), Schedule(), 4)
    trials = trials_of(engine, bowls())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        measure = Train(updates=60, batch=8, rate=200.0, candidates=4)(trials)
    assert any("Training: " in str(each.message) for each in told)
    assert trials.notes["training"]["remarks"]
    assert all(np.isfinite(values).all() for values in measure.support.values())


def test_groups_stay_together():
    groups = np.repeat(np.arange(30), 4)
    instances = pacopt.Instances({"x": np.arange(120.0)}, groups=groups)
    fit, held_out = parted(instances, 0.25, 0)
    assert len(fit) + len(held_out) == 120
    assert not set(fit.groups) & set(held_out.groups)


def test_a_prior_split_too_small_to_hold_anything_out_is_refused():
    engine = pacopt.Traced(Bowl(), Schedule(), 4)
    with pytest.raises(PriorError, match=r"15 instances, of which 4 would be held out(.|\n)*prior=20"):
        SMALL(trials_of(engine, bowls(15)))


@pytest.mark.parametrize(
    ("algorithm", "told"),
    [(pacopt.HeavyBall(), "no arrays"), (pacopt.GradientDescent(), "no arrays")],
)
def test_a_space_without_arrays_is_refused(algorithm, told):
    engine = pacopt.Traced(Bowl(), algorithm, 4)
    with pytest.raises(PriorError, match=told):
        SMALL(trials_of(engine, bowls()))


def test_a_choice_is_refused():
    class Chosen(Schedule):
        hyperparameters = Schedule.hyperparameters | {"rule": pacopt.Choice("a", "b")}

    with pytest.raises(PriorError, match="'rule' is a Choice"):
        SMALL(trials_of(pacopt.Traced(Bowl(), Chosen(), 4), bowls()))


def test_a_loss_that_cannot_be_differentiated_is_refused_with_the_operation():
    class Twice(Schedule):
        """A loop without a fixed number of turns, through which JAX does not go back."""

        def step(self, state, hyper, objective):
            x, k = Schedule.step(self, state, hyper, objective)
            return jax.lax.while_loop(lambda x: jnp.sum(x**2) > 1e9, lambda x: x / 2, x), k

    with pytest.raises(EngineError, match=r"Twice on Bowl cannot be differentiated(.|\n)*while_loop"):
        SMALL(trials_of(pacopt.Traced(Bowl(), Twice(), 4), bowls()))


def test_nan_in_the_first_gradient_is_refused_with_the_name_of_the_hyperparameter():
    engine = pacopt.Traced(Bowl("root"), Schedule(), 4)
    with pytest.raises(EngineError, match=r"derivative with respect to 'steps' is NaN for 8 of 8 instances"):
        SMALL(trials_of(engine, bowls(zero=True)))


def test_a_loss_without_slope_is_refused():
    with pytest.raises(EngineError, match="zero"):
        SMALL(trials_of(pacopt.Traced(Bowl("steps"), Schedule(), 4), bowls()))


def test_memory_that_does_not_suffice_is_refused_before_anything_runs(monkeypatch):
    monkeypatch.setattr(traced_training, "available_memory", lambda: 1000)
    with pytest.raises(EngineError, match=r"GiB of memory(.|\n)*Train\(batch="):
        SMALL(trials_of(pacopt.Traced(Bowl(), Schedule(), 4), bowls()))


def test_an_engine_without_gradients_refuses():
    engine = pacopt.BlackBox(lambda hyper, instance: 1.0, {"a": pacopt.Array((3,))})
    with pytest.raises(EngineError, match=r"BlackBox cannot be differentiated(.|\n)*Search"):
        AbstractEngine.training(engine, bowls(), bowls(), SMALL._plan()[1])
    with pytest.raises(PriorError, match=r"trains=engine\.training"):
        SMALL(Trials(engine.table, bowls(), engine.space, train=10))


@pytest.mark.parametrize(
    "settings", [{"rate": 0.0}, {"rate": np.nan}, {"held_out": 1.0}, {"logs": -1.0}, {"clip": "1"}, {"updates": 0}]
)
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(pacopt.errors.PacoptError):
        Train(**settings)._plan()


@pytest.mark.parametrize(
    ("algorithm", "kind"),
    [
        (RULE, Train),
        (pacopt.QuasiNewtonRule(steps=8, width=3), Train),
        (pacopt.Preconditioned(RULE, np.ones(8)), Train),
        (pacopt.Preconditioned(pacopt.HeavyBall(), np.ones(8)), Search),
        (pacopt.HeavyBall(), Search),
        (Schedule(), Search),  # it does not say where to start
    ],
)
def test_what_is_made_to_be_trained_is_trained_by_default(algorithm, kind):
    from pacopt.stages.weighing import default_prior

    assert isinstance(default_prior(pacopt.Traced(LAW.problem, algorithm, 8)), kind)


def test_what_went_wrong_in_training_is_a_remark_on_the_result():
    parts = pacopt.split(bowls(400), prior=60, train=300, test=40, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learned = pacopt.learn(
            Bowl(), Schedule(), parts, steps=4, prior=Train(updates=60, batch=8, rate=200.0, candidates=4)
        )
    assert any(remark.startswith("in training ") for remark in learned.remarks)
