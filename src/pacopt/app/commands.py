"""The commands. Nothing heavy is imported before one needs it; `cli.main` is where the process starts and ends.

Exit codes: 0 done; 1 the answer is no (a run that is not verified, a claim that cannot be made); 2 invalid input; 3 an
unexpected error; 130 interrupted.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from pacopt._version import __version__
from pacopt.app.bench_command import bench
from pacopt.app.console import Output
from pacopt.app.explaining import explained
from pacopt.app.helping import Group, command
from pacopt.app.options import Json, Quiet, Run
from pacopt.app.plan_command import PLAN_EXAMPLES, plan
from pacopt.app.stopping import INTERRUPTED, begin
from pacopt.support.interrupts import noted

app = typer.Typer(
    cls=Group,
    help="Learn the hyperparameters of an optimization algorithm, with a certificate for the next, unseen instance.",
    epilog="Examples: [bold]pacopt demo[/bold] shows what it does, [bold]pacopt learn --init[/bold] writes a job to "
    "start from, [bold]pacopt plan --success 0.99[/bold] says how many instances that takes.\n\n"
    "Exit codes: 0 done, 1 the answer is no, 2 invalid input, 3 an unexpected error, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

#: How many cells are run again if only the code is given.
CELLS = 20


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
    """Learn the hyperparameters of an optimization algorithm, with a certificate for the next, unseen instance."""


@command(app, "Examples: [bold]pacopt demo --out runs/first[/bold], [bold]pacopt demo --rule[/bold]")
def demo(
    rule: Annotated[
        bool, typer.Option("--rule", help="Train an update rule of 533 numbers instead: one to two minutes.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the family of problems.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(help="Where to save the run; numbered if it exists.", show_default="runs/demo or runs/rule"),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn heavy-ball on the paper's random quadratics, certify it, save the run with its report, and verify it.

    With --rule, it trains a small network that sets step size and momentum in each step, on such quadratics in
    200 dimensions, and certifies it against L-BFGS, conjugate gradients and heavy-ball, each with 50 gradients.
    """
    from pacopt.app.presenting import learned_document, learned_view
    from pacopt.app.workplace import check_writable, free
    from pacopt.verification import verify as check

    output = Output(json, quiet)
    target = out or Path("runs/rule" if rule else "runs/demo")
    check_writable(target)
    with output.busy() as progress:
        from pacopt.app.compiled import keep_compiled
        from pacopt.app.demo import means, run_demo, run_rule_demo

        keep_compiled()
        learned = (run_rule_demo if rule else run_demo)(seed=seed, progress=progress)
        progress("save", 0, 1)
        place = learned.save(free(target))
        learned = learned.beside(place)  # as it was saved
        progress("verify", 0, 1)
        verification = check(place)
    what = "A trained rule, 50 gradients," if rule else "Heavy-ball, 50 steps,"
    output.say(f"{what} on random quadratics whose largest curvature lies between 1 and 5000.\n")
    output.say(*([f"{means(learned)}\n"] if rule else []), *learned_view(learned, place), f"{verification}")
    output.document(learned_document(learned, place))


