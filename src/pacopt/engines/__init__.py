"""Where a candidate runs on an instance. To add an engine, subclass `AbstractCellEngine`: a space and `run`."""

from pacopt.engines.base import AbstractEngine, Standard
from pacopt.engines.cellwise import AbstractCellEngine, Run
from pacopt.engines.solution import Solution

__all__ = ["AbstractCellEngine", "AbstractEngine", "Run", "Solution", "Standard"]
