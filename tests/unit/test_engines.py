"""An engine of one's own, in plain Python, goes through everything that `learn` and its results can do."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

import pacopt
from pacopt import AbstractCellEngine, Interval, Run
from pacopt.errors import CandidatesError, EngineError, SplitError, StorageError
from pacopt.priors import Search
from pacopt.testing import CheckError, check_engine

RNG = np.random.default_rng(0)
INSTANCES = pacopt.Instances({"curvature": RNG.uniform(0.5, 2.0, 260), "x": RNG.normal(size=260) + 3})
SPLIT = pacopt.split(INSTANCES, prior=40, train=180, test=40, seed=0)
QUICK = Search(candidates=16, explore=1, rounds=2)


@dataclass(frozen=True)
class Descent(AbstractCellEngine):
    """Gradient descent on c x^2 / 2 for so many steps, without any library."""

    length: int = 6

    @property
    def space(self):
        return {"step_size": Interval(1e-3, 2.0, log=True)}

    def run(self, hyper, instance, seed):
        c, x = float(instance["curvature"]), float(instance["x"])
        end = x * (1 - hyper["step_size"] * c) ** self.length
        return Run(loss=c * end**2 / 2, start_loss=c * x**2 / 2, x=end, start=x)


def learned(engine=None, **options):
    return pacopt.learn(engine or Descent(), SPLIT, **{"prior": QUICK} | options)


def test_an_engine_goes_through_learn_save_load_verify_rerun_report_and_solve(tmp_path):
    result = learned()
    assert result.certificate.deployed.risk < 0.2
    assert result.curves is None
    assert result.comparison["learned"].mean < 0.1
    place = result.save(tmp_path / "run")
    page = (place / "report.html").read_text()
    assert "Certified" in page
    assert "test_engines:Descent" in page
    assert pacopt.verify(place, rerun=20).passed
    again = pacopt.Learned.load(place)
    assert again.engine == Descent()
    solution = again.solve(SPLIT.test[0])
    assert solution.ratio < 0.2
    assert solution.steps is None
    assert [choice.hyper for choice in pacopt.frontier(again).choices] == [
        choice.hyper for choice in pacopt.frontier(result).choices
    ]


def test_an_engine_is_raced_and_gives_the_same_certificate_to_what_is_deployed():
    wide = pacopt.DiscreteMeasure.uniform({"step_size": np.geomspace(1e-3, 2.0, 32)})
    whole, raced = learned(prior=wide), learned(prior=wide, racing=True)
    assert raced.table.missing is not None
    assert raced.certificate.deployed == whole.certificate.deployed


def test_an_engine_goes_on_where_it_was_interrupted(tmp_path):
    calls = []

    class Counted(Descent):
        def run(self, hyper, instance, seed):
            calls.append(1)
            return super().run(hyper, instance, seed)

    whole = learned(Counted())
    everything = len(calls)

    def interrupt(stage, done, total):
        if stage == "train" and done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learned(Counted(), checkpoint=tmp_path, progress=interrupt)
    calls.clear()
    again = learned(Counted(), checkpoint=tmp_path)
    assert again.certificate.to_dict() == whole.certificate.to_dict()
    assert len(calls) < everything / 2


def test_a_run_loads_without_its_engine_and_says_what_it_cannot_do(tmp_path, monkeypatch):
    place = learned().save(tmp_path / "run")
    monkeypatch.delattr(f"{__name__}.Descent")
    again = pacopt.Learned.load(place)
    assert again.engine is None
    assert pacopt.verify(place).passed
    with pytest.raises(StorageError, match="Descent is not imported, or has changed"):
        again.solve(SPLIT.test[0])
    with pytest.raises(StorageError, match=r"import the code first, or pass it: .*engine=\.\.\."):
        pacopt.verify(place, rerun=3)


def test_an_engine_that_was_given_has_to_be_the_one_that_was_learned_with(tmp_path):
    place = learned().save(tmp_path / "run")
    assert pacopt.verify(place, rerun=3, engine=Descent()).passed
    with pytest.raises(StorageError, match="The engine given differs in its fields from"):
        pacopt.Learned.load(place, engine=Descent(length=7))


def test_losses_that_an_engine_does_not_give_again_are_noticed(tmp_path):
    result = learned()
    place = result.save(tmp_path / "run")
    forged = pacopt.LossTable.load(place / "table.npz")
    assert pacopt.audit(json.loads((place / "certificate.json").read_text()), forged).passed

    class Drifting(Descent):
        def run(self, hyper, instance, seed):
            run = super().run(hyper, instance, seed)
            return Run(run.loss * 1.01, run.start_loss)

    drifted = learned(Drifting())
    drifted.save(tmp_path / "drifted")
    monkey, Drifting.run = Drifting.run, Descent.run  # what no hash of a class sees in a running process
    found = pacopt.verify(tmp_path / "drifted", rerun=5, engine=Drifting())
    Drifting.run = monkey
    assert any("when run again" in problem for problem in found.problems)


def broken(answer):
    class Broken(Descent):
        def run(self, hyper, instance, seed):
            return answer(super().run(hyper, instance, seed), hyper)

    return Broken()


MISTAKES = {
    "a run that raises": (lambda run, hyper: 1 / 0, "raised ZeroDivisionError"),
    "a bare number": (lambda run, hyper: run.loss, "with numbers"),
    "a text for a loss": (lambda run, hyper: Run("0.1", 1.0), "with numbers"),
    "a start that depends on the candidate": (
        lambda run, hyper: Run(run.loss, run.start_loss * hyper["step_size"]),
        "All candidates start at the same loss",
    ),
    "verdicts for some runs": (
        lambda run, hyper: Run(run.loss, run.start_loss, success=True if hyper["step_size"] > 1 else None),
        "Either all runs have one, or none",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_an_engine_that_does_not_return_runs_is_refused_with_the_place(mistake):
    answer, words = MISTAKES[mistake]
    with pytest.raises(EngineError, match=words):
        learned(broken(answer))


def test_a_failed_run_of_an_engine_is_a_failure_and_no_number():
    failing = broken(lambda run, hyper: Run(np.inf if hyper["step_size"] > 0.5 else run.loss, run.start_loss))
    table = failing.table({"step_size": np.array([0.1, 1.0])}, SPLIT.test)
    assert table.succeeded().mean(axis=1).tolist() == [1.0, 0.0]


def test_verdicts_of_an_engine_are_those_of_the_table():
    judged = broken(lambda run, hyper: Run(run.loss, run.start_loss, success=bool(run.loss < 0.5)))
    table = judged.table({"step_size": np.array([0.1, 0.6])}, SPLIT.test)
    assert np.array_equal(table.success, table.losses < 0.5)


def test_candidates_that_are_none_of_an_engine_are_refused():
    with pytest.raises(CandidatesError, match="did you mean 'step_size'"):
        Descent().table({"stepsize": np.array([0.1])}, SPLIT.test)
    with pytest.raises(CandidatesError, match="values of Interval"):
        Descent().table({"step_size": np.array(["0.1"])}, SPLIT.test)


def test_the_ledger_says_that_nobody_knows_what_an_engine_reads():
    text = str(learned().certificate)
    assert "or anything else that runs do not read (declared)" in text


@pytest.mark.parametrize("space", [None, {"a": (0, 1)}, {"a": pacopt.Tree({"w": np.zeros(2)})}])
def test_an_engine_without_a_space_of_its_own_is_refused(space):
    class Spaceless(Descent):
        pass

    Spaceless.space = space
    with pytest.raises(EngineError, match="The space of Spaceless"):
        learned(Spaceless())
    with pytest.raises(CheckError, match="The space of Spaceless"):
        check_engine(Spaceless(), INSTANCES)


def test_an_engine_without_hyperparameters_is_certified_as_it_is():
    class Fixed(Descent):
        space = {}

        def run(self, hyper, instance, seed):
            return super().run({"step_size": 0.5}, instance, seed)

    for prior in (None, QUICK):
        result = learned(Fixed(), prior=prior)
        assert len(result.certificate.design.prior) == 1


def test_a_class_in_place_of_an_engine_and_a_curvature_that_nobody_uses_are_refused():
    with pytest.raises(EngineError, match=r"Call it: Descent\(\)"):
        pacopt.learn(Descent, SPLIT)
    with pytest.raises(EngineError, match="has no use for it"):
        learned(curvature=(0.1, 1.0))


def test_what_an_engine_knows_is_not_asked_for_twice():
    with pytest.raises(EngineError, match="An engine was given, and steps"):
        pacopt.learn(Descent(), SPLIT, steps=5)


def test_an_engine_without_a_split_is_told_what_is_missing():
    with pytest.raises(SplitError, match="Instances divided into prior, train and test are needed"):
        pacopt.learn(Descent())
