"""What a certificate rests on, line by line, and how each line is known."""

from typing import TYPE_CHECKING

from pacopt.assumptions import IID, Assumption, Status
from pacopt.claims.base import AbstractClaim
from pacopt.claims.checking import is_ours
from pacopt.claims.foreign import ForeignClaim
from pacopt.provenance import Origin, StudyOrigin

if TYPE_CHECKING:
    from pacopt.design import Design

DETERMINISTIC = Assumption(
    "the algorithm is deterministic and runs with this number of steps and this precision", Status.DECLARED
)
RANDOM = Assumption(
    "seeds, derived from the root seed of the design and the content of each instance, behave like independent draws, "
    "and every run in use gets a fresh one",
    Status.DECLARED,
)
NO_HIDDEN_SEEDS = Assumption("no two instances are the same problem with a different seed in the data", Status.DECLARED)
GROUPS_IID = Assumption(
    "the training groups are independent draws from the distribution of the new one; rows of one group need not be",
    Status.DECLARED,
)
GROUPS_DISJOINT = Assumption("no training group appears in another split", Status.CHECKED)
REPEATABLE = Assumption("running a candidate again on the same instance gives the same result", Status.DECLARED)
MEASURED = Assumption(
    "each run's time is an independent draw, on the same machine under the same load", Status.DECLARED
)
DISJOINT = Assumption("no training instance is duplicated or appears in another split", Status.CHECKED)
DISJOINT_ROWS = Assumption("no training instance appears in two groups or in another split", Status.CHECKED)
ALL_FIELDS = Assumption(
    "copies of an instance agree in every field: none holds a row number or anything else that runs do not read",
    Status.DECLARED,
)
OBJECTS = Assumption("objects with different fingerprints are different instances", Status.DECLARED)
SEPARATE_DRAWS = Assumption("equal instances are separate draws from the distribution", Status.DECLARED)
NOT_REUSED = Assumption("no training instance was used to make the design", Status.CHECKED)
STUDY = Assumption("the study that the candidates come from used no training instance", Status.DECLARED)
MINIMUM = Assumption("no loss of an instance lies below the minimum that the problem states for it", Status.DECLARED)


def ledger_of(
    design: "Design", origin: Origin, *, grouped: bool, separate_draws: bool, earlier: int
) -> tuple[Assumption, ...]:
    """What the claims rest on, then what is known of the runs and of the instances; nothing twice."""
    claims = [claim for claim in design.claims if not isinstance(claim, ForeignClaim)]
    entries = [entry for claim in claims for entry in (*claim.ledger(design), *_declared(claim, design))]
    if grouped:
        entries = [GROUPS_IID if entry == IID else entry for entry in entries]
    if origin.seeds is not None:
        entries += [RANDOM, NO_HIDDEN_SEEDS]
    if design.score.timed:
        entries.append(MEASURED)
    elif origin.seeds is None:
        entries.append(DETERMINISTIC if origin.steps is not None else REPEATABLE)
    if origin.known_minimum:
        entries.append(MINIMUM)
    entries += _of_algorithm(origin)
    if origin.foreign_baselines:
        names = ", ".join(sorted(origin.foreign_baselines))
        text = f"the losses reported for other solvers ({names}) are losses of this problem at the points they return"
        entries.append(Assumption(text, Status.DECLARED))
    if separate_draws:
        entries.append(SEPARATE_DRAWS)
    elif origin.split is not None:
        entries += [GROUPS_DISJOINT, DISJOINT_ROWS] if grouped else [DISJOINT]
        # Nobody can tell what an engine of a user's own reads, so all fields of an instance were compared.
        entries += [ALL_FIELDS] if origin.engine is not None else []
        entries += [OBJECTS] if dict(origin.fields) == {"object": "object"} else []
    elif design.sources is not None:
        entries.append(NOT_REUSED)
    if origin.curvature is not None and origin.curvature.given:
        values = f"mu = {origin.curvature.mu!r}, L = {origin.curvature.L!r}"
        text = f"the curvature that was given ({values}) was not estimated on training instances"
        entries.append(Assumption(text, Status.DECLARED))
    if origin.study is not None:
        entries += [STUDY, *_recorded(origin.study, separate_draws)]
    if earlier:
        entries.append(Assumption(after_earlier(earlier, separate_draws=separate_draws), Status.DECLARED))
    return tuple(dict.fromkeys(entries))


def _of_algorithm(origin: Origin) -> list[Assumption]:
    """What the algorithm reads of an instance before it starts, and what it was made with."""
    entries = []
    if origin.start_reads:
        fields = ", ".join(origin.start_reads)
        text = f"runs start at a point computed from fields of the instance that the loss reads too ({fields})"
        entries.append(Assumption(text, Status.CHECKED))
    if origin.given_arrays:
        names = ", ".join(origin.given_arrays)
        text = f"arrays built into the algorithm ({names}) were not computed from training instances"
        entries.append(Assumption(text, Status.DECLARED))
    return entries


def _recorded(study: StudyOrigin, separate_draws: bool) -> tuple[Assumption, ...]:
    """What the trials wrote down of the instances that they saw; where equal ones are separate draws, it tells less."""
    if not study.recorded or separate_draws:
        return ()
    some = f"{study.recorded} of its {study.trials}" if study.recorded < study.trials else f"all of its {study.trials}"
    text = f"{some} trials recorded what they saw, and no instance of these is equal to one for training or test"
    return (Assumption(text, Status.CHECKED),)


def _declared(claim: AbstractClaim, design: "Design") -> tuple[Assumption, ...]:
    """That the theorem of a claim which is not pacopt's is one, whatever the claim itself says."""
    if is_ours(claim):
        return ()
    text = f"the claim {claim.name!r} holds by a theorem of the user's own ({claim.theorem(design)})"
    return (Assumption(text, Status.DECLARED),)


def with_earlier(
    ledger: tuple[Assumption, ...], before: int, earlier: int, *, separate_draws: bool
) -> tuple[Assumption, ...]:
    """A ledger that spoke of so many earlier certificates, and speaks of others; other lines stay as they are."""
    said = after_earlier(before, separate_draws=separate_draws)
    entries = [entry for entry in ledger if not before or entry.text != said]
    if earlier:
        entries.append(Assumption(after_earlier(earlier, separate_draws=separate_draws), Status.DECLARED))
    return tuple(entries)


def after_earlier(earlier: int, *, separate_draws: bool) -> str:
    """That this certificate was not picked among several for its numbers."""
    made = "an earlier certificate was" if earlier == 1 else f"{earlier} earlier certificates were"
    return f"{made} made with {some_of(separate_draws)}, and this one was not chosen for being better"


def some_of(separate_draws: bool) -> str:
    """Which instances an earlier certificate was made with: separate draws may be equal and not the same."""
    return f"{'instances equal to ' if separate_draws else ''}some of these training instances"
