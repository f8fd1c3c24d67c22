"""Where candidates and their weights come from. A prior is any function of `Trials` returning a `DiscreteMeasure`."""

from pacopt.aliases import earlier_names
from pacopt.priors.best_trials import BestTrials
from pacopt.priors.product import Product
from pacopt.priors.search import Search
from pacopt.priors.study import Study
from pacopt.priors.train import Train

__all__ = ["BestTrials", "Product", "Search", "Study", "Train"]

__getattr__ = earlier_names(__name__)
