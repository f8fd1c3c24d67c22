"""A job file says what is to be learned; whatever is wrong with it is said at once, with its line."""

import re
import sys
from dataclasses import MISSING, fields
from pathlib import Path

import numpy as np
import pytest

import pacopt
from pacopt import algorithms, problems
from pacopt.algorithms import AbstractAlgorithm
from pacopt.app.job_example import write_example
from pacopt.app.job_file import read_job
from pacopt.app.job_keys import TABLES, TOP
from pacopt.app.job_names import Lookup, concrete
from pacopt.app.job_parts import prepare_code, prepare_job
from pacopt.errors import DesignError, JobError, PriorError, TableError
from pacopt.problems import AbstractProblem

OWN = """
import jax.numpy as jnp
import numpy as np
import pacopt


class Ridge(pacopt.AbstractProblem):
    matrix: np.ndarray
    weight: float = 0.1

    def start(self, instance):
        return jnp.zeros(self.matrix.shape[1])

    def loss(self, x, instance):
        return jnp.sum((self.matrix @ x - instance["b"]) ** 2) + self.weight * jnp.sum(x**2)


class Unwritten(pacopt.AbstractProblem):
    def start(self, instance):
        return jnp.zeros(3)


class Stubborn(pacopt.AbstractProblem):
    size: int = 3

    def __post_init__(self):
        raise RuntimeError("no such size")

    def start(self, instance):
        return jnp.zeros(self.size)

    def loss(self, x, instance):
        return jnp.sum(x)


class Settled(pacopt.AbstractProblem):
    size: int

    def __init__(self):
        self.size = 3

    def start(self, instance):
        return jnp.zeros(self.size)

    def loss(self, x, instance):
        return jnp.sum((x - instance["b"][:3]) ** 2)


class Loop(pacopt.AbstractCellEngine):
    space = {"damping": pacopt.Interval(0.05, 1.0)}

    def run(self, hyper, instance, seed):
        return pacopt.Run(loss=hyper["damping"], start_loss=1.0)


ridge = Ridge(np.eye(10)[:, :4])
number = 3


def raising(trials):
    raise RuntimeError(3)


def leaving(trials):
    raise SystemExit(3)


def two(trials):
    return pacopt.DiscreteMeasure.uniform({"step_size": [0.01, 0.02], "momentum": [0.5, 0.5]})
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The example, with more code and data beside it."""
    place = tmp_path_factory.mktemp("job")
    write_example(place / "job.toml")
    (place / "my_own.py").write_text(OWN)
    (place / "my_broken.py").write_text("import pacopt\n\nvalue = undefined_name\n")
    (place / "my_imports.py").write_text("import a_package_that_nobody_has\n")
    (place / "my_syntax.py").write_text("x = 1\ny = = 2\n")
    (place / "my_base.py").write_text("class Odd(BaseException):\n    pass\n\nraise Odd('odd')\n")
    (place / "my_exit.py").write_text("raise SystemExit(0)\n")
    rng = np.random.default_rng(0)
    np.savez(place / "shared.npz", matrix=np.eye(12)[:, :4], weight=np.array(0.5))
    np.savez(place / "surplus.npz", matrix=np.eye(12)[:, :4], wieght=np.array(0.5))
    np.savez(place / "ragged.npz", A=np.ones((5, 2)), b=np.ones(4))
    holes = np.ones((30, 12))
    holes[[7, 9], 3] = np.nan
    np.savez(place / "holes.npz", A=np.ones((30, 12, 10)), b=holes)
    np.savez(place / "users.npz", b=rng.normal(size=(6, 12)), user=np.full((6, 2), 1))
    np.savez(place / "twice.npz", A=np.ones((1400, 12, 10)), b=np.ones((1400, 12)))
    np.savez(place / "few.npz", b=rng.normal(size=(2, 12)))
    np.savez(place / "one.npz", b=rng.normal(size=(1, 12)))
    np.savez(place / "none.npz", b=rng.normal(size=(0, 12)))
    np.savez(place / "texts.npz", b=np.array(["a", "b", "c"]))
    np.savez(place / "objects.npz", b=np.array([{}, []], dtype=object))
    np.save(place / "single.npz", np.ones(3))
    Path(place / "single.npz.npy").rename(place / "single.npz")
    np.savez(place / "empty.npz")
    (place / "broken.npz").write_bytes((place / "my_instances.npz").read_bytes()[:1000])
    before = list(sys.path)
    yield place
    sys.path[:] = before
    for name in [name for name in sys.modules if name.startswith("my_")]:
        del sys.modules[name]


