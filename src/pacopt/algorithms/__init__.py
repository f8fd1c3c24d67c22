"""What is learned. To add an algorithm, subclass `AbstractAlgorithm`: hyperparameters, `init`, `step`, `read`."""

from pacopt.algorithms.base import AbstractAlgorithm, AbstractStandardHyper, AbstractStochasticAlgorithm, Hyper
from pacopt.algorithms.gradient_descent import GradientDescent
from pacopt.algorithms.heavy_ball import HeavyBall
from pacopt.algorithms.nesterov import Nesterov

__all__ = [
    "AbstractAlgorithm",
    "AbstractStandardHyper",
    "AbstractStochasticAlgorithm",
    "GradientDescent",
    "HeavyBall",
    "Hyper",
    "Nesterov",
]
