"""The decay of discounts, and verdicts on discounts and cutoffs."""

import numpy as np
import pytest

from boostrank import theory
from boostrank.theory.long_lists.decay import bounded_sums


@pytest.mark.parametrize("k", [0, 1.5, ("power", 1.0), "sqrt", True])
def test_unknown_cutoffs_are_refused(k):
    with pytest.raises(ValueError, match="k must be"):
        theory.feasibility("log2", k=k)


@pytest.mark.parametrize(
    ("discount", "verdict"),
    [
        (lambda r: 1 / np.log(1 + r), "feasible"),
        (lambda r: (r + 4.0) ** -0.9, "feasible"),
        (lambda r: 1 / (r * np.log(1 + r)), "boundary"),
        (lambda r: 1 / (r * np.log(1 + r) ** 2), "too fast"),
        (lambda r: r**-1.1, "too fast"),
        (lambda r: np.exp(-np.sqrt(r)), "too fast"),
        (lambda r: np.where(r <= 10, 1.0, 0.0), "too fast"),
        (lambda r: 1 + 1 / r, "flat"),
    ],
)
def test_the_decay_of_a_function_is_found_numerically_and_the_verdict_says_so(discount, verdict):
    found = theory.feasibility(discount)
    assert found.verdict == verdict
    assert found.decay.numeric
    assert "found numerically" in str(found)


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
    assert not found.decay.numeric


def test_a_function_that_cannot_be_judged_is_refused():
    with pytest.raises(ValueError, match="finite, not negative and not increasing"):
        theory.feasibility(lambda ranks: np.where(ranks < 1e6, 1 / ranks, 1.0))


def test_the_rest_of_a_sum_follows_from_the_decay():
    """The sum of 1 / (n log(n)^2) over n >= 2 is 2.10974; the first million terms sum to 2.037."""
    total, _ = bounded_sums(lambda ranks: 1 / ((ranks + 1) * np.log(ranks + 1) ** 2), None)
    assert total == pytest.approx(2.10974, rel=1e-3)
