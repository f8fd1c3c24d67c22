"""What was learned, in other people's code: optax, SciPy, torch."""
