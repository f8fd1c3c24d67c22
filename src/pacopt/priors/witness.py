"""Which instances a trial of an Optuna study saw: recorded by its objective, read before it is certified."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from pacopt.errors import InstancesError, PriorError
from pacopt.instances import Instances

#: The user attributes that record it, and the one that holds a certificate.
INSTANCES, GROUPS, CERTIFICATE = "pacopt:instances", "pacopt:groups", "pacopt:certificate"
#: Hexadecimal digits of a mark: among a million, two are confused once in 10^7.
DIGITS = 16
#: How many marks go into one attribute: MySQL holds 65,535 bytes, other storages more.
MOST = 3500


def seen_by(trial: Any, instances: Instances | Mapping[str, Any]) -> None:
    """Write into a trial of an Optuna study which instances it sees; `certify_study` rejects training instances.

    `trial` is the argument of an objective, or a study if all of its trials see the same. `instances` may be a single
    row. Fingerprints are added to those under `pacopt:instances` in the user attributes.

    >>> import optuna
    >>> study = optuna.create_study()
    >>> trial = study.ask()
    >>> seen_by(trial, Instances({"x": np.arange(3.0)}))
    >>> len(study.trials[0].user_attrs["pacopt:instances"]) // 16
    3
    """
    if not (callable(getattr(trial, "set_user_attr", None)) and isinstance(getattr(trial, "user_attrs", None), dict)):
        raise PriorError(
            f"A {type(trial).__name__} was given.",
            "A trial of an Optuna study, or a study, is told which instances it sees.",
            "",
            "Write pacopt.seen_by(trial, split.prior) in the objective.",
        )
    if isinstance(instances, Mapping):
        instances = Instances({name: np.expand_dims(np.asanyarray(array), 0) for name, array in instances.items()})
    if not isinstance(instances, Instances):
        raise InstancesError(
            f"A {type(instances).__name__} was given.",
            "Instances are needed, or one of them.",
            "",
            "Write pacopt.seen_by(trial, split.prior).",
        )
    _write(trial, INSTANCES, instance_marks(instances))
    if instances.groups is not None:
        _write(trial, GROUPS, group_marks(instances))


def instance_marks(instances: Instances) -> set[str]:
    """The first digits of the fingerprints."""
    return {mark.decode() for mark in instances.fingerprints.astype(f"S{DIGITS}").tolist()}


def group_marks(instances: Instances) -> set[str]:
    """A hash of the name of each group."""
    names = [] if instances.groups is None else np.unique(instances.groups).tolist()
    return {hashlib.blake2b(str(name).encode(), digest_size=DIGITS // 2).hexdigest() for name in names}


def marks_in(attributes: Mapping[str, Any], name: str) -> set[str]:
    """What `seen_by` wrote under a name."""
    texts = [text for key, text in attributes.items() if key == name or key.startswith(f"{name}:")]
    return {text[at : at + DIGITS] for text in texts if isinstance(text, str) for at in range(0, len(text), DIGITS)}


def _write(trial: Any, name: str, marks: Iterable[str]) -> None:
    before = marks_in(trial.user_attrs, name)
    every = sorted(before | set(marks))
    if len(every) == len(before):
        return
    for number, first in enumerate(range(0, len(every), MOST)):
        trial.set_user_attr(f"{name}:{number}" if number else name, "".join(every[first : first + MOST]))
