"""Recomputes every number of a certificate by other code."""

from pacopt.auditing.v1 import Audit, Disagreement, audit

__all__ = ["Audit", "Disagreement", "audit"]
