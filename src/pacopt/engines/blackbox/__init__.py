"""Solvers that are not JAX: any Python function, any library, any program."""

from pacopt.engines.blackbox.clarabel import clarabel
from pacopt.engines.blackbox.command import Command
from pacopt.engines.blackbox.engine import BlackBox
from pacopt.engines.blackbox.osqp import osqp
from pacopt.engines.blackbox.result import Result
from pacopt.engines.blackbox.scipy_minimize import scipy_minimize
from pacopt.engines.blackbox.scs import scs

__all__ = ["BlackBox", "Command", "Result", "clarabel", "osqp", "scipy_minimize", "scs"]
