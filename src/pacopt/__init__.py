"""pacopt learns the hyperparameters of an optimization algorithm and certifies what they will do on the next instance.

The pipeline is a sequence of frozen values:

    Instances -> Split -> (problem, algorithm, candidates) -> LossTable -> (Design) -> Certificate -> Audit

The public names stand in `__init__.pyi`. Each is imported when it is first used, so that `import pacopt` takes no time
and whatever works without JAX does not import it.
"""

import lazy_loader

from pacopt._version import __version__ as __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
