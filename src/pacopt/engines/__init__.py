"""Where algorithms run. An engine turns candidates and instances into a `LossTable`."""

from pacopt.engines.tabulation import Tabulation, Tile
from pacopt.engines.traced import loss_curves, tabulate

__all__ = ["Tabulation", "Tile", "loss_curves", "tabulate"]
