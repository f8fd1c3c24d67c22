"""What a report is drawn from: what was learned, or the certificate of a table of one's own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pacopt.certificate import Certificate
from pacopt.comparison import Comparison, Curves
from pacopt.decisions import Decisions
from pacopt.errors import StorageError
from pacopt.loss_table import LossTable
from pacopt.provenance import Origin


class Reportable(Protocol):
    """A certificate with its table, and what was measured on the test split, if there is one; `Learned` is one.

    It may have `decisions` too: what the algorithm decided on the way.
    """

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
    def test(self) -> LossTable | None:
        """The table of the test split, if there is one."""
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
        """What a user should know before using it."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Reported:
    """Everything that the sections of a report show.

    `learned` says that there is a `Learned` behind it, which solves instances; else somebody's own code made the table,
    and there is no test split.
    """

    certificate: Certificate
    table: LossTable
    comparison: Comparison | None
    test: LossTable | None
    curves: Curves | None
    provenance: Mapping[str, Any]
    remarks: tuple[str, ...]
    learned: bool
    decisions: Decisions | None = None

    @property
    def arrays(self) -> bool:
        """Whether a hyperparameter is an array, which no axis can show."""
        return any(values.ndim > 1 for values in self.table.candidates.values())

    @property
    def origin(self) -> Origin:
        """Where everything comes from, as far as pacopt wrote it down."""
        return Origin.of(self.provenance)


def reported(source: Certificate | Reportable) -> Reported:
    """What is reported of a certificate with its table, or of what was learned."""
    if not isinstance(source, Certificate):
        return Reported(
            source.certificate,
            source.table,
            source.comparison,
            source.test,
            source.curves,
            source.provenance,
            source.remarks,
            learned=True,
            decisions=getattr(source, "decisions", None),
        )
    if source.table is None:
        raise StorageError(
            "The certificate was read without its table.",
            "A report shows both: the charts are drawn from the table.",
            "",
            "Load it from its run: pacopt.Certificate.load(directory).",
        )
    return Reported(source, source.table, None, None, None, source.provenance, (), learned=False)
