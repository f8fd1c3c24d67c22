"""Where a candidate runs on an instance. To add an engine, subclass `AbstractCellEngine`: a space and `run`."""

from pacopt.engines.base import AbstractEngine, Metric, Standard
from pacopt.engines.blackbox import BlackBox, Command, Result, clarabel, osqp, scipy_minimize, scs
from pacopt.engines.cellwise import AbstractCellEngine
from pacopt.engines.ended import Run
from pacopt.engines.solution import Solution

__all__ = [
    "AbstractCellEngine",
    "AbstractEngine",
    "BlackBox",
    "Command",
    "Metric",
    "Result",
    "Run",
    "Solution",
    "Standard",
    "clarabel",
    "osqp",
    "scipy_minimize",
    "scs",
]
