"""What is learned. To add an algorithm, subclass `AbstractAlgorithm`: hyperparameters, `init`, `step`, `read`."""

from pacopt.algorithms.adam import Adam
from pacopt.algorithms.admm import ADMM
from pacopt.algorithms.barzilai_borwein import BarzilaiBorwein
from pacopt.algorithms.base import (
    AbstractAlgorithm,
    AbstractDecisions,
    AbstractInitialHyper,
    AbstractPrepared,
    AbstractStandardHyper,
    AbstractStochasticAlgorithm,
    Hyper,
)
from pacopt.algorithms.conjugate_gradients import ConjugateGradients
from pacopt.algorithms.conjugate_rule import ConjugateRule
from pacopt.algorithms.fista import FISTA
from pacopt.algorithms.gradient_descent import GradientDescent
from pacopt.algorithms.heavy_ball import HeavyBall
from pacopt.algorithms.lbfgs import LBFGS
from pacopt.algorithms.minibatch import Minibatch
from pacopt.algorithms.modelled_newton import AbstractHessianModel, ModelledNewton
from pacopt.algorithms.nesterov import Nesterov
from pacopt.algorithms.newton import Newton
from pacopt.algorithms.nonlinear_conjugate_gradients import NonlinearConjugateGradients
from pacopt.algorithms.optax_algorithm import Optax
from pacopt.algorithms.preconditioned import Preconditioned
from pacopt.algorithms.proximal_barzilai_borwein import ProximalBarzilaiBorwein
from pacopt.algorithms.proximal_gradient import ProximalGradient, ProximalNesterov
from pacopt.algorithms.proximal_rule import ProximalRule
from pacopt.algorithms.quasi_newton_rule import QuasiNewtonRule
from pacopt.algorithms.scalar_rule import ScalarRule
from pacopt.algorithms.schedule import Schedule
from pacopt.algorithms.transformed import AbstractCoordinates, Transformed
from pacopt.algorithms.warm_start import WarmStart

__all__ = [
    "ADMM",
    "FISTA",
    "LBFGS",
    "AbstractAlgorithm",
    "AbstractCoordinates",
    "AbstractDecisions",
    "AbstractHessianModel",
    "AbstractInitialHyper",
    "AbstractPrepared",
    "AbstractStandardHyper",
    "AbstractStochasticAlgorithm",
    "Adam",
    "BarzilaiBorwein",
    "ConjugateGradients",
    "ConjugateRule",
    "GradientDescent",
    "HeavyBall",
    "Hyper",
    "Minibatch",
    "ModelledNewton",
    "Nesterov",
    "Newton",
    "NonlinearConjugateGradients",
    "Optax",
    "Preconditioned",
    "ProximalBarzilaiBorwein",
    "ProximalGradient",
    "ProximalNesterov",
    "ProximalRule",
    "QuasiNewtonRule",
    "ScalarRule",
    "Schedule",
    "Transformed",
    "WarmStart",
]
