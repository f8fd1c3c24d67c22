"""What the search finds for a few streams, as numbers that can be stored: candidates, weights, and what is deployed.

    PYTHONPATH=tests python -m golden.searched tests/golden/searched.json

Candidates and weights are a choice, not a theorem. If the search is changed on purpose, make the file anew, and say in
the changelog, under Guarantee, what became of the certificates.
"""

import json
import sys
from pathlib import Path

import numpy as np

import pacopt
from golden import cases


class Damped(pacopt.AbstractCellEngine):
    """Damped fixed-point steps with a memory and a rule: a real number, a whole one and a choice, in plain Python."""

    space = {
        "damping": pacopt.Interval(1e-3, 1.0, log=True),
        "memory": pacopt.Whole(1, 12),
        "rule": pacopt.Choice("plain", "averaged"),
    }

    def run(self, hyper, instance, seed):
        loss = start = float(instance["size"])
        for k in range(6):
            gain = hyper["damping"] * (1.0 - hyper["memory"] / 40.0) * float(instance["slope"])
            loss *= (1.0 - gain) ** 2 if hyper["rule"] == "plain" else abs(1.0 - gain / (k + 1.0))
        return pacopt.Run(loss=loss, start_loss=start)


def mixed():
    rng = np.random.default_rng(3)
    instances = pacopt.Instances({"size": rng.uniform(1.0, 2.0, 140), "slope": rng.uniform(0.5, 2.5, 140)})
    parts = pacopt.split(instances, prior=30, train=80, test=30, seed=0)
    return pacopt.learn(Damped(), parts, prior=pacopt.priors.Search(candidates=16, rounds=2))


def demo():
    from pacopt.app.demo import run_demo

    return run_demo()


CASES = {"demo": demo, "mixed": mixed}


def numbers(learned):
    """Digests of what was chosen, and the deployed candidate with its certified numbers."""
    prior, deployed = learned.certificate.design.prior, learned.certificate.deployed
    columns = [
        np.unique(values, return_inverse=True)[1] if values.dtype.kind == "U" else values
        for values in prior.support.values()
    ]
    return {
        "candidates": cases.digest(np.stack(columns)),
        "weights": cases.digest(prior.log_weights),
        "hyper": deployed.hyper,
        "weight": deployed.weight,
        "risk": deployed.risk,
        "success": deployed.success,
    }


if __name__ == "__main__":
    found = {"canary": cases.canary()} | {name: numbers(case()) for name, case in CASES.items()}
    Path(sys.argv[1]).write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
