"""Candidates drawn independently from a known distribution of each hyperparameter."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.stats import qmc

from pacopt.errors import CandidatesError, correction
from pacopt.measure import DiscreteMeasure
from pacopt.priors.cube import distinct
from pacopt.priors.trials import Trials
from pacopt.space import AbstractSpace, Choice, Whole
from pacopt.support.numbers import is_whole


class Distribution(Protocol):
    """Anything with quantiles: a frozen distribution of scipy.stats."""

    def ppf(self, q: Any, /) -> Any:
        """The quantiles."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """Equal weights on candidates spread evenly under a product of distributions; needs no prior instances.

    Each hyperparameter has a frozen distribution of scipy.stats (`uniform`, `loguniform`, `norm`, any other) or a space
    (`Interval`, `Whole`, `Choice`, `Array`); one that you do not name is spread over the domain of the algorithm. The
    values of a distribution are rounded for a whole number, and drawn for each entry of an array. A candidate that
    is drawn more than once is kept once, with the total weight.

    >>> from scipy.stats import loguniform, norm
    >>> prior = Product({"step_size": loguniform(1e-6, 1e-2), "momentum": norm(0.9, 0.05)}, candidates=100)
    """

    distributions: Mapping[str, Distribution | AbstractSpace]
    candidates: int = 256

    def most(self, trials: Trials) -> tuple[int, int]:
        """How many points it tries on the prior split, and how many candidates it returns, at most."""
        return 0, checked_count(self.candidates)

    def __call__(self, trials: Trials) -> DiscreteMeasure:
        """Quasi-random points, put through the quantile functions."""
        given = checked_names(self.distributions, trials.domain)
        count = checked_count(self.candidates)
        if not trials.domain:
            return DiscreteMeasure({}, np.zeros(1))
        sizes = [space.dimension for space in trials.domain.values()]
        columns = np.split(spread(count, sum(sizes), trials.seed), np.cumsum(sizes)[:-1], axis=1)
        values = {
            name: quantiles(given.get(name, space), space, part)
            for (name, space), part in zip(trials.domain.items(), columns, strict=True)
        }
        for name, array in values.items():
            if len(array) != count or (array.dtype.kind == "f" and not np.isfinite(array).all()):
                raise CandidatesError(
                    f"The distribution of {name!r} gives values like {np.ravel(array)[0]}.",
                    "Candidates are finite numbers.",
                    "",
                    "Check its parameters; scipy.stats returns NaN where they make no sense.",
                )
        first, counts = distinct(values)
        return DiscreteMeasure.of({name: array[first] for name, array in values.items()}, counts / count)


def spread(count: int, dimension: int, seed: int) -> np.ndarray:
    """Points of a scrambled Sobol sequence in the unit cube."""
    count = checked_count(count)
    sobol = qmc.Sobol(dimension, rng=np.random.default_rng(seed))
    points: np.ndarray = sobol.random_base2(int(count - 1).bit_length())[:count]
    return points


def checked_count(count: Any, what: str = "candidates", least: int = 1) -> int:
    """A number of candidates or rounds."""
    if not is_whole(count, least):
        raise CandidatesError(
            f"{count!r} {what} are asked for.", f"A whole number is needed, at least {least}.", "", "Use the default."
        )
    return int(count)


def quantiles(kind: "Distribution | AbstractSpace", space: AbstractSpace, positions: np.ndarray) -> np.ndarray:
    """The values at these positions between 0 and 1, one for each row, of the type of the algorithm's own space."""
    if isinstance(kind, AbstractSpace):
        return kind.at(positions if kind.shape else positions[:, 0])
    # A scrambled point may be exactly 0, where an unbounded distribution has no quantile.
    values = np.asarray(kind.ppf(np.clip(positions, 1e-9, 1 - 1e-9)), dtype=np.float64)
    if isinstance(space, Whole) and np.isfinite(values).all():
        values = np.rint(values).astype(np.int64)
    shaped: np.ndarray = values.reshape(len(positions), *space.shape) if values.shape == positions.shape else values
    return shaped


def checked_names(given: Mapping[str, Any], known: Mapping[str, Any], *, spaces: bool = False) -> Mapping[str, Any]:
    """What was given, by name, if the algorithm has all these names and each has a space or quantiles."""
    if not isinstance(given, Mapping):
        raise CandidatesError(
            f"{given!r} was given.",
            "Hyperparameters go by their names.",
            "",
            'Use a mapping such as {"step_size": pacopt.Interval(1e-6, 1.0, log=True)}.',
        )
    for name, kind in given.items():
        own = known.get(name)
        described = not isinstance(kind, AbstractSpace) and not spaces and callable(getattr(kind, "ppf", None))
        if described and not isinstance(own, Choice):
            continue
        if not isinstance(kind, AbstractSpace) or (isinstance(own, AbstractSpace) and kind.shape != own.shape):
            like = own.example if isinstance(own, AbstractSpace) else "Interval(low, high)"
            raise CandidatesError(
                f"For {name!r}, {kind!r} was given.",
                "A space of its shape is needed (Interval, Whole, Choice or Array)"
                + ("." if spaces else ", or, for numbers, a frozen distribution of scipy.stats."),
                "",
                f'Write {{"{name}": pacopt.{like}}}.',
            )
    for name in given:
        if name not in known:
            raise CandidatesError(
                f"There is no hyperparameter {name!r}.",
                f"The algorithm has {', '.join(known)}.",
                "A value that is never read would be certified as if it mattered.",
                correction(name, known),
            )
    return given
