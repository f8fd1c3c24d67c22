"""What so many instances can never show, whatever the method: the cost of catastrophes that nobody has seen.

**Theorem** (docs/how_tight.md). Mix a catastrophe into the law of the scores, with probability d. If (1 - d)^N = 2 eps,
then a statement that fails with probability eps at most has to be true with the catastrophe too, in at least half of
the samples that have none. `level` is eps, the part of the failure probability that the claim has.
"""

from math import ceil, expm1, log, log1p


def unseen(train: int, level: float) -> float:
    """The rate d of a catastrophe that no method can exclude in half of all samples: (1 - d)^train = 2 level.

    0 for levels of a half or more, of which the argument says nothing.

    >>> round(unseen(1000, 0.006), 5)
    0.00441
    """
    return -expm1(min(0.0, log(2 * level)) / train)


def least_risk(mean: float, train: int, level: float) -> float:
    """The median of any valid bound on this mean is at least so large: a catastrophe scores 1.

    >>> round(least_risk(0.012, 1000, 0.006) / 0.012, 2)
    1.36
    """
    return mean + unseen(train, level) * (1 - mean)


def largest_gain(factor: float, mean: float, train: int, level: float) -> float:
    """The median of any valid claim of a gain is at most so large: in a catastrophe ours scores 1, the baseline 0.

    `factor` is the true one and `mean` that of our scores, so that the baseline's is factor * mean.

    >>> round(largest_gain(1.18, 0.012, 10_000, 0.004), 2)
    1.13
    """
    rate = unseen(train, level)
    return (1 - rate) * factor * mean / (mean + rate * (1 - mean))


def fewest_for_risk(risk: float, mean: float, level: float) -> int | None:
    """With fewer instances no method certifies this risk in half of all samples; None if it is not true."""
    return _fewest((risk - mean) / (1 - mean), level)


def fewest_for_gain(gain: float, factor: float, mean: float, level: float) -> int | None:
    """With fewer instances no method certifies this gain in half of all samples; None if it is not true."""
    return _fewest(mean * (factor - gain) / (gain * (1 - mean) + factor * mean), level)


def _fewest(rate: float, level: float) -> int | None:
    """The smallest number of instances in which a catastrophe of this rate is seen often enough."""
    return None if rate <= 0 else max(1, ceil(log(2 * level) / log1p(-rate) - 1e-9))
