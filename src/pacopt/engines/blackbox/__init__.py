"""Solvers that are not JAX: any Python function, any library, any program."""

from pacopt.engines.blackbox.engine import BlackBox
from pacopt.engines.blackbox.result import Result

__all__ = ["BlackBox", "Result"]
