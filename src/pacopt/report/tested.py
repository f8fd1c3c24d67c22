"""The claims beside the test split, as terminal, notebooks and every part of a page judge them."""

from dataclasses import replace

import numpy as np

from pacopt.bounds.baselines import baseline_table
from pacopt.claims import AbstractClaim
from pacopt.claims.measuring import Measured, measured_beside
from pacopt.comparison import between, times
from pacopt.loss_table import LossTable
from pacopt.provenance import Origin
from pacopt.report.source import Reportable
from pacopt.report.words import rivals_of
from pacopt.scores import Digits
from pacopt.support.intervals import difference_interval


def measured_runs(source: Reportable) -> LossTable | None:
    """The test runs, with those of the textbook among the baselines, under the name by which a gain is over it."""
    test = source.test
    if test is None or "standard" not in test.origin.rows:
        return test
    name, row = f"the {Origin.of(source.provenance).usual}", test.origin.rows.index("standard")
    losses = np.where(np.isfinite(test.losses[row]), test.losses[row], np.inf)
    return replace(test, baselines={name: losses, **test.baselines})


def tested_claims(source: Reportable) -> list[Measured]:
    """The claims that say something, beside what the test split shows of them; none without one."""
    tested, c = measured_runs(source), source.certificate
    if tested is None:
        return []
    found = measured_beside(c.deployed.values, c.design, tested)
    return [each for each in found if not nothing(each.claim, each.certified)]


def contradicted_claims(source: Reportable) -> list[Measured]:
    """Those of the claims that the test split contradicts."""
    return [each for each in tested_claims(source) if each.contradicted]


def nothing(claim: AbstractClaim, value: float) -> bool:
    """Whether a number says nothing: a probability of at least 0."""
    return claim.at_least and not value


def contradictions(source: Reportable) -> tuple[str, ...]:
    """That the test split contradicts claims, and what may be wrong; empty where it does not."""
    count, wrong = len(tested_claims(source)), contradicted_claims(source)
    if not wrong:
        return ()
    which = "the claim" if count == 1 else f"{len(wrong)} of {count} claims"
    doubt = "the test instances are not like those of training, or something that was declared is wrong"
    if len(wrong) > 1:
        return (f"the test split contradicts {which}: {doubt}",)
    # One interval of 95 % may miss by chance, and there are several: a reader is told how often.
    chance = "By chance a true claim is contradicted on at most one test split in 20"
    what = wrong[0].claim.heading(source.certificate.design).removesuffix(" at most").removesuffix(" at least")
    return (f"the test split contradicts {which} ({what}): {doubt}. {chance}",)


def more_digits(source: Reportable, baseline: str) -> tuple[float, float] | None:
    """How many digits more than a baseline the test split shows, an interval; None where they are not the score."""
    tested, score = measured_runs(source), source.certificate.design.score
    if tested is None or baseline not in tested.baselines or not isinstance(score, Digits):
        return None
    ours, theirs = score.of(tested, slice(0, 1))[0], score.of(baseline_table(tested, baseline))[0]
    low, high = difference_interval(ours, theirs)
    return score.scale * low, score.scale * high


def surpassing(source: Reportable) -> tuple[str, ...]:
    """What you would use otherwise, and baselines, if they do better on the test split."""
    comparison, found = source.comparison, []
    if comparison is None:
        return ()
    for row in rivals_of(comparison):
        standard = row.name == "standard"
        who = f"the {comparison.usual}" if standard else row.name
        digits, factor = more_digits(source, who), comparison.factor(row.name, "learned")
        if digits is not None:
            better, how = digits[1] < 0, f"{between((-digits[1], -digits[0]))} more digits"
        else:
            better, how = factor.low > 1, f"a mean {comparison.averaged} that is {times(factor)} lower"
        if better:
            does = "do" if standard and who.endswith("s") else "does"
            found.append(f"on the test split, {who} {does} better: {how} (95 % interval)")
    return tuple(found)
