"""Experiment 4: how far the bound lies above the mean loss on unseen instances."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from pacopt.algorithms import HeavyBall
from pacopt.bounds.absolute import Truncation
from pacopt.certifying import certify
from pacopt.claims import Shares
from pacopt.design import Design
from pacopt.papers.sucker_ochs_2023.setting import (
    EPSILON,
    Published,
    Variant,
    heavy_ball,
    published,
    published_mean,
    stream,
    textbook,
    varying,
)
from pacopt.papers.sucker_ochs_2023.verdicts import Verdict, beats_textbook, bound_holds, good_estimate, lay_above
from pacopt.problems.quadratic_laws import GaussianVector

LEVEL, PRIOR, TRAIN, TEST, CANDIDATES, FRESH = 0.9, 200, 1000, 200, 200, 20_000
#: Numbers of training instances for the comparison with the rigorous certificate.
SIZES = (100, 1000, 10_000)


@dataclass(frozen=True, slots=True)
class Tightness:
    """One number of training instances: the plug-in estimate and the certificate, each beside the truth.

    `plug_in` and `plug_in_truth` are mean losses given convergence, the truth that of the argmax; `absolute` is the
    certified mean loss with the safeguard, from the declared law of the start loss; `relative` the certified mean
    ratio.
    """

    train: int
    plug_in: float
    plug_in_truth: float
    absolute: float
    absolute_truth: float
    relative: float
    relative_truth: float


@dataclass(frozen=True, slots=True, eq=False)
class BoundTightness:
    """Losses on the test split, the published estimate, and the rigorous certificate for three sizes."""

    variant: Variant
    learned: Published
    losses: Float[np.ndarray, "row instance"]
    start: Float[np.ndarray, " instance"]
    rows: tuple[Tightness, ...]

    @property
    def kept(self) -> Float[np.ndarray, "row instance"]:
        """Losses of learned and textbook, or the start's where a run ended above it."""
        return np.where(self.losses <= self.start, self.losses, self.start)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Learned against the textbook, and whether each bound holds and how tight it is."""
        found = [beats_textbook(self.kept[0], self.kept[1])]
        for row in self.rows:
            found.append(lay_above(row.plug_in, row.plug_in_truth, f"plug-in estimate, N = {row.train},"))
            found.append(good_estimate(row.plug_in, row.plug_in_truth, f"plug-in estimate, N = {row.train},"))
            found.append(bound_holds(row.absolute, row.absolute_truth, f"certificate, absolute, N = {row.train},"))
            found.append(bound_holds(row.relative, row.relative_truth, f"certificate, relative, N = {row.train},"))
        return tuple(found)

    @property
    def numbers(self) -> dict[str, float]:
        """What can be compared with other runs of the experiment."""
        learned, textbook = (published_mean(row, self.start, self.variant) for row in self.losses)
        return self.learned.hyper | {
            "lambda": self.learned.estimate.lam,
            "plug-in estimate": self.learned.estimate.value,
            "learned, mean loss on test": float(learned),
            "learned, median loss on test": float(np.median(self.kept[0])),
            "textbook, mean loss on test": float(textbook),
            "estimate / mean loss": self.learned.estimate.value / float(learned),
            "textbook / learned": float(textbook / learned),
        }


def bound_tightness(*, seed: int = 0, variant: Variant = Variant.TEXT) -> BoundTightness:
    """Section 7.4, and beyond it the rigorous certificate of the same candidates for N = 100, 1000 and 10,000."""
    law = varying(seed, variant)
    engine = heavy_ball(law)
    prior, train = law.sample(PRIOR, seed=stream(seed, 1)), law.sample(max(SIZES), seed=stream(seed, 2))
    test, fresh = law.sample(TEST, seed=stream(seed, 3)), law.sample(FRESH, seed=stream(seed, 4))
    cut = _truncation(law.right_hand_side)
    rows, learned = [], None
    for n in SIZES:
        result = published(law, prior, train[:n], success=LEVEL, candidates=CANDIDATES, seed=seed)
        learned = result if n == TRAIN else learned
        on_prior = engine.table(result.table.candidates, prior)
        design = Design.informed(on_prior, train=n, epsilon=EPSILON, shares=Shares(0.4, 0.1, 0.1, 0.4), truncation=cut)
        certificate = certify(result.table, design, confidence=1 - EPSILON)
        deployed = certificate.deployed
        truth = engine.table(
            {name: [result.hyper[name], deployed.hyper[name]] for name in HeavyBall.hyperparameters}, fresh
        )
        kept = np.where(truth.losses <= truth.starts, truth.losses, truth.starts)
        rows.append(
            Tightness(
                train=n,
                plug_in=result.estimate.value,
                plug_in_truth=published_mean(truth.losses[0], truth.starts, Variant.TEXT),
                absolute=float(deployed.absolute or np.nan),
                absolute_truth=float(kept[1].mean()),
                relative=deployed.risk,
                relative_truth=float(truth.safeguarded()[1].mean()),
            )
        )
    assert learned is not None
    hypers = [learned.hyper, textbook(law)]
    table = engine.table({name: [hyper[name] for hyper in hypers] for name in HeavyBall.hyperparameters}, test)
    return BoundTightness(variant, learned, table.losses, table.starts, tuple(rows))


def _truncation(b: GaussianVector) -> Truncation:
    """A level far in the tail of the start loss, whose law is known here."""
    theta_max = 1 / float(np.linalg.eigvalsh(b.covariance).max())
    level = 3 * b.mean_start_loss()
    return Truncation.from_law(level, b.log_mgf_start_loss, theta_max, "b is normal with known mean and covariance")
