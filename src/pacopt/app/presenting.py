"""Results as a person reads them on a terminal, and as a machine does."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.table import Table

from pacopt.planning.plans import Plan
from pacopt.statement import certificate_summary, up

if TYPE_CHECKING:
    from pacopt.comparison import Comparison
    from pacopt.learned import Learned
    from pacopt.papers.sucker_ochs_2023.reproduction import Reproduced


def learned_view(learned: "Learned", place: Path) -> list[RenderableType]:
    """What was learned: what is certified and what it rests on, the comparison, remarks, and where to find it all."""
    view: list[RenderableType] = [certificate_summary(learned.certificate), ""]
    if learned.comparison is not None:
        view.append(_compared(learned.comparison))
    view += [f"Note: {remark}." for remark in learned.remarks]
    files = {"Statement": place / "statement.txt", "Report": place / "report.html", "Run": place}
    return [*view, *(f"{name + ':':<11}{path}" for name, path in files.items())]


def learned_document(learned: "Learned", place: Path) -> dict[str, Any]:
    """What was learned, as a JSON value; everything else stands in the files of the run."""
    certificate = learned.certificate
    return {
        "run": str(place),
        "report": str(place / "report.html"),
        "hyper": learned.hyper,
        "attained": certificate.attained,
        "confidence": certificate.confidence,
        "instances": certificate.instances,
        "deployed": asdict(certificate.deployed),
        "posterior": {key: value for key, value in asdict(certificate.posterior).items() if key != "weights"},
        "statement": f"{certificate}",
        "comparison": None if learned.comparison is None else asdict(learned.comparison),
        "remarks": list(learned.remarks),
    }


def plan_view(plan: Plan) -> list[RenderableType]:
    """The answer in words, and two small tables."""
    sizes = Table(title="Training instances that certify a success probability", title_justify="left")
    for heading in ("success at least", "if no run fails", "if 1 run fails", "if 5 runs fail"):
        sizes.add_column(heading, justify="right")
    for level in plan.levels:
        sizes.add_row(f"{level.success!r}", *(f"{count:,}" for count in level.train))
    tightness = Table(
        title=f"Bound on a mean ratio of {plan.mean!r} to be expected, coefficient of variation {plan.variation!r}",
        title_justify="left",
    )
    for heading in ("training instances", "bound", "bound / mean"):
        tightness.add_column(heading, justify="right")
    for size in plan.risks:
        tightness.add_row(f"{size.train:,}", up(size.risk), f"{size.risk / plan.mean:.4g}")
    return [*plan.answers, "", sizes, "", tightness, plan.caution]


def reproduced_view(result: "Reproduced") -> list[RenderableType]:
    """The numbers of one figure beside the published ones, and what they say about the paper's claims."""
    view = Table(title=f"{result.figure}, as the {result.variant} has it", title_justify="left")
    for heading in ("number", "the text says", "authors' code", "here"):
        view.add_column(heading, justify="right" if heading == "here" else "left")
    for number, text, code, ours in result.comparison:
        view.add_row(number, text, code, f"{ours:.4g}")
    return [view, *(f"{verdict}" for verdict in result.verdicts), ""]


def _compared(comparison: "Comparison") -> Table:
    view = Table(title=f"{comparison.instances} test instances: final loss relative to the start")
    names = list(comparison.rows[0].hyper)
    for heading in ("", *names):
        view.add_column(heading)
    for heading in ("mean", "median", "success"):
        view.add_column(heading, justify="right")
    for row in comparison.rows:
        numbers = (f"{row.mean:.4g}", f"{row.median:.4g}", f"{row.success:.1%}")
        view.add_row(row.name, *(f"{row.hyper[name]:.4g}" for name in names), *numbers)
    return view
