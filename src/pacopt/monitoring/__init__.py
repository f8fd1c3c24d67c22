"""Watching a certificate in use: does it still hold?"""

from pacopt.monitoring.evidence import Evidence
from pacopt.monitoring.monitor import Monitor

__all__ = ["Evidence", "Monitor"]
