"""Draws that were not seen before: a sampler that does not use its seed, or repeats itself, is refused."""

import hashlib

import numpy as np
from scipy.special import bdtrc

from pacopt.errors import FamilyError
from pacopt.families.base import Family
from pacopt.instances import Instances
from pacopt.splits import CHANCE, Split
from pacopt.support.repeats import sharing_by_chance
from pacopt.support.row_hashes import row_hashes

#: Fresh draws use a separate seed; if more than this fraction of them was seen before, they are not fresh.
FRESH, REPEATED = 1_000_003, 0.5
#: As many draws with each of two seeds show whether the seed matters; a coincidence rarer than this is none.
FEW, RARE = 32, 1e-6


def refuse_ignored_seed(family: Family, seed: int) -> None:
    """Refuse a sampler of which a field does not depend on the seed, unless it is the same for every instance.

    Both draws have the same size: of two arrays drawn one after the other, the second changes with the size alone.
    """
    ours, theirs = (_by_field(family.sampled(FEW, seed=each)) for each in (seed, seed + FRESH))
    for name in (each for each in ours if each in theirs):
        same = int((ours[name] == theirs[name]).sum())
        _, counts = np.unique(np.concatenate([ours[name], theirs[name]]), return_counts=True)
        by_chance = float(np.sum((counts / counts.sum()) ** 2))  # that two draws are equal
        if same > REPEATED * FEW and bdtrc(same - 1, FEW, by_chance) <= RARE:
            raise FamilyError(
                f"The field {name!r} of the family {family.name!r} is the same in {same} of {FEW} draws with seed "
                f"{seed} and with seed {seed + FRESH}.",
                "A different seed must give different draws, in every field that differs between instances.",
                "On instances that were learned from, every claim would seem to hold.",
                "Draw everything from numpy.random.default_rng(seed). If you only have a fixed set of instances, use "
                "pacopt.learn.",
            )


def fresh_draws(family: Family, parts: Split, count: int, seed: int) -> Instances:
    """Draws not seen before; a sampler that repeats itself is refused.

    Where separate draws may be equal, they may not be equal more often than within one sample.
    """
    drawn = family.sampled(count, seed=seed + FRESH)
    seen = np.concatenate([parts.prior.fingerprints, parts.train.fingerprints, parts.test.fingerprints])
    again = float(np.isin(drawn.fingerprints, seen).mean())
    expected = family.allow_duplicates and sharing_by_chance(drawn.fingerprints, seen) > CHANCE[1]
    if again > REPEATED and not expected:
        raise FamilyError(
            f"{100 * again:.0f} % of the fresh draws of {family.name!r} are instances that were learned from.",
            "A different seed must give different draws.",
            "On instances that were learned from, every claim would seem to hold.",
            "Make sample use its seed. If you only have a fixed set of instances, use pacopt.learn. If separate draws "
            "can be equal, say so: Family(..., allow_duplicates=True).",
        )
    return drawn


def _by_field(instances: Instances) -> dict[str, np.ndarray]:
    """For each field, a hash of each draw: of a row, or of all rows of a group."""
    if instances.content is not None:
        marks = dict.fromkeys(instances.fields, instances.fingerprints)
    else:
        marks = {name: row_hashes({name: array}, len(instances)) for name, array in instances.fields.items()}
    if instances.groups is None:
        return marks
    codes = instances.codes
    places = [np.flatnonzero(codes == group) for group in range(instances.count)]
    return {
        name: np.array([hashlib.blake2b(rows[place].tobytes()).hexdigest() for place in places])
        for name, rows in marks.items()
    }
