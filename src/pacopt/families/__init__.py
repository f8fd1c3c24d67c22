"""Streams of real problems, each with what is learned for it and what people use today. A `Family` of yours is one."""

from pacopt.families.base import Family, Sizes
from pacopt.families.deblurring import Patches, deblurring

__all__ = ["Family", "Patches", "Sizes", "deblurring"]
