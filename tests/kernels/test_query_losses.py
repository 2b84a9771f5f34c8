"""Compiled losses of queries: gradient and Hessian are those of the formulas in NumPy, and do not
depend on threads."""

import dataclasses

import numpy as np
import pytest
from bound_losses import bind_loss
from hypothesis import given
from hypothesis import strategies as st

from boostrank.kernels import library
from boostrank.kernels.derivatives import LossForm
from boostrank.queries.queries import Queries
from boostrank.queries.threads import use_threads
from boostrank.surrogates import (
    SURROGATES,
    Cosine,
    NormalizedPNorm,
    PNorm,
    Poisson,
    Power,
    Profiled,
    Squared,
)
from boostrank.surrogates.base import compiled_form

pytestmark = pytest.mark.skipif(
    not library.is_available(), reason="boostrank was installed without a C compiler"
)

WITH_FORM = {
    "squared",
    "centered-squared",
    "poisson",
    "logistic",
    "centered-logistic",
    "pnorm",
    "cosine",
}
WITH_FORM |= {"normalized-pnorm", "softmax", "power", "pairwise-exponential"}
KINDS = [surrogate for surrogate in SURROGATES.values() if compiled_form(surrogate) is not None]
KINDS += [Power(a, max_step=step) for a in (-0.7, 0, 0.25, 3.0) for step in (None, 0.1)]
KINDS += [
    PNorm(2),
    PNorm(3.5),
    NormalizedPNorm(2, epsilon=0.01),
    NormalizedPNorm(4.0),
    Cosine(epsilon=3.0),
]


def with_and_without(objective, scores):
    """Gradient and Hessian with the library and with NumPy."""
    with pytest.MonkeyPatch.context() as patch:
        ours = objective.gradient_hessian(scores)
        patch.setenv("BOOSTRANK_COMPILED", "0")
        return zip(ours, objective.gradient_hessian(scores), strict=True)


def assert_same(objective, scores, of_scores=1.0):
    """Values differ by one unit in the last place of float32, or by a rounding error of the largest
    values."""
    # The intercept of the logistic loss has an error of 1e-8.
    error = 1e-7 if "Logistic" in repr(objective.surrogate) else 2e-14 * max(1.0, of_scores)
    # Where there is nothing to learn, the scale is not that of the values.
    scale = objective.scale if objective.targets.any() else 1.0
    for one, other in with_and_without(objective, scores):
        assert np.isfinite(other).all()
        np.testing.assert_allclose(
            one, other, rtol=1.2e-7, atol=error * max(float(np.abs(other).max()), scale)
        )


def test_losses_without_pairs_have_a_form():
    assert {
        name for name, surrogate in SURROGATES.items() if compiled_form(surrogate) is not None
    } >= WITH_FORM
    assert len({compiled_form(kind) for kind in KINDS}) == len(set(KINDS))


@pytest.mark.parametrize("parent", [*KINDS[:11], Profiled(Poisson())], ids=repr)
def test_subclasses_have_no_form_because_their_formulas_may_differ(parent):
    child = type("Child", (type(parent),), {})
    values = {
        field.name: getattr(parent, field.name)
        for field in dataclasses.fields(parent)
        if field.init
    }
    assert compiled_form(child(**values)) is None
    if isinstance(parent, Profiled):
        assert compiled_form(Profiled(type("Child", (type(parent.potential),), {})())) is None


@pytest.mark.parametrize("surrogate", KINDS, ids=repr)
@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=8),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([0.0, 1e-9, 1.0, 30.0, 1000.0]),
    shift=st.sampled_from([0.0, -100.0]),
    share=st.sampled_from([0.0, 0.3, 1.0]),
    kind=st.sampled_from([None, "weights", "zeros"]),
)
def test_results_are_those_of_numpy(surrogate, sizes, seed, scale, shift, share, kind):
    random, n = np.random.default_rng(seed), sum(sizes)
    scores = random.normal(size=n) * scale + shift
    if surrogate == Poisson():
        scores = np.minimum(scores, 55.0)
    relevance = random.random(n) * (random.random(n) < share)
    weights = (
        None
        if kind is None
        else random.random(len(sizes)) * random.integers(kind == "weights", 2, len(sizes))
    )
    weights = None if weights is None or not weights.any() else weights
    objective = bind_loss(
        surrogate, relevance, Queries.from_sizes(sizes), normalize="none", weights=weights
    )
    assert_same(objective, scores, np.abs(scores).max())


