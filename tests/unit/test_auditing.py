"""The audit agrees with every honest certificate and with no altered one."""

import copy
import json

import numpy as np
import pytest

import pacopt
from own_claims import Solved
from pacopt import Certificate, Design, DiscreteMeasure, LossTable, Shares, Truncation
from pacopt.auditing.comparing import Disagreement
from pacopt.errors import StorageError
from pacopt.support.arrays import digest
from unit.test_certificate import make


def certified(seed=0, **options):
    table = make(seed)
    shares, cut = Shares(0.4, 0.2, 0.2, 0.2), Truncation.from_second_moment(3.0, 9.0)
    design = Design.uniform(table, target_ratio=0.5, shares=shares, truncation=cut)
    return table, pacopt.certify(table, design, confidence=0.95, **options)


@pytest.mark.parametrize("seed", range(6))
def test_an_honest_certificate_passes_also_after_storage(seed):
    table, certificate = certified(seed, min_success=[None, 0.5, 0.999][seed % 3])
    assert pacopt.audit(certificate, table).disagreement is None
    stored = json.loads(json.dumps(certificate.to_dict()))
    assert pacopt.audit(stored, table).passed
    assert pacopt.audit(Certificate.from_dict(stored), table).passed
    assert str(Certificate.from_dict(stored)) == str(certificate)


def test_degenerate_certificates_pass():
    n = 30
    two = LossTable(losses=np.full((2, n), 0.5), start=np.ones(n))
    one_sided = Design(DiscreteMeasure.of(two.candidates, [1.0, 0.0]))
    assert pacopt.audit(pacopt.certify(two, one_sided), two).passed
    for losses in (np.zeros((2, n)), np.full((2, n), np.nan), np.ones((2, n)), np.full((1, n), 0.5)):
        table = LossTable(losses=losses, start=np.ones(n))
        assert pacopt.audit(pacopt.certify(table), table).disagreement is None
    table = LossTable(losses=[[0.2]], start=[1.0])
    assert pacopt.audit(pacopt.certify(table), table).passed


def leaves(value, path=()):
    if isinstance(value, dict):
        return [leaf for key in value for leaf in leaves(value[key], (*path, key))]
    if isinstance(value, list):
        return [leaf for i in range(len(value)) for leaf in leaves(value[i], (*path, i))]
    return [path]


def changed(stored, path):
    """The certificate with one leaf altered: numbers by 1e-6 relative, all else visibly."""
    copied = copy.deepcopy(stored)
    place = copied
    for key in path[:-1]:
        place = place[key]
    value = place[path[-1]]
    if isinstance(value, bool):
        place[path[-1]] = not value
    elif isinstance(value, int):
        place[path[-1]] = value + 1
    elif isinstance(value, float):
        place[path[-1]] = value * (1 + 1e-6) if value else 1e-6
    else:
        place[path[-1]] = "altered" if isinstance(value, str) else 0.5
    return copied


def test_every_altered_value_breaks_the_checksum():
    table, certificate = certified()
    stored = json.loads(json.dumps(certificate.to_dict()))
    for path in leaves(stored):
        assert not pacopt.audit(changed(stored, path), table).passed


def with_new_checksum(stored):
    return stored | {"hash": digest({key: value for key, value in stored.items() if key != "hash"})}


def test_every_altered_number_is_noticed_though_the_checksum_was_made_anew():
    table, certificate = certified()
    stored = json.loads(json.dumps(certificate.to_dict()))
    # What the user chose or declared cannot be recomputed from the table; everything else is.
    # (Sentences are words: `verify` compares them with those that the claims make of their numbers.)
    chosen = ("provenance", "required", "earlier", "separate_draws", "sentences", "theorems", "hash")
    paths = [path for path in leaves(stored) if path[0] not in chosen]
    assert len(paths) > 60
    forged = {path: with_new_checksum(changed(stored, path)) for path in paths}
    assert [path for path, value in forged.items() if pacopt.audit(value, table).passed] == []


def test_an_altered_table_is_noticed():
    table, certificate = certified()
    losses = table.losses.copy()
    losses[3, 5] = np.nextafter(losses[3, 5], 9)
    assert not pacopt.audit(certificate, LossTable(losses=losses, start=table.start)).passed


def test_the_first_disagreement_is_named():
    table, certificate = certified()
    stored = certificate.to_dict()
    stored["deployed"]["risk"] *= 0.5
    report = pacopt.audit(with_new_checksum(stored), table)
    assert report.disagreement.name == "certificate.deployed.risk"
    assert "stored as" in str(report.disagreement)


