"""The command `pacopt plan`, which has more options than all the others."""

from typing import Annotated

import typer

from pacopt.app.console import Output
from pacopt.app.options import Json

PLAN_EXAMPLES = (
    "Examples: [bold]pacopt plan --instances 1400[/bold] says what they can claim, "
    "[bold]pacopt plan --success 0.99[/bold] how many that needs, "
    "[bold]pacopt plan --risk 0.05 --mean 0.04[/bold] likewise for the mean ratio, "
    "[bold]pacopt plan --within 0.99[/bold] for a budget, [bold]pacopt plan --gain 2 --factor 3[/bold] for a gain, "
    "[bold]pacopt plan --success 0.99 --drop 0.95[/bold] how soon a change is noticed."
)


def plan(
    instances: Annotated[int | None, typer.Option(min=3, help="How many instances there are in all.")] = None,
    success: Annotated[float | None, typer.Option(help="The success probability to be certified.")] = None,
    risk: Annotated[float | None, typer.Option(help="The mean ratio of final to start loss to be certified.")] = None,
    within: Annotated[
        float | None, typer.Option(help="The part of instances to be certified within a budget of steps.")
    ] = None,
    gain: Annotated[float | None, typer.Option(help="The gain over a baseline to be certified.")] = None,
    drop: Annotated[float | None, typer.Option(help="How soon is it noticed that success has dropped to this?")] = None,
    rise: Annotated[
        float | None, typer.Option(help="How soon is it noticed that the mean ratio has risen to this?")
    ] = None,
    confidence: Annotated[float, typer.Option(help="With which the certificate is to hold.")] = 0.99,
    mean: Annotated[float, typer.Option(help="The true mean ratio, as you guess it.")] = 0.05,
    variation: Annotated[float, typer.Option("--cv", help="Its coefficient of variation, as you guess it.")] = 1.0,
    failure_rate: Annotated[float, typer.Option(min=0, max=1, help="The part of runs that fail, as you guess.")] = 0.0,
    late_rate: Annotated[
        float, typer.Option(min=0, max=1, help="The part of runs beyond the budget, as you guess.")
    ] = 0.0,
    targets: Annotated[
        int | None, typer.Option(min=1, help="How many targets have a budget; the hardest counts.", show_default="1")
    ] = None,
    factor: Annotated[
        float | None, typer.Option(help="The true gain, as you guess it.", show_default="1.25 times the gain")
    ] = None,
    baseline_variation: Annotated[
        float | None, typer.Option("--baseline-cv", help="That of the baseline, as you guess it.", show_default="--cv")
    ] = None,
    correlation: Annotated[float, typer.Option(help="Between the scores of both, as you guess it.")] = 0.0,
    every: Annotated[float, typer.Option(help="Instances to a false alarm, on average.")] = 100_000.0,
    top: Annotated[
        float, typer.Option(help="What --mean, --risk and --rise can be at most: a cap of steps, say.")
    ] = 1.0,
    unit: Annotated[str, typer.Option(help="The unit of these.", show_default="of a ratio, none")] = "",
    json: Json = False,
) -> None:
    """Before running anything: what N instances can certify, how many a claim needs, and what none can show.

    Exit code 1 if the claim cannot be made.
    """
    from dataclasses import asdict

    from pacopt.app.presenting import plan_view
    from pacopt.planning.plans import make_plan

    found = make_plan(
        instances=instances,
        success=success,
        risk=risk,
        within=within,
        gain=gain,
        drop=drop,
        rise=rise,
        confidence=confidence,
        mean=mean,
        variation=variation,
        failure_rate=failure_rate,
        late_rate=late_rate,
        targets=targets,
        factor=factor,
        baseline_variation=baseline_variation,
        correlation=correlation,
        every=every,
        top=top,
        unit=unit,
    )
    output = Output(json)
    output.say(*plan_view(found))
    output.document(asdict(found))
    if not found.possible:
        raise typer.Exit(1)
