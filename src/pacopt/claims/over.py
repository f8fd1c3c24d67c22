"""What claims that compare with baselines share: their names."""

import re
from typing import Any

from pacopt.errors import DesignError


class Over:
    """A claim over baselines, by their names."""

    __slots__ = ()
    over: tuple[str, ...]
    #: What each of them is, in words: its hyperparameters, its steps. It is fixed with the design.
    described: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse what names no baseline, or one twice."""
        given: Any = (self.over,) if isinstance(self.over, str) else self.over
        names = tuple(given) if isinstance(given, list | tuple) else ()
        keys = {key_of("", name) for name in names if isinstance(name, str) and name.strip() and name.isprintable()}
        if not names or len(keys) < len(names) or key_of("", "measured") in keys:
            raise DesignError(
                f"The baselines are {self.over!r}.",
                "At least one is needed, and each has a name of its own, of letters and digits, and not 'measured'.",
                "",
                'Use over=("the textbook",), for example.',
            )
        object.__setattr__(self, "over", names)
        given = self.described
        told = tuple(given) if isinstance(given, list | tuple) else (None,)
        if told and (len(told) != len(names) or not all(isinstance(text, str) for text in told)):
            raise DesignError(
                f"The baselines are described by {self.described!r}.", "There is a text for each.", "", "Leave it out."
            )
        object.__setattr__(self, "described", told)


def key_of(claim: str, baseline: str) -> str:
    """Under which the number of a claim over a baseline is stored: letters, digits and underscores."""
    letters = re.sub(r"\W+", "_", baseline).strip("_").lower()
    return f"{claim}_{letters}"
