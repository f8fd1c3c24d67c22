"""Where candidates and their weights come from. A prior is any function of `Trials` returning a `DiscreteMeasure`."""

from pacopt.priors.iterative_box import IterativeBox
from pacopt.priors.product import Product
from pacopt.priors.search import Search

__all__ = ["IterativeBox", "Product", "Search"]
