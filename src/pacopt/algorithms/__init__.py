"""What is learned. To add an algorithm, subclass `AbstractAlgorithm`: hyperparameters, `init`, `step`, `read`."""

from pacopt.algorithms.base import (
    AbstractAlgorithm,
    AbstractInitialHyper,
    AbstractStandardHyper,
    AbstractStochasticAlgorithm,
    Hyper,
)
from pacopt.algorithms.gradient_descent import GradientDescent
from pacopt.algorithms.heavy_ball import HeavyBall
from pacopt.algorithms.nesterov import Nesterov
from pacopt.algorithms.scalar_rule import ScalarRule

__all__ = [
    "AbstractAlgorithm",
    "AbstractInitialHyper",
    "AbstractStandardHyper",
    "AbstractStochasticAlgorithm",
    "GradientDescent",
    "HeavyBall",
    "Hyper",
    "Nesterov",
    "ScalarRule",
]
