"""The decay of discounts, and verdicts on discounts and cutoffs."""

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
        ("log2", ("power", 0.5), "boundary", "Theorems 11 and 15"),
        (("power", 1.01), None, "too fast", "Theorem 10"),
        (("exponential", 2), 0.2, "too fast", "Theorem 10"),
        ("log2", 10, "too fast", "at most 10 documents"),
    ],
)
def test_verdicts_name_their_theorem(discount, k, verdict, reason):
    found = theory.feasibility(discount, k=k)
    assert found.verdict == verdict
    assert reason in str(found)
