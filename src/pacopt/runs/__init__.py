"""A run on disk: its files, how it is written and read, and the runs beside it."""
