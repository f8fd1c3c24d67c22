"""One instance, and hyperparameters to solve it with, as passed by a user."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pacopt.errors import CandidatesError, InstancesError, correction
from pacopt.instances import Instances
from pacopt.loss_table import LossTable
from pacopt.support.contents import FILE, OBJECT
from pacopt.support.values import same_hyper


def received(instance: Any, expected: Mapping[str, str]) -> tuple[dict[str, Any], Instances]:
    """One instance, with the fields, shapes and number types of those learned from; and the same as a row."""
    if not isinstance(instance, Mapping) or instance.keys() != expected.keys():
        names = sorted(map(str, instance)) if isinstance(instance, Mapping) else []
        unknown = [name for name in names if name not in expected]
        raise InstancesError(
            f"An instance with {', '.join(names) or 'no fields'} was given."
            if isinstance(instance, Mapping)
            else f"An object of type {type(instance).__name__} was given.",
            f"One instance is a mapping with {', '.join(expected)}.",
            "",
            correction(unknown[0], expected) if unknown else "Use instances[0], for example.",
        )
    if {**expected} == {FILE: FILE}:
        row = Instances.of_files([instance[FILE]])
        return row[0], row
    if {**expected} == {OBJECT: OBJECT}:
        return dict(instance), Instances({OBJECT: np.zeros(1)})
    row = Instances({name: np.expand_dims(np.asanyarray(array), 0) for name, array in instance.items()})
    checked = {}
    for name, array in row.fields.items():
        kind, _, shape = expected[name].partition("[")
        if str(list(array.shape[1:])) != f"[{shape}" or not np.can_cast(array.dtype, np.dtype(kind), "same_kind"):
            raise InstancesError(
                f"{name!r} is {array.dtype}{list(array.shape[1:])}.",
                f"The instances that were learned from have {expected[name]}.",
                "The certificate speaks of new instances from the same distribution.",
                "Pass one instance, without the leading axis.",
            )
        checked[name] = array[0].astype(kind)
    return checked, Instances({name: np.expand_dims(array, 0) for name, array in checked.items()})


def candidate_of(table: LossTable, hyper: Any) -> dict[str, Any]:
    """The candidate with these hyperparameters; others are not covered by the certificate."""
    wanted = hyper if isinstance(hyper, Mapping) else {}
    for candidate in map(table.hyper, range(table.shape[0])):
        if same_hyper(candidate, wanted):
            return candidate
    raise CandidatesError(
        f"{hyper!r} is not one of the {table.shape[0]} candidates.",
        "Hyperparameters to solve with come from the certificate, from sample() or from the frontier.",
        "The certificate covers the candidates of its design and nothing between them.",
        "Leave `hyper` out for the deployed ones.",
    )
