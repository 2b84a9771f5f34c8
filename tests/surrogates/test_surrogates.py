"""Surrogates: majorants, traits, robustness, minimizers, and identities between them; see also test_laws."""

import copy
import dataclasses
import math
import pickle

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import Arc, FlatBowl, SteepBowl, numeric_hessians, slices
from sklearn.base import clone

import boostrank.surrogates as family
from boostrank.exponential import MAX_EXPONENT
from boostrank.queries import Queries
from boostrank.surrogates import (
    SURROGATES,
    Cosine,
    GainWeightedPairs,
    Logistic,
    NormalizedPNorm,
    PairwiseHinge,
    PNorm,
    Poisson,
    Profiled,
    Separable,
    Softmax,
    Squared,
    get_surrogate,
)

DEFAULTS = list(SURROGATES.values())
OWN = [Arc(), SteepBowl(), FlatBowl(), Profiled(Arc())]
MORE = [Profiled(Poisson()), PNorm(q=2), PNorm(q=3.5), NormalizedPNorm(q=2.5), Cosine(epsilon=0.3), *OWN]
MAJORANTS = [*DEFAULTS, *MORE]
EXACT = [
    dataclasses.replace(surrogate, hessian="exact")
    for surrogate in MAJORANTS
    if any(field.name == "hessian" for field in dataclasses.fields(surrogate))
]
ALL = [*MAJORANTS, *EXACT]
EXACT_DIAGONALS = [surrogate for surrogate in ALL if surrogate.hessian == "exact"]
SIZES = [4, 1, 3, 2, 6]

every = pytest.mark.parametrize("surrogate", ALL, ids=repr)


def ragged(sizes=SIZES, seed=0, scale=1.0):
    """Scores, and targets within [0, 1] of which the last query has none."""
    random = np.random.default_rng([seed, *sizes])
    targets = random.random(sum(sizes)) * random.integers(0, 2, sum(sizes))
    targets[-sizes[-1] :] = 0.0
    return random.normal(size=sum(sizes)) * scale, targets, Queries.from_sizes(sizes)


def least_eigenvalue(surrogate, data, factor=1.0):
    """Of ``factor * diag(h) - H``, over all queries; relative to the size of ``h``."""
    _, hessian = surrogate.gradient_hessian(*data)
    matrices = numeric_hessians(surrogate, *data)
    return min(
        np.linalg.eigvalsh(np.diag(factor * hessian[part]) - matrix)[0] / max(1.0, hessian[part].max())
        for part, matrix in zip(slices(data[2].sizes.tolist()), matrices, strict=True)
    )


def test_every_family_has_an_exact_hessian_to_test():
    kinds = {type(surrogate) for surrogate in EXACT_DIAGONALS}
    norms_and_pairs = {PNorm, Cosine, NormalizedPNorm, *(type(s) for s in ALL if isinstance(s, GainWeightedPairs))}
    assert kinds == {type(surrogate) for surrogate in ALL} - norms_and_pairs


@pytest.mark.parametrize("surrogate", [s for s in ALL if s.hessian == "majorant" or s.separable], ids=repr)
@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([1e-3, 0.3, 1.0, 3.0, 10.0]),
)
def test_a_majorant_dominates_the_hessian(surrogate, sizes, seed, scale):
    assert least_eigenvalue(surrogate, ragged(sizes, seed, scale)) >= -2e-6


def at_worst_angle(length):
    """Scores whose cosine with the targets, ``c / 2t``, is where the majorant of Cosine is attained."""
    t = length / math.hypot(1.0, length)
    cosine = 1.0 / (math.sqrt(3.0) * t)
    return length * np.array([cosine, math.sqrt(1.0 - cosine**2)])


@pytest.mark.parametrize(
    ("surrogate", "scores"),
    [
        (Squared(), [0.3, -0.2]),
        (Poisson(), [0.3, -0.2]),
        (Logistic(), [0.3, -0.2]),
        (Profiled(Squared()), [0.3, -0.2]),
        (PNorm(q=2), [0.3, -0.2]),
        (PNorm(q=3.5), [1.0, 1.0]),
        (PNorm(), [1.0, 1.0]),
        (Cosine(), at_worst_angle(1.0)),
        (Cosine(), at_worst_angle(3.0)),
    ],
    ids=lambda value: "scores" if isinstance(value, (list, np.ndarray)) else repr(value),
)
def test_half_a_sharp_majorant_does_not_dominate(surrogate, scores):
    data = np.array(scores), np.array([0.8, 0.0]), Queries.from_sizes([2])
    assert least_eigenvalue(surrogate, data) >= -1e-6
    assert least_eigenvalue(surrogate, data, factor=0.5) < -1e-3


