"""Where candidates and their weights come from. A prior is any function of `Trials` returning a `DiscreteMeasure`."""

from pacopt.aliases import earlier_names
from pacopt.priors.product import Product
from pacopt.priors.search import Search

__all__ = ["Product", "Search"]

__getattr__ = earlier_names(__name__)
