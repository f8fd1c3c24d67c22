"""Where algorithms run. An engine turns candidates and instances into a `LossTable`."""

from pacopt.engines.solving import Solution
from pacopt.engines.tabulation import Progress, Tabulation, Tile
from pacopt.engines.traced import Traced, loss_curves, tabulate

__all__ = ["Progress", "Solution", "Tabulation", "Tile", "Traced", "loss_curves", "tabulate"]
