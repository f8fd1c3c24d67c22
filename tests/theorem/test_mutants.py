"""The tests of the theorems notice every one of these mistakes."""

import pytest

from theorem.mutants import MUTANTS


@pytest.mark.parametrize("mutant", [m for mutants in MUTANTS.values() for m in mutants], ids=lambda m: m.__name__)
def test_a_mistake_exceeds_what_the_theorem_allows(mutant):
    observed, allowed = mutant()
    assert observed > 1.01 * allowed
