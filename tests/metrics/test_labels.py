"""`check_scores`: scores keep their values, or their order where float64 would merge them."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
from cases import for_each

from boostrank.metrics.labels import check_scores


@for_each(
    ("scores", "expected"),
    [
        (np.array([0.5, 2.0, -7.0], dtype=np.float32), [0.5, 2.0, -7.0]),
        (np.array([0.5, 2, Fraction(-7)], dtype=object), [0.5, 2.0, -7.0]),
        (np.array([True, False]), [1.0, 0.0]),
        (np.array(["10", "9"], dtype=object), [10.0, 9.0]),
        # As float64, all of these were equal.
        (np.array([2**60 + 1, 2**60, 2**60 + 1]), [1.0, 0.0, 1.0]),
        (np.array([2**63 + 1, 2**63, 2**63 + 1], dtype=np.uint64), [1.0, 0.0, 1.0]),
        (np.array([2**70 + 1, 2**70, 2**70 + 1], dtype=object), [1.0, 0.0, 1.0]),
        (np.array([Fraction(1, 3) + Fraction(n, 10**30) for n in (1, 0, 1)]), [1.0, 0.0, 1.0]),
        (np.array([Decimal("0.1"), Decimal("0.1") - Decimal("1e-25"), Decimal("0.1")]), [1.0, 0.0, 1.0]),
        (np.array([2**60 + 1, 2**60, 2**60 + 1], dtype=np.longdouble), [1.0, 0.0, 1.0]),
    ],
)
def test_scores_stay_as_they_are_or_are_numbered_in_their_order(scores, expected):
    checked = check_scores(scores)
    assert (checked.tolist(), checked.dtype) == (expected, np.float64)
