"""Certificates of the first version (schema /1) as values of today; their numbers and words stay what they were."""

from typing import Any

import numpy as np

from pacopt.assumptions import Assumption, Status
from pacopt.auditing.v1_text import text_of_version_1
from pacopt.bounds.absolute import Truncation
from pacopt.bounds.grids import Grid
from pacopt.certificate import Certificate
from pacopt.claims.numbers import Deployed, Posterior
from pacopt.claims.standard import REQUIRED, Shares, standard_claims
from pacopt.design import Design
from pacopt.errors import StorageError
from pacopt.measure import DiscreteMeasure


def certificate_of_version_1(value: dict[str, Any]) -> Certificate:
    """The certificate of a stored JSON value of the first version.

    Its lower bounds on success had half of their share, the other half was for kl under the posterior: the claim has
    that half here, so that frontier and report show the numbers that were certified.
    """
    if value["schema"] != "pacopt.certificate/1":
        raise StorageError(
            f"The certificate has the schema {value['schema']!r}.",
            "This version of pacopt reads pacopt.certificate/1 and /2.",
            "Numbers of another layout could be taken for something that they are not.",
            "Read it with the version of pacopt that wrote it.",
        )
    design, shares = value["design"], value["design"]["shares"]
    cut = design["truncation"]
    claims = standard_claims(
        quantile_level=design["quantile_level"],
        truncation=None if cut is None else Truncation(**cut),
        shares=Shares(**shares | {REQUIRED: shares[REQUIRED] / 2}),
    )
    weights = [-np.inf if weight is None else weight for weight in design["log_weights"]]
    names = {claim.name for claim in claims}
    left_out = {name for name in value["deployed"] if name in shares and name not in names}
    return Certificate(
        confidence=value["confidence"],
        instances=value["instances"],
        runs=value["instances"],
        design=Design(
            DiscreteMeasure(design["candidates"], np.array(weights)),
            Grid(**design["t_grid"]),
            design["target_ratio"],
            claims=claims,
        ),
        deployed=Deployed.from_dict({k: v for k, v in value["deployed"].items() if k not in left_out}),
        posterior=Posterior.from_dict({k: v for k, v in value["posterior"].items() if k not in left_out}),
        required={} if value["min_success"] is None else {REQUIRED: value["min_success"]},
        attained=value["attained"],
        user_success=value["user_success"],
        ever_succeeded=value["ever_succeeded"],
        zero_starts=value["zero_starts"],
        separate_draws=bool(value["provenance"].get("split", {}).get("allow_duplicates", False)),
        ledger=tuple(Assumption(entry["text"], Status(entry["status"])) for entry in value["ledger"]),
        sentences={},
        theorems={},
        table_hash=value["table_hash"],
        provenance=value["provenance"],
        stored=(value, text_of_version_1(value)),
    )
