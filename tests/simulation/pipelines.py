"""Whole calls of `learn`, prior search and racing included, on streams whose truth is known."""

from dataclasses import dataclass

import numpy as np

import pacopt
from pacopt.priors import Search
from streams import LotteryStream, SlopeStream

#: Quadrature of the truth is exact to this much.
ROUNDING = 1e-5


@dataclass(frozen=True)
class Pipeline:
    """A stream, and how it is learned from."""

    name: str
    stream: SlopeStream | LotteryStream
    prior: int
    train: int
    racing: bool = False
    min_success: float | None = None
    leak: bool = False

    def learn(self, epsilon, seed):
        """One certificate from fresh instances. With a leak the search looks at the training instances."""
        split = pacopt.split(
            self.stream.sample(self.prior + self.train, seed), prior=self.prior, train=self.train, test=0, seed=0
        )
        if self.leak:
            # One part used twice is refused, so it takes another last digit, which no hash can see through.
            near = {name: array[::-1] * (1 + 1e-13) for name, array in split.train.fields.items()}
            split = pacopt.Split(pacopt.Instances(near), split.train, split.test)
        return pacopt.learn(
            self.stream.problem,
            self.stream.algorithm,
            split,
            steps=self.stream.steps,
            prior=Search(candidates=24, explore=1, rounds=3),
            confidence=1 - epsilon,
            min_success=self.min_success,
            racing=self.racing,
            seed=seed,
        )

    def violated(self, epsilon, seed):
        """Whether any statement is false: deployed, posterior, or any line of the frontier."""
        learned = self.learn(epsilon, seed)
        certificate, stream = learned.certificate, self.stream
        hypers = [learned.table.hyper(i) for i in range(learned.table.shape[0])]
        posterior = certificate.posterior
        weights = np.array(posterior.weights)
        heavy = np.flatnonzero(weights > 1e-6)
        # What is left out has a risk of at most 1 and a success of at least 0, which is on the safe side here.
        risk = sum(weights[i] * stream.risk(hypers[i]) for i in heavy)
        success = sum(weights[i] * stream.success(hypers[i]) for i in heavy) + 1 - weights[heavy].sum()
        claims = [certificate.deployed, *pacopt.frontier(learned).choices]
        return bool(
            any(claim.risk < stream.risk(claim.hyper) - ROUNDING for claim in claims)
            or any(claim.success > stream.success(claim.hyper) + ROUNDING for claim in claims)
            or any(self._quantile_false(claim, certificate.design["quantile"].level) for claim in claims)
            or posterior.risk < risk - ROUNDING
            or posterior.success > success + ROUNDING
            or self._compared_falsely(learned)
        )

    def _compared_falsely(self, learned):
        """Whether the gain over the textbook, or how often it is beaten, is said to be larger than it is."""
        deployed, textbook = learned.certificate.deployed, learned.origin.textbook
        if "gain" not in learned.certificate.design:
            return False
        hypers = [learned.hyper, learned.table.hyper(textbook)]
        ours, theirs = (np.minimum(self.stream.ratios(hyper["step_size"]), 1.0) for hyper in hypers)
        gain = 0.0 if deployed.gain is None else deployed.gain
        return gain * ours.mean() > theirs.mean() + ROUNDING or deployed.win > np.mean(ours < theirs) + ROUNDING

    def _quantile_false(self, claim, level):
        if claim.quantile is None or isinstance(self.stream, LotteryStream):
            return claim.quantile is not None and claim.quantile < 1.0 - ROUNDING
        return np.mean(self.stream.ratios(claim.hyper["step_size"]) <= claim.quantile) < level - ROUNDING


PIPELINES = [
    Pipeline("slope", SlopeStream(), prior=30, train=60),
    Pipeline("slope, racing", SlopeStream(), prior=30, train=160, racing=True),
    Pipeline("slope, min_success", SlopeStream(), prior=30, train=100, min_success=0.8),
    Pipeline("lottery", LotteryStream(), prior=30, train=60),
    Pipeline("lottery, racing", LotteryStream(), prior=30, train=160, racing=True),
]
#: The mistake that a split is made to prevent: the simulation has to see it.
LEAKING = Pipeline("lottery, leaking", LotteryStream(), prior=30, train=60, leak=True)