def changed(folder, *changes):
    """The example's job with some lines changed: key and new value, None to leave it out, or a text to append."""
    text = (folder / "job.toml").read_text()
    for change in changes:
        if isinstance(change, str):
            text += change
            continue
        key, value = change
        line = re.compile(rf"^(?:# )?{key} = .*\n", flags=re.MULTILINE)
        assert line.search(text), key
        text = line.sub("" if value is None else f"{key} = {value}\n", text, count=1)
    path = folder / "changed.toml"
    path.write_text(text)
    return path


def line_of(path, start):
    return next(number for number, line in enumerate(path.read_text().splitlines(), 1) if line.startswith(start))


def test_the_example_runs_and_every_key_of_a_job_stands_in_it(folder):
    prepared = prepare_job(folder / "job.toml")
    learned = prepared.learn()
    assert learned.certificate.attained
    assert learned.provenance["job"]["text"] == (folder / "job.toml").read_text()
    assert "my_problem (my_problem.py)" in learned.provenance["job"]["sources"]
    text = (folder / "job.toml").read_text()
    for key in {*TOP} | {key for keys in TABLES.values() for key in keys}:
        if key != "prior":
            assert re.search(rf"^(# )?{key} = ", text, flags=re.MULTILINE), key


def test_what_is_commented_out_in_the_example_can_be_switched_on_with_the_values_shown(folder):
    text = (folder / "job.toml").read_text()
    on = re.sub(r"^# (?=[a-z_]+ = |\[absolute\])", "", text, flags=re.MULTILINE)
    on, training = on.split("# [training]")[0], on.split("# [training]")[1].partition("\n\n")[2]
    on += training
    # The example's problem shares nothing, has no users, and is neither an engine nor a solver.
    for absent in ("shared", "groups", "engine", "solver", "defaults", "workers", "limit", "memory"):
        on = re.sub(rf"^{absent} =", f"# {absent} =", on, flags=re.MULTILINE)
    (folder / "changed.toml").write_text(on)
    prepared = prepare_job(folder / "changed.toml")
    assert prepared.truncation.second_moment == 500.0
    assert prepared.code.success.__name__ == "solved"
    plain, _ = read_job(folder / "job.toml")
    full, _ = read_job(folder / "changed.toml")
    values = {
        key: value for key, value in full.top.items() if key not in ("success", "curvature", "baseline", "budget")
    }
    assert values == {key: value for key, value in plain.top.items() if key in values}, "defaults are as shown"


def test_a_job_gives_what_the_same_call_of_learn_gives(folder):
    prepared = prepare_job(changed(folder, ("candidates", 16), ("seed", 3), ("quantile_level", 0.8)))
    learned = prepared.learn()
    instances = pacopt.Instances.load(folder / "my_instances.npz")
    domain = {"step_size": pacopt.Interval(1e-6, 1.0, log=True), "momentum": pacopt.Interval(0.0, 1.0)}
    same = pacopt.learn(
        sys.modules["my_problem"].LeastSquares(),
        pacopt.HeavyBall(),
        pacopt.split(instances, prior=200, train=1000, test=200, seed=3),
        steps=5,
        prior=pacopt.priors.Search(domain, candidates=16),
        min_success=0.95,
        quantile_level=0.8,
        seed=3,
    )
    assert learned.certificate.to_dict() == same.certificate.to_dict()


def test_without_a_split_the_recommended_one_is_made(folder):
    path = changed(folder)
    text = path.read_text()
    path.write_text(re.sub(r"^\[split\].*?(?=^\[domain\])", "", text, flags=re.MULTILINE | re.DOTALL))
    parts = prepare_job(path).split
    assert (len(parts.prior), len(parts.train), len(parts.test)) == (200, 1000, 200)


