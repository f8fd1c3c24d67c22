"""A prior of one's own: a measure on candidates that is a function of the prior split."""

from collections.abc import Callable

import numpy as np

from pacopt.engines.base import AbstractEngine
from pacopt.instances import Instances
from pacopt.measure import DiscreteMeasure
from pacopt.priors.trials import Trials
from pacopt.testing.checking import need, told


def check_prior(prior: Callable[[Trials], DiscreteMeasure], engine: AbstractEngine, instances: Instances) -> None:
    """Raise unless a prior returns candidates of the engine with weights, the same ones each time.

    >>> from pacopt import GradientDescent, VaryingCurvature
    >>> from pacopt.engines.traced.engine import Traced
    >>> from pacopt.priors import Search
    >>> law = VaryingCurvature.draw(seed=0, n=5)
    >>> check_prior(Search(candidates=16, rounds=1), Traced(law.problem, GradientDescent(), 5), law.sample(40, seed=1))
    """
    name = getattr(prior, "__name__", type(prior).__name__)
    part = instances.drawn(root=0, part="prior")
    found = []
    for seed in (0, 0, 1):
        standard = engine.standard(part, None).hyper
        trials = Trials(
            engine.table,
            part,
            engine.space,
            train=100,
            standard=standard,
            seed=seed,
            steps=engine.steps or 1,
            trains=engine.training,
        )
        with told(f"{name} with the seed {seed}"):
            found.append(prior(trials))
    for measure in found:
        need(isinstance(measure, DiscreteMeasure), f"{name} returns a {type(measure).__name__}, and no DiscreteMeasure")
        need(measure.support.keys() == engine.space.keys(), f"{name} returns candidates with {list(measure.support)}")
        with told(f"candidates of {name}"):
            engine.check(measure.support, part)
    one, again, _ = found
    need(
        np.array_equal(one.log_weights, again.log_weights)
        and all(np.array_equal(one.support[key], again.support[key]) for key in one.support),
        f"{name} returns other candidates or weights when it is called again with the same seed",
    )