def test_a_disagreement_is_told_in_numbers_as_people_write_them():
    table, certificate = certified()
    stored = json.loads(json.dumps(certificate.to_dict()))
    told = [str(pacopt.audit(with_new_checksum(changed(stored, path)), table).disagreement) for path in leaves(stored)]
    assert any("recomputed as 0." in text for text in told)
    assert [text for text in told if "np." in text or "array(" in text] == []
    nested = Disagreement("weights", np.float64(0.1), {"a": [np.int64(2), (np.bool_(True), np.array([0.5]))]})
    assert str(nested) == "weights is stored as 0.1 and recomputed as {'a': [2, (True, [0.5])]}"


def forged(stored, **changes):
    """A certificate whose design was changed by somebody who also made all hashes anew."""
    copied = copy.deepcopy(stored)
    copied["design"] |= changes
    return with_new_checksum(copied | {"design_hash": digest(copied["design"])})


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"log_weights": [0.7, 0.0, -1.0, None, None, None, None, None]}, "log_weights"),
        ({"log_weights": [-1.0] * 8}, "log_weights"),
        ({"t_grid": {"points": [0.5, 0.9], "weights": [1.0, 1.0]}}, "t_grid.weights"),
        ({"t_grid": {"points": [0.5, 1.5], "weights": [0.5, 0.5]}}, "t_grid.points"),
        ({"target_ratio": 50.0}, "target_ratio"),
        ({"note": "independently verified"}, "design"),
        ({"score": {"name": "ranged", "noun": "loss", "top": 0.0, "unit": ""}}, "score"),
        ({"sources": {"instances": [], "columns": ["00"]}, "score": {"name": "ratio", "top": 2.0}}, "score"),
    ],
)
def test_a_design_that_could_not_hold_is_not_audited_away(changes, name):
    table, certificate = certified()
    report = pacopt.audit(forged(certificate.to_dict(), **changes), table)
    assert report.disagreement.name.endswith(name)


@pytest.mark.parametrize(
    ("index", "changes"),
    [
        (0, {"share": 80.0}),
        (1, {"share": 0.0}),
        (1, {"at_least": False}),
        (2, {"settings": {"level": 1.5}}),
        (3, {"settings": {"truncation": {"level": 1e-3, "excess": 0.0, "reason": "", "second_moment": 1.5}}}),
        (3, {"settings": {"truncation": {"level": 3.0, "excess": 0.0, "reason": "", "second_moment": None}}}),
        (0, {"class": "somebody:Else"}),
        (2, {"name": "median"}),
        (1, {"name": "risk"}),
    ],
)
def test_a_claim_that_could_not_hold_is_not_audited_away(index, changes):
    table, certificate = certified()
    stored = certificate.to_dict()
    claims = copy.deepcopy(stored["design"]["claims"])
    claims[index] |= changes
    report = pacopt.audit(forged(stored, claims=claims), table)
    assert "design.claims" in report.disagreement.name


def test_a_ledger_cannot_be_polished():
    table, certificate = certified()
    stored = certificate.to_dict()
    for ledger in ([], None, [entry | {"status": "proved"} for entry in stored["ledger"]]):
        assert not pacopt.audit(with_new_checksum(stored | {"ledger": ledger}), table).passed


def test_what_is_no_certificate_is_a_clear_error():
    table, certificate = certified()
    stored = certificate.to_dict()
    without = {key: value for key, value in stored.items() if key != "design"}
    other = LossTable(losses=np.ones((3, 4)), start=np.ones(4))
    for garbage, against in ((without, table), ([], table), (None, table), (stored, other), (stored, table.losses)):
        with pytest.raises(StorageError, match="no certificate of this table"):
            pacopt.audit(garbage, against)


def test_many_light_candidates_do_not_part_certificate_and_audit():
    rows, n = 4000, 300
    losses = np.random.default_rng(0).uniform(0, 1e-4, (rows, n))
    losses[1:] += 0.09
    table = LossTable(losses=losses, start=np.ones(n))
    assert pacopt.audit(pacopt.certify(table), table).disagreement is None


def test_only_numbers_that_were_recomputed_are_counted():
    table, certificate = certified()
    deployed, posterior = certificate.deployed.to_dict(), certificate.posterior.to_dict()
    # The hyperparameters, each number beside them, each weight; no verdict, and nothing that was chosen before.
    parts = len(deployed) + len(table.losses) + len(posterior) - 1
    absent = sum(value is None or isinstance(value, bool) for value in (*deployed.values(), *posterior.values()))
    others = len(("ever_succeeded", "instances", "runs", "zero_starts"))
    assert pacopt.audit(certificate, table).compared == parts - absent + others
    without = pacopt.Design.uniform(table, claims=[Solved(0.5), pacopt.claims.Risk(0.5)])
    plain = pacopt.Design.uniform(table, claims=[pacopt.claims.Risk(0.5)])
    more, less = (pacopt.audit(pacopt.certify(table, design), table).compared for design in (plain, without))
    assert less == more - len(table.losses) - 2, "neither weights nor mean and t of an objective without a formula"