def test_a_job_may_begin_with_a_byte_order_mark_and_say_only_that_equal_rows_are_separate_draws(folder):
    text = (folder / "job.toml").read_text()
    sizes = r"^\[split\].*?(?=^\[domain\])"
    text = re.sub(sizes, "[split]\nallow_duplicates = true\n", text, flags=re.MULTILINE | re.DOTALL)
    (folder / "changed.toml").write_text(text, encoding="utf-8-sig")
    prepared = prepare_job(folder / "changed.toml")
    assert prepared.split.allow_duplicates
    assert len(prepared.split.train) == 1000


@pytest.mark.parametrize("name", ["raising", "leaving"])
def test_code_that_fails_while_it_runs_is_a_mistake_of_the_job_with_its_place(folder, name):
    text = re.sub(r"^\[domain\].*?(?=^# \[absolute\])", "", (folder / "job.toml").read_text(), flags=re.M | re.S)
    (folder / "changed.toml").write_text(f'prior = "my_own:{name}"\n' + text)
    prepared = prepare_job(folder / "changed.toml")
    with pytest.raises(JobError, match=r"the code it names fails \(my_own.py, line \d+\): \w+: 3"):
        prepared.learn()


@pytest.mark.parametrize(
    ("changes", "kind", "fields"),
    [
        ([("problem", '"my_own:Ridge"'), ("shared", '"shared.npz"')], "Ridge", {"weight": 0.5}),
        ([("problem", '"my_own:ridge"')], "Ridge", {"weight": 0.1}),
        ([("problem", '"my_own:Settled"')], "Settled", {"size": 3}),
        ([("problem", '"DiagonalQuadratic"')], "DiagonalQuadratic", {}),
    ],
)
def test_a_problem_is_a_class_with_its_shared_data_or_an_object_or_built_in(folder, changes, kind, fields):
    problem = prepare_job(changed(folder, *changes)).code.problem
    assert type(problem).__name__ == kind
    assert {name: getattr(problem, name) for name in fields} == fields


def test_a_job_whose_shared_data_or_own_code_changed_is_another_one(folder):
    path = changed(folder, ("problem", '"my_own:Ridge"'), ("shared", '"shared.npz"'))
    before = prepare_job(path).fingerprints
    assert prepare_job(path).fingerprints == before
    content = (folder / "shared.npz").read_bytes()
    np.savez(folder / "shared.npz", matrix=2 * np.eye(12)[:, :4], weight=np.array(0.5))
    after = prepare_job(path).fingerprints
    (folder / "shared.npz").write_bytes(content)
    assert {key for key in before if before[key] != after[key]} == {"the content of shared"}
    code = (folder / "my_own.py").read_text()
    (folder / "my_own.py").write_text(code + "# changed\n")
    after = prepare_job(path).fingerprints
    (folder / "my_own.py").write_text(code)
    assert {key for key in before if before[key] != after[key]} == {"my_own (my_own.py)"}


def test_the_code_of_a_job_can_be_had_without_its_instances(folder):
    code = prepare_code(changed(folder, ("instances", '"gone.npz"'), ("success", '"my_problem:solved"')))
    assert [type(code.problem).__name__, type(code.algorithm).__name__] == ["LeastSquares", "HeavyBall"]
    assert code.success.__name__ == "solved"


def test_a_prior_of_your_own_replaces_the_search(folder):
    text = re.sub(r"^\[domain\].*?(?=^# \[absolute\])", "", (folder / "job.toml").read_text(), flags=re.M | re.S)
    (folder / "changed.toml").write_text('prior = "my_own:two"\n' + text)
    assert prepare_job(folder / "changed.toml").learn().table.shape == (2, 1000)


def test_a_job_trains_a_rule(folder):
    text = (folder / "job.toml").read_text().replace('"HeavyBall"', '"ScalarRule"')
    text = text.partition("\n[domain]")[0] + "\n[training]\nupdates = 30\nbatch = 8\nrestarts = 1\ncandidates = 4\n"
    (folder / "changed.toml").write_text(text + 'precision = "float32"\n')
    prepared = prepare_job(folder / "changed.toml")
    assert prepared.code.algorithm.steps == 5
    learned = prepared.learn()
    assert learned.table.shape == (4, 1000)
    assert learned.origin.prior.startswith("Train(updates=30, batch=8")


