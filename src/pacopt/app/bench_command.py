"""`pacopt bench families`: every family from its data to a certificate, compared with the solvers people use today."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pacopt.app.console import Output
from pacopt.app.helping import Group, command
from pacopt.app.options import Json, Quiet

if TYPE_CHECKING:
    from pacopt.families.outcome import Contest

bench = typer.Typer(
    cls=Group, help="Measure the benefit of learning over the solvers that people use.", no_args_is_help=True
)


def _names(incomplete: str) -> list[str]:
    from pacopt.families.naming import NAMES

    return [name for name in NAMES if name.startswith(incomplete)]


@command(
    bench,
    "Examples: [bold]pacopt bench families[/bold], [bold]pacopt bench families lasso --fresh 20000[/bold], "
    "[bold]pacopt bench families my_module:my_family[/bold]",
)
def families(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Families by name, or your own as module:name; all of pacopt's if none is named.",
            autocompletion=_names,
        ),
    ] = None,
    fresh: Annotated[int, typer.Option(min=100, help="Number of fresh draws to compare on.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the instances.")] = 0,
    out: Annotated[Path, typer.Option(help="Where to write the table, pictures and runs.")] = Path("runs/families"),
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn and certify each family, and compare it with its textbook, the usual solvers and Optuna. Minutes for each.

    All solvers get the same number of gradients. The prior split decides which of the usual ones is best; the gain
    over it is certified. Optuna has as many runs, in at most 300 trials. Exit code 1 if fresh draws contradict a claim.

    Families: quadratics, lasso, sparse_coding, breast_cancer, digits, wine, deblurring, networks, stochastic_networks,
    quadcopter. They need more packages than the rest: pip install "pacopt\\[families]".
    """
    from pacopt.app.presenting import families_view
    from pacopt.app.workplace import check_writable, free
    from pacopt.families.results import document, markdown, said, verdict
    from pacopt.runs.files import write_json

    output = Output(json, quiet)
    check_writable(out)
    place, found = free(out), list["Contest"]()
    with output.busy() as progress:
        from pacopt.app.compiled import keep_compiled, make_room
        from pacopt.families.contests import contest
        from pacopt.families.naming import families_named
        from pacopt.families.pictures import picture

        chosen = families_named(names or _names(""))
        keep_compiled()
        for family in chosen:
            found.append(contest(family, seed=seed, fresh=fresh, out=place / "runs" / family.name, progress=progress))
            place.mkdir(parents=True, exist_ok=True)
            picture(found[-1], place / f"{family.name}.png")
            write_json(place / "families.json", {"families": [document(each) for each in found]})
            (place / "families.md").write_text(markdown(found))
            output.log(verdict(found[-1]))
            make_room()
    output.say(*families_view(found), *(text for each in found for text in said(each)), f"Written: {place}")
    output.document({"families": [document(each) for each in found], "out": str(place)})
    if any(each.violations for each in found):
        raise typer.Exit(1)
