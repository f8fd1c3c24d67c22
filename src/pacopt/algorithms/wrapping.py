"""What algorithms around an algorithm share."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from pacopt.algorithms.base import AbstractAlgorithm, AbstractStochasticAlgorithm, Hyper
from pacopt.errors import AlgorithmError
from pacopt.space import AbstractSpace, Tree
from pacopt.support.numbers import is_whole


def refuse_unwrappable(outer: Any, inner: Any, what: str) -> None:
    """Refuse what is no algorithm, and one that draws random numbers."""
    name = type(outer).__name__
    if not isinstance(inner, AbstractAlgorithm) or isinstance(inner, AbstractStochasticAlgorithm):
        raise AlgorithmError(
            f"A {type(inner).__name__} was given to {name}.",
            "An algorithm that draws no random numbers is needed.",
            f"{what} around its init and step, which are given no key.",
            f"Pass {name}(pacopt.LBFGS(), ...), for example.",
        )


def as_array(value: Any) -> Any:
    """An array, so that a certificate says that it was given: lists of numbers would be plain values."""
    if value is None or isinstance(value, np.ndarray | jax.Array):
        return value
    try:
        return np.asarray(value)
    except ValueError as error:
        raise AlgorithmError(
            f"A {type(value).__name__} was given that is no array: {error}.", "An array of numbers is needed.", "", ""
        ) from error


def checked_number(outer: Any, name: str, value: Any, least: int) -> None:
    """Refuse a size that is none."""
    if value is not None and not is_whole(value, least):
        raise AlgorithmError(
            f"{name} of {type(outer).__name__} is {value!r}.",
            f"It is a whole number, at least {least}.",
            "What is trained is counted when it is made.",
            "",
        )


def with_own(outer: Any, inner: AbstractAlgorithm, own: Mapping[str, AbstractSpace]) -> dict[str, AbstractSpace | Tree]:
    """The hyperparameters of both, by name; refuses names that both have."""
    for name in own.keys() & inner.hyperparameters.keys():
        raise AlgorithmError(
            f"{type(outer).__name__} and the {type(inner).__name__} in it both have a hyperparameter {name!r}.",
            "Each has a name of its own.",
            "Hyperparameters go by their names.",
            "Rename that of your own algorithm; one of pacopt's around another of the same kind is not needed.",
        )
    return {**inner.hyperparameters, **own}


def inner_hyper(inner: AbstractAlgorithm, hyper: Hyper) -> dict[str, Any]:
    """What the algorithm inside sees."""
    return {name: hyper[name] for name in inner.hyperparameters}
