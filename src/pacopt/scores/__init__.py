"""What is averaged: a number z in [0, 1] for each run, fixed in the design. To add one, subclass `AbstractScore`."""

from pacopt.scores.base import AbstractScore
from pacopt.scores.digits import Digits
from pacopt.scores.effort import Effort
from pacopt.scores.ranged import Ranged
from pacopt.scores.rate import Rate
from pacopt.scores.ratio import Ratio

#: Every score, by the name under which it is stored.
ALL = {score.name: score for score in (Ratio, Rate, Digits, Ranged, Effort)}

__all__ = ["ALL", "AbstractScore", "Digits", "Effort", "Ranged", "Rate", "Ratio"]
