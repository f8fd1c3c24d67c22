"""Made tests/golden/golden.json from the first released core, before claims were taken apart: run there, not here.

    PYTHONPATH=<checkout of 0cd30e4>/src python tests/golden/make.py tests/golden/golden.json

Every float is stored as hexadecimal, so that a change in the last bit shows.
"""

import json
import sys
import tempfile
from pathlib import Path

import cases
import pacopt
from pacopt.certificate import candidate_bounds, certify


def hexed(value):
    if isinstance(value, bool) or value is None or isinstance(value, int | str):
        return value
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, dict):
        return {key: hexed(each) for key, each in value.items()}
    return [hexed(each) for each in value]


def numbers(table, design, confidence, min_success):
    certificate = certify(table, design, confidence=confidence, min_success=min_success)
    stored = certificate.to_dict()
    bounds = candidate_bounds(table, design, confidence=confidence)

    class Both:
        pass

    Both.certificate, Both.table = certificate, table
    frontier = pacopt.frontier(Both)
    return {
        "deployed": hexed(stored["deployed"]),
        "posterior": hexed(stored["posterior"]),
        "frontier": [
            hexed({"level": c.level, "index": c.index, "risk": c.risk, "success": c.success, "quantile": c.quantile})
            for c in frontier.choices
        ],
        "unattained": hexed(list(frontier.unattained)),
        "risk": cases.digest(bounds.risk),
        "quantile": cases.digest(bounds.quantile),
        "table_hash": stored["table_hash"],
        "attained": stored["attained"],
    }


def described(design):
    return {
        "log_weights": hexed(design.prior.log_weights.tolist()),
        "points": hexed(design.t_grid.points.tolist()),
        "weights": hexed(design.t_grid.weights.tolist()),
    }


def learned_case(learned, min_success):
    support = {name: hexed(values.tolist()) for name, values in learned.table.candidates.items()}
    design = learned.certificate.design
    return {
        "candidates": support,
        "design": described(design),
        "numbers": numbers(learned.table, design, 0.99, min_success),
        "without": numbers(learned.table, design, 0.99, None),
    }


if __name__ == "__main__":
    from pacopt.demo import run_demo
    from pacopt.job_example import write_example
    from pacopt.job_parts import prepare_job

    with tempfile.TemporaryDirectory() as place:
        job = write_example(Path(place) / "job.toml")[0]
        example = prepare_job(job).learn()
    result = {
        "canary": cases.canary(),
        "demo": learned_case(run_demo(), 0.9),
        "example": learned_case(example, 0.95),
        "tables": {
            name: numbers(case.table, case.design, case.confidence, case.min_success)
            for name, case in cases.random_tables().items()
        },
    }
    Path(sys.argv[1]).write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")
