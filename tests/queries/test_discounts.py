"""Names of discounts and cutoffs, cutoffs that grow slower than the list, and constant ones."""

import numpy as np
import pytest
from scipy.special import digamma

from boostrank import theory
from boostrank.queries.discounts import discounted_cutoffs, ranks_kept


def test_a_power_of_the_length_is_rounded_up():
    assert ranks_kept(("power", 1 / 3), [1, 2, 1_000, 1_001]).tolist() == [1, 2, 10, 11]
    roots = np.arange(2, 150)
    for power in (2, 3, 5, 6, 7):
        np.testing.assert_array_equal(ranks_kept(("power", 1 / power), roots**power), roots)


@pytest.mark.parametrize(
    ("discounts", "ks", "message"),
    [
        ([lambda r: 1 / r, lambda r: 1 / r**2], [None], "different names; got the discounts <lambda>, <lambda> and"),
        ("log2", [5, 5], "got the discounts log2 and the cutoffs 5, 5"),
        (["log3"], [None], "discount must be"),
        ("log2", [], "the cutoffs none"),
        ([], [None], "got the discounts none"),
    ],
)
def test_discounts_and_cutoffs_need_different_names_and_known_settings(discounts, ks, message):
    with pytest.raises(ValueError, match=message):
        discounted_cutoffs(discounts, ks)


def test_constant_cutoffs_of_theory():
    curve = theory.ScoreCurve.binary(lambda scores: 0.8 * scores)
    limit = theory.ndcg_limit(curve, k=10**5, discount="zipf")
    effective = (digamma(1e5 + 1.0) + np.euler_gamma) ** 2 / (np.pi**2 / 6)
    assert limit.standard_deviation == pytest.approx(0.4 / np.sqrt(effective), rel=1e-4)
