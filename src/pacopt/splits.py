"""Disjoint prior, training and test instances: disjoint as rows and disjoint as content."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pacopt.errors import SplitError
from pacopt.instances import Instances
from pacopt.support.numbers import is_whole


@dataclass(frozen=True)
class Split:
    """Three parts of the data: `prior` to choose the candidates, `train` to certify, `test` to look at the result.

    A row that stands in two parts, or twice among the training instances, is refused, whoever made the parts;
    `allow_duplicates=True` says that equal rows are separate draws (a distribution with atoms) and not a leak.
    """

    prior: Instances
    train: Instances
    test: Instances
    allow_duplicates: bool = False

    def __post_init__(self) -> None:
        """Refuse parts of different kinds, and content that stands in two parts."""
        parts = {"prior": self.prior, "train": self.train, "test": self.test}
        for name, part in parts.items():
            _refuse_no_instances(name, part)
        kinds = {name: _kinds(part) for name, part in parts.items()}
        for name, kind in kinds.items():
            if kind != kinds["train"]:
                raise SplitError(
                    f"The {name} split has {kind}, and the train split has {kinds['train']}.",
                    "All parts have the same fields, of the same shapes and number types.",
                    "They are draws from one distribution, and copies are found by comparing them.",
                    "Make the parts with pacopt.split from one set of instances.",
                )
        if not isinstance(self.allow_duplicates, bool | np.bool_):
            raise SplitError(
                f"allow_duplicates is {self.allow_duplicates!r}.", "It is True or False.", "", "Leave it out for False."
            )
        object.__setattr__(self, "allow_duplicates", bool(self.allow_duplicates))
        if not self.allow_duplicates:
            _refuse_overlap({name: (part, np.arange(len(part))) for name, part in parts.items()})


def _kinds(part: Instances) -> dict[str, str]:
    """Number type and shape of each field, whatever the byte order."""
    return {name: f"{array.dtype.newbyteorder('=')}{list(array.shape[1:])}" for name, array in part.fields.items()}


def refuse_repeats(parts: Split, view: Callable[[Instances], Instances]) -> None:
    """Refuse rows that are the same instance once they are looked at in a certain way."""
    if parts.allow_duplicates:
        return
    named = {"prior": parts.prior, "train": parts.train, "test": parts.test}
    seen = {name: (view(part), np.arange(len(part))) for name, part in named.items() if len(part)}
    if all(part is named[name] for name, (part, _) in seen.items()):
        return
    read = seen["train"][0].fields
    whole = read.keys() == parts.train.fields.keys()
    sense = "the precision of the run" if whole else f"all that a run depends on ({', '.join(read)})"
    _refuse_overlap(seen, f" in {sense}")


def split(
    instances: Instances, *, prior: int, train: int, test: int, seed: int, allow_duplicates: bool = False
) -> Split:
    """A random split with these numbers of instances in each part; rows beyond their sum are left out.

    >>> parts = split(Instances({"b": np.arange(10.0)}), prior=2, train=5, test=3, seed=0)
    >>> len(parts.prior), len(parts.train), len(parts.test)
    (2, 5, 3)
    """
    _refuse_no_instances("The first argument", instances)
    sizes = {"prior": prior, "train": train, "test": test}
    if not is_whole(seed):
        raise SplitError(
            f"seed={seed!r} was given.",
            "A seed is a whole number, not negative.",
            "A split that cannot be repeated cannot be checked.",
            "Use seed=0.",
        )
    for name, size in sizes.items():
        least = 1 if name == "train" else 0
        if not is_whole(size, least):
            raise SplitError(
                f"{name}={size!r} was asked for.",
                f"The size of a part is a whole number, at least {least} for {name}.",
                "A certificate speaks from the training instances." if least else "",
                "Give sizes as counts of instances, not as fractions.",
            )
    if sum(sizes.values()) > len(instances):
        raise SplitError(
            f"prior + train + test = {sum(sizes.values())}, but there are {len(instances)} instances.",
            "The parts are disjoint, so their sizes add up to at most the number of instances.",
            "An instance in two parts would void the certificate.",
            "Reduce a part, or collect more instances.",
        )
    order = np.random.default_rng(seed).permutation(len(instances))
    rows = dict(zip(sizes, np.split(order, np.cumsum(list(sizes.values()))), strict=False))
    parts = {name: instances[rows[name]] for name in sizes}
    if not allow_duplicates:
        _refuse_overlap({name: (parts[name], rows[name]) for name in sizes})
    # The check above names rows of `instances`; the one in Split would name rows of the parts.
    return Split(**parts, allow_duplicates=allow_duplicates)


def _refuse_no_instances(name: str, value: object) -> None:
    if not isinstance(value, Instances):
        raise SplitError(
            f"{name} is a {type(value).__name__}.",
            "Instances are needed.",
            "",
            "Make it one: pacopt.Instances(arrays).",
        )


def _refuse_overlap(parts: Mapping[str, tuple[Instances, np.ndarray]], sense: str = "") -> None:
    train, rows = parts["train"]
    order = np.argsort(train.fingerprints, kind="stable")
    twice = np.flatnonzero(train.fingerprints[order[1:]] == train.fingerprints[order[:-1]])
    if len(twice):
        raise SplitError(
            f"Instance {rows[order[twice[0]]]} (train) and instance {rows[order[twice[0] + 1]]} (train) are the same"
            f"{sense}, and {len(twice) - 1} more pairs like this.",
            "No instance may stand twice among the training instances.",
            "A certificate counts independent instances; a copy would be counted as another one.",
            "Remove the copies, or, if equal rows are separate draws from your distribution, say so with "
            "allow_duplicates=True.",
        )
    for (one, (left, left_rows)), (other, (right, right_rows)) in combinations(parts.items(), 2):
        common, i, j = np.intersect1d(left.fingerprints, right.fingerprints, return_indices=True)
        if len(common):
            raise SplitError(
                f"Instance {left_rows[i[0]]} ({one}) and instance {right_rows[j[0]]} ({other}) are the same"
                f"{sense}, and {len(common) - 1} more pairs like this.",
                "No instance may stand in two parts.",
                "A certificate holds for candidates chosen without the training instances, and a test shows something "
                "only on instances that were used for nothing else.",
                "Remove the duplicates, or, if equal rows are separate draws from your distribution, say so with "
                "allow_duplicates=True.",
            )
