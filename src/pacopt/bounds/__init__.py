"""One theorem, one file. To add one, subclass `AbstractBound`, or `AbstractLinearBound` for the exponential family."""

from pacopt.aliases import earlier_names
from pacopt.bounds.absolute import AbsoluteLoss, Truncation
from pacopt.bounds.base import AbstractBound
from pacopt.bounds.bernstein import Bernstein
from pacopt.bounds.betting import Betting
from pacopt.bounds.budget import ReachedWithin
from pacopt.bounds.catoni import Catoni
from pacopt.bounds.conditional import ConditionalOnSuccess
from pacopt.bounds.conditional_betting import ConditionalBetting
from pacopt.bounds.continuous import certified_minimum, covered_interval_price, one_sided_price, second_moment_grid
from pacopt.bounds.difference import Difference
from pacopt.bounds.gain import GainBetting
from pacopt.bounds.grids import OnGrid
from pacopt.bounds.guaranteed import GuaranteedConvergence
from pacopt.bounds.hold_out import HoldOut
from pacopt.bounds.kl import SmallKL
from pacopt.bounds.mixture import MixtureBetting
from pacopt.bounds.order_statistics import OrderStatistics
from pacopt.bounds.self_normalised import SelfNormalised
from pacopt.bounds.success import ClopperPearson, PosteriorSuccess
from pacopt.bounds.win import WinProbability

#: Every theorem; the tests go through this list.
ALL = (
    GuaranteedConvergence,
    ConditionalOnSuccess,
    SelfNormalised,
    ConditionalBetting,
    SmallKL,
    Catoni,
    Bernstein,
    Betting,
    MixtureBetting,
    ClopperPearson,
    PosteriorSuccess,
    OrderStatistics,
    AbsoluteLoss,
    HoldOut,
    GainBetting,
    Difference,
    WinProbability,
    ReachedWithin,
)

__all__ = [
    "ALL",
    "AbsoluteLoss",
    "AbstractBound",
    "Bernstein",
    "Betting",
    "Catoni",
    "ClopperPearson",
    "ConditionalBetting",
    "ConditionalOnSuccess",
    "Difference",
    "GainBetting",
    "GuaranteedConvergence",
    "HoldOut",
    "MixtureBetting",
    "OnGrid",
    "OrderStatistics",
    "PosteriorSuccess",
    "ReachedWithin",
    "SelfNormalised",
    "SmallKL",
    "Truncation",
    "WinProbability",
    "certified_minimum",
    "covered_interval_price",
    "one_sided_price",
    "second_moment_grid",
]

__getattr__ = earlier_names(__name__)
