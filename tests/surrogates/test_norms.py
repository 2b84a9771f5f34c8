"""Cosine, p-norms and normalized p-norms: exponents, smoothing, majorants and identities."""

import math

import numpy as np
import pytest
from cases import for_each
from oracles import slices
from surrogate_samples import SIZES, assert_finite, assert_same, least_eigenvalue, ragged

from boostrank.queries.queries import Queries
from boostrank.surrogates import Cosine, NormalizedPNorm, PNorm


def at_worst_angle(length):
    """Scores whose cosine with the targets, ``c / 2t``, is where the majorant of Cosine is
    attained."""
    t = length / math.hypot(1.0, length)
    cosine = 1.0 / (math.sqrt(3.0) * t)
    return length * np.array([cosine, math.sqrt(1.0 - cosine**2)])


@pytest.mark.parametrize("length", [0.75, 1.0, 3.0])
def test_the_majorant_of_cosine_is_attained(length):
    data = at_worst_angle(length), np.array([0.8, 0.0]), Queries.from_sizes([2])
    assert least_eigenvalue(Cosine(), data) >= -1e-6
    assert least_eigenvalue(Cosine(), data, factor=0.999) < 0.0


@pytest.mark.parametrize(
    "surrogate",
    [PNorm(q=12), PNorm(q=100), NormalizedPNorm(q=12), NormalizedPNorm(q=100)],
    ids=repr,
)
def test_large_exponents_start_finite(surrogate):
    assert_finite(surrogate, np.zeros(3), [1.0, 0.0, 0.5], [3])


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_cosine_is_the_normalized_2_norm_up_to_a_sharper_majorant(epsilon):
    factor = 2 / math.sqrt(3) / 4
    assert_same(Cosine(epsilon), NormalizedPNorm(q=2, epsilon=epsilon), ragged(), factor)


def test_the_exponent_grows_with_the_logarithm_of_the_query():
    scores, targets, queries = ragged()
    for part in slices(SIZES):
        one, q = Queries.from_sizes([part.stop - part.start]), math.log(part.stop - part.start) + 2
        for make in (PNorm, NormalizedPNorm):
            expected = make(q=q).gradient_hessian(scores[part], targets[part], one)
            result = [values[part] for values in make().gradient_hessian(scores, targets, queries)]
            np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("q", [2, 2.5, 3, 12])
def test_the_majorant_of_normalized_p_norms_is_the_stated_one(q):
    scores, targets, queries = (
        np.array([0.5, -1.0, 2.0]),
        np.array([1.0, 0.5, 0.0]),
        Queries.from_sizes([3]),
    )
    norm = (0.5**q + 1.0 + 2.0**q + 0.3**q) ** (1 / q)
    expected = max(q + 1, 4) * 1.5 ** (1 - 2 / q) * 1.25 ** (1 / q) / norm**2
    hessian = NormalizedPNorm(q=q, epsilon=0.3).gradient_hessian(scores, targets, queries)[1]
    np.testing.assert_allclose(hessian, expected)


BAD_EXPONENTS = [{"q": q} for q in (1.9, 0, -3, np.inf, np.nan, "sqrt", None, True, [2])]


@for_each(
    ("make", "setting"),
    [(make, setting) for make in (PNorm, NormalizedPNorm) for setting in BAD_EXPONENTS]
    + [
        (make, {"epsilon": value})
        for make in (Cosine, NormalizedPNorm)
        for value in (0, 0.0, -1, np.inf, np.nan)
    ],
)
def test_bad_settings_are_errors(make, setting):
    with pytest.raises(ValueError, match=f"{next(iter(setting))} must be"):
        make(**setting)
