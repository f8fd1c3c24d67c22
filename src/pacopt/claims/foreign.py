"""A claim of the user's own whose code is not at hand: its number, its words and its share, as they were stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from pacopt.claims.base import AbstractClaim
from pacopt.claims.subject import Subject
from pacopt.errors import StorageError

if TYPE_CHECKING:
    from pacopt.design import Design


@dataclass(frozen=True, slots=True)
class ForeignClaim(AbstractClaim):
    """What is known of a claim without its code. Nothing new can be computed of it."""

    stored: Mapping[str, Any]

    @property
    def share(self) -> float:  # type: ignore[override]
        """Its share of epsilon."""
        return float(self.stored["share"])

    @property
    def name(self) -> str:  # type: ignore[override]
        """Its name."""
        return str(self.stored["name"])

    @property
    def at_least(self) -> bool:  # type: ignore[override]
        """Whether it is a lower bound."""
        return bool(self.stored["at_least"])

    @property
    def unit(self) -> str:  # type: ignore[override]
        """What stands behind its numbers."""
        return str(self.stored.get("unit", ""))

    def bound(self, design: "Design") -> NoReturn:
        """There is none without the code."""
        raise StorageError(
            f"The claim {self.name!r} was made by {self.stored['class']}, which is not imported.",
            "To compute it for other candidates its code is needed.",
            "",
            "Import the module before loading the run.",
        )

    def sentence(self, value: float | None, subject: Subject) -> str:
        """Its name and its number; a stored certificate has its own words."""
        return f"{self.name}: {self.shown(value)}."

    def to_dict(self) -> dict[str, Any]:
        """As it was stored."""
        return dict(self.stored)
