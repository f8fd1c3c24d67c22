"""Shared by algorithms that wrap another algorithm."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from pacopt.algorithms.base import AbstractAlgorithm, AbstractStochasticAlgorithm, Hyper
from pacopt.errors import AlgorithmError
from pacopt.space import AbstractSpace, Tree
from pacopt.support.numbers import is_whole


def refuse_unwrappable(outer: Any, inner: Any, what: str) -> None:
    """Refuse anything but an algorithm that draws no random numbers."""
    name = type(outer).__name__
    if not isinstance(inner, AbstractAlgorithm) or isinstance(inner, AbstractStochasticAlgorithm):
        raise AlgorithmError(
            f"A {type(inner).__name__} was given to {name}.",
            "It needs an algorithm that draws no random numbers.",
            f"{what} around its init and step, which get no key.",
            f"Pass {name}(pacopt.LBFGS(), ...), for example.",
        )


def as_array(value: Any) -> Any:
    """The value as an array, so that the certificate mentions it: lists of numbers would count as plain values."""
    if value is None or isinstance(value, np.ndarray | jax.Array):
        return value
    try:
        return np.asarray(value)
    except ValueError as error:
        raise AlgorithmError(
            f"A {type(value).__name__} was given that is not an array: {error}.",
            "An array of numbers is needed.",
            "",
            "",
        ) from error


def checked_number(outer: Any, name: str, value: Any, least: int) -> None:
    """Refuse an invalid size."""
    if value is not None and not is_whole(value, least):
        raise AlgorithmError(
            f"{name} of {type(outer).__name__} is {value!r}.",
            f"It must be a whole number, at least {least}.",
            "The sizes of trained arrays are fixed when the algorithm is made.",
            "",
        )


def with_own(outer: Any, inner: AbstractAlgorithm, own: Mapping[str, AbstractSpace]) -> dict[str, AbstractSpace | Tree]:
    """The hyperparameters of both, by name; a name that both have is refused."""
    for name in own.keys() & inner.hyperparameters.keys():
        raise AlgorithmError(
            f"{type(outer).__name__} and the {type(inner).__name__} in it both have a hyperparameter {name!r}.",
            "The names must differ.",
            "Hyperparameters are told apart by name.",
            "Rename the one in your own algorithm; wrapping twice in the same pacopt algorithm is never needed.",
        )
    return {**inner.hyperparameters, **own}


def inner_hyper(inner: AbstractAlgorithm, hyper: Hyper) -> dict[str, Any]:
    """The hyperparameters of the inner algorithm."""
    return {name: hyper[name] for name in inner.hyperparameters}
