"""Assumptions that many theorems share."""

from pacopt.bounds.exponential_family import Assumption, Status

IID = Assumption("the training instances are independent draws from the distribution of the new one", Status.DECLARED)
FIXED_BEFORE = Assumption(
    "candidates, weights, grids, levels, shares and sizes were fixed before the training instances were seen",
    Status.DECLARED,
)
SAFEGUARDED = Assumption("0 <= min(l / l0, 1) <= 1 for every run, whatever happens in it", Status.PROVED)
SECOND_MOMENT = Assumption("E l0^2 is at most the given value", Status.DECLARED)
