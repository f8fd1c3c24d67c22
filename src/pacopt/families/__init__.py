"""Streams of real problems, each with what is learned for it and what people use today. A `Family` of yours is one."""

from pacopt.families.base import Family, Sizes
from pacopt.families.logistic_regression import LogisticRegression, Resamples, logistic_regression
from pacopt.families.tables import Table, breast_cancer, digits, wine

__all__ = [
    "Family",
    "LogisticRegression",
    "Resamples",
    "Sizes",
    "Table",
    "breast_cancer",
    "digits",
    "logistic_regression",
    "wine",
]
