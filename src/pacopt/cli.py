"""The command line. Nothing heavy is imported before a command needs it."""

import sys
from itertools import chain, count
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from pacopt._version import __version__
from pacopt.errors import PacoptError

if TYPE_CHECKING:
    from pacopt.comparison import Comparison

app = typer.Typer(
    help="Learn the hyperparameters of an optimization algorithm, with a certificate for unseen instances.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pacopt {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Learn the hyperparameters of an optimization algorithm, with a certificate for unseen instances."""


@app.command()
def demo(
    seed: Annotated[int, typer.Option(min=0, help="Draws another family of problems.")] = 0,
    out: Annotated[Path, typer.Option(help="Where to save the run; numbered if it exists.")] = Path("runs/demo"),
) -> None:
    """Learn heavy-ball on the paper's random quadratics, certify it, save the run, and verify it."""
    from rich.progress import Progress

    from pacopt.demo import run_demo
    from pacopt.verification import verify

    console = Console()
    with Progress(console=Console(stderr=True), transient=True) as bar:
        stages = {"prior": bar.add_task("search on the prior split"), "train": bar.add_task("training split")}
        learned = run_demo(
            seed=seed, progress=lambda stage, done, total: bar.update(stages[stage], completed=done, total=total)
        )
    console.print("Heavy-ball, 50 steps, on random quadratics with curvatures up to between 1 and 5000.\n")
    console.print(str(learned.certificate), markup=False, highlight=False)
    if learned.comparison is not None:
        console.print(_view(learned.comparison))
    for remark in learned.remarks:
        console.print(f"Note: {remark}.", markup=False, highlight=False)
    place = learned.save(_free(out))
    console.print(f"{verify(place)}", markup=False, highlight=False)


@app.command()
def reproduce(
    figures: Annotated[
        list[str] | None, typer.Argument(help="fig1 fig2 fig3 fig4; all of them if none is named.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where to write the figures (PNG and PDF).")] = Path("figures"),
    seed: Annotated[int, typer.Option(min=0, help="Draws other instances and candidates.")] = 0,
    variant: Annotated[str, typer.Option(help="text, code, or both: where the paper and its code differ.")] = "text",
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Run the paper's four experiments: figures, numbers beside the published ones, a verdict on each claim."""
    from rich.progress import Progress

    from pacopt.papers.sucker_ochs_2023.reproduction import (
        EXPERIMENTS,
        checked_figures,
        checked_variants,
        reproduce_one,
    )

    jobs = [
        (figure, which) for which in checked_variants(variant) for figure in checked_figures(figures or EXPERIMENTS)
    ]
    log, results = Console(stderr=True), []
    with Progress(console=log, transient=True) as bar:
        task = bar.add_task("", total=len(jobs))
        for figure, which in jobs:
            bar.update(task, description=f"{figure}, as the {which} has it")
            results.append(reproduce_one(figure, out=out, seed=seed, variant=which))
            bar.advance(task)
            bar.console.print(
                f"{figure} ({which}): {results[-1].seconds:.1f} s, {results[-1].files[0]}", highlight=False
            )
    if json:
        typer.echo(dumps([result.to_dict() for result in results], indent=1))
        return
    console = Console()
    for result in results:
        view = Table(title=f"{result.figure}, as the {result.variant} has it", title_justify="left")
        for heading in ("number", "the text says", "authors' code", "here"):
            view.add_column(heading, justify="right" if heading == "here" else "left")
        for number, text, code, ours in result.comparison:
            view.add_row(number, text, code, f"{ours:.4g}")
        console.print(view)
        for verdict in result.verdicts:
            console.print(f"{verdict}", style="" if verdict.holds else "bold", markup=False, highlight=False)
        console.print()


def _view(comparison: "Comparison") -> Table:
    """A comparison as a table for the terminal."""
    view = Table(title=f"{comparison.instances} test instances: final loss relative to the start")
    names = list(comparison.rows[0].hyper)
    for heading in ("", *names):
        view.add_column(heading)
    for heading in ("mean", "median", "success"):
        view.add_column(heading, justify="right")
    for row in comparison.rows:
        numbers = (f"{row.mean:.4f}", f"{row.median:.4f}", f"{row.success:.1%}")
        view.add_row(row.name, *(f"{row.hyper[name]:.4g}" for name in names), *numbers)
    return view


def _free(place: Path) -> Path:
    """This path, or the first of its numbered siblings that does not exist."""
    numbered = (place.with_name(f"{place.name}-{number}") for number in count(2))
    return next(path for path in chain([place], numbered) if not path.exists())


def main() -> None:
    """Run the command line; a user's mistake is one paragraph and exit code 2."""
    try:
        app()
    except PacoptError as error:
        Console(stderr=True).print(f"{type(error).__name__}: {error}", style="red", markup=False, highlight=False)
        sys.exit(2)
