"""A claim of a user's own: whatever it does, a certificate says what it means, and an honest one is verified."""

import copy
import json
import sys
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np
import pytest

import pacopt
from own_claims import Recomputed, Solved, Tail
from pacopt import claims
from pacopt.claims.foreign import ForeignClaim
from pacopt.errors import DesignError
from pacopt.support.arrays import digest
from pacopt.tradeoff import candidate_bounds
from unit.test_certificate import make


def design_of(table, *every, **options):
    return pacopt.Design.uniform(table, claims=claims.shared_out(every), **options)


def certified(*own, table=None, **options):
    table = make() if table is None else table
    return table, pacopt.certify(table, design_of(table, *claims.standard_claims(), *own), **options)


def forged(stored, **parts):
    """The certificate with some entries altered, by somebody who also made the checksum anew."""
    copied = copy.deepcopy(stored)
    for name, changes in parts.items():
        copied[name] = copied[name] | changes if isinstance(changes, dict) else changes
    return copied | {"hash": digest({key: value for key, value in copied.items() if key != "hash"})}


def named(given, **members):
    """A claim like Solved under another name, with other members."""
    return type("Named", (Solved,), {"name": given, "__module__": __name__, **members})()


# What is required.


@pytest.mark.parametrize("order", [("solved", "success"), ("success", "solved")])
def test_a_requirement_with_a_formula_is_recomputed_beside_one_without(order):
    table, free = certified(Solved())
    wanted = {name: {"solved": 0.01, "success": 0.5}[name] for name in order}
    _, certificate = certified(Solved(), require=wanted)
    assert pacopt.audit(certificate, table).passed
    stored = certificate.to_dict()
    report = pacopt.audit(forged(stored, required={"success": 0.999}), table)
    assert not report.passed
    assert "attained" in report.disagreement.name
    assert free.attained


def test_a_deployed_candidate_that_misses_what_is_required_is_noticed_though_the_objective_has_no_formula():
    start, losses = np.ones(400), np.full((2, 400), 0.5)
    losses[0, :390] = 0.01  # it gains more, and fails more often
    losses[0, 390:] = np.inf
    table = pacopt.LossTable(losses=losses, start=start)
    design = design_of(table, Solved(), *claims.standard_claims())
    safe = pacopt.certify(table, design, require={"success": 0.97})
    bold = pacopt.certify(table, design)
    assert (safe.deployed.index, bold.deployed.index) == (1, 0)
    assert pacopt.audit(safe, table).passed
    lie = forged(bold.to_dict(), required={"success": 0.97})
    assert pacopt.audit(lie, table).disagreement.name == "certificate.deployed.index"


@pytest.mark.parametrize("name", ["risk", "success", "quantile", "recomputed", "absolute"])
@pytest.mark.parametrize("seed", range(3))
def test_a_number_that_was_certified_can_be_required_word_for_word(name, seed):
    rng = np.random.default_rng(seed)
    table = make(seed, rows=12, n=300)
    cut = pacopt.Truncation.from_second_moment(3.0, 9.0)
    every = claims.shared_out([*claims.standard_claims(truncation=cut), Recomputed()])
    prior = pacopt.DiscreteMeasure.of(table.candidates, rng.dirichlet(np.ones(12)))
    design = pacopt.Design(prior, claims=every)
    bounds = candidate_bounds(table, design, confidence=0.99)
    for index in range(0, 12, 3):
        value = float(bounds[name][index])
        if np.isfinite(value):
            certificate = pacopt.certify(table, design, require={name: value})
            assert certificate.attained
            assert pacopt.audit(certificate, table).disagreement is None


def test_what_no_certificate_could_reach_is_no_requirement():
    for wrong in ({"risk": np.inf}, {"risk": np.nan}, {"success": 2}, {"success": -0.1}, {"quantile": "0.5"}):
        with pytest.raises(DesignError):
            certified(require=wrong)
    with pytest.raises(DesignError, match="require is"):
        certified(require=["risk"])
    with pytest.raises(DesignError, match=r"min_success is 0\.5, and 0\.6 is required of success"):
        certified(require={"success": 0.6}, min_success=0.5)
    assert certified(require={"success": 0.5}, min_success=0.5)[1].required == {"success": 0.5}


