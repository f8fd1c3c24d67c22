"""Problems and algorithms that JAX can trace."""
