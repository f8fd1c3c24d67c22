"""Evolution strategies on a unit cube, one for each mixture of kinds, behind one interface."""

from abc import ABC, abstractmethod

import numpy as np
from cmaes import CMA, CatCMAwM, CMAwM  # type: ignore[import-untyped]
from jaxtyping import Float

from pacopt.priors.cube import Cube, count, places
from pacopt.space import Choice, Whole

#: Whole numbers with more values than this are searched like real ones, and rounded.
MANY = 1000
#: How sure a strategy is, at the start, of the choices of its first point.
SURE = 0.5


class AbstractStrategy(ABC):
    """A strategy: it is asked for points, told how good they are, and moves on."""

    @abstractmethod
    def ask(self) -> Float[np.ndarray, "hyper d"]:
        """The next points of the cube, one for each member of the population."""

    @abstractmethod
    def tell(self, scores: Float[np.ndarray, " hyper"]) -> None:
        """Learn how good the last points were: smaller is better."""


def strategy(
    cube: Cube, start: Float[np.ndarray, " d"], *, sigma: float, population: int, seed: int
) -> AbstractStrategy:
    """The strategy for this mixture of kinds, starting at a point of the cube with this spread."""
    spaces = list(cube.coordinates())
    whole = [isinstance(space, Whole) and count(space) <= MANY for space in spaces]
    # CMAwM only knows steps of equal width.
    uneven = any(isinstance(space, Whole) and space.log and few for space, few in zip(spaces, whole, strict=True))
    if uneven or any(isinstance(space, Choice) for space in spaces):
        return Mixed(cube, start, sigma, population, seed)
    return Margin(cube, start, sigma, population, seed) if any(whole) else Real(start, sigma, population, seed)


class Real(AbstractStrategy):
    """CMA-ES (Hansen 2016), for real numbers."""

    def __init__(self, start: np.ndarray, sigma: float, population: int, seed: int) -> None:
        # It needs at least two coordinates; an unused second one does no harm.
        self._idle = max(0, 2 - len(start))
        mean = np.append(start, np.full(self._idle, 0.5))
        bounds = np.tile([0.0, 1.0], (len(mean), 1))
        self._inner = CMA(mean=mean, sigma=sigma, bounds=bounds, seed=seed, population_size=population)

    def ask(self) -> Float[np.ndarray, "hyper d"]:
        """Draws from a Gaussian, inside the cube."""
        self._asked = np.stack([self._inner.ask() for _ in range(self._inner.population_size)])
        return self._asked[:, : self._asked.shape[1] - self._idle]

    def tell(self, scores: Float[np.ndarray, " hyper"]) -> None:
        """Adapt the Gaussian."""
        self._inner.tell(list(zip(self._asked, scores.tolist(), strict=True)))


class Margin(AbstractStrategy):
    """CMA-ES with margin (Hamano et al. 2022), for real and whole numbers: no whole number ever gets out of reach."""

    def __init__(self, cube: Cube, start: np.ndarray, sigma: float, population: int, seed: int) -> None:
        self._idle = max(0, 2 - len(start))
        spaces = list(cube.coordinates())
        counts = [count(space) if isinstance(space, Whole) and count(space) <= MANY else np.inf for space in spaces]
        steps = np.append(1 / np.array(counts), np.zeros(self._idle))
        self._inner = CMAwM(
            mean=np.clip(np.append(start, np.full(self._idle, 0.5)), steps / 2, 1 - steps / 2),
            sigma=sigma,
            bounds=np.stack([steps / 2, 1 - steps / 2], axis=1),
            steps=steps,
            seed=seed,
            population_size=population,
        )

    def ask(self) -> Float[np.ndarray, "hyper d"]:
        """Draws from a Gaussian, with the whole numbers at their places."""
        drawn = [self._inner.ask() for _ in range(self._inner.population_size)]
        self._asked = [raw for _, raw in drawn]
        points = np.stack([encoded for encoded, _ in drawn])
        return points[:, : points.shape[1] - self._idle]

    def tell(self, scores: Float[np.ndarray, " hyper"]) -> None:
        """Adapt the Gaussian."""
        self._inner.tell(list(zip(self._asked, scores.tolist(), strict=True)))


class Mixed(AbstractStrategy):
    """CatCMA with margin (Hamano et al. 2025), for choices together with any numbers."""

    def __init__(self, cube: Cube, start: np.ndarray, sigma: float, population: int, seed: int) -> None:
        spaces = list(cube.coordinates())
        whole = [isinstance(space, Whole) and count(space) <= MANY for space in spaces]
        choice = [isinstance(space, Choice) for space in spaces]
        self._z = np.flatnonzero(whole)
        self._c = np.array([k for k in np.flatnonzero(choice) if count(spaces[k]) > 1], dtype=int)
        self._x = np.flatnonzero(~(np.array(whole) | np.array(choice)))
        self._places = {int(k): places(spaces[k]) for k in (*self._z, *self._c)}
        self._start = start
        numbers = np.append(self._x, self._z)
        self._inner = CatCMAwM(
            x_space=[[0.0, 1.0]] * len(self._x) or None,
            z_space=[self._places[k].tolist() for k in self._z.tolist()] or None,
            c_space=[len(self._places[k]) for k in self._c.tolist()] or None,
            mean=start[numbers] if len(numbers) else None,
            sigma=sigma if len(numbers) else None,
            cov=np.eye(len(numbers)) if len(numbers) else None,
            cat_param=self._beliefs() if len(self._c) else None,
            population_size=population,
            seed=seed,
        )

    def _beliefs(self) -> np.ndarray:
        """The first probabilities of the choices: more for those of the start."""
        wide = max(len(self._places[k]) for k in self._c.tolist())
        beliefs = np.zeros((len(self._c), wide))
        for row, k in enumerate(self._c.tolist()):
            beliefs[row, : len(self._places[k])] = (1 - SURE) / len(self._places[k])
            beliefs[row, np.abs(self._places[k] - self._start[k]).argmin()] += SURE
        return beliefs

    def ask(self) -> Float[np.ndarray, "hyper d"]:
        """Draws from a Gaussian and from the probabilities of the choices."""
        self._asked = [self._inner.ask() for _ in range(self._inner.population_size)]
        points = np.tile(self._start, (len(self._asked), 1))
        for row, drawn in enumerate(self._asked):
            if len(self._x):
                points[row, self._x] = np.clip(drawn.x, 0.0, 1.0)
            if len(self._z):
                points[row, self._z] = drawn.z
            for k, chosen in zip(self._c.tolist(), drawn.c if len(self._c) else (), strict=True):
                points[row, k] = self._places[k][np.argmax(chosen)]
        return points

    def tell(self, scores: Float[np.ndarray, " hyper"]) -> None:
        """Adapt the Gaussian and the probabilities."""
        self._inner.tell(list(zip(self._asked, scores.tolist(), strict=True)))