def test_a_candidate_without_weight_is_not_deployed_where_nothing_is_finite():
    table = make(rows=2, n=10)
    prior = pacopt.DiscreteMeasure.of(table.candidates, [0.0, 1.0])
    certificate = pacopt.certify(table, pacopt.Design(prior, claims=[claims.Quantile(1.0)]))
    assert certificate.deployed.quantile is None
    assert certificate.deployed.index == 1
    assert pacopt.audit(certificate, table).passed


# Names.


@pytest.mark.parametrize(
    "name",
    [
        "weight",
        "kl",
        "hyper",
        "index",
        "weights",
        "values",
        "empirical_risk",
        "empirical",
        "confidence",
        "selection",
        "t",
    ],
)
def test_a_name_that_has_a_meaning_is_refused(name):
    with pytest.raises(DesignError, match=f"has the name '{name}'.*Other numbers"):
        certified(named(name))


@pytest.mark.parametrize("name", ["my claim", "1st", "", "class", "_mine", None, 5])
def test_a_name_that_is_no_word_is_refused(name):
    with pytest.raises(DesignError, match=r"has the name .*a word of letters"):
        certified(named(name))


def test_a_name_of_pacopts_own_claims_is_refused():
    with pytest.raises(DesignError, match="the name of pacopt's own Risk"):
        design_of(make(), named("risk"))

    class Better(claims.Success):
        """It would be taken for ours."""

    with pytest.raises(DesignError, match="the name of pacopt's own Success"):
        design_of(make(), claims.Risk(), Better())


@pytest.mark.parametrize("key", ["risk", "selection_cost", "index", "mean", "solved", "other_solved_mean"])
def test_numbers_that_explain_a_claim_have_names_of_their_own(key):
    with pytest.raises(DesignError, match=r"explains the claim 'other'.*begins with other_"):
        certified(
            named("other", details=lambda self, table, design, index, value, epsilon: {key: 0.5}), named("other_solved")
        )


def test_a_claim_without_a_formula_hides_no_number_of_another():
    table, certificate = certified(Solved())
    stored = certificate.to_dict()
    for name, lie in (("empirical", {"empirical_risk": 0.0}), ("weight", {}), ("quiet", {"quantile_mean": 0.1})):
        every = [claim | {"name": name} if claim["name"] == "solved" else claim for claim in stored["design"]["claims"]]
        design = stored["design"] | {"claims": every}
        changed = stored | {"design": design, "design_hash": digest(design)}
        for part in ("deployed", "posterior"):
            changed[part] = {name if key == "solved" else key: value for key, value in stored[part].items()}
        changed["ledger"] = [entry | {"text": entry["text"].replace("solved", name)} for entry in stored["ledger"]]
        assert pacopt.audit(forged(changed), table).passed == (name != "weight")
        assert not lie or not pacopt.audit(forged(changed, deployed=lie), table).passed
    more = forged(stored, deployed={"surprise": 0.5})
    assert pacopt.audit(more, table).disagreement.name == "certificate.deployed.surprise"


# Numbers.


@dataclass(frozen=True)
class Odd(pacopt.AbstractClaim):
    """A claim whose bound returns whatever it is told to."""

    share: float = 0.2
    kind: str = "nan"
    name, at_least = "odd", False

    def bound(self, design):
        kind = self.kind

        class Bound(pacopt.AbstractBound):
            theorem, assumptions = "none", ()

            def for_candidates(self, table, prior, epsilon):
                rows = table.shape[0]
                return {
                    "nan": np.where(np.arange(rows) == 3, np.nan, 0.5),
                    "short": np.ones(rows - 1),
                    "complex": np.ones(rows) * 1j,
                    "texts": ["a"] * rows,
                    "list": [0.5] * rows,
                    "drawn": np.ones(rows),
                }[kind]

            def for_posterior(self, table, prior, posterior, epsilon):
                return np.ones(3) if kind == "drawn" else np.nan

        return Bound()

    def sentence(self, value, subject):
        return f"Odd: {self.shown(value)}."