@pytest.mark.parametrize("length", [0.75, 1.0, 3.0])
def test_the_majorant_of_cosine_is_attained(length):
    data = at_worst_angle(length), np.array([0.8, 0.0]), Queries.from_sizes([2])
    assert least_eigenvalue(Cosine(), data, factor=0.999) < 0.0


@every
def test_shift_invariance_is_as_declared(surrogate):
    scores, targets, queries = ragged()
    shifted = scores + queries.repeat(np.array([0.7, -3.0, 2.0, 1.0, 5.0]))
    before, after = surrogate.loss(scores, targets, queries), surrogate.loss(shifted, targets, queries)
    assert np.allclose(before, after, atol=1e-9) == surrogate.shift_invariant
    same = [
        np.allclose(one, other, atol=1e-6)
        for one, other in zip(
            surrogate.gradient_hessian(scores, targets, queries),
            surrogate.gradient_hessian(shifted, targets, queries),
            strict=True,
        )
    ]
    assert all(same) or not surrogate.shift_invariant


@every
def test_shift_invariant_gradients_sum_to_zero(surrogate):
    scores, targets, queries = ragged()
    sums = queries.sum(surrogate.gradient_hessian(scores, targets, queries)[0])
    assert (np.abs(sums).max() < 1e-6) == surrogate.shift_invariant


@every
def test_separability_is_as_declared(surrogate):
    scores, targets, queries = np.array([0.2, -0.4, 1.0]), np.array([0.8, 0.3, 0.0]), Queries.from_sizes([3])
    other = scores + np.array([0.0, 0.5, -1.0])
    gradients = [surrogate.gradient_hessian(values, targets, queries)[0][0] for values in (scores, other)]
    # With q = 2 the p-norm is separable too, and need not say so; the hinge's gradient is constant between kinks.
    if surrogate not in (PNorm(q=2), PairwiseHinge()):
        assert (gradients[0] == gradients[1]) == surrogate.separable
    if surrogate.separable:
        alone = surrogate.loss(scores, targets, Queries.from_sizes([1, 1, 1]))
        assert alone.sum() == pytest.approx(surrogate.loss(scores, targets, queries)[0])


@every
def test_convexity_is_as_declared(surrogate):
    least = np.inf
    for seed in range(20):
        data = ragged(seed=seed, scale=2.0)
        least = min([least, *(np.linalg.eigvalsh(matrix)[0] for matrix in numeric_hessians(surrogate, *data))])
    assert (least >= -1e-6) == surrogate.convex


def assert_finite(surrogate, scores, targets, sizes):
    queries = Queries.from_sizes(sizes)
    gradient, hessian = surrogate.gradient_hessian(np.array(scores), np.array(targets), queries)
    assert np.isfinite(gradient).all()
    assert np.isfinite(hessian).all()
    assert np.isfinite(surrogate.loss(np.array(scores), np.array(targets), queries)).all()
    assert surrogate.hessian == "exact" or (hessian >= 0).all()


@every
@pytest.mark.parametrize("size", [1e4, 1e6])
def test_extreme_scores_are_finite(surrogate, size):
    targets = [1.0, 0.0, 0.4, 0.0, 0.0, 0.7]
    assert_finite(surrogate, [size, -size, 0.0, -size, size, 1.0], targets, [3, 3])
    assert_finite(surrogate, [-size, size, -0.0, size, size, size], targets, [3, 3])
    assert_finite(surrogate, [size, -size], [1.0, 0.0], [1, 1])
    assert_finite(surrogate, [size, -size], [0.0, 1.0], [1, 1])


@every
@pytest.mark.parametrize("tiny", [0.0, -0.0, 5e-324, -5e-324, 1e-310, 1e-300, 1e-160])
def test_zero_and_tiny_scores_are_finite(surrogate, tiny):
    assert_finite(surrogate, [tiny, tiny, -tiny, 0.0], [1.0, 0.0, 0.4, 0.2], [3, 1])
    zero = surrogate.gradient_hessian(np.zeros(3), np.array([1.0, 0.0, 0.4]), Queries.from_sizes([3]))
    near = surrogate.gradient_hessian(np.array([tiny, tiny, -tiny]), np.array([1.0, 0.0, 0.4]), Queries.from_sizes([3]))
    np.testing.assert_allclose(near[0], zero[0], atol=1e-9)


