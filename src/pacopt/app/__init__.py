"""What a person meets: the command line, job files, the demo."""
