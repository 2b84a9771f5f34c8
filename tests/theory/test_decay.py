"""The decay of discounts, and verdicts on discounts and cutoffs."""

import numpy as np
import pytest

from boostrank import theory


@pytest.mark.parametrize("k", [0, 1.5, ("power", 1.0), "sqrt", True])
def test_unknown_cutoffs_and_functions_are_refused(k):
    with pytest.raises(ValueError, match="k must be"):
        theory.feasibility("log2", k=k)
    with pytest.raises(ValueError, match="whose decay is known; got the function"):
        theory.feasibility(lambda ranks: 1 / ranks)


@pytest.mark.parametrize(
    ("discount", "k", "verdict", "reason"),
    [
        ("log2", None, "feasible", "Theorem 6"),
        ("log2", 0.2, "feasible", "Theorems 12 and 16"),
        (("power", 0.5), None, "feasible", "Theorems 7, 8 and 14"),
        (("power", 0.5), 0.2, "feasible", "Theorems 13 and 17"),
        ("zipf", None, "boundary", "Theorem 9"),
        (("power", 1), 0.2, "boundary", "unless the labels at s = 1 are certain, or both rank the same documents"),
        ("log2", ("power", 0.5), "boundary", "Theorems 11 and 15"),
        ("log2", ("power", 0.5), "boundary", "If these are equal, it depends on their curves near s = 1"),
        (("power", 1.01), None, "too fast", "Theorem 10"),
        (("exponential", 2), 0.2, "too fast", "Theorem 10"),
        ("log2", 10, "too fast", "at most 10 documents"),
    ],
)
def test_verdicts_name_their_theorem(discount, k, verdict, reason):
    found = theory.feasibility(discount, k=k)
    assert found.verdict == verdict
    assert reason in str(found)


@pytest.mark.parametrize(("at_top", "least", "most"), [(1.0, 0.95, 1.0), (0.5, 0.4, 0.6)])
def test_zipf_distinguishes_rankers_with_equal_tops_only_if_the_labels_there_are_certain(at_top, least, most):
    """Two rankers with P(Y = 1 | s = 1) = `at_top` and the same share of relevant documents, on lists of 10,000."""
    curves = [theory.ScoreCurve.binary(lambda s: at_top * np.clip(1.5 * s - 0.5, 0, 1), breaks=[1 / 3])]
    curves += [theory.ScoreCurve.binary(lambda s: at_top * s**2)]
    np.testing.assert_allclose(curves[0].shares, curves[1].shares, atol=1e-9)
    ranks, random = np.arange(1, 10_001), np.random.default_rng(0)
    first, second = (curve.expected_gain(1 - ranks / 10_001) for curve in curves)
    draws = ((random.random((200, 10_000)) < first, random.random((200, 10_000)) < second) for _ in range(2))
    wins = np.mean(
        [(first_labels @ (1 / ranks) > second_labels @ (1 / ranks)).mean() for first_labels, second_labels in draws]
    )
    assert least <= wins <= most
