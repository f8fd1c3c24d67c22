"""What a report is drawn from."""

from collections.abc import Mapping
from typing import Any, Protocol

from pacopt.certificate import Certificate
from pacopt.comparison import Comparison, Curves
from pacopt.loss_table import LossTable


class Reportable(Protocol):
    """A certificate with its table, and what was measured on the test split, if there is one; `Learned` is one."""

    @property
    def certificate(self) -> Certificate:
        """The certificate."""
        ...

    @property
    def table(self) -> LossTable:
        """The training table."""
        ...

    @property
    def comparison(self) -> Comparison | None:
        """Learned and standard hyperparameters on the test split."""
        ...

    @property
    def curves(self) -> Curves | None:
        """Losses on the way, on the test split."""
        ...

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Where everything comes from."""
        ...

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a user should know before deploying."""
        ...
