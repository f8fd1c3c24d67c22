"""certify(table, design) -> Certificate: one event of probability 1 - epsilon, and everything that holds on it."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from pacopt.certificate import Certificate
from pacopt.claims.base import Learnt
from pacopt.claims.checking import checked_details, checked_posterior, drawn_number, numbers_of
from pacopt.claims.numbers import Deployed, Posterior
from pacopt.claims.standard import REQUIRED
from pacopt.design import Design
from pacopt.errors import DesignError, TableError
from pacopt.loss_table import LossTable
from pacopt.sources import refuse_reuse
from pacopt.statement import subject_of
from pacopt.support.numbers import is_real
from pacopt.support.stored_table import table_hash
from pacopt.support.values import marked_hyper


def certify(
    table: LossTable,
    design: Design | None = None,
    *,
    confidence: float = 0.99,
    min_success: float | None = None,
    require: Mapping[str, float] | None = None,
    allow_duplicates: bool = False,
) -> Certificate:
    """The certificate of a table of training instances (docs/theory.md, the default certificate).

    Without a design: uniform weights, the default grid, nothing declared. The candidates, the design, `confidence`
    and the number of instances must be chosen before the instances are seen. Requirements for the deployed candidate
    may be chosen afterwards: `require={"success": 0.9}`, by the names of claims, or `min_success=0.9` for short.
    `allow_duplicates` declares that instances equal to some that the design was made from are separate draws.

    >>> rng = np.random.default_rng(0)
    >>> table = LossTable(losses=rng.uniform(0, 0.2, (20, 1000)), start=np.ones(1000))
    >>> certificate = certify(table)
    >>> 0.1 < certificate.deployed.risk < 0.13, certificate.deployed.success > 0.98
    (True, True)
    """
    if not isinstance(table, LossTable):
        raise TableError(
            f"A {type(table).__name__} was given.",
            "A LossTable is certified.",
            "",
            "Make one: pacopt.LossTable(losses=..., start=...).",
        )
    design = Design.uniform(table) if design is None else design
    check_request(confidence, min_success)
    _check_candidates(table, design)
    refuse_reuse(design.sources, table, separate_draws=allow_duplicates)
    confidence, epsilon = float(confidence), 1 - float(confidence)
    required = _required(design, min_success, require)
    numbers = {claim.name: numbers_of(claim, table, design, epsilon) for claim in design.claims}
    eligible, attained = _eligible(design, numbers, required)
    tied, index = _best(design, numbers, eligible)
    found = design.objective.learn(table, design, eligible, epsilon)
    learnt = _on_deployed(checked_posterior(design.objective, found, eligible), design, tied, index)
    deployed, posterior = _said(table, design, epsilon, numbers, index, learnt)
    split = table.origin.split
    certificate = Certificate(
        confidence=confidence,
        instances=table.shape[1],
        runs=table.losses.shape[1],
        design=design,
        deployed=deployed,
        posterior=posterior,
        required=required,
        attained=attained,
        user_success=table.success is not None,
        ever_succeeded=int(np.sum(table.succeeded(design.target_ratio).any(axis=1))),
        zero_starts=0 if table.start is None else int(np.sum(table.start == 0)),
        separate_draws=allow_duplicates or (split is not None and split.allow_duplicates),
        ledger=(),
        sentences={},
        theorems={claim.name: claim.theorem(design) for claim in design.claims},
        table_hash=table_hash(table),
        provenance=dict(table.provenance),
        table=table,
    )
    subject = subject_of(certificate)
    return replace(
        certificate,
        sentences={claim.name: claim.sentence(deployed.values[claim.name], subject) for claim in design.claims},
        ledger=certificate.rests_on(certificate.earlier),
    )


def _said(
    table: LossTable, design: Design, epsilon: float, numbers: Mapping[str, np.ndarray], index: int, learnt: Learnt
) -> tuple[Deployed, Posterior]:
    """Everything that is said of the candidate and the posterior that were chosen."""
    posterior, details_learnt = learnt
    values: dict[str, float | None] = {}
    for claim in design.claims:
        value = float(numbers[claim.name][index])
        values[claim.name] = value if np.isfinite(value) else None
        details = claim.details(table, design, index, value, epsilon)
        values |= checked_details(claim, details, values, numbers)
    drawn = {
        claim.name: drawn_number(claim, claim.for_posterior(table, design, posterior, epsilon))
        for claim in design.claims
    }
    drawn |= checked_details(design.objective, details_learnt, drawn, numbers)
    deployed = Deployed(index, marked_hyper(table.hyper(index)), float(design.prior.weights[index]), values)
    return deployed, Posterior(posterior.kl(design.prior), tuple(posterior.weights.tolist()), drawn)


def _best(
    design: Design, numbers: Mapping[str, Float[np.ndarray, " hyper"]], eligible: Bool[np.ndarray, " hyper"]
) -> tuple[Bool[np.ndarray, " hyper"], int]:
    """Who has the best number of the objective, and who of these is deployed: the other claims decide, in order."""
    held, tied = eligible, None
    for claim in design.claims:
        values = numbers[claim.name]
        held = held & (values == values[claim.best(values, held)])
        tied = held if tied is None else tied
    return (eligible if tied is None else tied), int(np.flatnonzero(held)[0])


def _on_deployed(learnt: Learnt, design: Design, tied: Bool[np.ndarray, " hyper"], index: int) -> Learnt:
    """A posterior on one of those that are tied is on the one that is deployed."""
    held = np.flatnonzero(learnt.posterior.log_weights > -np.inf)
    return learnt._replace(posterior=design.prior.dirac(index)) if len(held) == 1 and tied[held[0]] else learnt


def _required(design: Design, min_success: float | None, require: Mapping[str, float] | None) -> dict[str, float]:
    """What is asked of the deployed candidate, by the names of claims."""
    if require is not None and not isinstance(require, Mapping):
        raise DesignError(f"require is {require!r}.", "It is a mapping.", "", 'Use require={"risk": 0.1}, for example.')
    wanted = dict(require or {})
    if min_success is not None and wanted.setdefault(REQUIRED, min_success) != min_success:
        raise DesignError(
            f"min_success is {min_success!r}, and {wanted[REQUIRED]!r} is required of {REQUIRED}.",
            "One number is required of a claim.",
            "",
            "Leave one of the two out.",
        )
    for name, value in wanted.items():
        claim = design[name]
        if not is_real(value) or not np.isfinite(value):
            raise DesignError(f"{claim.name} of {value!r} is required.", "It is a number.", "", "Use 0.9, for example.")
        if name == REQUIRED:
            check_request(0.5, value)
    return {name: float(value) for name, value in wanted.items()}


def _eligible(
    design: Design, numbers: Mapping[str, Float[np.ndarray, " hyper"]], required: Mapping[str, float]
) -> tuple[Bool[np.ndarray, " hyper"], bool]:
    """The candidates that may be deployed, and whether they meet what is required.

    If none does, those are left that come nearest to the first requirement that cannot be met.
    """
    eligible = design.prior.log_weights > -np.inf
    for name, wanted in required.items():
        claim, values = design[name], numbers[name]
        met = eligible & claim.meets(values, wanted)
        if not met.any():
            nearest = values[claim.best(values, eligible)]
            return eligible & claim.meets(values, nearest), False
        eligible = met
    return eligible, True


def check_request(confidence: float, min_success: float | None) -> None:
    """Refuse what is no confidence, and a minimal success that is no probability."""
    for name, value in (("confidence", confidence), ("min_success", 0.5 if min_success is None else min_success)):
        if not is_real(value):
            raise DesignError(f"{name} is {value!r}.", "It is a number.", "", "Use 0.9, for example.")
    if not 0 < confidence < 1:
        raise DesignError(
            f"confidence is {confidence}.",
            "It lies strictly between 0 and 1.",
            "Certainty cannot be had from a sample.",
            "Use 0.99.",
        )
    if min_success is not None and not 0 <= min_success <= 1:
        raise DesignError(f"min_success is {min_success}.", "It is a probability.", "", "Use 0.9, for example.")


def _check_candidates(table: LossTable, design: Design) -> None:
    if not isinstance(design, Design):
        raise DesignError(f"design is {design!r}.", "It is a Design.", "", "Use pacopt.Design.uniform(table).")
    if table.start is not None and not design.score.relative:
        raise DesignError(
            f"The score is {design.score!r}, and the table has start losses.",
            "A loss in a unit of its own has no start that it is compared with.",
            "Statements would mix losses and ratios to the start.",
            "Make the table without start, or leave the score out.",
        )
    design.score.check(table)
    if table.start is None and design.target_ratio != 1:
        raise DesignError(
            f"target_ratio is {design.target_ratio!r}, and the table has no start losses.",
            "A run reaches a fraction of its start only if there is one.",
            "Success would be what nobody asked for: that a run does not fail.",
            "Leave target_ratio out, and give your own verdicts: LossTable(..., success=...).",
        )
    ours, theirs = table.candidates, design.prior.support
    if ours.keys() != theirs.keys() or any(not np.array_equal(ours[name], theirs[name]) for name in ours):
        raise DesignError(
            f"The design has {len(design.prior)} candidates with {', '.join(theirs)}, the table {table.shape[0]} with "
            f"{', '.join(ours)}, and they are not the same.",
            "The prior weighs exactly the candidates of the table, in the same order.",
            "A weight that belongs to another candidate makes the certificate of this one void.",
            "Tabulate the candidates of the design, and leave those dropped on the way in the table as missing.",
        )