def test_a_rule_is_trained_and_a_method_of_two_numbers_searched_for_unless_a_job_says_otherwise(folder):
    text = (folder / "job.toml").read_text().partition("\n[domain]")[0]
    (folder / "changed.toml").write_text(text)
    assert prepare_job(folder / "changed.toml").prior is None
    (folder / "changed.toml").write_text("candidates = 20\n" + text)
    assert repr(prepare_job(folder / "changed.toml").prior) == repr(pacopt.priors.Search({}, candidates=20))


def test_advice_is_given_in_the_words_of_a_job(folder):
    path = changed(folder, ("step_size", "{ low = 1e-6, high = 1e-4, log = true }"), ("candidates", 4))
    (edge,) = [remark for remark in prepare_job(path).learn().remarks if "the range that was searched" in remark]
    assert edge.endswith("and [domain] step_size = { low = ..., high = ..., log = true }")
    with pytest.raises(PriorError, match=r"Use \[split\] prior = \d+ or more") as error:
        prepare_job(changed(folder, ("prior", 0))).learn()
    assert "pacopt." not in str(error.value)
    text = (folder / "job.toml").read_text().replace('"HeavyBall"', '"ScalarRule"').replace("prior = 200", "prior = 2")
    (folder / "changed.toml").write_text(text.partition("\n[domain]")[0])
    with pytest.raises(PriorError, match=r"\[split\] prior = \d+.*candidates = 256, without \[training\]") as error:
        prepare_job(folder / "changed.toml").learn()
    assert "pacopt." not in str(error.value)


