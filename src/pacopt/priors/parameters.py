"""Hyperparameters as Optuna parameters, and back. Optuna is imported when first needed."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pacopt.errors import CandidatesError, PacoptError, PriorError
from pacopt.space import AbstractSpace, Array, Choice, Domain, Interval, Whole


def optuna_here() -> Any:
    """The package optuna; if it is missing, the error says how to install it."""
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
    """The package, logging only warnings; the user's setting is restored afterwards."""
    optuna = optuna_here()
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(max(before, optuna.logging.WARNING))
    try:
        yield optuna
    finally:
        optuna.logging.set_verbosity(before)


def parameters(name: str, space: AbstractSpace) -> list[str]:
    """The names of a hyperparameter in Optuna: its own, or one for each entry of an array.

    >>> parameters("schedule", Array(3))
    ['schedule[0]', 'schedule[1]', 'schedule[2]']
    """
    return [f"{name}[{entry}]" for entry in range(space.dimension)] if space.shape else [name]


def distributions(domain: Domain) -> dict[str, Any]:
    """An Optuna distribution for each number, text or boolean of a domain."""
    return {each: _distribution(space) for name, space in domain.items() for each in parameters(name, space)}


def _distribution(space: AbstractSpace) -> Any:
    kinds = optuna_here().distributions
    if isinstance(space, Interval | Array):
        return kinds.FloatDistribution(space.low, space.high, log=space.log)
    if isinstance(space, Whole):
        return kinds.IntDistribution(space.low, space.high, log=space.log)
    if isinstance(space, Choice):
        return kinds.CategoricalDistribution(space.values)
    return kinds.FloatDistribution(0.0, 1.0)  # for a space of the user's own: its coordinates


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
    """The domain that the trials of a study were searched in; all of them have the same parameters."""
    return {
        name: _space(name, [trial.distributions[name] for trial in trials]) for name in sorted(trials[0].distributions)
    }


def _space(name: str, given: Sequence[Any]) -> AbstractSpace:
    """The space of a parameter. Ranges may differ from trial to trial: it covers all of them."""
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
