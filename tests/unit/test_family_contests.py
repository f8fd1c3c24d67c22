"""A contest is fair: fresh draws are fresh, few draws contradict nothing that is true, and failures are told."""

import json
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

import pacopt
from pacopt.app.bench_command import bench
from pacopt.errors import FamilyError
from pacopt.families import Family, contest, family_named
from pacopt.families.base import LEARNED, TUNED
from pacopt.families.freshness import FRESH, refuse_ignored_seed
from pacopt.families.naming import NAMES, families_named
from pacopt.families.pictures import OTHERS, chart
from pacopt.families.results import document, markdown, verdict
from pacopt.families.sparse_regression import DICTIONARY, SparseCodes, SparseSignals, stream

QUICK = pacopt.priors.Search(candidates=6, rounds=1)


class Fit(pacopt.AbstractProblem):
    def start(self, instance):
        return jnp.zeros(3)

    def loss(self, x, instance):
        return jnp.sum((instance["A"] @ x - instance["b"]) ** 2)


def sample(count, *, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(count, 4, 3))
    return pacopt.Instances({"A": A, "b": (A @ rng.normal(size=(count, 3, 1)))[..., 0]})


def exact(hyper, instance):
    """The minimum, where the first entry of A is not too large."""
    if instance["A"][0, 0] > 0.43:
        raise ValueError("too large")
    x, *_ = np.linalg.lstsq(instance["A"], instance["b"])
    loss = np.sum((instance["A"] @ x - instance["b"]) ** 2)
    return pacopt.Result(loss=float(loss), start_loss=float(np.sum(instance["b"] ** 2)))


USUAL = {
    "gradient descent": pacopt.Baseline(algorithm=pacopt.GradientDescent()),
    "exact | fast": pacopt.Baseline(engine=pacopt.BlackBox(exact, {})),
}


def family(**changes):
    own = Family("fit", Fit(), sample, pacopt.HeavyBall(), 6, usual=USUAL, prior=QUICK, sizes=(40, 200, 30))
    return replace(own, **changes)


@pytest.fixture(scope="module")
def found():
    return contest(family(), fresh=300)


def test_a_sampler_that_ignores_its_seed_is_noticed_by_its_field_even_if_rows_as_a_whole_differ():
    """With another count, the second array drawn from one stream differs, and so do whole rows."""
    fixed = family(sample=lambda count, *, seed: sample(count, seed=0))
    marks = (fixed.sampled(count, seed=0).fingerprints for count in (100, 200))
    assert not np.isin(*marks).any()
    with pytest.raises(FamilyError, match=r"The field '[Ab]' of the family 'fit' is the same in 32 of 32 draws"):
        contest(fixed)


def test_one_field_that_ignores_the_seed_is_enough():
    def half(count, *, seed):
        return pacopt.Instances({**sample(count, seed=seed).fields, "A": sample(count, seed=0).fields["A"]})

    with pytest.raises(FamilyError, match="The field 'A'"):
        refuse_ignored_seed(family(sample=half), 0)


def test_fields_that_are_equal_for_a_good_reason_are_fine():
    """A constant, a coin, an event that is rare, and times that are the same in every group."""

    def draw(count, *, seed):
        rng, rows = np.random.default_rng(seed), 3 * count
        fields = {"A": rng.normal(size=(rows, 4)), "constant": np.full(rows, 0.1), "coin": rng.integers(2, size=rows)}
        rare = np.where(rng.random(rows) < 0.03, rng.normal(size=rows), 0.0)
        times = np.tile(np.arange(3.0), count)
        return pacopt.Instances({**fields, "rare": rare, "time": times}, groups=np.repeat(np.arange(count), 3))

    for seed in range(20):
        refuse_ignored_seed(family(sample=draw), seed)


def test_a_valid_certificate_is_not_contradicted_by_a_few_draws_on_the_wrong_side(found):
    risk = found.checks[0]
    low, high = risk.interval
    assert low < risk.measured < high
    close = risk._replace(certified=(low + risk.measured) / 2)
    assert not close.holds
    assert not close.contradicted
    told = replace(found, checks=(close, *found.checks[1:]))
    assert told.violations == ()
    assert told.undecided == (close,)
    assert "300 fresh draws contradict no claim, but are too few to confirm" in verdict(told)
    assert "undecided" in told._repr_html_()
    assert risk._replace(certified=0.99 * low).contradicted
    assert not risk._replace(interval=None).contradicted
    success = next(check for check in found.checks if check.claim.at_least and check.claim.probability)
    assert success._replace(certified=0.9, measured=0.5, interval=(0.4, 0.6)).contradicted
    assert not success._replace(certified=0.9, measured=0.85, interval=(0.8, 0.95)).contradicted