@command(
    app,
    "Examples: [bold]pacopt learn --init[/bold] writes job.toml with the code and the data that it names, "
    "[bold]pacopt learn job.toml[/bold] runs it, [bold]pacopt learn job.toml --resume[/bold] continues after Ctrl-C.",
)
def learn(
    job: Annotated[Path, typer.Argument(help="The job file: what to learn.", metavar="JOB")] = Path("job.toml"),
    out: Annotated[
        Path | None, typer.Option(help="Where to save the run; numbered if it exists.", show_default="runs/JOB")
    ] = None,
    init: Annotated[bool, typer.Option("--init", help="Write a working example with comments.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    dask: Annotated[
        str | None,
        typer.Option(help="Compute tables on a Dask cluster: tcp://host:8786, or a scheduler file.", metavar="CLUSTER"),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn what a job file asks for, certify it, save the run with its report."""
    from pacopt.app.presenting import learned_document, learned_view

    output = Output(json, quiet)
    if init:
        from pacopt.app.job_example import write_example

        files = [str(path) for path in write_example(job)]
        output.say(f"Written: {', '.join(files)}. Run it: pacopt learn {job}")
        output.document({"files": files})
        return
    with output.busy() as progress:
        from pacopt.app.clusters import connected
        from pacopt.app.compiled import keep_compiled
        from pacopt.app.job_run import run_job

        keep_compiled()
        with connected(dask) as cluster:
            learned, saved = run_job(job, out, output, progress, resume=resume, executor=cluster)
    output.say(*learned_view(learned, saved), f"Check it:  pacopt verify {saved}")
    output.document(learned_document(learned, saved))
    if not (learned.certificate.attained and learned.certificate.ever_succeeded):
        raise typer.Exit(1)


@command(
    app,
    "Examples: [bold]pacopt verify runs/demo[/bold], [bold]pacopt verify runs/job --rerun 20 --job job.toml[/bold]",
)
def verify(
    run: Run,
    rerun: Annotated[
        int,
        typer.Option(
            min=0,
            help="Rerun the candidates of this many random cells on all instances of these cells, and the deployed "
            "one and the baselines on all.",
        ),
    ] = 0,
    job: Annotated[
        Path | None,
        typer.Option(help=f"The job file of the run, for its code; implies --rerun {CELLS}, unless that is given."),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed for the choice of cells to rerun.")] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with code 1 also if a claim could not be recomputed.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Recompute every number of a saved certificate with independent code. Exit code 1 if anything disagrees."""
    from dataclasses import asdict

    from pacopt.verification import verify as check

    output = Output(json, quiet)
    code = {}
    with output.busy("verify" if job is None else "rerun"):
        if job is not None:
            from pacopt.app.compiled import keep_compiled
            from pacopt.app.job_parts import prepare_code

            keep_compiled()
            code, rerun = prepare_code(job)._asdict(), rerun or CELLS
        verification = check(run, rerun=rerun, seed=seed, **code)
    output.say(f"{verification}")
    output.document({"passed": verification.passed} | asdict(verification))
    if not verification.passed or (strict and verification.not_recomputed):
        raise typer.Exit(1)


@command(app, "Example: [bold]pacopt report runs/demo[/bold]")
def report(run: Run, json: Json = False, quiet: Quiet = False) -> None:
    """Draw the HTML report of a run again."""
    output = Output(json, quiet)
    with output.busy("report"):
        from pacopt.learned import load_run
        from pacopt.report import write_report

        path = write_report(run, load_run(run))
    output.say(f"Written: {path}")
    output.document({"report": str(path)})


command(app, PLAN_EXAMPLES)(plan)
app.add_typer(bench, name="bench")


@command(
    app,
    "Examples: [bold]pacopt watch runs/job scores.csv[/bold], "
    "[bold]tail -n 0 -f log | pacopt watch runs/job - --state watch.json[/bold]",
)
def watch(
    run: Run,
    scores: Annotated[Path, typer.Argument(help="One score per line, or a CSV file; - for a pipe.", metavar="SCORES")],
    claim: Annotated[str | None, typer.Option(help="The claim to watch.", show_default="the first")] = None,
    every: Annotated[
        float | None, typer.Option(help="Instances until a false alarm, on average.", show_default="100000")
    ] = None,
    ever: Annotated[
        float | None, typer.Option(help="Or the probability of ever raising a false alarm.", show_default=False)
    ] = None,
    state: Annotated[Path | None, typer.Option(help="Continue from this file, and save the evidence there.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for more lines at the end of the file.")] = False,
    out: Annotated[Path | None, typer.Option(help="Draw the evidence over time: a .svg, .png or .html file.")] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check whether a certificate still holds in use. Exit code 1 if there is an alarm, 2 if there are no scores.

    Pass the score of the claim: for the mean, z between 0 and 1 (the final-to-initial ratio, with the safeguard); for
    success, 0 for a run that succeeded and 1 for one that did not.
    """
    from pacopt.app.watching import watch_scores

    output = Output(json, quiet)
    monitor = watch_scores(
        run, scores, claim=claim, every=every, ever=ever, state=state, follow=follow, out=out, output=output
    )
    output.say(f"{monitor}", *([f"Drawn: {out}"] if out else []))
    output.document(monitor.summary)
    if monitor.alarm:
        raise typer.Exit(1)


def _figures(incomplete: str) -> list[str]:
    return [name for name in ("fig1", "fig2", "fig3", "fig4") if name.startswith(incomplete)]


@command(app, "Examples: [bold]pacopt reproduce[/bold], [bold]pacopt reproduce fig4 --variant both --json[/bold]")
def reproduce(
    figures: Annotated[
        list[str] | None,
        typer.Argument(help="fig1 fig2 fig3 fig4; all of them if none is named.", autocompletion=_figures),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where to write the page, its JSON and the figures.")] = Path("figures"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the instances and candidates.")] = 0,
    variant: Annotated[str, typer.Option(help="text, code or both, where the paper and its code differ.")] = "text",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run the paper's four experiments and write a page: figures, published numbers beside ours, verdicts, a tally.

    It needs more packages than the rest: pip install "pacopt\\[papers]".
    """
    from pacopt.app.presenting import reproduced_view
    from pacopt.papers.sucker_ochs_2023.page import PAGE, document, tally_line, write_page
    from pacopt.papers.sucker_ochs_2023.reproduction import (
        EXPERIMENTS,
        checked_figures,
        checked_variants,
        reproduce_one,
    )

    output = Output(json, quiet)
    chosen, variants = checked_figures(figures or EXPERIMENTS), checked_variants(variant)
    jobs, results = [(figure, which) for which in variants for figure in chosen], []
    with output.busy() as progress:
        for done, (figure, which) in enumerate(jobs):
            progress("figures", done, len(jobs))
            results.append(reproduce_one(figure, out=out, seed=seed, variant=which))
            write_page(out, results, seed)
            output.log(f"{figure} ({which}): {results[-1].seconds:.1f} s, {results[-1].files[0]}")
        progress("figures", len(jobs), len(jobs))
    for result in results:
        output.say(*reproduced_view(result))
    output.say(tally_line(results), f"Page: {out / PAGE}")
    output.document(document(results, seed))


def run() -> int:
    """The exit code of the command; invalid input gives one paragraph and exit code 2."""
    begin()
    output = Output(json="--json" in sys.argv)
    try:
        app()
    except BaseException as error:
        if noted():  # whatever became of the interrupt
            return INTERRUPTED
        return explained(error, output)
    return 0
