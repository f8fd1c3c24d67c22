"""certify(table, design) -> Certificate: one event of probability 1 - epsilon, and everything that holds on it."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from pacopt.bounds.absolute import AbsoluteLoss
from pacopt.bounds.common import FIXED_BEFORE, IID, SAFEGUARDED
from pacopt.bounds.exponential_family import Assumption, Status, gibbs_posterior
from pacopt.bounds.mixture import MixtureBetting
from pacopt.bounds.quantile import Quantile
from pacopt.bounds.success import ClopperPearson, PosteriorSuccess
from pacopt.bounds.sums import by_rows, log_wealth
from pacopt.design import Design
from pacopt.errors import DesignError
from pacopt.loss_table import LossTable
from pacopt.statement import certificate_text, down, up
from pacopt.support.arrays import digest
from pacopt.support.numbers import is_real

#: The version of the stored form.
SCHEMA = "pacopt.certificate/1"
DETERMINISTIC = Assumption(
    "the algorithm is deterministic, with this number of steps and this precision", Status.DECLARED
)
#: Of the two, the one that a split can say of itself; only certificates made by `learn` know their split.
DISJOINT = Assumption("no training instance stands twice, in the prior split or in the test split", Status.CHECKED)
MINIMUM = Assumption("the minimum that the problem states is the smallest loss of each instance", Status.DECLARED)
SEPARATE_DRAWS = Assumption("instances that are equal are separate draws from the distribution", Status.DECLARED)


@dataclass(frozen=True, slots=True)
class Deployed:
    """What holds for the deployed candidate. `risk` = `empirical_risk` + `confidence_cost` + `selection_cost`."""

    index: int
    hyper: dict[str, float]
    risk: float
    success: float
    quantile: float | None
    absolute: float | None
    empirical_risk: float
    empirical_success: float
    confidence_cost: float
    selection_cost: float
    weight: float


@dataclass(frozen=True, slots=True)
class Posterior:
    """What holds for a fresh candidate drawn from the posterior for each instance."""

    risk: float
    success: float
    absolute: float | None
    empirical_risk: float
    kl: float
    t: float
    t_at_edge: bool
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """Statements that hold together with probability at least `confidence` over the draw of the training instances.

    Where no candidate could be certified to succeed with probability `min_success`, `attained` is false and
    `deployed` is the candidate with the largest certified success probability. `ever_succeeded` candidates succeeded
    on at least one training instance; `zero_starts` instances had a start loss of 0.
    """

    confidence: float
    instances: int
    design: Design
    deployed: Deployed
    posterior: Posterior
    min_success: float | None
    attained: bool
    user_success: bool
    ever_succeeded: int
    zero_starts: int
    ledger: tuple[Assumption, ...]
    table_hash: str
    provenance: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """A JSON value with every number in it, and a checksum of all of them."""
        value = {
            "schema": SCHEMA,
            "attained": self.attained,
            "confidence": self.confidence,
            "deployed": asdict(self.deployed),
            "design": self.design.to_dict(),
            "design_hash": self.design.hash,
            "ever_succeeded": self.ever_succeeded,
            "instances": self.instances,
            "ledger": [{"status": str(entry.status), "text": entry.text} for entry in self.ledger],
            "min_success": self.min_success,
            "posterior": asdict(self.posterior) | {"weights": list(self.posterior.weights)},
            "provenance": self.provenance,
            "table_hash": self.table_hash,
            "user_success": self.user_success,
            "zero_starts": self.zero_starts,
        }
        return value | {"hash": digest(value)}

    @staticmethod
    def from_dict(value: dict[str, Any]) -> "Certificate":
        """The certificate that `to_dict` described; `pacopt.audit` tells whether its numbers are right."""
        return Certificate(
            confidence=value["confidence"],
            instances=value["instances"],
            design=Design.from_dict(value["design"]),
            deployed=Deployed(**value["deployed"]),
            posterior=Posterior(**value["posterior"] | {"weights": tuple(value["posterior"]["weights"])}),
            min_success=value["min_success"],
            attained=value["attained"],
            user_success=value["user_success"],
            ever_succeeded=value["ever_succeeded"],
            zero_starts=value["zero_starts"],
            ledger=tuple(Assumption(entry["text"], Status(entry["status"])) for entry in value["ledger"]),
            table_hash=value["table_hash"],
            provenance=value["provenance"],
        )

    def __str__(self) -> str:
        return certificate_text(self)

    def __repr__(self) -> str:
        numbers = f"risk={up(self.deployed.risk)}, success={down(self.deployed.success)}"
        return f"Certificate({numbers}, confidence={self.confidence!r}, instances={self.instances})"


def certify(
    table: LossTable, design: Design | None = None, *, confidence: float = 0.99, min_success: float | None = None
) -> Certificate:
    """The certificate of a table of training instances (docs/theory.md, the default certificate).

    Without a design: uniform weights, the default grid, nothing declared. The candidates, the design, `confidence`
    and the number of instances are chosen before the instances are seen; `min_success` may be chosen afterwards.

    >>> rng = np.random.default_rng(0)
    >>> table = LossTable(losses=rng.uniform(0, 0.2, (20, 1000)), start=np.ones(1000))
    >>> certificate = certify(table)
    >>> 0.1 < certificate.deployed.risk < 0.13, certificate.deployed.success > 0.98
    (True, True)
    """
    design = Design.uniform(table) if design is None else design
    check_request(confidence, min_success)
    confidence, min_success = float(confidence), None if min_success is None else float(min_success)
    _check_candidates(table, design)
    n, prior, shares, epsilon = table.shape[1], design.prior, design.shares, 1 - confidence
    eps_risk, eps_half = shares.risk * epsilon, shares.success * epsilon / 2
    mixture = MixtureBetting(design.t_grid)
    wealth, risk, counts, p_lo, quantiles = candidate_bounds(table, design, confidence=confidence)
    means = by_rows(table, lambda rows: table.safeguarded(rows).mean(axis=1))

    eligible = prior.log_weights > -np.inf
    attained = min_success is None or bool((eligible & (p_lo >= min_success)).any())
    if min_success is not None:
        eligible &= p_lo >= (min_success if attained else p_lo[eligible].max())
    index = int(np.argmin(np.where(eligible, risk, np.inf)))

    # The best single t for the posterior among the allowed candidates; all of this is free to depend on the table.
    kept = np.where(eligible, prior.log_weights, -np.inf)
    prices = design.t_grid.prices(eps_risk)
    value = -np.expm1((np.logaddexp.reduce(kept[:, None] + wealth, axis=0) - prices) / n) / design.t_grid.points
    best = int(np.argmin(value))
    posterior = gibbs_posterior(prior, np.where(eligible, wealth[:, best], -np.inf))

    absolute = None if design.truncation is None else AbsoluteLoss(design.truncation, design.t_grid)
    eps_absolute = shares.absolute * epsilon
    free = float(mixture.upper(wealth[index : index + 1], n, np.zeros(1), eps_risk)[0])
    deployed = Deployed(
        index=index,
        hyper=table.hyper(index),
        risk=float(risk[index]),
        success=float(p_lo[index]),
        quantile=float(quantiles[index]) if np.isfinite(quantiles[index]) else None,
        absolute=None if absolute is None else float(absolute.upper(table, prior, eps_absolute)[index]),
        empirical_risk=float(means[index]),
        empirical_success=float(counts[index] / n),
        confidence_cost=free - float(means[index]),
        selection_cost=float(risk[index]) - free,
        weight=float(prior.weights[index]),
    )
    return Certificate(
        confidence=confidence,
        instances=n,
        design=design,
        deployed=deployed,
        posterior=Posterior(
            risk=mixture.posterior_upper(wealth, n, prior, posterior, eps_risk),
            success=PosteriorSuccess().lower(counts, n, prior, posterior, eps_half),
            absolute=None if absolute is None else absolute.posterior_upper(table, prior, posterior, eps_absolute),
            empirical_risk=posterior.expectation(means),
            kl=posterior.kl(prior),
            t=float(design.t_grid.points[best]),
            t_at_edge=best in (0, len(prices) - 1),
            weights=tuple(posterior.weights.tolist()),
        ),
        min_success=min_success,
        attained=attained,
        user_success=table.success is not None,
        ever_succeeded=int(np.sum(counts > 0)),
        zero_starts=int(np.sum(table.start == 0)),
        ledger=_ledger(design, table.provenance),
        table_hash=table_hash(table),
        provenance=dict(table.provenance),
    )


class CandidateBounds(NamedTuple):
    """What holds for every candidate at once, and the sums that it comes from."""

    wealth: Float[np.ndarray, "hyper grid"]
    risk: Float[np.ndarray, " hyper"]
    counts: Float[np.ndarray, " hyper"]
    success: Float[np.ndarray, " hyper"]
    quantile: Float[np.ndarray, " hyper"]


def candidate_bounds(table: LossTable, design: Design, *, confidence: float) -> CandidateBounds:
    """Upper bounds on risk and quantile and lower bounds on success, all at once with this confidence."""
    n, log_prior, shares, epsilon = table.shape[1], design.prior.log_weights, design.shares, 1 - confidence
    wealth = log_wealth(table, design.t_grid.points)
    counts = table.successes(design.target_ratio).sum(axis=1).astype(np.float64)
    return CandidateBounds(
        wealth=wealth,
        risk=MixtureBetting(design.t_grid).upper(wealth, n, log_prior, shares.risk * epsilon),
        counts=counts,
        success=ClopperPearson().lower(counts, n, log_prior, shares.success * epsilon / 2),
        quantile=Quantile().upper(table, log_prior, design.quantile_level, shares.quantile * epsilon),
    )


def table_hash(table: LossTable) -> str:
    """A hash of the numbers that a certificate rests on."""
    content = hashlib.blake2b(digest_size=16)
    for array in (table.losses, table.start, table.success):
        content.update(b"none" if array is None else repr(array.shape).encode() + np.ascontiguousarray(array).tobytes())
    return content.hexdigest()


def _ledger(design: Design, provenance: Mapping[str, Any]) -> tuple[Assumption, ...]:
    entries, split = [IID, FIXED_BEFORE, DETERMINISTIC, SAFEGUARDED], provenance.get("split")
    if provenance.get("known_minimum"):
        entries.append(MINIMUM)
    if split is not None:
        entries.append(SEPARATE_DRAWS if split["allow_duplicates"] else DISJOINT)
    if design.truncation is not None:
        entries.append(Assumption(design.truncation.declared, Status.DECLARED))
    return tuple(entries)


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
    ours, theirs = table.candidates, design.prior.support
    if ours.keys() != theirs.keys() or any(not np.array_equal(ours[name], theirs[name]) for name in ours):
        raise DesignError(
            f"The design has {len(design.prior)} candidates with {', '.join(theirs)}, the table {table.shape[0]} with "
            f"{', '.join(ours)}, and they are not the same.",
            "The prior weighs exactly the candidates of the table, in the same order.",
            "A weight that belongs to another candidate makes the certificate of this one void.",
            "Tabulate the candidates of the design, and leave those dropped on the way in the table as missing.",
        )
