"""Solvers that are not JAX: any Python function, any library, any program."""

from pacopt.engines.blackbox.command import Command
from pacopt.engines.blackbox.engine import BlackBox
from pacopt.engines.blackbox.result import Result
from pacopt.engines.blackbox.scipy_minimize import scipy_minimize

__all__ = ["BlackBox", "Command", "Result", "scipy_minimize"]