def test_every_check_of_a_contest_has_an_interval_around_what_was_measured(found):
    for check in found.checks:
        low, high = check.interval
        assert low <= check.measured <= high, check.name


def test_failures_of_a_usual_solver_are_counted_and_told(found):
    fresh = sample(300, seed=FRESH)
    wanted = int((fresh.fields["A"][:, 0, 0] > 0.43).sum())
    assert 50 < wanted < 150
    assert found["exact | fast"].failures == {"ValueError": wanted}
    assert found["gradient descent"].failed == found[LEARNED].failed == 0
    assert f"exact | fast failed in {wanted} of 300 fresh runs (ValueError)" in verdict(found)
    told = {each["name"]: each["failures"] for each in json.loads(json.dumps(document(found)))["methods"]}
    assert told["exact | fast"] == {"ValueError": wanted}
    assert told["gradient descent"] == {}
    assert found.to_dataframe().set_index("name").loc["exact | fast", "failed"] == wanted


def never(hyper, instance):
    raise ValueError("no licence")


def test_an_error_about_a_solver_that_always_fails_names_the_family_and_the_solver():
    broken = {**USUAL, "licensed": pacopt.Baseline(engine=pacopt.BlackBox(never, {}))}
    with pytest.raises(FamilyError, match=r"The solver 'licensed' of the family 'fit' cannot be run.*no licence"):
        contest(family(usual=broken))


def test_a_table_in_markdown_has_as_many_cells_whatever_solvers_are_called(found):
    found = replace(found, best="exact | fast")
    header, _, row, *_ = markdown([found]).splitlines()
    assert "(exact \\| fast)" in row
    assert row.replace("\\|", "").count("|") == header.count("|")


def with_mean(found, name, mean):
    methods = [each._replace(mean=mean) if each.name == name else each for each in found.methods]
    return replace(found, methods=tuple(methods))


def test_the_verdict_says_so_where_tuning_alone_does_as_well(found):
    certificate = found.learned.certificate
    values = {**certificate.deployed.values, "gain": 2.0}
    learned = replace(
        found.learned, certificate=replace(certificate, deployed=replace(certificate.deployed, values=values))
    )
    better = replace(found, learned=learned)
    assert "Optuna" not in verdict(with_mean(better, TUNED, 2 * found[LEARNED].mean))
    equal = with_mean(better, TUNED, found[LEARNED].mean)
    assert "learning helps, and that is certified" in verdict(equal)
    assert ", but Optuna's settings do" in verdict(equal)


def test_digits_are_told_as_digits_gained_in_texts_and_pictures():
    found = contest(family(score=pacopt.Digits(2)), fresh=150)
    learned, risk = found[LEARNED], found.learned.certificate.deployed.values["risk"]
    assert learned.told == f"{2 - learned.mean:.3g} digits"
    assert document(found)["methods"][0]["told"] == learned.told
    (words,) = chart(found).to_dict()["title"]["subtitle"]
    gained, unit = words.split("at least ")[1].split()
    assert unit == "digits"
    assert 0.99 * (2 - risk) <= float(gained) <= 2 - risk


def test_no_two_solvers_have_the_same_colour(found):
    more = tuple(found["gradient descent"]._replace(name=f"solver {k}") for k in range(2 * len(OTHERS) + 3))
    drawn = chart(replace(found, methods=found.methods + more)).to_dict()
    scale = drawn["layer"][0]["encoding"]["color"]["scale"]
    assert len(set(scale["range"])) == len(scale["domain"]) == len(found.methods) + len(more)


def test_a_law_with_repeated_draws_can_be_a_family():
    pool = sample(30, seed=7)

    def draw(count, *, seed):
        return pool[np.random.default_rng(seed).integers(len(pool), size=count)]

    seen = []

    def algorithm(split):
        seen.append(split)
        return pacopt.HeavyBall()

    with pytest.raises(pacopt.errors.SplitError):
        family(sample=draw).drawn(0)
    found = contest(family(sample=draw, algorithm=algorithm, allow_duplicates=True), fresh=200)
    assert found.fresh == 200
    assert len(seen[0].train) == 1


