"""Families of problems that people really solve, each with an algorithm to learn and the solvers in use today.

Your own `Family` works the same way: `contest` learns and certifies it, and compares it with the usual solvers.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