MISTAKES = {
    "training beside a domain": (["\n[training]\nupdates = 5\n"], "training", "leave out [domain], or training"),
    "no updates": (
        ["\n[training]\nupdates = 0\n"],
        "training.updates",
        "is 0; it must be a whole number, at least 1",
    ),
    "holes in the data": (
        [("instances", '"holes.npz"')],
        "instances",
        "row 7 of 'b' holds NaN, and so does 1 more; correct or remove the rows",
    ),
    "groups that are a matrix": ([("instances", '"users.npz"'), ("groups", '"user"')], "groups", "of shape (6, 2)"),
    "groups that are not there": ([("groups", '"user"')], "groups", "there is no array 'user' among the instances"),
    "an engine as a problem": ([("problem", '"my_own:Loop"')], "problem", 'write engine = "my_own:Loop"'),
    "an engine beside an algorithm": ([("engine", '"my_own:Loop"')], "algorithm", "an engine decides this itself"),
    "a misspelt key": ([("steps", 20), ("confidence", 0.9), "\n[splitt]\n"], "splitt", "did you mean 'split'?"),
    "a key of a table at the top": ([("seed", "0\ntrain = 5")], "train", "it belongs in [split]"),
    "a key of the top in a table": (
        [("test", "200\nconfidance = 0.9")],
        "split.confidance",
        "there is no such key in [split]; choose from",
    ),
    "a top key below a table": ([("test", "200\nseed = 0")], "split.seed", "it belongs at the top"),
    "no problem": ([("problem", None)], "problem", 'is missing; it must be a text: "module:Name"'),
    "no steps": ([("steps", None)], "steps", "is missing; it must be a whole number, at least 1"),
    "steps in quotes": ([("steps", '"20"')], "steps", "is '20'; it must be a whole number"),
    "no steps at all": ([("steps", 0)], "steps", "is 0; it must be a whole number, at least 1"),
    "steps that are no whole number": ([("steps", 2.5)], "steps", "is 2.5"),
    "a confidence of one": ([("confidence", 1.0)], "confidence", "is 1.0; it must be a number strictly"),
    "a confidence in per cent": ([("confidence", 99)], "confidence", "is 99; it must be a number strictly"),
    "certain success": ([("min_success", 1.0)], "min_success", "is 1.0; it must be a probability, below 1"),
    "a target that is no improvement": ([("target_ratio", 1.5)], "target_ratio", "is 1.5"),
    "a quantile level that is none": ([("quantile_level", 0)], "quantile_level", "is 0"),
    "true as a number": ([("candidates", "true")], "candidates", "is True; it must be a whole number"),
    "a number as true": ([("racing", 1)], "racing", "is 1; it must be true or false"),
    "another precision": ([("precision", '"float16"')], "precision", '"float64" or "float32"'),
    "one curvature": ([("curvature", "[1.0]")], "curvature", "is [1.0]; it must be a pair [mu, L]"),
    "curvatures in the wrong order": ([("curvature", "[2.0, 1.0]")], "curvature", "0 <= mu <= L"),
    "a negative seed": ([("seed", -1)], "seed", "is -1; it must be a whole number from 0"),
    "an unknown built-in": ([("algorithm", '"HeavyBal"')], "algorithm", "did you mean 'HeavyBall'?"),
    "an abstract built-in": ([("problem", '"AbstractProblem"')], "problem", "there is no built-in 'AbstractProblem'"),
    "a built-in that needs fields": ([("problem", '"SharedQuadratic"')], "problem", "needs the fields A"),
    "an unknown module": ([("problem", '"my_problm:LeastSquares"')], "problem", "did you mean 'my_problem'?"),
    "a file in place of a module": (
        [("problem", '"my_problem.py:LeastSquares"')],
        "problem",
        "without the ending: my_problem:LeastSquares",
    ),
    "an unknown name": ([("problem", '"my_problem:LeastSquare"')], "problem", "did you mean 'LeastSquares'?"),
    "code that fails": ([("problem", '"my_broken:value"')], "problem", "(my_broken.py, line 3): NameError"),
    "code that lacks a package": ([("problem", '"my_imports:x"')], "problem", "a_package_that_nobody_has"),
    "code that exits": ([("problem", '"my_exit:x"')], "problem", "importing my_exit fails"),
    "a number for a problem": ([("problem", '"my_own:number"')], "problem", "derived from pacopt.AbstractProblem"),
    "an algorithm for a problem": ([("problem", '"pacopt:HeavyBall"')], "problem", "derived from"),
    "a problem for an algorithm": ([("algorithm", '"my_own:ridge"')], "algorithm", "pacopt.AbstractAlgorithm"),
    "a problem without a loss": ([("problem", '"my_own:Unwritten"')], "problem", "Unwritten lacks loss"),
    "a problem that refuses": ([("problem", '"my_own:Stubborn"')], "problem", "RuntimeError: no such size"),
    "fields that are missing": ([("problem", '"my_own:Ridge"')], "problem", 'npz file with them as "shared"'),
    "a field that is none": (
        [("problem", '"my_own:Ridge"'), ("shared", '"surplus.npz"')],
        "shared",
        "did you mean 'weight'?",
    ),
    "fields for an object": (
        [("problem", '"my_own:ridge"'), ("shared", '"shared.npz"')],
        "shared",
        "is already an object; name its class",
    ),
    "a predicate that is no reference": ([("success", '"solved"')], "success", '"module:function"'),
    "a predicate that is not there": ([("success", '"my_problem:solvd"')], "success", "did you mean 'solved'?"),
    "no such file": ([("instances", '"my_instance.npz"')], "instances", "did you mean 'my_instances.npz'?"),
    "a truncated file": ([("instances", '"broken.npz"')], "instances", "could not be read as an npz archive"),
    "pickled objects": ([("instances", '"objects.npz"')], "instances", "could not be read as an npz archive"),
    "an array without a name": ([("instances", '"single.npz"')], "instances", "a single array without a name"),
    "an empty file": ([("instances", '"empty.npz"')], "instances", "No arrays were given"),
    "a text that is no npz": ([("instances", '"my_own.py"')], "instances", "could not be read as an npz archive"),
    "ragged arrays": ([("instances", '"ragged.npz"')], "instances", "different leading axes"),
    "a folder for a file": ([("instances", '"."')], "instances", "could not be read"),
    "more than there are": ([("train", 2000)], "split", "prior + train + test = 2,400, but there are 1,400"),
    "instances that stand twice": ([("instances", '"twice.npz"')], "split", "are the same"),
    "equal rows": ([("instances", '"twice.npz"')], "split", "say so with [split] allow_duplicates = true: removing"),
    "a part as a fraction": ([("train", 0.8)], "split.train", "is 0.8; it must be a number of instances, at least 1"),
    "a part that is missing": ([("test", None)], "split.test", "is missing; it must be a number of instances"),
    "an interval upside down": ([("momentum", "[1.0, 0.0]")], "domain.momentum", "low < high is needed"),
    "a logarithm of zero": ([("momentum", "{ low = 0, high = 1, log = true }")], "domain.momentum", "low > 0"),
    "an interval of texts": ([("momentum", '["a", "b"]')], "domain.momentum", "it must be [low, high], { low"),
    "an interval with one end": ([("momentum", "{ low = 0 }")], "domain.momentum", "it must be [low, high], { low"),
    "an infinite curvature": ([("curvature", "[1.0, inf]")], "curvature", "it must be a pair [mu, L]"),
    "a number beyond all bounds": ([("curvature", "[1.0, 1" + "0" * 400 + "]")], "curvature", "must be a pair [mu, L]"),
    "an end beyond all bounds": (
        [("momentum", "[0, 1" + "0" * 400 + "]")],
        "domain.momentum",
        "it must be [low, high]",
    ),
    "steps beyond all bounds": ([("steps", 10**21)], "steps", "below 2^31"),
    "candidates beyond all bounds": ([("candidates", 10**12)], "candidates", "at most a million"),
    "a home that nobody has": ([("instances", '"~nobody_has_this/d.npz"')], "instances", "is '~nobody_has_this/d.npz'"),
    "code with a syntax error": ([("problem", '"my_syntax:x"')], "problem", "(my_syntax.py, line 2): SyntaxError"),
    "code that raises anything": ([("problem", '"my_base:x"')], "problem", "(my_base.py, line 4): Odd: odd"),
    "a misspelt hyperparameter of the baseline": (
        [("baseline", "{ stepsize = 0.1, momentum = 0.5 }")],
        "baseline",
        "HeavyBall has no hyperparameter 'stepsize'; did you mean 'step_size'?",
    ),
    "half a baseline": ([("baseline", "{ step_size = 0.1 }")], "baseline", "has no value for momentum"),
    "one row": ([("instances", '"one.npz"')], "instances", "one.npz holds 1 row; at least 3 are needed"),
    "no rows": ([("instances", '"none.npz"')], "instances", "none.npz holds 0 rows; at least 3 are needed"),
    "texts": ([("instances", '"texts.npz"')], "instances", "holds text. Instances are"),
    "texts for a solver": ([("instances", '"texts.npz"')], "instances", 'from files: instances = "data/*.mps"'),
    "objects": ([("instances", '"objects.npz"')], "instances", "its array b holds Python objects"),
    "an algorithm made of objects": (
        [("algorithm", '"WarmStart"')],
        "algorithm",
        'make an object of it in your module and name that: algorithm = "my_module:my_object"',
    ),
    "an infinite interval": ([("momentum", "[0.0, inf]")], "domain.momentum", "both finite"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_with_its_line_and_what_to_do(folder, name):
    changes, key, expected = MISTAKES[name]
    path = changed(folder, *changes)
    with pytest.raises(JobError) as error:
        prepare_job(path)
    text = str(error.value)
    assert f"{key}: " in text, text
    assert expected in text, text
    assert str(path) in text
    assert "Nothing was run." in text
    stands = [line for line in path.read_text().splitlines() if re.match(rf"{key.rpartition('.')[2]} = ", line)]
    if stands and "is missing" not in expected:
        assert f"line {line_of(path, stands[0])}, {key}" in text, text


#: What all instances share: arrays that built-in problems have to be given.
SHARED = {"A": np.eye(2), "P": np.eye(2), "equal": np.array([True, False]), "free": np.zeros(2, bool)}


@pytest.mark.parametrize("key", ["algorithm", "problem"])
def test_built_in_names_that_are_offered_can_be_used(folder, key):
    with pytest.raises(JobError) as error:
        prepare_job(changed(folder, (key, '"Walrus"')))
    offered = re.findall(r"'(\w+)'", str(error.value).partition("choose from")[2])
    assert {"HeavyBall", "ScalarRule"} < {*offered} or key == "problem"
    for name in offered:
        job, mistakes = read_job(changed(folder, (key, f'"{name}"')))
        base, package = (AbstractAlgorithm, algorithms) if key == "algorithm" else (AbstractProblem, problems)
        needed = {} if key == "algorithm" else {f.name for f in fields(getattr(pacopt, name)) if f.default is MISSING}
        given = {field: SHARED[field] for field in needed}
        assert Lookup(job, mistakes).made(key, base, concrete(package, base), given) is not None, mistakes


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("min_success", 0.9999, r"line {line}: min_success is 0.9999, with 1,000 training instances\. .* pacopt plan"),
        ("objective", '"rsk"', r"line {line}: The objective is 'rsk'\. .* did you mean 'risk'\?"),
    ],
)
def test_what_is_only_found_when_a_job_runs_is_said_with_its_line(folder, key, value, expected):
    path = changed(folder, (key, value))
    with pytest.raises(DesignError, match=expected.format(line=line_of(path, f"{key} = "))):
        prepare_job(path).learn()


