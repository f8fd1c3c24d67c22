"""A loss table in a notebook: some of its candidates as HTML, all of its runs as a data frame."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pacopt.support.frames import data_frame, single
from pacopt.support.html import boxed, note, table, title
from pacopt.support.values import named, value_of

if TYPE_CHECKING:
    from pandas import DataFrame

    from pacopt.loss_table import LossTable

#: Of more candidates than twice as many, only so many of the first and of the last are shown.
ENDS = 5


def table_html(found: "LossTable") -> str:
    """What candidates did on the instances: means, successes and failures."""
    count, instances = found.shape
    shown = list(range(count)) if count <= 2 * ENDS else [*range(ENDS), *range(count - ENDS, count)]
    some = found.select(rows=shown)
    relative, success = some.start is not None, some.succeeded()
    typical = (
        some.safeguarded().mean(axis=1) if relative else np.quantile(some.outcomes(), 0.5, 1, method="inverted_cdf")
    )
    absent = np.zeros(some.losses.shape, dtype=bool) if some.missing is None else some.missing
    failed = ~np.isfinite(some.losses) & ~absent
    header = ["candidate", "mean ratio" if relative else "median loss", "success", "failed"]
    header += ["not run"] * bool(absent.any()) + ["hyperparameters"]
    rows = [
        (
            f"{i}",
            f"{typical[k]:.4g}",
            f"{success[k].mean():.1%}",
            f"{failed[k].sum()}",
            *([f"{absent[k].sum()}"] if absent.any() else []),
            named(found.hyper(i)),
        )
        for k, i in enumerate(shown)
    ]
    if len(shown) < count:
        rows.insert(ENDS, tuple("…" for _ in header))
    said = "Mean ratio of final to start loss, with the safeguard. " if relative else ""
    return boxed(
        title(f"Loss table: {count} candidates on {instances} instances"),
        table(header, rows, left=("hyperparameters",)),
        note(f"{said}Measured on these instances, not certified."),
    )


def table_frame(found: "LossTable") -> "DataFrame":
    """One row for each run of each candidate."""
    count, runs = found.losses.shape

    def by_candidate(values: Any) -> Any:
        return np.repeat(values, runs)

    def by_run(values: Any) -> Any:
        return np.tile(values, count)

    columns: dict[str, Any] = {"candidate": by_candidate(np.arange(count))}
    if found.columns is None:
        columns["instance"] = by_run(np.arange(runs))
    else:
        columns["instance"] = by_run(np.repeat(np.arange(len(found.columns)), found.columns.sizes))
        columns["run"] = by_run(np.arange(runs))
    for name, values in found.candidates.items():
        each = values if values.ndim == 1 else single([value_of(values, i) for i in range(count)])
        columns[f"params_{name}"] = by_candidate(each)
    if found.start is not None:
        columns["start"] = by_run(found.start)
    columns |= {"loss": found.losses.ravel()}
    columns |= {"ratio": found.run_ratios().ravel()} if found.start is not None else {}
    columns |= {"success": replace(found, columns=None).succeeded().ravel()}
    columns |= {"missing": found.missing.ravel()} if found.missing is not None else {}
    columns |= {f"time_to_{target}": times.ravel() for target, times in found.times.items()}
    columns |= {f"baseline_{name}": by_run(losses) for name, losses in found.baselines.items()}
    return data_frame(columns)
