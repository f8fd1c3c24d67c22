"""Imported before pacopt: from then on annotations of shapes and types inside the engine for JAX are checked.

What takes a user's own values (instances, tables, the public verbs) is not wrapped: it has errors of its own, and
they are what is tested.
"""

import jaxtyping

INSIDE = ["problems", "algorithms", *(f"engines.traced.{name}" for name in ("cell", "parallel", "precision", "tiling"))]
jaxtyping.install_import_hook([f"pacopt.{name}" for name in INSIDE], "beartype.beartype")
