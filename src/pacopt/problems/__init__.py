"""What is minimised. To add a problem, subclass `AbstractProblem`: a start and a loss."""

from pacopt.problems.base import AbstractKnownMinimum, AbstractMetric, AbstractProblem, AbstractProximable, Objective
from pacopt.problems.quadratic import DiagonalQuadratic, SharedQuadratic
from pacopt.problems.quadratic_laws import FixedCurvature, GaussianVector, VaryingCurvature

__all__ = [
    "AbstractKnownMinimum",
    "AbstractMetric",
    "AbstractProblem",
    "AbstractProximable",
    "DiagonalQuadratic",
    "FixedCurvature",
    "GaussianVector",
    "Objective",
    "SharedQuadratic",
    "VaryingCurvature",
]
