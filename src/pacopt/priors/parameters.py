"""Hyperparameters as the parameters of Optuna, and back. Optuna is imported when it is first needed."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pacopt.errors import CandidatesError, PacoptError, PriorError
from pacopt.space import AbstractSpace, Array, Choice, Domain, Interval, Whole


def optuna_here() -> Any:
    """The package, or how to install it."""
    try:
        import optuna
    except ImportError as error:
        raise PriorError(
            "This needs the package optuna, which is not installed.",
            "It is in the extra [optuna].",
            "",
            'pip install "pacopt[optuna]"',
        ) from error
    return optuna


@contextmanager
def quiet() -> Iterator[Any]:
    """The package, telling of nothing but warnings; what the user set comes back."""
    optuna = optuna_here()
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(max(before, optuna.logging.WARNING))
    try:
        yield optuna
    finally:
        optuna.logging.set_verbosity(before)


def parameters(name: str, space: AbstractSpace) -> list[str]:
    """What a hyperparameter is called in Optuna: by its own name, an array by one name for each entry.

    >>> parameters("schedule", Array(3))
    ['schedule[0]', 'schedule[1]', 'schedule[2]']
    """
    return [f"{name}[{entry}]" for entry in range(space.dimension)] if space.shape else [name]


def distributions(domain: Domain) -> dict[str, Any]:
    """A distribution of Optuna for each number, text or boolean of a domain."""
    return {each: _distribution(space) for name, space in domain.items() for each in parameters(name, space)}


def _distribution(space: AbstractSpace) -> Any:
    kinds = optuna_here().distributions
    if isinstance(space, Interval | Array):
        return kinds.FloatDistribution(space.low, space.high, log=space.log)
    if isinstance(space, Whole):
        return kinds.IntDistribution(space.low, space.high, log=space.log)
    if isinstance(space, Choice):
        return kinds.CategoricalDistribution(space.values)
    return kinds.FloatDistribution(0.0, 1.0)  # of a space of the user's own: its places


def flat(domain: Domain, hyper: Mapping[str, Any]) -> dict[str, Any]:
    """Hyperparameters as the parameters of a trial."""
    found: dict[str, Any] = {}
    for name, space in domain.items():
        plain = isinstance(space, Interval | Whole | Choice | Array)
        entries = np.ravel(hyper[name] if plain else space.position(hyper[name])).tolist()
        found |= dict(zip(parameters(name, space), entries, strict=True))
    return found


def candidates(domain: Domain, rows: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """The parameters of some trials as candidates: an array for each hyperparameter."""
    found = {}
    for name, space in domain.items():
        values = np.array([[row[each] for each in parameters(name, space)] for row in rows])
        if isinstance(space, Interval | Array) and values.dtype.kind in "iu":
            values = values.astype(np.float64)
        if not isinstance(space, Interval | Whole | Choice | Array):
            values = space.at(values if space.shape else values[:, 0])
        found[name] = values.reshape(len(rows), *space.shape)
    return found


def domain_of(trials: Sequence[Any]) -> dict[str, AbstractSpace]:
    """Where the trials of a study were looked for; all of them have the same parameters."""
    return {
        name: _space(name, [trial.distributions[name] for trial in trials]) for name in sorted(trials[0].distributions)
    }


def _space(name: str, given: Sequence[Any]) -> AbstractSpace:
    """The space of a parameter. Ranges may differ from trial to trial: it reaches over all of them."""
    kinds = optuna_here().distributions
    first = given[0]
    if isinstance(first, kinds.CategoricalDistribution):
        return _choice(name, first.choices)
    low, high = min(each.low for each in given), max(each.high for each in given)
    if low == high:
        return Choice(low)
    log = all(each.log for each in given)
    return Whole(low, high, log) if isinstance(first, kinds.IntDistribution) else Interval(low, high, log)


def _choice(name: str, choices: Sequence[Any]) -> Choice:
    try:
        return Choice(*choices)
    except PacoptError as error:
        raise CandidatesError(
            f"The parameter {name!r} of the study is one of {', '.join(map(repr, choices))}.",
            "pacopt chooses between texts, booleans or finite numbers, all of one kind.",
            "They are printed in statements, stored in files and compared.",
            "Let the study choose between names, and look up in the function what they stand for. These trials can be "
            "copied: study.add_trial(optuna.trial.create_trial(params=..., distributions=..., value=...)).",
        ) from error
