"""The command line. Nothing heavy is imported before a command needs it."""

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from pacopt._version import __version__
from pacopt.errors import PacoptError

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
def demo(seed: Annotated[int, typer.Option(min=0, help="Draws another family of problems.")] = 0) -> None:
    """Learn heavy-ball on the paper's random quadratics, certify it, and compare it with the textbook."""
    from rich.progress import Progress

    from pacopt.demo import CANDIDATES, STEPS, TEST, TRAIN, run_demo

    console = Console()
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"{CANDIDATES} candidates on {TRAIN} instances")
        result = run_demo(seed=seed, progress=lambda done, total: bar.update(task, completed=done, total=total))

    console.print(str(result.certificate), markup=False, highlight=False)
    agreed = f"all {result.audit.compared} numbers agree" if result.audit.passed else f"{result.audit.disagreement}"
    console.print(f"Recomputed from the loss table by independent code: {agreed}.\n", markup=False, highlight=False)

    view = Table(title=f"{TEST} test instances, {STEPS} steps: final loss relative to the start")
    for heading in ("", "step size", "momentum"):
        view.add_column(heading)
    for heading in ("mean", "median", "success"):
        view.add_column(heading, justify="right")
    for row in result.rows:
        numbers = (f"{row.mean:.4f}", f"{row.median:.4f}", f"{row.success:.1%}")
        view.add_row(row.name, f"{row.hyper['step_size']:.3e}", f"{row.hyper['momentum']:.4f}", *numbers)
    console.print(view)


def main() -> None:
    """Run the command line; a user's mistake is one paragraph and exit code 2."""
    try:
        app()
    except PacoptError as error:
        Console(stderr=True).print(f"{type(error).__name__}: {error}", style="red", markup=False, highlight=False)
        sys.exit(2)