@pytest.mark.parametrize(
    ("loss", "told", "remedy"),
    [("- 50.0", r"-\d\d?\.\d\d?", "Subtract a lower bound"), ("* jnp.nan", "nan", "Check the data of that instance")],
)
def test_a_start_that_is_not_valid_is_named_by_its_row_in_the_file(folder, loss, told, remedy):
    name = "my_negative" if "50" in loss else "my_nan"
    code = (folder / "my_problem.py").read_text()
    (folder / f"{name}.py").write_text(code.replace('instance["b"]) ** 2)\n', f'instance["b"]) ** 2) {loss}\n', 1))
    prepared = prepare_job(changed(folder, ("problem", f'"{name}:LeastSquares"')))
    with pytest.raises(TableError) as error:
        prepared.learn()
    found = re.search(rf"start loss of instance (\d+) is {told}; .* Instance \1 is row (\d+) of", error.value.found)
    assert found, error.value
    assert int(found[2]) == prepared.split.rows["prior"][int(found[1])]
    assert error.value.remedy.startswith(remedy)


def test_the_solver_of_the_example_runs_when_its_lines_are_switched_on(folder):
    text = (folder / "job.toml").read_text()
    text = re.sub(r"^(problem|algorithm|steps) = .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^# (?=(solver|defaults) = )", "", text, flags=re.MULTILINE)
    text = re.sub(r"^# candidates = 256", "candidates = 8", text, count=1, flags=re.MULTILINE)
    (folder / "changed.toml").write_text(text)
    learned = prepare_job(folder / "changed.toml").learn()
    assert learned.certificate.attained
    assert "than that of the defaults" in learned.certificate.sentences["gain"]


