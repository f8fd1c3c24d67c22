"""A job from its file to a saved run: started, continued, or found finished."""

from pathlib import Path
from typing import Any

from pacopt.app.console import Output
from pacopt.app.job_parts import Prepared, prepare_job
from pacopt.app.stopping import last_words
from pacopt.app.workplace import free, interrupted, new_place, resumed_place, saved_run
from pacopt.learned import Learned
from pacopt.report import REPORT, write_report
from pacopt.support.interrupts import heed, noted
from pacopt.support.progress import StageProgress
from pacopt.support.rounding import counted


def run_job(
    job: Path, out: Path | None, output: Output, progress: StageProgress, *, resume: bool, executor: Any = None
) -> tuple[Learned, Path]:
    """What was learned, and where it is saved; tables are made by the executor, if there is one.

    With `resume` an interrupted run is gone on with; one that is saved already only gets its report, if it lacks one;
    and where nothing was begun, it begins: whoever repeats a command until it succeeds need not know how far it came.
    """
    out = out or Path("runs") / job.stem
    free(out)  # rejects an invalid name before anything is read
    prepared = prepare_job(job)
    left = interrupted(out)
    heed()
    saved = saved_run(out, prepared.fingerprints) if resume and not left else None
    if saved is not None:
        return _finished(saved, output, progress), saved
    if not resume:
        for other in left:
            output.log(f"Note: {other.unfinished} is left from an interrupted run; --resume would continue it.")
    return _learned(prepared, job, out, output, progress, resume=resume, executor=executor)


def _finished(saved: Path, output: Output, progress: StageProgress) -> Learned:
    """A saved run, with its report drawn if it was missing."""
    learned = Learned.load(saved)
    if (saved / REPORT).exists():
        output.log(f"{saved} is finished: nothing to continue.")
    else:
        output.log(f"{saved} is saved; only its report was missing.")
        progress("report", 0, 1)
        write_report(saved, learned)
    return learned


def _learned(
    prepared: Prepared,
    job: Path,
    out: Path,
    output: Output,
    progress: StageProgress,
    *,
    resume: bool,
    executor: Any,
) -> tuple[Learned, Path]:
    place = (resumed_place if resume else new_place)(out, prepared.fingerprints)
    with last_words(lambda: place.left_behind(job)):
        if resume and place.kept:
            output.log(f"Continuing with {counted(place.kept, 'finished tile')} of {place.unfinished}.")
        elif resume:
            output.log("No tile was finished: starting over.")
        try:
            learned = prepared.learn(checkpoint=place.tiles, executor=executor, progress=progress)
            progress("save", 0, 1)
            saved = learned.save(place.run)
            learned = learned.beside(saved)  # as it was saved
            heed()
        except BaseException:
            if not noted() and (words := place.left_behind(job)):
                output.log(words)
            raise
        place.clear()
    return learned, saved
