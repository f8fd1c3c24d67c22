"""Disjoint prior, training and test instances: disjoint as rows and disjoint as content."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from pacopt.errors import SplitError
from pacopt.instances import Instances
from pacopt.support.numbers import is_whole
from pacopt.support.repeats import sharing_by_chance
from pacopt.support.rounding import and_more, counted
from pacopt.support.sizes import sizes_of
from pacopt.support.source_rows import checked_rows

#: Below this probability, shared rows are no coincidence of separate draws: without known source rows, and with them.
CHANCE = (1e-3, 1e-6)


@dataclass(frozen=True)
class Split:
    """Three parts of the data: `prior` to choose the candidates, `train` to certify, `test` to check the result.

    Equal rows are either copies of one draw or separate draws (a distribution with atoms), and only you know which.
    A row that appears in two parts, or twice among the training instances, is rejected. Remove copies of one draw; if
    the rows are separate draws, keep them all and declare it with `allow_duplicates=True`. Removing separate draws
    biases the sample and voids the certificate.

    `rows` lists, for each part, which rows of your source its instances are; `split` records it. A source row is one
    draw, so it may not appear in two parts, nor twice in `train`, even with `allow_duplicates`. Two parts count as one
    part used twice if they have the same content and no `rows`, or, in any case, if they share more rows
    than separate draws would. If you replace a part, pass its rows too, or `rows=None`.

    If instances have groups, a draw is a group: a group belongs to one part, its rows are consecutive, and equal
    rows within a group are allowed.
    """

    prior: Instances
    train: Instances
    test: Instances
    allow_duplicates: bool = False
    rows: Mapping[str, np.ndarray] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse parts of different kinds, and draws that appear in two parts."""
        parts = _parts(self)
        for name, part in parts.items():
            _refuse_no_instances(name, part)
        kinds = {name: _kinds(part) for name, part in parts.items()}
        for name, kind in kinds.items():
            if kind != kinds["train"]:
                raise SplitError(
                    f"The {name} split has {kind}, and the train split has {kinds['train']}.",
                    "All parts need the same fields, with the same shapes and number types.",
                    "They must come from one distribution, and copies are found by comparing rows.",
                    "Make the parts with pacopt.split from one set of instances.",
                )
        if not isinstance(self.allow_duplicates, bool | np.bool_):
            raise SplitError(
                f"allow_duplicates is {self.allow_duplicates!r}.", "It is True or False.", "", "Leave it out for False."
            )
        object.__setattr__(self, "allow_duplicates", bool(self.allow_duplicates))
        _check_groups(parts)
        if self.rows is not None:
            sizes = {name: len(part) for name, part in parts.items()}
            content = {name: _content(part) for name, part in parts.items()} if self.allow_duplicates else {}
            object.__setattr__(self, "rows", checked_rows(self.rows, sizes, content))
        if self.allow_duplicates:
            _refuse_equal_parts(parts, traced=self.rows is not None)
        else:
            _refuse_overlap(parts, _numbers(self))

    def drawn(self, *, root: int, replicates: int = 1) -> "Split":
        """The same parts, with random numbers for their instances, separate for each part."""
        parts = {name: part.drawn(root=root, part=name, replicates=replicates) for name, part in _parts(self).items()}
        return Split(**parts, allow_duplicates=self.allow_duplicates, rows=self.rows)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as what it was made of, for worker processes."""
        return Split, (self.prior, self.train, self.test, self.allow_duplicates, self.rows)


def _parts(split: Split) -> dict[str, Instances]:
    return {"prior": split.prior, "train": split.train, "test": split.test}


def _numbers(split: Split) -> Mapping[str, np.ndarray]:
    """How the instances are called in messages: by their source rows, if those are known."""
    return split.rows or {name: np.arange(len(part)) for name, part in _parts(split).items()}


def _content(part: Instances) -> str:
    """One hash of all rows, whatever their order."""
    return hashlib.blake2b(np.sort(part.fingerprints).tobytes(), digest_size=16).hexdigest()


def _kinds(part: Instances) -> dict[str, str]:
    """Number type and shape of each field, whatever the byte order."""
    if part.content is not None:
        return part.kinds
    return {name: f"{array.dtype.newbyteorder('=')}{list(array.shape[1:])}" for name, array in part.fields.items()}


def refuse_repeats(parts: Split, view: Callable[[Instances], Instances]) -> None:
    """Refuse rows that are the same instance when seen through a view: in lower precision, say."""
    named = _parts(parts)
    seen = {name: view(part) for name, part in named.items() if len(part)}
    if all(part is named[name] for name, part in seen.items()):
        return
    read = seen["train"].fields
    whole = read.keys() == parts.train.fields.keys()
    sense = " in the precision of the run" if whole else f" in all that a run depends on ({', '.join(read)})"
    if parts.allow_duplicates:
        _refuse_equal_parts(seen, traced=parts.rows is not None, sense=sense)
    else:
        _refuse_overlap(seen, _numbers(parts), sense)


def split(
    instances: Instances,
    *,
    prior: int | None = None,
    train: int | None = None,
    test: int | None = None,
    seed: int = 0,
    allow_duplicates: bool = False,
) -> Split:
    """A random split with these numbers of instances, or of groups, in each part; the rest is not used.

    If you leave out the sizes of prior and test, they are those that `pacopt plan` recommends, and train gets the rest.
    Equal rows are rejected: copies of one draw must be removed, separate draws must not. See `Split`.

    >>> parts = split(Instances({"b": np.arange(10.0)}), prior=2, train=5, test=3, seed=0)
    >>> len(parts.prior), len(parts.train), len(parts.test)
    (2, 5, 3)
    """
    _refuse_no_instances("The first argument", instances)
    sizes = sizes_of(instances.count, {"prior": prior, "train": train, "test": test})
    if not is_whole(seed):
        raise SplitError(
            f"seed={seed!r} was given.",
            "A seed is a whole number, not negative.",
            "Without one, the split could not be reproduced and checked.",
            "Use seed=0.",
        )
    for name, size in sizes.items():
        least = 1 if name == "train" else 0
        if not is_whole(size, least):
            raise SplitError(
                f"{name}={size!r} was asked for.",
                f"The size of a part is a whole number, at least {least} for {name}.",
                "A certificate rests on the training instances." if least else "",
                "Give sizes as numbers of instances, not as fractions.",
            )
    count, what = instances.count, "instances" if instances.groups is None else "groups"
    if instances.groups is not None and count < 2:
        raise SplitError(
            f"All {len(instances)} rows belong to {count} group.",
            "At least two groups are needed.",
            "A group is one draw, and nothing can be certified from a single draw.",
            "Check the groups, or leave them out if each row is a separate draw.",
        )
    if sum(sizes.values()) > count:
        raise SplitError(
            f"prior + train + test = {sum(sizes.values()):,}, but there {'is' if count == 1 else 'are'} "
            f"{counted(count, what.removesuffix('s'))}.",
            f"The parts are disjoint, so their sizes add up to at most the number of {what}.",
            f"One of the {what} in two parts would void the certificate.",
            f"Reduce a part, or collect more {what}.",
        )
    order = np.random.default_rng(seed).permutation(count)
    chosen = dict(zip(sizes, np.split(order, np.cumsum(list(sizes.values()))), strict=False))
    rows = {name: _rows_of(instances, chosen[name]) for name in sizes}
    return Split(**{name: instances[rows[name]] for name in sizes}, allow_duplicates=allow_duplicates, rows=rows)


def _rows_of(instances: Instances, chosen: np.ndarray) -> np.ndarray:
    """The rows of these draws, those of a group next to each other."""
    if instances.groups is None:
        return chosen
    place = np.full(instances.count, -1)
    place[chosen] = np.arange(len(chosen))
    where = place[instances.codes]
    order = np.argsort(where, kind="stable")
    rows: np.ndarray = order[where[order] >= 0]
    return rows


def _check_groups(parts: Mapping[str, Instances]) -> None:
    """Refuse parts of which only some have groups, groups in two parts, and groups whose rows are scattered."""
    grouped = [name for name, part in parts.items() if part.groups is not None]
    if not grouped:
        return
    if len(grouped) < len(parts):
        raise SplitError(
            f"Only {' and '.join(grouped)} has groups.",
            "Either all parts have groups, or none has.",
            "N is the number of groups: rows of one group are not independent draws.",
            "Make the parts with pacopt.split from instances with groups.",
        )
    for (one, left), (other, right) in combinations(parts.items(), 2):
        common = np.intersect1d(left.groups, right.groups)  # type: ignore[arg-type]
        if len(common):
            more = f", and so are {len(common) - 1} more" if len(common) > 1 else ""
            raise SplitError(
                f"The group {common[0].item()!r} is in both {one} and {other}{more}.",
                "A group is one draw and belongs to one part.",
                "Otherwise candidates are chosen on the draws that certify them, and the certificate is void.",
                "Make the parts with pacopt.split, which keeps groups together.",
            )
    for name, part in parts.items():
        if len(part) and np.any((steps := np.diff(part.codes)) < 0) | np.any(steps > 1):
            raise SplitError(
                f"The rows of a group are not next to each other in {name}.",
                "The rows of each group must be consecutive.",
                "They form one column of a table.",
                "Make the parts with pacopt.split, which sorts them.",
            )


def _refuse_no_instances(name: str, value: object) -> None:
    if not isinstance(value, Instances):
        raise SplitError(
            f"{name} is a {type(value).__name__}.",
            "Instances are needed.",
            "",
            "Wrap the arrays: pacopt.Instances(arrays).",
        )


def _refuse_equal_parts(parts: Mapping[str, Instances], *, traced: bool, sense: str = "") -> None:
    """Refuse one part that is used twice, and parts that share more than separate draws would.

    Where the source rows are known (`traced`), equal content alone is no sign of it.
    """
    for (one, left), (other, right) in combinations(parts.items(), 2):
        if not (len(left) and len(right)):
            continue
        marks = left.fingerprints, right.fingerprints
        common = np.isin(marks[0], marks[1])
        same = left is right or (not traced and np.array_equal(np.sort(marks[0]), np.sort(marks[1])))
        if same or (common.any() and sharing_by_chance(*marks) <= CHANCE[traced]):
            many = f"the same {len(left)} rows" if same or common.all() else f"{int(common.sum())} of the same rows"
            raise SplitError(
                f"The {one} split and the {other} split hold {many}{sense}.",
                "Each part needs draws of its own.",
                "allow_duplicates=True is about separate draws that are equal. One part used twice chooses the "
                "candidates that it certifies, which voids the certificate, or tests what was chosen on it. Separate "
                "draws are equal within a part as often as between parts.",
                "Make the parts with pacopt.split from one set of instances."
                + (
                    ""
                    if traced
                    else " If these are separate draws, say which rows of your source they are: Split(..., "
                    "rows={'prior': ..., 'train': ..., 'test': ...})."
                ),
            )


def _refuse_overlap(parts: Mapping[str, Instances], rows: Mapping[str, np.ndarray], sense: str = "") -> None:
    """Refuse equal rows that were not declared to be separate draws."""
    remedy = (
        "If they are copies of one draw, remove the copies. If they are separate draws, keep all of them and say so "
        "with split(..., allow_duplicates=True): removing separate draws voids the certificate."
    )
    marks, number, group = parts["train"].fingerprints, rows["train"], parts["train"].codes
    order = np.argsort(marks, kind="stable")
    # Equal rows of one group are part of one draw.
    twice = np.flatnonzero((marks[order[1:]] == marks[order[:-1]]) & (group[order[1:]] != group[order[:-1]]))
    if len(twice):
        raise SplitError(
            f"Instance {number[order[twice[0]]]} (train) and instance {number[order[twice[0] + 1]]} (train) are the "
            f"same{sense}{and_more(len(twice) - 1, 'pair')}.",
            "Equal rows are either copies of one draw or separate draws, and only you know which.",
            "A certificate counts independent draws, and a copy would be counted as one more. Removing separate draws "
            "biases the sample.",
            remedy,
        )
    for (one, left), (other, right) in combinations(parts.items(), 2):
        common, i, j = np.intersect1d(left.fingerprints, right.fingerprints, return_indices=True)
        if len(common):
            raise SplitError(
                f"Instance {rows[one][i[0]]} ({one}) and instance {rows[other][j[0]]} ({other}) are the same"
                f"{sense}{and_more(len(common) - 1, 'pair')}.",
                "Equal rows are either copies of one draw, which belongs in one part, or separate draws, and only you "
                "know which.",
                "A certificate holds for candidates chosen without the training instances, and a test shows something "
                "only on instances that were used for nothing else. Removing separate draws biases the sample.",
                remedy,
            )
