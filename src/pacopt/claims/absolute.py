"""The mean final loss itself is at most so much, which needs a declared assumption on the start loss."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.assumptions import Assumption, Status
from pacopt.bounds.absolute import AbsoluteLoss, Truncation
from pacopt.claims.base import AbstractClaim, Highlight
from pacopt.claims.subject import Subject
from pacopt.errors import DesignError, TableError
from pacopt.loss_table import LossTable
from pacopt.support.cells import start_or

if TYPE_CHECKING:
    from pacopt.design import Design


@dataclass(frozen=True, slots=True)
class Absolute(AbstractClaim):
    """E min(l, l0) <= B for the safeguarded algorithm, under what the truncation declares."""

    truncation: Truncation
    share: float = 0.2

    name: ClassVar = "absolute"

    def __post_init__(self) -> None:
        """Refuse what declares nothing."""
        if not isinstance(self.truncation, Truncation):
            raise DesignError(
                f"truncation is {self.truncation!r}.",
                "A declaration is a Truncation.",
                "It says what is known about the start loss, and why.",
                "Use pacopt.Truncation.from_second_moment(level, S2), for example.",
            )

    def bound(self, design: "Design") -> AbsoluteLoss:
        """Betting on truncated losses."""
        return AbsoluteLoss(self.truncation, design.t_grid)

    def for_candidates(self, table: LossTable, design: "Design", epsilon: float) -> Float[np.ndarray, " hyper"]:
        """The bound on the mean loss of every candidate; without start losses nothing is known."""
        if table.start is None:
            raise TableError(
                "The table has no start losses, and the absolute loss is claimed.",
                "What is declared, and what the safeguard returns, is the loss at the start.",
                "Without it nothing bounds the mean of a loss.",
                "Leave the truncation out: with pacopt.Ranged the mean loss itself is claimed; or pass start=....",
            )
        return self.bound(design).for_candidates(table, design.prior, self.share * epsilon)

    def measured(self, table: LossTable, design: "Design") -> Float[np.ndarray, " hyper"]:
        """Means of the loss that the safeguarded algorithm returns; an unknown start counts as the level."""
        starts = start_or(table.starts, self.truncation.level)
        returned = np.where(table.losses <= starts, table.losses, starts)
        return np.asarray(table.averaged(returned).mean(axis=1))

    def ledger(self, design: "Design") -> tuple[Assumption, ...]:
        """What is declared, word for word."""
        general = self.bound(design).assumptions[:-1]
        return (*general, Assumption(self.truncation.declared, Status.DECLARED))

    def sentence(self, value: float | None, subject: Subject) -> str:
        """The mean loss is at most so much."""
        return f"With the safeguard its expected final {subject.loss} is at most {self.shown(value)}."

    def heading(self, design: "Design") -> str:
        """The mean of the loss itself."""
        return "mean loss at most"

    def highlight(self, value: float | None, subject: Subject, design: "Design") -> Highlight:
        """The mean of the loss itself."""
        return Highlight("mean loss", f"≤ {self.shown(value)}", self.sentence(value, subject))

    @classmethod
    def from_settings(cls, share: float, settings: Mapping[str, Any]) -> "Absolute":
        """The claim with the declaration that was stored."""
        return cls(truncation=Truncation(**settings["truncation"]), share=share)
