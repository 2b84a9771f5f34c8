"""`holm`: p-values that are adjusted for many comparisons."""

import numpy as np

from boostrank.significance import holm


def holm_by_definition(p_values):
    """Adjusted p-value: the smallest level at which step-down rejects, found by trying every candidate level."""
    candidates = sorted({min(1.0, p * m) for p in p_values for m in range(1, len(p_values) + 1)} | {1.0})
    adjusted = []
    for i in range(len(p_values)):
        for level in candidates:
            left = sorted(range(len(p_values)), key=lambda j: p_values[j])
            while left and p_values[left[0]] <= level / len(left) * (1 + 1e-12):
                left.pop(0)
            if i not in left or level == 1.0:
                adjusted.append(level)
                break
    return adjusted


def test_holm():
    # By hand: 4 x 0.01, 3 x 0.02, 2 x 0.03; the largest p-value must not get less than the one before it.
    np.testing.assert_allclose(holm([0.02, 0.01, 0.05, 0.03]), [0.06, 0.04, 0.06, 0.06])
    random = np.random.default_rng(7)
    for n in (1, 2, 5, 8):
        p_values = random.random(n) ** 3
        np.testing.assert_allclose(holm(p_values), holm_by_definition(p_values.tolist()), atol=1e-12)
    ties = [0.04, 0.04, 0.9]
    np.testing.assert_allclose(holm(ties), [0.12, 0.12, 0.9])


def test_holm_leaves_out_what_was_not_tested():
    p_values = np.array([np.nan, 0.01, np.nan, 0.03])
    seen = holm(p_values)
    assert np.isnan(seen[[0, 2]]).all()
    np.testing.assert_allclose(seen[[1, 3]], holm([0.01, 0.03]))
    assert holm([]).shape == (0,)
    assert np.isnan(holm([np.nan])).all()
