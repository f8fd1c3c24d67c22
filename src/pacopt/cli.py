"""The command line. Nothing heavy is imported before a command needs it."""

import sys
from itertools import chain, count
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
    console.print(str(learned.certificate), markup=False, highlight=False)
    if learned.comparison is not None:
        console.print(_view(learned.comparison))
    place = learned.save(_free(out))
    console.print(f"{verify(place)}", markup=False, highlight=False)


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
