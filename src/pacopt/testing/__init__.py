"""Checks for what you add: one call for a problem, algorithm, engine, prior, score, bound or claim of your own.

Each raises `CheckError`, which names the first thing that does not hold, and returns nothing if all is well. They are
the checks that pacopt's own parts go through.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