def test_a_bound_that_is_no_number_is_the_worst_there_is():
    table = make()
    certificate = pacopt.certify(table, design_of(table, Odd(), *claims.standard_claims()))
    assert certificate.deployed.index != 3
    assert (certificate.deployed.odd, certificate.posterior.odd) == (0.5, None)
    assert certificate.to_dict() == json.loads(json.dumps(certificate.to_dict(), allow_nan=False))
    lower = type("Lower", (Odd,), {"at_least": True, "__module__": __name__})()
    assert pacopt.certify(table, design_of(table, lower)).deployed.index != 3
    assert pacopt.certify(table, design_of(table, Odd(kind="list"))).deployed.odd == 0.5


@pytest.mark.parametrize("kind", ["short", "complex", "texts"])
def test_a_bound_that_is_not_one_real_number_for_each_candidate_is_refused(kind):
    table = make()
    with pytest.raises(DesignError, match=r"The claim 'odd' has .*one real number for each candidate: shape \(8,\)"):
        pacopt.certify(table, design_of(table, *claims.standard_claims(), Odd(kind=kind)))


def test_a_number_of_the_posterior_is_one_number():
    table = make()
    with pytest.raises(DesignError, match=r"The claim 'odd' has array.* for the posterior"):
        pacopt.certify(table, design_of(table, *claims.standard_claims(), Odd(kind="drawn")))


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        (pacopt.bounds.Catoni(), r"Wrap it: pacopt\.bounds\.OnGrid\(Catoni\(\)"),
        (Tail, r"Call the class: Tail\(\)"),
        (0.5, r"Derive its class from pacopt\.AbstractBound"),
        (type("Loose", (Tail,), {"assumptions": ("iid",)})(), r"assumptions are pacopt\.Assumption"),
    ],
)
def test_a_bound_that_is_none_is_refused_with_a_remedy(bound, words):
    with pytest.raises(DesignError, match=words):
        certified(named("mine", bound=lambda self, design: bound))


def test_shares_are_divided_between_claims_only():
    for wrong in (
        [],
        [Solved],
        [Solved(0.0)],
        [Solved(-1.0), Solved(2.0)],
        [Solved(np.nan)],
        None,
        [Solved(np.inf)],
        5,
    ):
        with pytest.raises(DesignError, match="Shares are divided between claims"):
            claims.shared_out(wrong)


# Honest certificates are verified.


@dataclass(frozen=True)
class Weighing(Recomputed):
    """A claim with numbers that explain it, and a posterior of its own."""

    powers: tuple = (1.0, 2.0)
    name = "weighing"

    def details(self, table, design, index, value, epsilon):
        return {"weighing_mean": np.float64(table.safeguarded()[index].mean()), "weighing_none": np.nan}

    def learn(self, table, design, eligible, epsilon):
        return claims.Learnt(design.prior.restrict(eligible), {"weighing_power": self.powers[1]})

    def sentence(self, value, subject):
        return f"With the powers {self.powers}: {self.shown(value)}."


@pytest.mark.parametrize("first", [True, False])
def test_a_claim_that_explains_and_weighs_in_its_own_way_is_verified(tmp_path, first):
    table, standard = make(), claims.standard_claims()
    design = design_of(table, *((Weighing(), *standard) if first else (*standard, Weighing())))
    certificate = pacopt.certify(table, design, require={"success": 0.3})
    result = pacopt.verify(certificate.save(tmp_path / "run"))
    assert result.passed, result
    missing = {"deployed.weighing_mean", "deployed.weighing_none"} | ({"posterior.weighing_power"} if first else set())
    assert set(result.not_recomputed) == missing
    assert "the number 'deployed.weighing_mean', whose formula is not at hand, was not recomputed" in str(result)
    assert certificate.deployed.weighing_none is None
    if first:
        assert 1 < sum(weight > 0 for weight in certificate.posterior.weights) < table.shape[0] + 1
        weights = [1.5, *([0.0] * (table.shape[0] - 2)), -0.5]
        lie = forged(certificate.to_dict(), posterior={"weights": weights})
        assert pacopt.audit(lie, table).disagreement.name == "certificate.posterior.weights"


