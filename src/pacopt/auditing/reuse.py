"""Whether a design was made from training instances, found out once more."""

from collections import Counter
from collections.abc import Sequence
from math import log
from typing import Any

import numpy as np

from pacopt.auditing.comparing import hashed
from pacopt.loss_table import LossTable

#: Characters of a hash of a column, in place of which there are hyphens where there is nothing to tell.
WIDTH = 12
#: A column as ratios, as losses, and in every fourth row from the first, second, third and fourth on.
LOOKS = 6
#: The logarithm of the probability with which separate draws may share as much.
CHANCE = log(1e-6)


def unused(sources: Any, table: LossTable, *, separate: bool) -> bool:
    """Whether no training instance, as far as is known, is one of those that the design was made from."""
    if not isinstance(sources, dict):
        return sources is None
    names = [] if table.fingerprints is None else [hashed(name, size=8) for name in table.fingerprints.tolist()]
    before = sources["instances"]
    if {*names} & {*before} and (not separate or sorted(names) == sorted(before) or _improbable(names, before)):
        return False
    if not sources["columns"]:
        return True
    ours = [_looks(table, j) for j in range(table.losses.shape[1])]
    theirs = [[text[k : k + WIDTH] for k in range(0, LOOKS * WIDTH, WIDTH)] for text in sources["columns"]]
    for k in range(LOOKS):
        known = [looks[k] for looks in ours if looks[k] != "-" * WIDTH]
        earlier = [looks[k] for looks in theirs if looks[k] != "-" * WIDTH]
        common = {*known} & {*earlier}
        if not common:
            continue
        if _improbable(known, earlier):
            return False
        if separate:
            found = k < 2 and sorted(looks[k] for looks in ours) == sorted(looks[k] for looks in theirs)
        else:
            plain = k < 2 and not (names and before)
            found = plain or any(looks[k] in common and _telling(table.losses[:, j]) for j, looks in enumerate(ours))
        if found:
            return False
    return True


def _looks(table: LossTable, j: int) -> list[str]:
    """The hashes of one column."""
    final = table.losses[:, j]
    final = np.where(np.isnan(final), np.inf, final)
    start = None if table.start is None else float(table.start[j])
    if start is None:
        ratio = final
    elif start == 0:
        ratio = np.where(final == 0, 0.0, np.inf)
    else:
        with np.errstate(over="ignore"):
            ratio = final / start
    views = _logs(ratio), _logs(final)
    if len({*views[1].tolist()}) == 1 and _short(float(final[0])):
        if start is None and np.isinf(final[0]):
            return ["-" * WIDTH] * LOOKS
        beside = b"" if start is None else _logs(np.array([start])).tobytes()
        return [hashed(b"alike", views[1].tobytes(), beside, size=WIDTH // 2)] * 2 + ["-" * WIDTH] * 4
    looks = [hashed(view.tobytes(), size=WIDTH // 2) for view in views]
    for first in range(4):
        rows = views[0][first::4]
        told = len(final) >= 8 and len({*rows.tolist()}) > 1
        looks.append(hashed(rows.tobytes(), size=WIDTH // 2) if told else "-" * WIDTH)
    return looks


def _logs(values: np.ndarray) -> np.ndarray:
    """Logarithms in whole steps of 1e-9; 0 and failures lie beyond all others."""
    with np.errstate(divide="ignore"):
        steps: np.ndarray = np.rint(np.log(values) / 1e-9)
    steps[np.isinf(steps)] = np.copysign(1e13, steps[np.isinf(steps)])
    return steps.astype(np.int64)


def _telling(losses: np.ndarray) -> bool:
    """Whether there are two different losses of many digits."""
    return len({value for value in losses.tolist() if not _short(value)}) > 1


def _short(value: float) -> bool:
    """Whether six digits say it; a failure and 0 are said without any."""
    if value == 0 or not np.isfinite(value):
        return True
    shown = value / 10.0 ** (np.floor(np.log10(value)) - 5)
    return bool(abs(shown - round(shown)) < 1e-3)


def _improbable(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Whether too many of the values that come twice in all come once in each."""
    first, second = Counter(ours), Counter(theirs)
    split = sum(1 for name, count in first.items() if count == 1 == second[name])
    within = sum(1 for name, count in first.items() if count == 2 and not second[name])
    within += sum(1 for name, count in second.items() if count == 2 and not first[name])
    if not split:
        return False
    everything, pairs = len(ours) + len(theirs), split + within
    usual = 2 * len(ours) * len(theirs) / (everything * (everything - 1))
    if split <= usual * pairs:
        return False
    rest = within * log(within / pairs / (1 - usual)) if within else 0.0
    return split * log(split / pairs / usual) + rest >= -CHANCE
