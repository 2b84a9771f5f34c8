"""Names of discounts and cutoffs, and cutoffs that grow slower than the list."""

import numpy as np
import pytest

from boostrank.core.discounts import discounted_cutoffs, ranks_kept


def test_a_power_of_the_length_is_rounded_up():
    assert ranks_kept(("power", 1 / 3), [1, 2, 1_000, 1_001]).tolist() == [1, 2, 10, 11]
    roots = np.arange(2, 150)
    for power in (2, 3, 5, 6, 7):
        np.testing.assert_array_equal(ranks_kept(("power", 1 / power), roots**power), roots)


def test_discounts_and_cutoffs_need_different_names_and_known_settings():
    with pytest.raises(ValueError, match="different names"):
        discounted_cutoffs([lambda r: 1 / r, lambda r: 1 / r**2], [None])
    named = discounted_cutoffs({"a": lambda r: 1 / r, "b": "zipf"}, [None, 5, 5])
    assert [each[2:] for each in named] == [("a", "n"), ("a", "5"), ("b", "n"), ("b", "5")]
    with pytest.raises(ValueError, match="discount must be"):
        discounted_cutoffs(["log3"], [None])
    with pytest.raises(ValueError, match="at least one cutoff"):
        discounted_cutoffs("log2", [])
    with pytest.raises(ValueError, match="at least one discount"):
        discounted_cutoffs([], [None])
