"""What `learn` does on the way: it looks, refuses, runs, compares and remarks."""
