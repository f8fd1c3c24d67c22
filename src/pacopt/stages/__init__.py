"""The stages of `learn`: it checks, refuses, runs, compares and remarks."""
