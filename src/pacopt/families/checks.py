"""What a family is made of, checked before anything runs."""

import inspect
from collections.abc import Callable
from typing import Any

from pacopt.errors import FamilyError
from pacopt.support.numbers import is_whole


def checked_sizes(family: str, sizes: Any) -> tuple[int, int, int]:
    """The sizes of the three parts; anything but three whole numbers is refused."""
    try:
        found = tuple(sizes)
    except TypeError:
        found = ()
    if len(found) == 3 and all(is_whole(size, least) for size, least in zip(found, (0, 1, 0), strict=True)):
        return int(found[0]), int(found[1]), int(found[2])
    raise FamilyError(
        f"The sizes of {family!r} are {sizes!r}.",
        "They must be three whole numbers, none of them negative and the second at least 1: the draws in the prior, "
        "the training and the test split.",
        "A certificate rests on the training instances.",
        "Use sizes=(500, 2000, 1000).",
    )


def refuse_other_algorithm(family: str, algorithm: Any) -> None:
    """Refuse what is neither an algorithm nor a function that can be called with a split."""
    if callable(algorithm) and takes(algorithm, 1):
        return
    found = "a function that cannot be called with one argument" if callable(algorithm) else type(algorithm).__name__
    raise FamilyError(
        f"The algorithm of {family!r} is {found if callable(algorithm) else f'a {found}'}.",
        "It must be an object derived from pacopt.AbstractAlgorithm, or a function that takes a Split and returns one.",
        "A metric, for example, is learned from the prior split.",
        "Write def algorithm(split): ..., or pass the algorithm itself.",
    )


def takes(function: Callable[..., Any], count: int) -> bool:
    """Whether a function can be called with so many arguments; yes if nobody knows."""
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:  # some functions of C do not tell
        return True
    return True
