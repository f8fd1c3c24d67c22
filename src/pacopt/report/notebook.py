"""What was learned in a notebook: as HTML, and its candidates and its comparison as data frames."""

from typing import TYPE_CHECKING

import numpy as np

from pacopt.comparison import Comparison
from pacopt.report.source import Reportable
from pacopt.statement import certificate_html
from pacopt.support import html
from pacopt.support.frames import data_frame, params, real
from pacopt.support.values import exact
from pacopt.tradeoff import Certified, candidate_bounds

if TYPE_CHECKING:
    from pandas import DataFrame


def learned_html(learned: Reportable) -> str:
    """The hyperparameters, what is certified of them, how they did on the test split, and warnings."""
    hyper, compared = learned.certificate.deployed.hyper, learned.comparison
    values = html.table(("", ""), [(name, exact(value)) for name, value in hyper.items()])
    return html.boxed(
        html.title("Learned hyperparameters") if hyper else "",
        values if hyper else "",
        html.title("Certificate"),
        certificate_html(learned.certificate),
        "" if compared is None else comparison_html(compared),
        *(html.remark(f"Note: {remark}.") for remark in learned.remarks),
    )


def learned_frame(learned: Certified) -> "DataFrame":
    """One row for each candidate, with what is certified of all of them at once.

    A claim that says nothing of a candidate has no number for it; nor has any for a candidate without prior weight.
    """
    certificate, table = learned.certificate, learned.table
    design, count = certificate.design, table.shape[0]
    bounds = candidate_bounds(table, design, confidence=certificate.confidence)
    prior = design.prior.weights

    def certified(numbers: np.ndarray) -> np.ndarray:
        return np.where((prior > 0) & np.isfinite(numbers), numbers, np.nan)

    seen = {name: found for name in bounds if (found := design[name].measured(table, design)) is not None}
    return data_frame(
        {"candidate": np.arange(count), "deployed": np.arange(count) == certificate.deployed.index}
        | {"prior": prior, "posterior": np.asarray(certificate.posterior.weights)}
        | {f"certified_{name}": certified(numbers) for name, numbers in bounds.items()}
        | {f"train_{name}": numbers for name, numbers in seen.items()}
        | params([table.hyper(i) for i in range(count)])
    )


def comparison_html(comparison: Comparison) -> str:
    """The table of a comparison, as it is printed."""
    header, _, texts = zip(*comparison.printed, strict=True)
    cells = html.table(header[:-1], zip(*texts[:-1], strict=True))
    each = html.table(("", header[-1]), zip(texts[0], texts[-1], strict=True), left=("", header[-1]))
    failed = "Above start: runs that ended there, or failed. Worst: the largest ratio." if comparison.relative else ""
    note = html.note(f"Measured, not certified. {failed}".rstrip())
    return html.boxed(html.title(comparison.lead), cells, note, html.folded("What they are", each))


def comparison_frame(comparison: Comparison) -> "DataFrame":
    """One row for each row of the comparison; all that it measures, with intervals."""
    rows, ends = comparison.rows, tuple(enumerate(("low", "high")))
    claims = dict.fromkeys(name for row in rows for name in row.values)
    return data_frame(
        {"name": [comparison.usual if row.name == "standard" else row.name for row in rows]}
        | {"mean": [row.mean for row in rows]}
        | {f"mean_{end}": [row.interval[k] for row in rows] for k, end in ends}
        | {"median": [row.median for row in rows]}
        | {f"quantile_{level}": [row.quantiles[level] for row in rows] for level in rows[0].quantiles}
        | {f"success_{end}": [row.success_interval[k] for row in rows] for k, end in ends}
        | {name: [getattr(row, name) for row in rows] for name in ("success", "failures", "worst", "mean_loss")}
        | {f"measured_{name}": real([row.values.get(name) for row in rows]) for name in claims}
        | params([row.hyper for row in rows])
    )
