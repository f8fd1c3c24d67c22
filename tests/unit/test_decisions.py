"""What an algorithm does on the way, and losses of all methods at equal numbers of steps: recorded, stored, drawn."""

import json
import re
import shutil

import jax.numpy as jnp
import numpy as np
import pytest

import alone
import pacopt
import reports
from pacopt.app import demo
from pacopt.app.console import finite
from pacopt.app.demo import Sizes, means, run_rule_demo
from pacopt.app.presenting import learned_document, learned_view
from pacopt.decisions import Decisions
from pacopt.engines.base import AbstractEngine
from pacopt.errors import AlgorithmError
from pacopt.report import write_report
from pacopt.runs.files import MANIFEST, _fingerprint, write_json
from pacopt.support.arrays import load_npz, save_npz

CASE = "a rule with arrays"
DECIDED = ("step size times curvature", "momentum")


class Halving(pacopt.AbstractAlgorithm, pacopt.AbstractDecisions):
    """Gradient descent that says what it takes: half of the step each time, and nothing beyond the third."""

    hyperparameters = {"step_size": pacopt.Interval(1e-3, 1.0, log=True)}
    told: str = "step"

    def init(self, x, hyper, objective):
        return x, jnp.asarray(0.0), jnp.asarray(0)

    def step(self, state, hyper, objective):
        size = hyper["step_size"] * 0.5 ** state[2]
        return state[0] - size * objective.gradient(state[0]), size, state[2] + 1

    def read(self, state):
        return state[0]

    def decisions(self, state):
        if self.told == "point":
            return {"point": jnp.stack([state[0], state[0]])}
        if self.told == "nothing":
            return {}
        return {"step": jnp.where(state[2] <= 3, state[1], jnp.nan), "count": state[2]}


def specs(text):
    return json.loads(re.search(r'id="specs">(.*?)</script>', text)[1])


