"""Results for people to read on a terminal, and for machines as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import RenderableType
from rich.table import Table

from pacopt.comparison import between, percentages
from pacopt.planning.plans import Plan
from pacopt.report.budgets import Budgets
from pacopt.report.sections.measured import in_training
from pacopt.statement import certificate_summary
from pacopt.support.rounding import down, in_few_digits, up
from pacopt.support.values import marked_hyper, named, readable

if TYPE_CHECKING:
    from pacopt.comparison import Comparison, Row
    from pacopt.families.outcome import Contest
    from pacopt.learned import Learned
    from pacopt.papers.sucker_ochs_2023.reproduction import Reproduced

#: The heading of a column.
INSTANCES = "training instances"


def learned_view(learned: "Learned", place: Path) -> list[RenderableType]:
    """What was learned: certified claims and assumptions, the comparison, remarks, and where to find everything."""
    view: list[RenderableType] = [certificate_summary(learned.certificate), ""]
    if learned.comparison is None:
        view += [in_training(learned.certificate, learned.table), ""]
    else:
        view += [_compared(learned.comparison), "", *_hyper(learned.comparison), ""]
    view += _budget(learned)
    view += [f"Note: {remark}." for remark in learned.remarks]
    files = {"Statement": place / "statement.txt", "Report": place / "report.html", "Run": place}
    return [*view, *(f"{name + ':':<11}{path}" for name, path in files.items())]


def learned_document(learned: "Learned", place: Path) -> dict[str, Any]:
    """What was learned, as a JSON value; everything else is in the files of the run."""
    certificate = learned.certificate
    return {
        "attained": certificate.attained,
        "usable": certificate.attained and certificate.ever_succeeded > 0,
        "run": str(place),
        "report": str(place / "report.html"),
        "hyper": learned.certificate.deployed.hyper,
        "confidence": certificate.confidence,
        "instances": certificate.instances,
        "deployed": certificate.deployed.to_dict(),
        "posterior": {key: value for key, value in certificate.posterior.to_dict().items() if key != "weights"},
        "statement": f"{certificate}",
        "comparison": None if learned.comparison is None else _comparison_document(learned.comparison),
        "remarks": list(learned.remarks),
    }


def plan_view(plan: Plan, *, success: bool = True, mean: bool = True) -> list[RenderableType]:
    """The answer in words, what cannot be shown, and small tables: of success and of the mean where asked for."""
    sizes = _table(
        "Training instances that certify a success probability",
        ("success at least", "if no run fails", "if 1 run fails", "if 5 runs fail"),
        [(f"{level.success!r}", *(f"{count:,}" for count in level.train)) for level in plan.levels],
    )
    tightness = _table(
        f"Expected bound on a {plan.unit.mean(plan.mean)}, coefficient of variation {plan.variation!r}",
        (INSTANCES, "bound", "bound / mean", "of any method"),
        [
            (
                f"{size.train:,}",
                up(size.risk * plan.unit.top),
                f"{size.risk / plan.mean:.4g}",
                f"≥ {down(size.floor / plan.mean)}",
            )
            for size in plan.risks
        ],
    )
    tables = [table for table, asked in ((sizes, success), (tightness, mean)) if asked]
    view: list[RenderableType] = [*plan.answers, *plan.limits]
    for table in tables:
        view += ["", table]
    if plan.budgets:
        parts = [(f"{size.train:,}", down(size.within)) for size in plan.budgets]
        view += ["", _table(f"Within the budget, {100 * plan.late_rate:g} % late", (INSTANCES, "at least"), parts)]
    if plan.compared is not None:
        gains = [
            (f"{size.train:,}", "none" if size.gain is None else down(size.gain), f"≤ {up(size.ceiling)}")
            for size in plan.gains
        ]
        title = f"Expected gain if the true gain is {plan.compared.factor:g}"
        view += ["", _table(title, (INSTANCES, "gain", "of any method"), gains)]
    return [*view, plan.caution]


def _table(title: str, headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    """Numbers under their headings."""
    table = Table(title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*row)
    return table


def reproduced_view(result: "Reproduced") -> list[RenderableType]:
    """The numbers of one figure beside the published ones, and what they say about the paper's claims."""
    view = Table(title=f"{result.figure}, {result.followed}", title_justify="left")
    for heading in ("number", "the paper says", "authors' code", "here"):
        view.add_column(heading, justify="right" if heading == "here" else "left")
    for number, text, code, ours in result.comparison:
        view.add_row(number, text, code, f"{ours:.4g}")
    return [view, *(f"{verdict}" for verdict in result.verdicts), ""]


