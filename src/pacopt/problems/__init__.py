"""What is minimised. To add a problem, subclass `AbstractProblem`: a start and a loss."""

from pacopt.problems.base import AbstractKnownMinimum, AbstractMetric, AbstractProblem, AbstractProximable, Objective
from pacopt.problems.quadratic import DiagonalQuadratic, SharedQuadratic
from pacopt.problems.quadratic_laws import FixedCurvature, GaussianVector, VaryingCurvature
from pacopt.problems.quadratic_programs import AbstractQuadraticProgram, QuadraticProgram

__all__ = [
    "AbstractKnownMinimum",
    "AbstractMetric",
    "AbstractProblem",
    "AbstractProximable",
    "AbstractQuadraticProgram",
    "DiagonalQuadratic",
    "FixedCurvature",
    "GaussianVector",
    "Objective",
    "QuadraticProgram",
    "SharedQuadratic",
    "VaryingCurvature",
]