def test_a_posterior_outside_of_what_may_be_deployed_is_refused():
    class Loose(Weighing):
        def learn(self, table, design, eligible, epsilon):
            return claims.Learnt(design.prior, {})

    table = make(failures=0.1)
    wanted = float(pacopt.certify(table).deployed.success)
    with pytest.raises(DesignError, match="may be deployed"):
        pacopt.certify(table, design_of(table, Loose(), *claims.standard_claims()), require={"success": wanted})


@pytest.mark.parametrize("powers", [(1.0, 2.0), [1.0, 2.0], (np.float64(1.0), np.float32(2.0)), ((1, 2), (3, 4))])
def test_settings_come_back_as_they_were(tmp_path, powers):
    _, certificate = certified(Weighing(powers=powers))
    run = certificate.save(tmp_path / "run")
    assert pacopt.verify(run).passed, str(pacopt.verify(run))
    again = pacopt.Certificate.load(run).design["weighing"]
    assert again == certificate.design["weighing"]
    assert isinstance(again.powers, tuple)
    assert json.dumps(certificate.to_dict(), allow_nan=False)


@pytest.mark.parametrize("wrong", [np.ones(2), np.nan, np.inf, len, {1: 2}, {1, 2}, ([1],)])
def test_a_setting_that_cannot_be_stored_is_refused_when_the_design_is_made(wrong):
    with pytest.raises(DesignError, match="The claim 'weighing' cannot be stored"):
        design_of(make(), Weighing(powers=wrong))


def test_a_claim_is_a_dataclass():
    class Plain(pacopt.AbstractClaim):
        share, name, bound = 0.2, "plain", Solved.bound

        def sentence(self, value, subject):
            return ""

    with pytest.raises(DesignError, match="'plain' cannot be stored: it is no dataclass"):
        pacopt.Design.uniform(make(), claims=[claims.Risk(), Plain()])


def test_shares_of_other_kinds_of_numbers_are_stored(tmp_path):
    table = make()
    every = [claims.Risk(np.float32(0.5)), Solved(np.float32(0.25))]
    certificate = pacopt.certify(table, pacopt.Design.uniform(table, claims=every))
    assert pacopt.verify(certificate.save(tmp_path / "run")).passed


def test_the_text_of_a_certificate_is_the_same_without_the_code_of_a_claim():
    def words(self, design):
        return "words of my own"

    claim = named("mine", unit="per cent", heading=words, explained=lambda *everything: ["Mine."])
    _, certificate = certified(claim, require={"mine": 0.01})
    stored = certificate.to_dict()
    loaded = pacopt.Certificate.from_dict(stored)
    assert isinstance(loaded.design["mine"], ForeignClaim), "the class has no place in its module"
    assert str(loaded) == str(certificate)
    assert f"mine at least {claim.shown(certificate.posterior.mine)}" in str(certificate)
    assert "per cent" in claim.shown(0.5)


# The ledger.


class Mean(claims.Risk):
    """A claim built on ours, with a ledger of its own."""

    name = "average"

    def details(self, *everything):
        return {}

    def learn(self, table, design, eligible, epsilon):
        return claims.Learnt(design.prior.restrict(eligible), {})

    def ledger(self, design):
        return ()


def test_the_ledger_says_that_a_claim_built_on_ours_is_declared(tmp_path):
    table = make()
    certificate = pacopt.certify(table, design_of(table, Mean(), claims.Success()))
    (line,) = [entry for entry in certificate.ledger if "'average'" in entry.text]
    assert (str(line.status), "by a theorem of the user's own (L4" in line.text) == ("declared", True)
    assert pacopt.verify(certificate.save(tmp_path / "run")).passed


def test_a_ledger_keeps_its_lines_when_an_earlier_certificate_is_found_though_the_code_is_gone():
    _, certificate = certified(Solved())
    stored = certificate.to_dict()
    every = [c | {"class": "gone:Gone"} if c["name"] == "solved" else c for c in stored["design"]["claims"]]
    loaded = pacopt.Certificate.from_dict(stored | {"design": stored["design"] | {"claims": every}})
    assert isinstance(loaded.design["solved"], ForeignClaim)
    after = loaded.after(2)
    assert after.ledger[:-1] == certificate.ledger
    assert "2 earlier certificates" in after.ledger[-1].text
    assert after.after(0).ledger == certificate.ledger


