"""A mean score in the unit in which people read it: a ratio, or steps, digits, per cent of a known largest value."""

from dataclasses import dataclass

from pacopt.errors import DesignError
from pacopt.support.numbers import is_real


@dataclass(frozen=True, slots=True)
class Unit:
    """`top` is what a score of 1 is; the unit of a ratio has no name."""

    top: float = 1.0
    name: str = ""

    def __post_init__(self) -> None:
        """Refuse what is no largest value, and no word."""
        if not is_real(self.top) or not 0 < self.top < float("inf"):
            raise DesignError(
                f"top is {self.top!r}.", "The largest value of the score is positive and finite.", "", "Use top=50."
            )
        if not isinstance(self.name, str) or not self.name.isprintable():
            raise DesignError(f"unit is {self.name!r}.", "It is a printable text.", "", 'Use unit="steps".')

    def shown(self, part: float, digits: int | None = None) -> str:
        """A score in the unit; all digits of what somebody gave, unless fewer are asked for.

        >>> Unit(50, "steps").shown(0.4), Unit().shown(0.05)
        ('20 steps', '0.05')
        """
        value = part * self.top
        if self.top == 1 and digits is None:
            return f"{value!r} {self.name}".rstrip()
        return f"{value:.{digits or 6}g} {self.name}".rstrip()

    def mean(self, part: float) -> str:
        """The mean in a sentence."""
        return f"mean ratio of {self.shown(part)}" if self.top == 1 and not self.name else f"mean of {self.shown(part)}"