def section(text, name):
    return re.search(rf'<section id="{name}".*?</section>', text, flags=re.DOTALL)[0]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return reports.learned(CASE).save(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture
def run(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "run")


def resealed(run):
    """The manifest written anew, by somebody who knows how."""
    names = [path.name for path in run.iterdir() if path.name not in (MANIFEST, "report.html")]
    write_json(run / MANIFEST, {"schema": "pacopt.run/1", "files": {name: _fingerprint(run / name) for name in names}})
    return run


def test_decisions_are_those_of_the_runs():
    """Heavy-ball with the decided steps and momenta, written in NumPy, ends where the rule does."""
    learned = reports.learned(CASE)
    law, rule = pacopt.VaryingCurvature.draw(seed=0, n=5), pacopt.ScalarRule(steps=12, width=4)
    engine = pacopt.Traced(law.problem, rule, 12)
    instances = law.sample(4, seed=9)
    values, textbook = engine.decisions(learned.hyper, instances, range(1, 13), law.curvature)
    assert tuple(values) == DECIDED
    assert all(np.isnan(each[:, 0]).all() and np.isfinite(each[:, 1:]).all() for each in values.values())
    constant = pacopt.HeavyBall().standard(*law.curvature)
    # The largest curvature that a run has met is between that of its first step and that of the instance.
    met = textbook[DECIDED[0]][:, 1:] / constant["step_size"]
    assert np.all(np.diff(met) >= 0)
    assert np.all(met <= (1 + 1e-9) * instances.fields["diagonal"].max(axis=1, keepdims=True) ** 2)
    np.testing.assert_allclose(textbook[DECIDED[1]][:, 1:], constant["momentum"], rtol=1e-12)
    candidate = {name: np.asarray(value)[None] for name, value in learned.hyper.items()}
    final = pacopt.tabulate(law.problem, rule, candidate, instances, steps=12).losses[0]
    for k in range(4):
        a, b = (instances.fields[name][k] for name in ("diagonal", "b"))
        x, move, before, top = np.zeros_like(b), np.zeros_like(b), None, 0.0
        for number in range(12):
            g = a * (a * x - b)
            if before is None:
                step, momentum = np.exp(learned.hyper["first"]) * 0.5 * (b @ b) / (g @ g), 0.0
            else:
                y = g - before
                top = max(top, (y @ y) / (move @ y))
                step, momentum = values[DECIDED[0]][k, number] / top, values[DECIDED[1]][k, number]
            move, before = momentum * move - step * g, g
            x = x + move
        assert 0.5 * np.sum((a * x - b) ** 2) == pytest.approx(final[k], rel=1e-6)


def test_quantiles_leave_out_what_is_not_finite():
    values = {"a": np.array([[np.nan, 1.0], [np.nan, 3.0], [np.inf, np.nan]]), "b": np.ones((3, 2))}
    found = Decisions.of((1, 2), values, {"b": np.array([[2.0, 3.0]])})
    assert np.isnan(found.median[0, 0])
    assert (found.low[0, 1], found.median[0, 1], found.high[0, 1]) == (1.0, 1.0, 3.0)
    assert np.array_equal(found.textbook, [[np.nan, np.nan], [2.0, 3.0]], equal_nan=True)


def test_baselines_of_as_many_steps_have_curves_that_end_at_their_means():
    learned = reports.learned(CASE)
    names = ("learned", "prior median", "conjugate gradients", "the textbook's heavy-ball")
    assert learned.curves.names == names
    assert "half as many" in learned.comparison
    assert learned.curves.mean[:, -1] == pytest.approx([learned.comparison[name].mean for name in names], rel=1e-9)
    assert np.all(learned.curves.mean[:, 0] == 1.0)


def test_the_report_shows_curves_of_all_methods_and_what_the_rule_does():
    learned, text = reports.learned(CASE), reports.page(CASE)
    drawn = specs(text)
    assert {"curves", "decision0", "decision1"} <= drawn.keys()
    assert not any(name.startswith(("map", "weights")) for name in drawn)
    curves = drawn["curves"]
    titles = {tip["title"] for layer in curves["layer"] for tip in _tips(layer) if "title" in tip}
    assert {"learned: mean", "conjugate gradients: mean", "textbook's heavy-ball: mean"} <= titles
    assert not any("prior" in title for title in titles)
    last = curves["layer"][0]["data"]["values"] if "data" in curves["layer"][0] else _values(curves)
    ends = next(row for row in last if row.get("step") == 12)
    assert ends["mean2"] == pytest.approx(learned.curves.mean[2, -1], rel=1e-5)
    words = section(text, "curves")
    assert "at equal numbers of steps" in words
    for name in ("learned", "conjugate gradients", "textbook&#39;s heavy-ball"):
        assert f"</span>{name}</li>" in words
    steps = [row for row in _values(drawn["decision1"]) if "median" in row]
    assert [row["step"] for row in steps] == list(range(2, 13))
    assert [row["median"] for row in steps] == pytest.approx(learned.decisions.median[1, 1:], rel=1e-5)
    words = section(text, "decisions")
    assert "Step by step: step size times curvature" in words
    assert "for curvatures between 0.05 and 5000" in words
    assert words.count("textbook from") + words.count("textbook 0.987") >= 2
    assert "none yet" in words


def _tips(layer):
    return layer.get("encoding", {}).get("tooltip", [])


def _values(spec):
    """All rows of a chart."""
    found = list(spec.get("data", {}).get("values", []))
    for part in (*spec.get("layer", []), *spec.get("datasets", {}).values()):
        found += part if isinstance(part, list) else _values(part)
    return found


def test_a_run_that_was_saved_holds_them(saved):
    learned, again = reports.learned(CASE), pacopt.Learned.load(saved)
    assert pacopt.verify(saved).passed
    assert again.decisions.names == DECIDED
    for name, array in learned.decisions.stored().items():
        assert np.array_equal(again.decisions.stored()[name], array, equal_nan=array.dtype.kind == "f")
    assert again.curves.names == learned.curves.names
    page = (saved / "report.html").read_text()
    assert pacopt.report_html(again) == page
    write_report(saved, again)
    assert pacopt.verify(saved).passed


@pytest.mark.parametrize("name", ["curves.npz", "decisions.npz"])
def test_what_does_not_belong_to_a_run_is_noticed(run, name):
    arrays = load_npz(run / name)
    save_npz(run / name, arrays | {"median": arrays["median"][:1]})
    assert f"{name} is not the file" in str(pacopt.verify(run)) or "bytes" in str(pacopt.verify(run))
    assert f"{name} does not have a line for each" in str(pacopt.verify(resealed(run)))
    save_npz(run / name, arrays | {"names": arrays["names"][::-1]})
    assert f"{name} does not have a line for each" in str(pacopt.verify(resealed(run)))
    (run / name).unlink()
    assert f"there is no {name}" in str(pacopt.verify(resealed(run)))
    save_npz(run / name, arrays)
    assert pacopt.verify(resealed(run)).passed
    (run / "test.npz").unlink()
    assert f"{name} is there without test.npz" in str(pacopt.verify(resealed(run)))


def test_curves_of_earlier_versions_have_no_names(run):
    arrays = {name: array for name, array in load_npz(run / "curves.npz").items() if name != "names"}
    save_npz(run / "curves.npz", {name: array[:2] if array.ndim > 1 else array for name, array in arrays.items()})
    assert pacopt.verify(resealed(run)).passed
    assert pacopt.Learned.load(run).curves.names == ("learned", "prior median")


def test_an_algorithm_that_does_not_say_what_it_decides_shows_nothing():
    learned = reports.learned("two hyperparameters")
    assert learned.decisions is None
    assert 'id="decisions"' not in reports.page("two hyperparameters")
    assert "map0" in specs(reports.page("two hyperparameters"))
    assert AbstractEngine.decisions(learned.engine, learned.hyper, learned.train, (1,), None) is None
    none = reports.learn(Halving(), sizes=(40, 100, 0))
    assert none.decisions is None
    assert 'id="decisions"' not in pacopt.report_html(none)


def test_an_algorithm_of_ones_own_says_what_it_decides(tmp_path):
    learned = reports.learn(Halving(), sizes=(40, 100, 30))
    assert learned.decisions.names == ("step", "count")
    sizes = learned.hyper["step_size"] * 0.5 ** np.arange(3)
    assert learned.decisions.median[0, :3] == pytest.approx(sizes)
    assert np.isnan(learned.decisions.median[0, 3:]).all()
    assert np.array_equal(learned.decisions.median[1], np.arange(1, 6))
    words = section(pacopt.report_html(learned), "decisions")
    assert "nobody said between which mu and L curvatures lie" in words
    effort = reports.learn(Halving(), sizes=(40, 100, 30), score=pacopt.Effort(0.5))
    assert effort.decisions is None


@pytest.mark.parametrize("told", ["point", "nothing"])
def test_what_is_no_decision_is_refused(told):
    with pytest.raises(AlgorithmError, match=r"Halving\.decisions returns"):
        reports.learn(Halving(told), sizes=(40, 100, 30))


SMALL = Sizes(n=8, steps=6, prior=90, train=60, test=20, updates=20)


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_demo_of_a_rule_names_all_methods_and_the_certificate(tmp_path, monkeypatch, whole):
    if not whole:  # a training and a line search take seconds to be compiled, and have tests of their own
        monkeypatch.setattr(demo, "Train", lambda **_: reports.rules(pacopt.ScalarRule(steps=SMALL.steps)))
        monkeypatch.setattr(demo, "LBFGS", pacopt.ConjugateGradients)
    learned = run_rule_demo(SMALL)
    line = means(learned)
    for name in ("the rule", "L-BFGS", "conjugate gradients", "learned heavy-ball", "textbook heavy-ball"):
        assert re.search(rf"{name} [\d.e-]+[,.]", line), name
    assert "L-BFGS" in str(learned.certificate)
    assert learned.decisions.names == DECIDED
    assert len(learned_view(learned, tmp_path)) > 4
    assert json.dumps(finite(learned_document(learned, tmp_path)), allow_nan=False)


@pytest.mark.slow  # a minute or two, compiled as users have it
def test_the_rule_of_the_demo_beats_l_bfgs_by_a_certified_factor():
    told = alone.run_alone(
        """
        import json
        from pacopt.app.demo import run_rule_demo
        learned = run_rule_demo()
        rows = {row.name: row.mean for row in learned.comparison.rows}
        print(json.dumps([rows, {name: learned.certificate.deployed.values[name] for name in ("risk", "gain", "win")}]))
        """
    )
    rows, values = json.loads(told)
    assert rows["learned"] < 0.9 * rows["L-BFGS"]
    assert rows["learned"] < 1.08 * rows["conjugate gradients"]
    assert values["gain"] > 1.03
    assert values["win"] > 0.99
    assert values["risk"] < 1.1 * rows["learned"]