def families_view(found: Sequence["Contest"]) -> list[RenderableType]:
    """One line for each family: how solvers do, then the certified numbers."""
    from pacopt.families.results import CERTIFIED, MEASURED, line

    lines = [tuple(line(each)) for each in found]
    split = len(MEASURED)
    measured = _narrow("Means on fresh instances", MEASURED, [row[:split] for row in lines])
    certified = _narrow("Certified", (MEASURED[0], *CERTIFIED), [(row[0], *row[split:]) for row in lines])
    return [measured, certified]


def _narrow(title: str, headings: Sequence[str], rows: Sequence[tuple[str, ...]]) -> Table:
    """A table without lines, the first column to the left and never broken."""
    view = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for place, heading in enumerate(headings):
        view.add_column(heading, justify="right" if place else "left", no_wrap=not place)
    for row in rows:
        view.add_row(*row)
    return view


def _comparison_document(comparison: "Comparison") -> dict[str, Any]:
    """Rows, and how many times smaller the learned mean is than that of each other row, with its interval."""
    learned, *others = [row.name for row in comparison.rows]
    return {
        "instances": comparison.instances,
        # The mean absolute loss has no interval, so it is left out.
        "rows": [
            {key: value for key, value in asdict(row).items() if key != "mean_loss"}
            | {"hyper": marked_hyper(row.hyper)}
            for row in comparison.rows
        ],
        "factors": {name: asdict(comparison.factor(learned, name)) for name in others},
    }


def _compared(comparison: "Comparison") -> Table:
    """One line for each choice of hyperparameters, narrow enough for 80 columns."""
    view = Table(
        title=comparison.title,
        caption=comparison.note,
        caption_justify="left",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    view.add_column("", overflow="fold")
    for heading in ("mean", "95 % interval", "success", comparison.failing, "worst"):
        # At the end of a long name: "textbook" alone on a line with numbers would be another row.
        view.add_column(heading, justify="right", no_wrap=True, vertical="bottom")
    for row in comparison.rows:
        numbers = (
            f"{row.mean:.4g}",
            between(row.interval),
            percentages(row.success_interval),
            f"{row.failures}",
            f"{row.worst:.3g}",
        )
        view.add_row(_label(comparison, row), *numbers)
    return view


def _budget(learned: "Learned") -> list[RenderableType]:
    """The certified share within some numbers of steps, if a budget is claimed."""
    budgets = Budgets.of(learned.certificate, learned.test)
    if budgets is None:
        return []
    view = Table(
        title="Budget",
        caption=budgets.note,
        caption_justify="left",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for place, heading in enumerate(budgets.header):
        view.add_column(heading, justify="right" if place else "left")
    for row in budgets.rows:
        view.add_row(*row)
    return [view, ""]


def _hyper(comparison: "Comparison") -> list[str]:
    """The hyperparameters of each row, which a table of this width cannot hold."""
    return [
        f"{_label(comparison, row)}: {in_few_digits(row.described) or named(row.hyper, readable)}"
        for row in comparison.rows
    ]


def _label(comparison: "Comparison", row: "Row") -> str:
    """The name of a row, as in a report: without an article."""
    return comparison.called(row).removeprefix("the ")
