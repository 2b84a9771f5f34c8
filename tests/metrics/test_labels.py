"""`check_scores`: scores keep their values, or their order where float64 would merge them."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from boostrank.metrics.labels import check_scores


@pytest.mark.parametrize(
    "scores",
    [
        np.array([0.5, 2.0, -7.0], dtype=np.float32),
        np.array([0.5, 2, Fraction(-7)], dtype=object),
        np.array([True, False]),
    ],
    ids=["float32", "object", "bool"],
)
def test_scores_that_are_exact_as_float64_stay_as_they_are(scores):
    checked = check_scores(scores)
    assert checked.tolist() == scores.tolist()
    assert checked.dtype == np.float64


@pytest.mark.parametrize(
    "scores",
    [
        np.array([2**60 + 1, 2**60, 2**60 + 1]),
        np.array([2**63 + 1, 2**63, 2**63 + 1], dtype=np.uint64),
        np.array([2**70 + 1, 2**70, 2**70 + 1], dtype=object),
        np.array([Fraction(1, 3) + Fraction(1, 10**30), Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**30)]),
        np.array([Decimal("0.1"), Decimal("0.1") - Decimal("1e-25"), Decimal("0.1")]),
        np.array([2**60 + 1, 2**60, 2**60 + 1], dtype=np.longdouble),
    ],
    ids=["int64", "uint64", "large integers", "fractions", "decimals", "long double"],
)
def test_scores_that_float64_would_merge_are_numbered_in_their_order(scores):
    checked = check_scores(scores)
    assert checked.tolist() == [1.0, 0.0, 1.0]
    assert checked.dtype == np.float64


def test_strings_of_numbers_are_numbers():
    assert check_scores(np.array(["10", "9"], dtype=object)).tolist() == [10.0, 9.0]
