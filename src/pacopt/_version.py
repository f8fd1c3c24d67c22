"""The version, in one place, importable without anything else."""

__version__ = "1.0.0rc1"
