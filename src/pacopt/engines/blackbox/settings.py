"""Solvers that come as packages: the package, or what to do if it is missing, and its settings by name."""

import importlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pacopt.errors import EngineError, suggest
from pacopt.space import AbstractSpace, Choice, Domain, Interval, Whole
from pacopt.support.own_code import file_of, is_own

#: Settings shared by several solvers that no adapter passes on, and why.
QUIET = "Runs print nothing."
TIMED = "It stops a run by the clock, so a table would come out differently when it is made again."


class Chosen(NamedTuple):
    """What is searched, the fixed settings, and the defaults of what is searched."""

    space: Domain
    settings: Mapping[str, Any]
    defaults: Mapping[str, Any]


def package(name: str, least: tuple[int, int]) -> Any:
    """A package of the extra `[solvers]`, if it is installed and recent enough."""
    wanted = ".".join(map(str, least))
    try:
        module = importlib.import_module(name)
    except Exception as error:  # whatever a file of the same name that is not the package does
        _refuse_hidden(name, file_of(name), error)
        if not isinstance(error, ImportError):
            raise
        raise EngineError(
            f"The package {name} cannot be imported: {error}.",
            f"{name} {wanted} or newer is needed; it is in the extra [solvers].",
            "",
            'pip install "pacopt[solvers]"',
        ) from error
    if not hasattr(module, "__version__"):  # checked first, since this is called in every run
        _refuse_hidden(name, getattr(module, "__file__", None), None)
    version = str(module.__version__)
    if tuple(int(part) for part in version.split(".")[:2]) < least:
        raise EngineError(
            f"{name} {version} is installed.",
            f"{wanted} or newer is needed.",
            "Earlier versions have other settings, or do not come to the same result twice.",
            'pip install --upgrade "pacopt[solvers]"',
        )
    return module


def _refuse_hidden(name: str, file: str | None, cause: Exception | None) -> None:
    """Refuse one of the user's own files that Python finds instead of a package."""
    if file is not None and is_own(file):
        raise EngineError(
            f"{file} hides the package {name}: Python imports this file in its place.",
            f"The package {name} is needed.",
            "",
            "Rename the file, or move it to another directory.",
        ) from cause


def chosen(
    solver: str,
    usual: Mapping[str, Any],
    barred: Mapping[str, str],
    ranges: Domain,
    space: Domain | None,
    settings: Mapping[str, Any] | None,
    defaults: Mapping[str, Any] | None,
) -> Chosen:
    """What a user asks for, checked against the solver's settings (`usual`, with their defaults).

    Without a space, `ranges` is searched, except for what `settings` fixes.
    """
    fixed, given = _mapping("settings", settings), _mapping("defaults", defaults)
    searched = {name: each for name, each in ranges.items() if name not in fixed}
    searched = searched if space is None else _mapping("space", space)
    for name in (*searched, *fixed, *given):
        if name in barred:
            raise EngineError(
                f"The setting {name!r} of {solver} is given.",
                "It is not passed on.",
                barred[name],
                "Leave it out; limit=10.0 stops a call after ten seconds, and counts it as failed.",
            )
        if name not in usual:
            raise EngineError(
                f"{name!r} is given as a setting of {solver}.",
                "It is not one of those that can be set here.",
                "",
                f"For {name!r}: {suggest(str(name), usual)}",
            )
    for name, each in searched.items():
        if name in fixed or not isinstance(each, AbstractSpace):
            raise EngineError(
                f"{name!r} is searched in {each!r}"
                + (f", and also fixed at {fixed[name]!r}." if name in fixed else "."),
                "A setting is either searched, in a pacopt.Interval, Whole or Choice, or fixed.",
                "",
                f"Give {name!r} in space or in settings, and not in both."
                if name in fixed
                else f'Use space={{"{name}": pacopt.Interval(low, high)}}.',
            )
    beyond = [name for name in given if name not in searched]
    if beyond:
        raise EngineError(
            f"A default is given for {beyond[0]!r}, which is not searched.",
            f"Defaults are for what is searched: {', '.join(searched) or 'nothing'}.",
            "They are what a gain is claimed over.",
            f"Put {beyond[0]!r} into settings to fix it for all runs.",
        )
    return Chosen(
        searched,
        fixed,
        {name: _default(solver, name, given.get(name, usual[name]), each) for name, each in searched.items()},
    )


def _mapping(name: str, value: Any) -> dict[str, Any]:
    if value is not None and not isinstance(value, Mapping):
        raise EngineError(f"{name} is {value!r}.", "Settings go by their names.", "", f'Use {name}={{"name": ...}}.')
    return dict(value or {})


def _default(solver: str, name: str, value: Any, space: AbstractSpace) -> Any:
    """A default as a value of its space."""
    if isinstance(space, Choice):
        value = next((each for each in space.values if each == value), value)
    elif isinstance(space, Interval | Whole) and isinstance(value, int | float):
        value = float(value) if isinstance(space, Interval) else int(value) if value == int(value) else value
    if not space.holds(np.asarray([value])):
        raise EngineError(
            f"The default of {name!r} in {solver} is {value!r}, which is not in {space!r}, where it is searched.",
            "The defaults are run too.",
            "They are what a gain is claimed over.",
            f'Widen the space, or name another default: defaults={{"{name}": ...}}.',
        )
    return value
