"""Sucker & Ochs: PAC-Bayesian Learning of Optimization Algorithms (AISTATS 2023)."""