@pytest.mark.parametrize("surrogate", [PNorm(), NormalizedPNorm(), Cosine(), Softmax()], ids=repr)
def test_long_queries_start_finite(surrogate):
    assert_finite(surrogate, np.zeros(30_000), np.full(30_000, 1e-3), [30_000])


@pytest.mark.parametrize(
    "surrogate", [PNorm(q=12), PNorm(q=100), NormalizedPNorm(q=12), NormalizedPNorm(q=100)], ids=repr
)
def test_large_exponents_start_finite(surrogate):
    assert_finite(surrogate, np.zeros(3), [1.0, 0.0, 0.5], [3])


@every
def test_queries_without_targets_and_of_one_document_are_finite(surrogate):
    assert_finite(surrogate, [0.5, -1.0, 2.0], [0.0, 0.0, 0.0], [3])
    assert_finite(surrogate, [0.5, -1.0, 2.0], [0.0, 1.0, 0.3], [1, 1, 1])
    assert_finite(surrogate, [0.0, 0.0], [1.0, 1.0], [2])


def at_squared(targets, queries):
    return targets


def at_log(targets, queries):
    return np.log(targets)


def at_logit(targets, queries):
    return np.log(targets / (1.0 - targets))


def at_dual_norm(targets, queries):
    """Gradient of ``1/2 ||u||_p^2``."""
    result = []
    for part in slices(queries.sizes.tolist()):
        u, q = targets[part], math.log(part.stop - part.start) + 2.0
        p = q / (q - 1.0)
        norm = sum(u**p) ** (1.0 / p)
        result.extend(norm ** (2.0 - p) * u ** (p - 1.0))
    return np.array(result)


MINIMIZERS = [
    (Squared(), at_squared),
    (Poisson(), at_log),
    (Logistic(), at_logit),
    (Softmax(), at_log),
    (Profiled(Poisson()), at_log),
    (Profiled(Squared()), at_squared),
    (Profiled(Logistic()), at_logit),
    (PNorm(), at_dual_norm),
]


@pytest.mark.parametrize("surrogate", [surrogate for surrogate, _ in MINIMIZERS], ids=repr)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.1, 1.0, 10.0]))
def test_loss_is_not_negative(surrogate, seed, scale):
    assert (surrogate.loss(*ragged(seed=seed, scale=scale)) >= -1e-9).all()


@pytest.mark.parametrize(
    ("surrogate", "minimizer"), MINIMIZERS, ids=lambda value: getattr(value, "__name__", repr(value))
)
def test_loss_and_gradient_are_zero_at_the_documented_minimizer(surrogate, minimizer):
    _, _, queries = ragged()
    targets = np.random.default_rng(1).uniform(0.05, 0.95, queries.n_documents)
    scores = minimizer(targets, queries)
    if surrogate.shift_invariant:
        scores = scores + queries.repeat(np.arange(5.0))
    np.testing.assert_allclose(surrogate.loss(scores, targets, queries), 0.0, atol=1e-8)
    np.testing.assert_allclose(surrogate.gradient_hessian(scores, targets, queries)[0], 0.0, atol=1e-8)


def test_losses_by_formula():
    scores, targets, queries = ragged()
    parts = [(scores[part], targets[part]) for part in slices(SIZES)]

    def kl(u, p):
        return sum((a * math.log(a / b) if a > 0 else 0.0) - a + b for a, b in zip(u, p, strict=True))

    def softmax_kl(s, u):
        return kl(u, sum(u) * np.exp(s) / sum(np.exp(s))) if sum(u) > 0 else 0.0

    formulas = {
        Squared(): lambda s, u: sum((s - u) ** 2) / 2,
        Poisson(): lambda s, u: kl(u, np.exp(s)),
        Softmax(): softmax_kl,
        Profiled(Squared()): lambda s, u: sum((s - s.mean() - u + u.mean()) ** 2) / 2,
        Cosine(): lambda s, u: -sum(s * u) / math.sqrt(sum(s**2) + 1.0),
        NormalizedPNorm(q=3): lambda s, u: -sum(s * u) / (sum(abs(s) ** 3) + 1.0) ** (1 / 3),
        PNorm(q=3): lambda s, u: sum(abs(s) ** 3) ** (2 / 3) / 2 - sum(s * u) + sum(u**1.5) ** (4 / 3) / 2,
        Arc(): lambda s, u: sum(np.sqrt(1 + s**2) + s**2 / 8 - s * u),
    }
    for surrogate, formula in formulas.items():
        expected = [formula(s, u) for s, u in parts]
        np.testing.assert_allclose(
            surrogate.loss(scores, targets, queries), expected, atol=1e-9, err_msg=repr(surrogate)
        )