@pytest.mark.parametrize("surrogate", KINDS, ids=repr)
def test_results_are_bit_for_bit_the_same_for_all_threads_and_blocks(surrogate, monkeypatch):
    random, sizes = np.random.default_rng(2), np.random.default_rng(2).integers(1, 300, 150)
    labels, scores = random.integers(0, 5, sizes.sum()), random.normal(size=sizes.sum())
    objective = bind_loss(surrogate, labels, Queries.from_sizes(sizes))
    expected = objective.gradient_hessian(scores)
    monkeypatch.setattr("boostrank.queries.threads.MIN_SECONDS", 0.0)
    for n_threads, rows in ((1, 1000), (3, 1000), (4, 64)):
        monkeypatch.setattr("boostrank.kernels.library.COMPILED_BLOCK_ROWS", rows)
        with use_threads(n_threads):
            for one, other in zip(objective.gradient_hessian(scores), expected, strict=True):
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("surrogate", "score"), [(Poisson(), 1e60), (Squared(), 1e60)], ids=repr)
def test_results_beyond_float32_are_an_error(surrogate, score):
    objective = bind_loss(surrogate, [1, 0, 2, 0], Queries.from_sizes([2, 2]))
    with pytest.raises(FloatingPointError, match="document 2 of query '1'; its scores are finite"):
        objective.gradient_hessian(np.array([0.0, 0.0, score, 0.0]))


def test_objectives_on_a_device_use_the_formulas():
    objective = bind_loss("softmax", [1, 0, 2, 0], Queries.from_sizes([2, 2]))
    assert objective.form == LossForm("power", (0.0, 1.0))
    assert objective.to_device(np.asarray).form is None


def exp_and_log(values):
    """The exponential function and the logarithm of the absolute value, as compiled losses compute
    them."""
    results = np.empty(len(values)), np.empty(len(values))
    library.call("elementary", values, len(values), *results)
    return results


@pytest.mark.parametrize(
    ("which", "function", "low", "high"),
    [
        *((0, np.exp, low, high) for low, high in ((-708.0, 709.0), (-1.0, 1.0), (-1e-5, 1e-5))),
        *(
            (1, np.log, low, high)
            for low, high in ((0.0, 1.0), (1 - 1e-6, 1 + 1e-6), (1e-307, 1e-300), (0, 1e308))
        ),
    ],
)
def test_exponentials_and_logarithms_are_exact_to_one_unit_in_the_last_place(
    which, function, low, high
):
    values = np.random.default_rng(0).uniform(low, high, 50_000)
    # The logarithm is that of the absolute value.
    found = exp_and_log(values if which == 0 else -values)[which]
    expected = function(values.astype(np.longdouble))
    assert (np.abs(found - expected) <= units(expected)).all()


def units(expected):
    """The distance to the next number of float64; two of them where the reference is not more
    exact."""
    return np.spacing(np.abs(expected).astype(np.float64)) * (
        1 + (np.finfo(np.longdouble).nmant == 52)
    )


def test_exponentials_and_logarithms_of_extreme_values():
    found = exp_and_log(np.array([-np.inf, -1e300, -708.4, -708.39, 0.0, -0.0, np.nan]))[0]
    np.testing.assert_array_equal(found, [0.0, 0.0, 0.0, np.exp(-708.39), 1.0, 1.0, np.nan])
    found = exp_and_log(np.array([0.0, -0.0, 1e-310, 1.0]))[1]
    np.testing.assert_array_equal(found, [-np.inf, -np.inf, -np.inf, 0.0])
