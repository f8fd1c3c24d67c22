"""Published methods as published. What they return is an estimate, not a certificate."""

from pacopt.papers.sucker_ochs_2023.estimate import Estimate, plug_in_bound
from pacopt.papers.sucker_ochs_2023.iterative_box import IterativeBox

__all__ = ["Estimate", "IterativeBox", "plug_in_bound"]