def test_data_in_place_of_a_job_is_called_by_its_name(folder):
    with pytest.raises(JobError, match=r'not a job file, but an npz file.* instances = "my_instances.npz"'):
        read_job(folder / "my_instances.npz")
    (folder / "latin.toml").write_bytes("# \xe4".encode("latin-1"))
    with pytest.raises(JobError, match="not a text file in UTF-8: byte 3 is 0xe4"):
        read_job(folder / "latin.toml")


def test_hyperparameters_that_the_algorithm_has_not_are_named_with_the_nearest(folder):
    path = changed(folder, ("momentum", None))
    path.write_text(path.read_text().replace("step_size = {", "stepsize = {"))
    with pytest.raises(JobError, match=r"line \d+, domain.stepsize: HeavyBall has no such .* did you mean 'step_size'"):
        prepare_job(path)


@pytest.mark.parametrize(
    ("appended", "expected"),
    [
        ("\n[absolute]\nlevel = -1.0\n", "absolute.level: is -1.0; it must be a positive number"),
        ("\n[absolute]\nsecond_moment = 2.0\n", "absolute.level: is missing"),
        ("\n[absolute]\nlevel = 5.0\nsecond_momnt = 2.0\n", "did you mean 'second_moment'?"),
    ],
)
def test_a_declaration_is_complete_or_refused(folder, appended, expected):
    with pytest.raises(JobError, match=re.escape(expected)):
        prepare_job(changed(folder, appended))