def test_parts_that_make_no_family_are_refused_in_words():
    for sizes in ((10, -20, 5), (10, 20), (10, 20, 5, 5), (10, 0, 5), (0.5, 0.3, 0.2), 100):
        with pytest.raises(FamilyError, match=r"The sizes of 'fit' are .* Use sizes="):
            family(sizes=sizes)
    assert family(sizes=[10, 20, 5]).sizes.train == 20
    with pytest.raises(FamilyError, match="a function that cannot be called with one argument"):
        family(algorithm=lambda: pacopt.HeavyBall())
    with pytest.raises(FamilyError, match="The algorithm of 'fit' is a int"):
        family(algorithm=5)
    own = family(algorithm=lambda split: 5)
    with pytest.raises(FamilyError, match="a function that returned a int"):
        own.learns(own.drawn(0))


MODULE = """
import pacopt

quadratics = pacopt.families.quadratics()


def with_argument(size):
    return quadratics


def raising():
    return 1 / 0
"""


def test_families_that_cannot_be_made_are_told_in_one_paragraph(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "made_here.py").write_text(MODULE)
    (tmp_path / "no_python.py").write_text("def f(:\n")
    (tmp_path / "stumbling.py").write_text("1 / 0\n")
    for name, words in (
        ("made_here:with_argument", "is a function that needs arguments"),
        ("made_here:raising", "is a function that raised ZeroDivisionError: division by zero"),
        ("no_python:f", "could not be imported: SyntaxError"),
        ("stumbling:f", "could not be imported: ZeroDivisionError"),
    ):
        with pytest.raises(FamilyError, match=words):
            family_named(name)


def test_two_families_of_one_name_are_refused_before_either_is_learned(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "named_twice.py").write_text(MODULE)
    with pytest.raises(FamilyError, match="'quadratics' and 'named_twice:quadratics' are called 'quadratics'"):
        families_named(["quadratics", "named_twice:quadratics"])
    with pytest.raises(FamilyError, match="'quadratics' was given 2 times"):
        families_named(["quadratics", "quadratics"])
    assert [each.name for each in families_named(["quadratics"])] == ["quadratics"]


def test_no_sampler_draws_from_the_stream_of_a_dictionary_and_other_seeds_draw_what_they_always_did():
    for seed in (DICTIONARY, DICTIONARY + 1):
        assert stream(seed).random() != np.random.default_rng(seed).random()
    for seed in (0, 1, FRESH, FRESH + 1):
        assert stream(seed).random() == np.random.default_rng(seed).random()
    A = np.random.default_rng(3).standard_normal((6, 9))
    for kind in (SparseSignals, SparseCodes):
        draws = [kind(A).sample(3, seed=seed).fields["b"] for seed in (0, DICTIONARY, DICTIONARY + 1)]
        assert len({each.tobytes() for each in draws}) == 3


def test_the_families_of_pacopt_have_names_of_their_own():
    assert len({name.casefold() for name in NAMES}) == len(NAMES)


@pytest.mark.parametrize(("wrong", "code"), [(1.01, 0), (0.5, 1)], ids=["on the wrong side", "contradicted"])
def test_the_command_fails_only_if_a_claim_is_contradicted(found, wrong, code, tmp_path, monkeypatch):
    """Certified is what was measured over 1.01, which 300 draws cannot tell, or half of the least that is plausible."""
    risk = found.checks[0]
    certified = risk.measured / wrong if wrong > 1 else wrong * risk.interval[0]
    told = replace(found, checks=(risk._replace(certified=certified), *found.checks[1:]))
    assert not told.checks[0].holds
    monkeypatch.setattr("pacopt.families.contests.contest", lambda *args, **kwargs: told)
    monkeypatch.setattr("pacopt.app.compiled.keep_compiled", lambda: None)  # which is for the whole process
    answer = CliRunner().invoke(bench, ["quadratics", "--out", str(tmp_path / "out"), "--json"])
    assert answer.exit_code == code, answer.output
    (claim, *_) = json.loads((tmp_path / "out" / "families.json").read_text())["families"][0]["claims"]
    assert claim["contradicted"] == bool(code)
    assert not claim["holds"]


def test_the_command_refuses_two_families_of_one_name_before_it_starts(tmp_path, monkeypatch):
    monkeypatch.setattr("pacopt.families.contests.contest", lambda *args, **kwargs: pytest.fail("it has begun"))
    answer = CliRunner().invoke(bench, ["quadratics", "quadratics", "--out", str(tmp_path / "out")])
    assert "was given 2 times" in f"{answer.exception}{answer.output}"
    assert not (tmp_path / "out").exists()