def assert_same(one, other, data, factor=1.0):
    np.testing.assert_allclose(one.loss(*data), other.loss(*data), atol=1e-9)
    (gradient, hessian), (other_gradient, other_hessian) = one.gradient_hessian(*data), other.gradient_hessian(*data)
    np.testing.assert_allclose(gradient, other_gradient, atol=1e-9)
    np.testing.assert_allclose(hessian, other_hessian * factor, atol=1e-9)


@pytest.mark.parametrize("hessian", ["majorant", "exact"])
def test_softmax_is_profiled_poisson(hessian):
    assert_same(Softmax(hessian=hessian), Profiled(Poisson(), hessian=hessian), ragged(scale=3.0))


def test_every_separable_surrogate_has_a_profiled_form_by_name():
    profiled = {surrogate.potential for surrogate in SURROGATES.values() if isinstance(surrogate, Profiled)}
    assert profiled == {surrogate for surrogate in SURROGATES.values() if isinstance(surrogate, Separable)}
    assert SURROGATES["centered-logistic"] == Profiled(Logistic())
    assert "centered-poisson" not in SURROGATES


def test_a_profiled_form_has_the_bounds_of_its_potential():
    assert Profiled(Logistic()).target_bounds == (0.0, 1.0)
    assert Profiled(Poisson()).target_bounds == Poisson().target_bounds


def test_softmax_is_profiled_poisson_for_targets_of_any_size():
    data = np.array([0.0, 1.0]), np.array([2.0**50, 3.0]), Queries.from_sizes([2])
    total = 2.0**50 + 3.0
    probabilities = np.exp([0.0, 1.0]) / (1.0 + math.e)
    expected = 2.0**50 * math.log(2.0**50 / (total * probabilities[0])) + 3 * math.log(3 / (total * probabilities[1]))
    assert Softmax().loss(*data)[0] == pytest.approx(expected, rel=1e-6)
    assert_same(Softmax(), Profiled(Poisson()), data)


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_cosine_is_the_normalized_2_norm_up_to_a_sharper_majorant(epsilon):
    factor = 2 / math.sqrt(3) / 4
    assert_same(Cosine(epsilon), NormalizedPNorm(q=2, epsilon=epsilon), ragged(), factor)


def test_the_p_norm_at_2_is_squared():
    assert_same(PNorm(q=2), Squared(), ragged())


def test_the_exponent_grows_with_the_logarithm_of_the_query():
    scores, targets, queries = ragged()
    for part in slices(SIZES):
        one, q = Queries.from_sizes([part.stop - part.start]), math.log(part.stop - part.start) + 2
        for make in (PNorm, NormalizedPNorm):
            expected = make(q=q).gradient_hessian(scores[part], targets[part], one)
            result = [values[part] for values in make().gradient_hessian(scores, targets, queries)]
            np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("potential", "tolerance"),
    # Newton's method stops after a step below 1e-3, with an error of the order of its square.
    [(Squared(), 1e-12), (Poisson(), 1e-12), (Logistic(), 2e-7), (Arc(), 2e-6)],
    ids=repr,
)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.0, 1.0, 10.0, 100.0]))
def test_the_intercept_solves_its_equation(potential, tolerance, seed, scale):
    scores, targets, queries = ragged(seed=seed, scale=scale)
    mass = queries.sum(targets)
    shift = potential.intercept(scores, mass, queries)
    slopes = potential.slope_curvature(scores + queries.repeat(shift))[0]
    np.testing.assert_allclose(queries.sum(slopes), mass, rtol=0, atol=tolerance)


@pytest.mark.parametrize("potential", [Squared(), Poisson(), Logistic(), Arc()], ids=repr)
def test_inverse_slope_inverts_the_slope(potential):
    slopes = np.array([0.01, 0.3, 0.5, 0.9])
    np.testing.assert_allclose(potential.slope_curvature(potential.inverse_slope(slopes))[0], slopes, rtol=1e-9)


@pytest.mark.parametrize("factor", [1e-20, 0.5, 1.0, 2.0, 1e6])
def test_inverse_slope_of_poisson_also_beyond_its_exponential_range(factor):
    slope = factor * math.exp(MAX_EXPONENT)
    scores = Poisson().inverse_slope(np.array([slope]))
    assert (scores[0] > MAX_EXPONENT) == (factor > 1.0)
    assert Poisson().slope_curvature(scores)[0][0] == pytest.approx(slope, rel=1e-9)