def test_a_table_that_is_none_is_refused(folder):
    for table in ("split", "domain", "absolute"):
        (folder / "changed.toml").write_text(f"{table} = 3\n")
        with pytest.raises(JobError, match=rf"line 1, {table}: 3 is not a table"):
            prepare_job(folder / "changed.toml")


def test_a_prior_of_your_own_and_a_domain_contradict_each_other(folder):
    path = changed(folder)
    path.write_text('prior = "my_own:two"\n' + path.read_text())
    with pytest.raises(JobError, match="your own prior has its own candidates"):
        prepare_job(path)


def test_all_mistakes_are_said_at_once(folder):
    path = changed(
        folder,
        ("steps", 0),
        ("algorithm", '"NoSuchMethod"'),
        ("instances", '"none.npz"'),
        ("confidence", 2),
        ("momentum", "[1]"),
    )
    with pytest.raises(JobError) as error:
        prepare_job(path)
    assert "has 5 mistakes" in str(error.value)
    for key in ("steps", "algorithm", "instances", "confidence", "domain.momentum"):
        assert f", {key}: " in str(error.value)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"problem = my_problem\n", "line 1"),
        (b"steps = 1\nsteps = 2\n", "line 2"),
        (b"[split\n", "line 1"),
        (b"\xff\xfe", "not a text file"),
    ],
)
def test_what_is_no_toml_is_refused_with_its_line(folder, content, expected):
    (folder / "changed.toml").write_bytes(content)
    with pytest.raises(JobError, match=expected):
        prepare_job(folder / "changed.toml")


def test_a_job_that_is_not_there_is_refused_with_the_nearest_name(folder, tmp_path):
    with pytest.raises(JobError, match=r"did you mean 'job.toml'"):
        prepare_job(folder / "jobb.toml")
    with pytest.raises(JobError, match="pacopt learn --init writes a working example"):
        prepare_job(tmp_path / "job.toml")
    with pytest.raises(JobError, match="cannot be read"):
        prepare_job(tmp_path)


def test_an_example_overwrites_nothing(tmp_path):
    (tmp_path / "my_problem.py").write_text("mine")
    with pytest.raises(JobError, match=r"my_problem\.py already exists"):
        write_example(tmp_path / "job.toml")
    assert [path.name for path in tmp_path.iterdir()] == ["my_problem.py"]
    assert (tmp_path / "my_problem.py").read_text() == "mine"


@pytest.mark.parametrize(
    ("lines", "score", "claims"),
    [
        ('score = "digits"', pacopt.Digits, 5),
        ('score = { digits = 8 }\nbaseline = "none"', pacopt.Digits, 3),
        pytest.param(
            "score = { effort = 0.9, cap = 4 }\nbudget = [0.95, 0.9]", pacopt.Effort, 6, marks=pytest.mark.slow
        ),
        ('score = "rate"\nbaseline = "textbook"', pacopt.Rate, 5),
        ("baseline = { step_size = 0.01, momentum = 0.1 }", pacopt.Ratio, 5),
    ],
    ids=str,
)
def test_a_score_and_a_baseline_can_be_asked_for(folder, lines, score, claims):
    text = (folder / "job.toml").read_text()
    (folder / "scored.toml").write_text(text.replace("steps = 5", f"steps = 5\ncandidates = 16\n{lines}", 1))
    certificate = prepare_job(folder / "scored.toml").learn().certificate
    assert isinstance(certificate.design.score, score)
    assert len(certificate.design.claims) == claims


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('score = "steps"', '"ratio", "rate" or "digits"'),
        ("score = { digits = 0 }", "digits = 8"),
        ("score = 8", '"ratio", "rate" or "digits"'),
        ('baseline = "mine"', '"textbook", "none", or hyperparameters'),
        ("baseline = {}", '"textbook", "none", or hyperparameters'),
        ("baseline = 3", '"textbook", "none", or hyperparameters'),
    ],
)
def test_what_is_no_score_or_baseline_is_a_mistake_in_its_line(folder, line, words):
    text = (folder / "job.toml").read_text()
    (folder / "wrong.toml").write_text(text.replace("steps = 5", f"steps = 5\n{line}", 1))
    with pytest.raises(JobError, match=words):
        prepare_job(folder / "wrong.toml")
