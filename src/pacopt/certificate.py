"""A certificate: statements that hold together, the numbers and words behind them, and how they are stored."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacopt.aliases import with_earlier_attributes
from pacopt.assumptions import Assumption, Status
from pacopt.claims.base import AbstractClaim
from pacopt.claims.ledger import ledger_of, with_earlier
from pacopt.claims.numbers import Deployed, Posterior
from pacopt.design import Design
from pacopt.errors import DesignError
from pacopt.loss_table import LossTable
from pacopt.provenance import Origin
from pacopt.statement import certificate_html, certificate_text
from pacopt.support.arrays import digest
from pacopt.support.frames import data_frame, real

if TYPE_CHECKING:
    from pandas import DataFrame

#: The version of the stored form.
SCHEMA = "pacopt.certificate/2"


@with_earlier_attributes
@dataclass(frozen=True, eq=False)
class Certificate:
    """Statements that hold together with probability at least `confidence` over the draw of the training instances.

    `instances` is the number N of independent draws; if several runs belong to one draw (replicates, rows of a
    group), `runs` is larger.
    `deployed` and `posterior` have a number for each claim of the design, by its name. `required` holds the required
    numbers; if no candidate can be certified to reach them, `attained` is false and `deployed` is the one that
    comes closest. `ever_succeeded` is the number of candidates that succeeded at least once in training, `zero_starts`
    that of instances with a start loss of 0, and `earlier` that of known earlier certificates made with some of these
    instances. `table` is the loss table behind the certificate, if it is available.
    """

    confidence: float
    instances: int
    runs: int
    design: Design
    deployed: Deployed
    posterior: Posterior
    required: Mapping[str, float]
    attained: bool
    user_success: bool
    ever_succeeded: int
    zero_starts: int
    separate_draws: bool
    ledger: tuple[Assumption, ...]
    sentences: Mapping[str, str]
    theorems: Mapping[str, str]
    table_hash: str
    provenance: Mapping[str, Any]
    earlier: int = 0
    table: LossTable | None = field(default=None, repr=False)
    #: A certificate of an earlier version speaks for itself: its JSON value, and its words.
    stored: tuple[dict[str, Any], str] | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """A JSON value with everything in it, and a hash of the rest."""
        if self.stored is not None:
            return self.stored[0]
        value = {
            "schema": SCHEMA,
            "attained": self.attained,
            "confidence": self.confidence,
            "deployed": self.deployed.to_dict(),
            "design": self.design.to_dict(),
            "design_hash": self.design.hash,
            "earlier": self.earlier,
            "ever_succeeded": self.ever_succeeded,
            "instances": self.instances,
            "ledger": [{"status": str(entry.status), "text": entry.text} for entry in self.ledger],
            "posterior": self.posterior.to_dict(),
            "provenance": dict(self.provenance),
            "required": dict(self.required),
            "runs": self.runs,
            "sentences": dict(self.sentences),
            "separate_draws": self.separate_draws,
            "table_hash": self.table_hash,
            "theorems": dict(self.theorems),
            "user_success": self.user_success,
            "zero_starts": self.zero_starts,
        }
        return value | {"hash": digest(value)}

    @staticmethod
    def from_dict(value: dict[str, Any]) -> "Certificate":
        """The certificate that `to_dict` described; `pacopt.audit` tells whether its numbers are right."""
        if value["schema"] != SCHEMA:
            from pacopt.earlier import certificate_of_version_1

            return certificate_of_version_1(value)
        return Certificate(
            confidence=value["confidence"],
            instances=value["instances"],
            runs=value["runs"],
            design=Design.from_dict(value["design"]),
            deployed=Deployed.from_dict(value["deployed"]),
            posterior=Posterior.from_dict(value["posterior"]),
            required=value["required"],
            attained=value["attained"],
            user_success=value["user_success"],
            ever_succeeded=value["ever_succeeded"],
            zero_starts=value["zero_starts"],
            separate_draws=value["separate_draws"],
            ledger=tuple(Assumption(entry["text"], Status(entry["status"])) for entry in value["ledger"]),
            sentences=value["sentences"],
            theorems=value["theorems"],
            table_hash=value["table_hash"],
            provenance=value["provenance"],
            earlier=value["earlier"],
        )

    @property
    def grouped(self) -> bool:
        """Whether an independent draw is a group of instances."""
        seeds = self.origin.seeds
        return self.runs != self.instances * (1 if seeds is None else seeds.replicates)

    @property
    def origin(self) -> Origin:
        """The provenance of its table."""
        return Origin.of(self.provenance)

    def __getattr__(self, name: str) -> Any:
        """For a claim that says more than a number, by its name: everything it says about the deployed candidate."""
        design = self.__dict__.get("design")
        claim = next((claim for claim in design.claims if claim.name == name), None) if design is not None else None
        if claim is None or type(claim).whole is AbstractClaim.whole:
            raise AttributeError(f"A certificate has no {name!r}.")
        if self.table is None:
            raise DesignError(
                "The certificate was loaded without its table.",
                f"What the claim {name!r} says is computed from the table.",
                "",
                "Load the run: pacopt.Certificate.load(directory).",
            )
        return claim.whole(self.table, self.design, self.deployed.index, 1 - self.confidence)

    def after(self, earlier: int) -> "Certificate":
        """The same certificate, with this number of earlier ones made with some of these instances."""
        if self.stored is not None or earlier == self.earlier:
            return self
        return replace(self, earlier=earlier, ledger=self._after(earlier))

    def _after(self, earlier: int) -> tuple[Assumption, ...]:
        return with_earlier(self.ledger, self.earlier, earlier, separate_draws=self.separate_draws)

    def rests_on(self, earlier: int) -> tuple[Assumption, ...]:
        """The lines of the ledger with this number of earlier certificates."""
        return ledger_of(
            self.design, self.origin, grouped=self.grouped, separate_draws=self.separate_draws, earlier=earlier
        )

    def to_dataframe(self) -> "DataFrame":
        """One row for each claim, in pandas: the certified numbers of the deployed candidate and the posterior."""
        claims = self.design.claims
        return data_frame(
            {
                "claim": [claim.name for claim in claims],
                "side": ["at least" if claim.at_least else "at most" for claim in claims],
                "certified": real([self.deployed.values[claim.name] for claim in claims]),
                "posterior": real([self.posterior.values.get(claim.name) for claim in claims]),
                "required": real([self.required.get(claim.name) for claim in claims]),
                "share": [claim.share for claim in claims],
                "theorem": [self.theorems.get(claim.name) for claim in claims],
                "sentence": [self.sentences.get(claim.name) for claim in claims],
            }
        )

    def save(self, directory: str | os.PathLike[str]) -> Path:
        """Write a run with its table and its report; completely or not at all, never over another one.

        The stored certificate counts others beside it that were made with some of its instances (`earlier`).
        """
        from pacopt.runs.saving import save_certificate

        return save_certificate(self, directory)

    @staticmethod
    def load(directory: str | os.PathLike[str]) -> "Certificate":
        """The certificate of a run with its table; an altered or truncated file is an error."""
        from pacopt.runs.saving import load_certificate

        return load_certificate(directory)

    def __str__(self) -> str:
        return certificate_text(self) if self.stored is None else self.stored[1]

    def __repr__(self) -> str:
        numbers = ", ".join(f"{c.name}={c.shown(self.deployed.values[c.name])}" for c in self.design.claims[:2])
        return f"Certificate({numbers}, confidence={self.confidence!r}, instances={self.instances})"

    def _repr_html_(self) -> str:
        return certificate_html(self)
