"""Streams of problems that people really solve, each with what is learned for it and what they use today.

A `Family` of your own goes the same way: `contest` learns and certifies it, and compares it with the usual solvers.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
