"""The command `pacopt plan`, which has more options than all the others."""

from typing import Annotated

import typer

from pacopt.app.console import Output
from pacopt.app.options import Json, Quiet

PLAN_EXAMPLES = (
    "Examples: [bold]pacopt plan --instances 1400[/bold] says what they can certify, "
    "[bold]pacopt plan --success 0.99[/bold] how many instances that takes, "
    "[bold]pacopt plan --risk 0.05 --mean 0.04[/bold] the same for the mean ratio, "
    "[bold]pacopt plan --within 0.99[/bold] for a budget, [bold]pacopt plan --gain 2 --factor 3[/bold] for a gain, "
    "[bold]pacopt plan --success 0.99 --drop 0.95[/bold] how soon a change is detected."
)


def plan(
    instances: Annotated[int | None, typer.Option(min=3, help="The total number of instances.")] = None,
    success: Annotated[float | None, typer.Option(help="The success probability to certify.")] = None,
    risk: Annotated[float | None, typer.Option(help="The mean ratio of final to start loss to certify.")] = None,
    within: Annotated[
        float | None, typer.Option(help="The share of instances to certify within a budget of steps.")
    ] = None,
    gain: Annotated[float | None, typer.Option(help="The gain over a baseline to certify.")] = None,
    drop: Annotated[float | None, typer.Option(help="How soon is a drop of success to this value detected?")] = None,
    rise: Annotated[
        float | None, typer.Option(help="How soon is a rise of the mean ratio to this value detected?")
    ] = None,
    confidence: Annotated[float, typer.Option(help="The confidence of the certificate.")] = 0.99,
    mean: Annotated[float, typer.Option(help="Your guess of the true mean ratio.")] = 0.05,
    variation: Annotated[float, typer.Option("--cv", help="Your guess of its coefficient of variation.")] = 1.0,
    failure_rate: Annotated[float, typer.Option(min=0, max=1, help="Your guess of the share of runs that fail.")] = 0.0,
    late_rate: Annotated[
        float, typer.Option(min=0, max=1, help="Your guess of the share of runs beyond the budget.")
    ] = 0.0,
    targets: Annotated[
        int | None, typer.Option(min=1, help="How many targets the budget has; the hardest counts.", show_default="1")
    ] = None,
    factor: Annotated[
        float | None, typer.Option(help="Your guess of the true gain.", show_default="1.25 times the gain")
    ] = None,
    baseline_variation: Annotated[
        float | None,
        typer.Option(
            "--baseline-cv", help="Your guess of the baseline's coefficient of variation.", show_default="--cv"
        ),
    ] = None,
    correlation: Annotated[float, typer.Option(help="Your guess of the correlation between both scores.")] = 0.0,
    every: Annotated[float, typer.Option(help="Instances until a false alarm, on average.")] = 100_000.0,
    top: Annotated[
        float, typer.Option(help="The largest value of --mean, --risk and --rise, such as a cap on steps.")
    ] = 1.0,
    unit: Annotated[
        str, typer.Option(help="The unit of --mean, --risk, --rise and --top.", show_default="none, for a ratio")
    ] = "",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Before you run anything: what N instances can certify, how many a claim needs, and what none can show.

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
    output = Output(json, quiet)
    wishes = (success, drop, risk, rise, within, targets, gain, factor)
    everything = instances is not None or all(each is None for each in wishes)
    of_success = everything or success is not None or drop is not None
    of_the_mean = everything or risk is not None or rise is not None
    output.say(*plan_view(found, success=of_success, mean=of_the_mean))
    output.document(asdict(found))
    if not found.possible:
        raise typer.Exit(1)
