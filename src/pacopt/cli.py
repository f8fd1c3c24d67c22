"""The command line. Nothing heavy is imported before a command needs it."""

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from pacopt._version import __version__
from pacopt.errors import PacoptError

app = typer.Typer(
    help="Learn the hyperparameters of an optimization algorithm on sample instances.",
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
    """Learn the hyperparameters of an optimization algorithm on sample instances."""


@app.command()
def demo(seed: Annotated[int, typer.Option(min=0, help="Draws another family of problems.")] = 0) -> None:
    """Learn heavy-ball on the paper's random quadratics and compare it with the textbook hyperparameters."""
    from rich.progress import Progress

    from pacopt.demo import STEPS, run_demo

    console = Console()
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("500 candidates on 1000 instances")
        result = run_demo(seed=seed, progress=lambda done, total: bar.update(task, completed=done, total=total))

    view = Table(title=f"Heavy-ball, {STEPS} steps, 200 test instances: loss relative to the start")
    for heading in ("", "step size", "momentum"):
        view.add_column(heading)
    for heading in ("mean", "median", "success"):
        view.add_column(heading, justify="right")
    for row in result.rows:
        numbers = (f"{row.mean:.4f}", f"{row.median:.4f}", f"{row.success:.1%}")
        view.add_row(row.name, f"{row.hyper['step_size']:.3e}", f"{row.hyper['momentum']:.4f}", *numbers)
    console.print(view)
    standard, learned = result.rows
    console.print(
        f"Learned from {result.table.shape[0]} candidates on {result.table.shape[1]} training instances: "
        f"the mean final loss is {standard.mean / learned.mean:.1f} times smaller than with the textbook values.\n"
        "These are averages on 200 test instances, not a certificate."
    )


def main() -> None:
    """Run the command line; a user's mistake is one paragraph and exit code 2."""
    try:
        app()
    except PacoptError as error:
        Console(stderr=True).print(f"{type(error).__name__}: {error}", style="red", markup=False, highlight=False)
        sys.exit(2)
