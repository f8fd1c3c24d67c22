"""Two samples that share more than separate draws would."""

from math import exp, log

import numpy as np


def sharing_by_chance(ours: np.ndarray, theirs: np.ndarray) -> float:
    """A bound on the probability that two samples of separate draws share as many values as these, or more.

    Looked at are the values that come exactly twice in all: once in each sample, or twice in one. Whatever the
    distribution and its atoms, of separate draws the two places of such a value are at random, so that they fall into
    both samples with a probability of about one half, or less. Returned is Chernoff's bound of that binomial tail.

    >>> sharing_by_chance(np.arange(20), np.arange(20)) < 2e-6, sharing_by_chance(np.arange(20), np.arange(20, 40))
    (True, 1.0)
    >>> sharing_by_chance(np.array([7, 7, 8, 9, 9]), np.array([7, 8, 5, 5]))
    1.0
    """
    values, code = np.unique(np.concatenate([ours, theirs]), return_inverse=True)
    first = np.bincount(code[: len(ours)], minlength=len(values))
    second = np.bincount(code[len(ours) :], minlength=len(values))
    twice = first + second == 2
    pairs, shared = int(twice.sum()), int((twice & (first == 1)).sum())
    places = len(ours) + len(theirs)
    expected = 2 * len(ours) * len(theirs) / max(1, places * (places - 1))
    if not pairs or shared / pairs <= expected:
        return 1.0
    part = shared / pairs
    rest = (1 - part) * log((1 - part) / (1 - expected)) if part < 1 else 0.0
    return exp(-pairs * (part * log(part / expected) + rest))
