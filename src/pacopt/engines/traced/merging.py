"""Tables of candidates with different choices, put together."""

from collections.abc import Mapping

import numpy as np

from pacopt.engines.description import candidates_hash
from pacopt.loss_table import LossTable


def merged(
    found: list[tuple[np.ndarray, LossTable, np.ndarray]], values: Mapping[str, np.ndarray]
) -> tuple[LossTable, np.ndarray]:
    """Tables of candidates with different choices as one, in the order of the candidates."""
    order = np.argsort(np.concatenate([rows for rows, _, _ in found]))
    tables = [table for _, table, _ in found]
    verdicts = [table.success for table in tables if table.success is not None]
    clamped = sum(table.provenance["clamped"] for table in tables)
    table = LossTable(
        losses=np.concatenate([table.losses for table in tables])[order],
        start=tables[0].start,
        candidates=values,
        success=np.concatenate(verdicts)[order] if verdicts else None,
        provenance={**tables[0].provenance, "candidates": candidates_hash(values), "clamped": clamped},
        fingerprints=tables[0].fingerprints,
        columns=tables[0].columns,
        times={target: np.concatenate([table.times[target] for table in tables])[order] for target in tables[0].times},
    )
    return table, np.concatenate([losses for _, _, losses in found])[order]