def test_poisson_is_smooth_where_it_leaves_the_exponential():
    queries, targets = Queries.from_sizes([1]), np.array([0.5])
    for side in (-1e-9, 1e-9):
        gradient, hessian = Poisson().gradient_hessian(np.array([MAX_EXPONENT + side]), targets, queries)
        assert gradient[0] == pytest.approx(math.exp(MAX_EXPONENT), rel=1e-6)
        assert hessian[0] == pytest.approx(math.exp(MAX_EXPONENT), rel=1e-6)
    for score in (MAX_EXPONENT - 1.0, MAX_EXPONENT + 1.0, MAX_EXPONENT + 10.0):
        step = 1e-4
        losses = [Poisson().loss(np.array([score + move]), targets, queries)[0] for move in (-step, step)]
        gradient = Poisson().gradient_hessian(np.array([score]), targets, queries)[0][0]
        assert (losses[1] - losses[0]) / (2 * step) == pytest.approx(gradient, rel=1e-5)


@pytest.mark.parametrize("excess", [0.5, 3.0, 100.0])
def test_poisson_is_its_taylor_polynomial_beyond_the_exponential(excess):
    scores, top = np.array([MAX_EXPONENT + excess]), math.exp(MAX_EXPONENT)
    assert Poisson().potential(scores)[0] == pytest.approx(top * (1.0 + excess + excess**2 / 2.0))
    slope, curvature = Poisson().slope_curvature(scores)
    assert (slope[0], curvature[0]) == (pytest.approx(top * (1.0 + excess)), pytest.approx(top))


@every
def test_repr_evaluates_to_an_equal_surrogate(surrogate):
    assert eval(repr(surrogate), {**vars(family), **vars(oracles)}) == surrogate


@every
def test_copies_are_equal(surrogate):
    for twin in (clone(surrogate, safe=False), pickle.loads(pickle.dumps(surrogate)), copy.deepcopy(surrogate)):
        assert twin == surrogate
        assert hash(twin) == hash(surrogate)
        assert repr(twin) == repr(surrogate)


def test_different_settings_and_classes_are_different():
    assert len(set(ALL)) == len(ALL)
    assert len({repr(surrogate) for surrogate in ALL}) == len(ALL)
    assert PNorm(q=3) != PNorm(q=4)
    assert Cosine() != NormalizedPNorm(q=2)
    assert Cosine(epsilon=2.0) != Cosine()
    assert Softmax() != Softmax(hessian="exact")


@pytest.mark.parametrize("surrogate", DEFAULTS, ids=repr)
def test_surrogates_are_immutable(surrogate):
    with pytest.raises(dataclasses.FrozenInstanceError):
        surrogate.anything = 1


@pytest.mark.parametrize("name", SURROGATES)
def test_names_give_default_surrogates_and_instances_themselves(name):
    surrogate = get_surrogate(name)
    assert surrogate is SURROGATES[name]
    assert get_surrogate(surrogate) is surrogate


@pytest.mark.parametrize("name", ["hinge", "", "Softmax", None, 3, Softmax, ["softmax"]], ids=repr)
def test_unknown_names_are_errors_that_list_the_known(name):
    with pytest.raises(ValueError, match=r"unknown surrogate .*squared, poisson"):
        get_surrogate(name)


@pytest.mark.parametrize("make", [PNorm, NormalizedPNorm])
@pytest.mark.parametrize("q", [1.9, 0, -3, np.inf, np.nan, "sqrt", None, True, [2]], ids=repr)
def test_bad_exponents_are_errors(make, q):
    with pytest.raises(ValueError, match="q must be"):
        make(q=q)


@pytest.mark.parametrize("make", [Cosine, NormalizedPNorm])
@pytest.mark.parametrize("epsilon", [0, 0.0, -1, np.inf, np.nan])
def test_bad_smoothings_are_errors(make, epsilon):
    with pytest.raises(ValueError, match="epsilon must be"):
        make(epsilon=epsilon)


@pytest.mark.parametrize("surrogate", EXACT, ids=repr)
@pytest.mark.parametrize("hessian", ["diagonal", None, True])
def test_bad_kinds_of_hessian_are_errors(surrogate, hessian):
    with pytest.raises(ValueError, match="hessian must be"):
        dataclasses.replace(surrogate, hessian=hessian)


def test_settings_can_be_replaced():
    assert dataclasses.replace(Cosine(), epsilon=2) == Cosine(epsilon=2)
    assert dataclasses.replace(Softmax(), hessian="exact") == Softmax(hessian="exact")
    assert dataclasses.replace(PNorm(), q=3) == PNorm(q=3)
