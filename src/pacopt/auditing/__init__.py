"""Recomputes every number of a certificate by other code: NumPy and SciPy, nothing of bounds, scores or claims."""

from typing import Any

from pacopt.auditing import v1, v2
from pacopt.auditing.comparing import Audit, ContradictionError, Disagreement, Stored, compared, flat
from pacopt.errors import StorageError
from pacopt.loss_table import LossTable

__all__ = ["Audit", "Disagreement", "audit"]

#: Each version of the stored form is recomputed by its own formulas.
VERSIONS: dict[Any, Any] = {"pacopt.certificate/1": v1, "pacopt.certificate/2": v2}


def audit(certificate: Stored | dict[str, Any], table: LossTable) -> Audit:
    """Recompute every number of a certificate from its table, after a look at whether its design could hold at all.

    A claim of the user's own is recomputed if its class has a `recompute` and is imported; else it is named in
    `not_recomputed`.
    """
    try:
        stored = certificate if isinstance(certificate, dict) else certificate.to_dict()
        version = VERSIONS.get(stored["schema"])
        if version is None:
            return Audit(1, Disagreement("certificate.schema", stored["schema"], " or ".join(VERSIONS)))
        impossible = version.impossible(stored, table)
        if impossible is not None:
            return Audit(1, impossible)
        expected = version.recomputed(stored, table)
        return compared(flat(stored, expected), version.not_recomputed(stored))
    except ContradictionError as found:
        return Audit(1, found.disagreement)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise StorageError(
            f"This is no certificate of this table ({type(error).__name__}: {error}).",
            "The JSON value of a certificate and the LossTable that it was made of are needed.",
            "Nothing can be recomputed from anything else.",
            "Write certificates with to_dict() and tables with save(), and keep them together.",
        ) from error
