"""One theorem, one file. To add one of the exponential-family form, subclass `AbstractLinearBound`."""

from pacopt.bounds.absolute import AbsoluteLoss, Truncation
from pacopt.bounds.bernstein import Bernstein
from pacopt.bounds.betting import Betting
from pacopt.bounds.catoni import Catoni
from pacopt.bounds.conditional import ConditionalOnSuccess
from pacopt.bounds.conditional_betting import ConditionalBetting
from pacopt.bounds.guaranteed import GuaranteedConvergence
from pacopt.bounds.hold_out import HoldOut
from pacopt.bounds.kl import SmallKL
from pacopt.bounds.mixture import MixtureBetting
from pacopt.bounds.quantile import Quantile
from pacopt.bounds.self_normalised import SelfNormalised
from pacopt.bounds.success import ClopperPearson, PosteriorSuccess

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
    Quantile,
    AbsoluteLoss,
    HoldOut,
)

__all__ = ["ALL", *(bound.__name__ for bound in ALL), "Truncation"]
