"""What the first released core certified is certified today, to the last bit: for given candidates, weights and grids.

Exempt are numbers of success, which use the whole of their share now, and choices that depend on them.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import pacopt
from golden import cases
from pacopt import Design, DiscreteMeasure, Grid
from pacopt.app.job_example import write_example
from pacopt.app.job_parts import prepare_job
from pacopt.loss_table import table_hash
from pacopt.tradeoff import candidate_bounds

GOLDEN = json.loads(Path(__file__).with_name("golden.json").read_text())
TABLES = cases.random_tables()
#: On a machine whose logarithms round otherwise, numbers agree to this much.
TOLERANCE = 1e-9
SAME_MACHINE = cases.canary() == GOLDEN["canary"]


def number(stored):
    return float.fromhex(stored) if isinstance(stored, str) else stored


def agree(ours, stored, exact):
    if isinstance(stored, dict):
        return all(agree(ours[key], stored[key], exact) for key in stored)
    if isinstance(stored, list):
        return len(ours) == len(stored) and all(agree(*pair, exact) for pair in zip(ours, stored, strict=True))
    expected = number(stored)
    if exact or not isinstance(expected, float):
        return ours == expected
    return ours == pytest.approx(expected, rel=TOLERANCE, abs=1e-15)


def untouched(values):
    """Everything but what is said of success."""
    return {name: value for name, value in values.items() if "success" not in name and value is not None}


def check(table, design, confidence, min_success, golden, exact):
    certificate = pacopt.certify(table, design, confidence=confidence, min_success=min_success)
    assert certificate.table_hash == golden["table_hash"]
    bounds = candidate_bounds(table, design, confidence=confidence)
    if exact:
        assert cases.digest(bounds["risk"]) == golden["risk"]
        assert cases.digest(bounds["quantile"]) == golden["quantile"]
    if min_success is None or certificate.deployed.index == golden["deployed"]["index"]:
        for part in ("deployed", "posterior"):
            ours, stored = getattr(certificate, part).to_dict(), untouched(golden[part])
            assert agree({name: ours[name] for name in stored}, stored, exact), part
    free, stored = pacopt.frontier(certificate).choices[0], golden["frontier"][0]
    assert (free.index, free.level) == (stored["index"], number(stored["level"]))
    assert agree(
        {"risk": free.risk, "quantile": free.quantile}, untouched({k: stored[k] for k in ("risk", "quantile")}), exact
    )
    for choice in golden["frontier"]:  # what could be certified then can be now, at a risk that is no larger
        able = [now for now in pacopt.frontier(certificate).choices if now.level == number(choice["level"])]
        assert able[0].risk <= number(choice["risk"])


@pytest.mark.parametrize("name", TABLES)
def test_a_random_table_is_certified_as_before(name):
    case = TABLES[name]
    check(case.table, case.design, case.confidence, case.min_success, GOLDEN["tables"][name], SAME_MACHINE)


def given(stored):
    """The candidates, weights and grid of a learned run."""
    candidates = {name: [number(value) for value in values] for name, values in stored["candidates"].items()}
    design = stored["design"]
    log_weights = np.array([number(weight) for weight in design["log_weights"]])
    points, weights = ([number(value) for value in design[name]] for name in ("points", "weights"))
    return Design(DiscreteMeasure(candidates, log_weights), Grid(np.array(points), np.array(weights)))


def learned(stored, problem, train, steps, min_success):
    design = given(stored)
    table = pacopt.tabulate(problem, pacopt.HeavyBall(), design.prior.support, train, steps=steps)
    # Compilers of other machines add up in other ways: then the table is another one, in its last digits.
    exact = SAME_MACHINE and table_hash(table) == stored["numbers"]["table_hash"]
    for golden, wanted in ((stored["numbers"], min_success), (stored["without"], None)):
        golden = golden | {"table_hash": table_hash(table)}
        check(table, design, 0.99, wanted, golden, exact)


def test_the_demo_is_certified_as_before():
    law = pacopt.VaryingCurvature.draw(seed=0)
    parts = pacopt.split(law.sample(1400, seed=1), prior=200, train=1000, test=200, seed=2)
    learned(GOLDEN["demo"], law.problem, parts.train, 50, 0.9)


def test_the_example_job_is_certified_as_before(tmp_path):
    prepared = prepare_job(write_example(tmp_path / "job.toml")[0])
    learned(GOLDEN["example"], prepared.problem, prepared.split.train, 5, 0.95)
