"""What was learned, for use in other libraries: optax, SciPy, torch."""