# Short arguments.


def test_short_arguments_change_claims_in_their_places_and_only_those_that_are_there():
    table = make()
    design = pacopt.Design.uniform(table, claims=[Solved(0.2), claims.Quantile(0.1), claims.Risk(0.3)])
    changed = replace(design, quantile_level=0.5)
    assert list(changed.claims) == [Solved(0.2), claims.Quantile(0.1, 0.5), claims.Risk(0.3)]
    cut = pacopt.Truncation.from_bound(9.0)
    for options in ({"shares": pacopt.Shares()}, {"truncation": cut}):
        with pytest.raises(DesignError, match=r"is given beside the claims solved, quantile, risk\."):
            replace(design, **options)
    with pytest.raises(DesignError, match="quantile_level is given beside the claims risk"):
        pacopt.Design.uniform(table, claims=[claims.Risk()], quantile_level=0.5)
    declared = pacopt.Design.uniform(table, truncation=cut)
    with pytest.raises(DesignError, match="shares is given beside the claims risk, success, quantile, absolute"):
        replace(declared, shares=pacopt.Shares())
    assert replace(declared, truncation=pacopt.Truncation.from_bound(8.0))["absolute"].truncation.level == 8.0


# Formulas that a user supplies.


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        (lambda self, table, weights, level, posterior: (np.ones(3), 0.5), r"numbers of shape \(3,\) for 8 candidates"),
        (lambda self, table, weights, level, posterior: 1 / 0, "ZeroDivisionError"),
        (lambda self, table, weights, level, posterior: None, "TypeError"),
        (lambda self, table, weights, level, posterior: (["a"] * 8, None), "ValueError"),
    ],
)
def test_a_formula_that_fails_is_a_problem_that_is_reported(tmp_path, monkeypatch, formula, words):
    table, certificate = certified(Recomputed())
    run = certificate.save(tmp_path / "run")
    monkeypatch.setattr(Recomputed, "recompute", formula)
    with np.testing.assert_raises_regex(AssertionError, words):
        raise AssertionError(str(pacopt.audit(certificate, table).disagreement))
    (problem,) = pacopt.verify(run).problems
    assert problem.startswith("the formula of the claim 'recomputed' failed: ")


def test_a_class_that_has_other_settings_by_now_is_not_the_one_that_made_the_claim(tmp_path):
    module = ModuleType("their_claims")
    sys.modules["their_claims"] = module
    try:
        module.Theirs = dataclass(frozen=True)(
            type("Theirs", (Recomputed,), {"__annotations__": {"old": int}, "old": 1, "name": "theirs"})
        )
        module.Theirs.__module__ = "their_claims"
        _, certificate = certified(module.Theirs())
        run = certificate.save(tmp_path / "run")
        assert pacopt.verify(run).not_recomputed == ()
        module.Theirs = dataclass(frozen=True)(
            type("Theirs", (Recomputed,), {"__annotations__": {"new": int}, "new": 1, "name": "theirs"})
        )
        again = pacopt.Certificate.load(run)
        assert isinstance(again.design["theirs"], ForeignClaim)
        assert str(again) == str(certificate)
        result = pacopt.verify(run)
        assert (result.passed, result.not_recomputed) == (True, ("theirs",))
    finally:
        del sys.modules["their_claims"]


def test_the_class_of_a_claim_need_not_be_its_name_with_a_capital(monkeypatch):
    from pacopt.auditing import formulas, v2

    table, certificate = certified()
    kind = "pacopt.claims.worst_case:WorstCase"
    stored = certificate.to_dict()
    assert v2.NAMES is formulas.NAMES
    monkeypatch.setitem(formulas.FORMULAS, kind, formulas.success)
    monkeypatch.setitem(formulas.NAMES, kind, "worst_case")
    claim = {"name": "worst_case", "class": kind, "at_least": True, "share": 1e-9, "settings": {}}
    every = [claim | {"share": 0.1} if each["name"] == "success" else each for each in stored["design"]["claims"]]
    found = v2.impossible(stored | {"design": stored["design"] | {"claims": every}}, table)
    assert found is None
