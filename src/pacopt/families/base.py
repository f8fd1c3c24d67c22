"""A family: a set of similar problems, the algorithm to learn for it, and the solvers people use today."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from pacopt.algorithms import (
    FISTA,
    LBFGS,
    BarzilaiBorwein,
    GradientDescent,
    HeavyBall,
    Nesterov,
    NonlinearConjugateGradients,
    ProximalBarzilaiBorwein,
    ProximalGradient,
    ProximalNesterov,
)
from pacopt.algorithms.base import AbstractAlgorithm
from pacopt.engines import BlackBox
from pacopt.errors import FamilyError
from pacopt.families.checks import checked_sizes, refuse_other_algorithm
from pacopt.families.limited import ScipysLBFGSB
from pacopt.instances import Instances
from pacopt.problems.base import AbstractProblem, AbstractProximable
from pacopt.scores import AbstractScore
from pacopt.splits import Split, split
from pacopt.stages.baselines import Baseline
from pacopt.stages.weighing import Prior

#: The names of the learned algorithm and of the one tuned by Optuna.
LEARNED, TUNED = "learned", "Optuna"
#: The seed for placeholder draws.
SPARE = 2_000_003


class Sampler(Protocol):
    """Draws independent instances, or independent groups of them; a different seed gives different draws."""

    def __call__(self, count: int, *, seed: int) -> Instances:
        """This many draws."""
        ...


class Sizes(NamedTuple):
    """The number of draws in each part of the split."""

    prior: int = 500
    train: int = 2000
    test: int = 1000

    @property
    def total(self) -> int:
        """The number of draws in all parts."""
        return sum(self)


@dataclass(frozen=True, eq=False)
class Family:
    """A set of similar problems, the algorithm to learn for it, and the solvers that people use today.

    `sample(count, seed=...)` draws instances. `algorithm` is what is learned; it may be a function of a split, for
    example to learn a metric. That split has the family's prior part; its other parts are unrelated draws. `usual` are
    the solvers people use, by name, the textbook first, each with the same number of gradients; by default they are the
    usual ones for smooth problems, or for problems with a proximal map. `tuned` is the algorithm that Optuna tunes: it
    has a few hyperparameters, and gets as many runs as learning takes, in at most 300 trials. `prior`, `score` and
    `budget` are passed to `learn`. `note` is printed beside the results. `allow_duplicates` says that separate draws
    may be equal, as those from a finite set are.

    >>> import jax.numpy as jnp, numpy as np
    >>> from pacopt import AbstractProblem
    >>> class Ridge(AbstractProblem):
    ...     def start(self, instance):
    ...         return jnp.zeros(5)
    ...
    ...     def loss(self, x, instance):
    ...         return jnp.sum((instance["A"] @ x - instance["b"]) ** 2) + 0.1 * jnp.sum(x**2)
    >>> def draw(count, *, seed):
    ...     rng = np.random.default_rng(seed)
    ...     return Instances({"A": rng.normal(size=(count, 8, 5)), "b": rng.normal(size=(count, 8))})
    >>> ridge = Family("ridge", Ridge(), draw, HeavyBall(), steps=10)
    >>> list(ridge.usual)
    ['gradient descent', 'Nesterov', 'Barzilai-Borwein', 'nonlinear conjugate gradients', 'L-BFGS', "SciPy's L-BFGS-B"]
    """

    name: str
    problem: AbstractProblem
    sample: Sampler
    algorithm: AbstractAlgorithm | Callable[[Split], AbstractAlgorithm]
    steps: int
    title: str = ""
    usual: Mapping[str, Baseline] = field(default_factory=dict)
    tuned: AbstractAlgorithm | None = None
    prior: Prior | None = None
    score: AbstractScore | None = None
    budget: Any = None
    sizes: Sizes = field(default_factory=Sizes)
    note: str = ""
    allow_duplicates: bool = False

    def __post_init__(self) -> None:
        """Refuse invalid parts, and fill in the usual solvers and the algorithm to tune."""
        _check(self)
        proximal = isinstance(self.problem, AbstractProximable)
        usual = self.usual or (usual_proximal() if proximal else usual_smooth(self.problem, self.steps))
        object.__setattr__(self, "usual", {name: _baseline(self.name, name, each) for name, each in usual.items()})
        if self.tuned is None:
            object.__setattr__(self, "tuned", ProximalNesterov() if proximal else HeavyBall())
        object.__setattr__(self, "title", self.title or self.name)
        object.__setattr__(self, "sizes", Sizes(*checked_sizes(self.name, self.sizes)))

    @property
    def textbook(self) -> str:
        """The name of the first of the usual solvers."""
        return next(iter(self.usual))

    def sized(self, **sizes: int) -> "Family":
        """The same family with other sizes of the split."""
        return replace(self, sizes=self.sizes._replace(**sizes))

    def drawn(self, seed: int) -> Split:
        """A split of instances drawn with this seed."""
        return self._split(self.sampled(self.sizes.total, seed=seed), self.sizes, seed)

    def _split(self, drawn: Instances, sizes: Sizes, seed: int) -> Split:
        return split(drawn, **sizes._asdict(), seed=seed, allow_duplicates=self.allow_duplicates)

    def sampled(self, count: int, *, seed: int) -> Instances:
        """This many draws, after checking their number."""
        try:
            found: Any = self.sample(count, seed=seed)
        except TypeError as error:
            if "seed" not in str(error):
                raise
            raise FamilyError(
                f"sample({count}, seed={seed}) of the family {self.name!r} failed: {error}.",
                "It must be a function sample(count, *, seed).",
                "A different seed gives fresh draws, which show whether the certified claims hold.",
                "Let it take a seed.",
            ) from error
        if not isinstance(found, Instances) or found.count != count:
            told = f"{found.count} draws" if isinstance(found, Instances) else f"a {type(found).__name__}"
            raise FamilyError(
                f"sample({count}, seed={seed}) of the family {self.name!r} returned {told}.",
                "It must return pacopt.Instances with exactly that many instances, or groups if there are groups.",
                "Statements are about that many independent draws.",
                "Return exactly that many draws.",
            )
        return found

    def learns(self, parts: Split) -> AbstractAlgorithm:
        """The algorithm to learn, which may depend on the prior part but never on a training instance."""
        if isinstance(self.algorithm, AbstractAlgorithm):
            return self.algorithm
        spare = self._split(self.sampled(3, seed=SPARE), Sizes(1, 1, 1), 0)
        found: Any = self.algorithm(replace(parts, train=spare.train, test=spare.test, rows=_beyond(parts, spare)))
        if not isinstance(found, AbstractAlgorithm):
            raise FamilyError(
                f"The algorithm of {self.name!r} is a function that returned a {type(found).__name__}.",
                "It must return an algorithm, an object derived from pacopt.AbstractAlgorithm.",
                "",
                "Return one: def algorithm(split): return pacopt.HeavyBall().",
            )
        return found


def _beyond(parts: Split, spare: Split) -> dict[str, np.ndarray] | None:
    """Source rows for the prior part of one split and the other parts of another, which do not overlap."""
    if parts.rows is None or spare.rows is None:
        return None
    first = 1 + max(int(rows.max(initial=0)) for rows in parts.rows.values())
    return {name: parts.rows[name] if name == "prior" else first + rows for name, rows in spare.rows.items()}


def _check(family: Family) -> None:
    """Refuse a name that cannot be a file name, and invalid parts."""
    if not isinstance(family.name, str) or not re.fullmatch(r"[\w-]+", family.name):
        raise FamilyError(
            f"The name of the family is {family.name!r}.",
            "It must consist of letters, digits, _ and - only.",
            "Its run and its picture are stored under this name.",
            'Use "my_family".',
        )
    odd = [name for name in family.usual if not isinstance(name, str) or not name.isprintable() or "/" in name]
    if odd:
        raise FamilyError(
            f"A usual solver of {family.name!r} is called {odd[0]!r}.",
            "The name must be printable text without a /.",
            "A run is stored under it.",
            "Give it another name.",
        )
    taken = [name for name in (LEARNED, TUNED) if name in family.usual]
    if taken:
        raise FamilyError(
            f"A usual solver of {family.name!r} is called {taken[0]!r}.",
            f"{LEARNED!r} and {TUNED!r} are reserved for the learned algorithm and the one that Optuna tunes.",
            "",
            "Give it another name.",
        )
    if not isinstance(family.problem, AbstractProblem):
        raise FamilyError(
            f"The problem of {family.name!r} is a {type(family.problem).__name__}.",
            "It must be an object derived from pacopt.AbstractProblem.",
            "",
            "Write a class with start and loss, and pass an object of it: MyProblem().",
        )
    if not callable(family.sample):
        raise FamilyError(
            f"The sampler of {family.name!r} is a {type(family.sample).__name__}.",
            "It must be a function sample(count, *, seed) that returns pacopt.Instances.",
            "Fresh draws show whether the certified claims hold.",
            "If you only have a fixed set of instances, use pacopt.learn.",
        )
    if isinstance(family.algorithm, type):
        raise FamilyError(
            f"The algorithm of {family.name!r} is the class {family.algorithm.__name__}.",
            "It must be an object, or a function that takes a Split and returns one.",
            "",
            f"Call the class: {family.algorithm.__name__}().",
        )
    if not isinstance(family.algorithm, AbstractAlgorithm):
        refuse_other_algorithm(family.name, family.algorithm)


def _baseline(family: str, name: str, given: Any) -> Baseline:
    """A usual solver as a baseline; an algorithm alone will do if it has textbook hyperparameters or none at all."""
    if isinstance(given, AbstractAlgorithm):
        return Baseline(algorithm=given)
    if not isinstance(given, Baseline):
        raise FamilyError(
            f"The usual solver {name!r} of {family!r} is a {type(given).__name__}.",
            "It must be a pacopt.Baseline or an algorithm.",
            "",
            "Use {name: pacopt.Baseline(algorithm=pacopt.LBFGS())}, or for any other solver "
            "pacopt.Baseline(engine=pacopt.BlackBox(solve, {})).",
        )
    return given


def usual_smooth(problem: AbstractProblem, steps: int) -> dict[str, Baseline]:
    """The usual solvers for smooth losses: textbook methods, and methods that choose their own step sizes."""
    solvers: dict[str, AbstractAlgorithm] = {
        "gradient descent": GradientDescent(),
        "Nesterov": Nesterov(),
        "Barzilai-Borwein": BarzilaiBorwein(),
        "nonlinear conjugate gradients": NonlinearConjugateGradients(),
        "L-BFGS": LBFGS(),
    }
    found = {name: Baseline(algorithm=each) for name, each in solvers.items()}
    return found | {"SciPy's L-BFGS-B": Baseline(engine=BlackBox(ScipysLBFGSB(problem, steps), {}))}


def usual_proximal() -> dict[str, Baseline]:
    """The usual solvers for losses with a proximal map."""
    solvers: dict[str, AbstractAlgorithm] = {
        "ISTA": ProximalGradient(),
        "FISTA with restart": FISTA(),
        "SpaRSA": ProximalBarzilaiBorwein(),
    }
    return {name: Baseline(algorithm=each) for name, each in solvers.items()}
