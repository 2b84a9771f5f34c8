"""The mean of precision over cutoffs."""

import numpy as np
import pytest
from measure_definitions import FUNCTIONS


def test_cutoffs_beyond_the_list_count_too():
    y, scores, qid = [1, 0, 1], [0.9, 0.5, 0.1], [0, 0, 0]
    expected = np.mean([FUNCTIONS["precision"](y, scores, qid, k=r) for r in range(1, 11)])
    assert FUNCTIONS["mean_precision"](y, scores, qid, k=10) == pytest.approx(expected, abs=1e-13)
    assert FUNCTIONS["mean_precision"](y, scores, qid, k=10**12) == pytest.approx(0.0, abs=1e-10)
    # Fractions cut queries of different sizes at different ranks.
    values = FUNCTIONS["mean_precision"]([*y, 1], [*scores, 1.0], [*qid, 1], k=0.5, per_query=True)
    assert values.tolist() == pytest.approx([0.75, 1.0], abs=1e-13)
