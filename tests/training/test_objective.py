"""Surrogates bound to data: their gradients and Hessians in every round, and errors."""

import math

import numpy as np
import pytest
from bound_losses import bind_loss
from cases import for_each
from oracles import Arc, normalized_gains, slices
from scipy.optimize import minimize_scalar

import boostrank as br
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.targets import NORMALIZATIONS
from boostrank.queries.queries import Queries
from boostrank.surrogates import SURROGATES, Power, Profiled

SURROGATES = [*SURROGATES.values(), Arc(), Profiled(Arc()), Power(0)]
SIZES = [3, 1, 5, 2, 4]

every = for_each("surrogate", SURROGATES, ids=repr)


def ragged(sizes=SIZES, seed=0):
    random = np.random.default_rng(seed)
    labels = random.integers(0, 4, sum(sizes)) * (random.random(sum(sizes)) < 0.6)
    labels[: sizes[0]] = 0
    return labels, Queries.from_sizes(sizes), random.normal(size=sum(sizes))


def weights_of(kind, surrogate, queries):
    random = np.random.default_rng(5)
    if kind is None:
        return None
    if kind == "query":
        return random.random(queries.n_queries)
    return (
        random.random(queries.n_documents)
        if surrogate.separable
        else queries.repeat(random.random(len(SIZES)))
    )


def as_documents(weights, queries):
    if weights is None:
        return np.ones(queries.n_documents)
    return np.repeat(weights, queries.sizes) if len(weights) == queries.n_queries else weights


@every
@for_each("kind", [None, "query", "document"])
def test_derivatives_are_the_surrogates_scaled_weighted_and_shifted(surrogate, kind):
    labels, queries, scores = ragged()
    weights = weights_of(kind, surrogate, queries)
    objective = bind_loss(surrogate, labels, queries, weights=weights)
    targets = np.concatenate([normalized_gains(labels[part]) for part in slices(SIZES)])
    np.testing.assert_allclose(objective.targets, targets, rtol=1e-12)
    factor = objective.scale * as_documents(weights, queries)
    expected = surrogate.gradient_hessian(scores + objective.offset, targets, queries)
    for result, values in zip(objective.gradient_hessian(scores), expected, strict=True):
        assert result.dtype == np.float32
        np.testing.assert_allclose(result, values * factor, rtol=1e-5, atol=1e-6)


@every
@for_each("kind", [None, "query", "document"])
@for_each("k", [None, 1])
def test_the_mean_hessian_at_the_start_is_one(surrogate, kind, k):
    labels, queries, _ = ragged()
    weights = weights_of(kind, surrogate, queries)
    objective = bind_loss(surrogate, labels, queries, DCG(k=k), weights=weights)
    hessian = objective.gradient_hessian(np.zeros(len(labels)))[1]
    assert hessian.sum() / np.count_nonzero(as_documents(weights, queries)) == pytest.approx(
        1.0, rel=1e-5
    )


@pytest.mark.parametrize("weights", [None, [2.0] * 400])
def test_the_mean_hessian_is_over_the_documents_of_all_blocks(weights):
    labels, queries, _ = ragged([100] * 400)
    assert len(queries.blocks()) > 2
    hessian = bind_loss("squared", labels, queries, weights=weights).gradient_hessian(
        np.zeros(len(labels))
    )[1]
    np.testing.assert_allclose(hessian, 1.0)


@every
@for_each("kind", [None, "query", "document"])
def test_the_offset_is_the_best_constant_score(surrogate, kind):
    labels, queries, _ = ragged()
    weights = weights_of(kind, surrogate, queries)
    objective = bind_loss(surrogate, labels, queries, weights=weights)
    by_document = as_documents(weights, queries)

    def total(score):
        if surrogate.separable:
            alone = Queries.from_sizes([1] * len(labels))
            return by_document @ surrogate.loss(
                np.full(len(labels), score), objective.targets, alone
            )
        return by_document[queries.starts] @ surrogate.loss(
            np.full(len(labels), score), objective.targets, queries
        )

    if surrogate.shift_invariant or not surrogate.convex:
        assert objective.offset == 0.0
        return
    best = minimize_scalar(total, bracket=(-1.0, 1.0), tol=1e-12)
    assert objective.offset == pytest.approx(best.x, abs=1e-5)


@for_each("surrogate", SURROGATES[::2], ids=repr)
def test_blocks_do_not_matter(surrogate):
    random = np.random.default_rng(0)
    sizes = [*random.integers(1, 300, 120).tolist(), 17_000, 2]
    labels, queries, scores = ragged(sizes)
    # Losses of pairs take time in proportion to the relevant documents times all documents of a
    # query.
    labels[queries.starts[-2] + 20 : queries.ends[-2]] = 0
    weights = random.random(len(sizes))
    objective = bind_loss(surrogate, labels, queries, DCG(k=10), weights=weights)
    assert len(list(queries.blocks())) > 3
    gradient, hessian = objective.gradient_hessian(scores)
    for query, part in enumerate(slices(sizes)):
        one, u, s = (
            Queries.from_sizes([sizes[query]]),
            objective.targets[part],
            scores[part] + objective.offset,
        )
        factor = objective.scale * weights[query]
        expected = surrogate.gradient_hessian(s, u, one)
        np.testing.assert_allclose(gradient[part], expected[0] * factor, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(hessian[part], expected[1] * factor, rtol=1e-4, atol=1e-5)


@every
@for_each("factor", [1 / 15, 1e200])
def test_a_common_factor_of_the_weights_changes_nothing(surrogate, factor):
    labels, queries, scores = ragged()
    weights = np.array([1.0, 3.0, 0.0, 1.0, 2.0])
    plain = bind_loss(surrogate, labels, queries, weights=weights)
    scaled = bind_loss(surrogate, labels, queries, weights=weights * factor)
    assert scaled.offset == pytest.approx(plain.offset, abs=1e-9)
    for ours, theirs in zip(
        scaled.gradient_hessian(scores), plain.gradient_hessian(scores), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@for_each("shapes", [((1,), (1,)), ((15,), ()), ((1,), (15,)), ((15,), (15, 1))])
@for_each("weights", [None, [1.0] * 5])
def test_derivatives_of_another_shape_are_errors(shapes, weights):
    class Wrong(Power):
        def gradient_hessian(self, scores, targets, queries):
            return tuple(np.ones(shape) for shape in shapes)

    labels, queries, _ = ragged()
    with pytest.raises(ValueError, match=r"scores must have one value per document, shape \(15,\)"):
        bind_loss("softmax", labels, queries).gradient_hessian(np.zeros(1))
    with pytest.raises(ValueError, match="gradient and a Hessian of the shapes"):
        bind_loss(Wrong(), labels, queries, weights=weights)


@for_each(
    "surrogate",
    [one for one in SURROGATES if not one.separable and not one.linear_in_targets],
    ids=repr,
)
def test_weights_within_a_query_may_not_differ_without_a_term_for_each_document(surrogate):
    labels, queries, _ = ragged()
    with pytest.raises(ValueError, match=r"differs within query '2'"):
        bind_loss(surrogate, labels, queries, weights=1.0 + (np.arange(15) == 5))


@for_each("surrogate", [one for one in SURROGATES if one.linear_in_targets], ids=repr)
def test_weights_of_documents_multiply_targets_of_a_loss_that_is_linear_in_them(surrogate):
    labels, queries, scores = ragged()
    weights = np.arange(len(labels)) % 3.0 + (queries.repeat(np.arange(queries.n_queries)) % 2 == 0)
    weighted, plain = (bind_loss(surrogate, labels, queries, weights=w) for w in (weights, None))
    # The gradient of each document's own term, times its weight.
    expected = np.zeros(len(labels))
    for document, weight in enumerate(weights):
        alone = np.where(np.arange(len(labels)) == document, plain.targets, 0.0)
        expected += weight * surrogate.gradient_hessian(scores, alone, queries)[0]
    np.testing.assert_allclose(
        weighted.gradient_hessian(scores)[0] / weighted.scale, expected, rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        weighted.targets * weighted.weights, plain.targets * weights, rtol=1e-12
    )


@pytest.mark.parametrize("library", ["1", "0"])
@every
@for_each("bad", [np.nan, np.inf])
def test_scores_that_are_not_finite_are_errors_that_name_document_and_query(
    monkeypatch, library, surrogate, bad
):
    monkeypatch.setenv("BOOSTRANK_COMPILED", library)
    monkeypatch.setattr("boostrank.kernels.library.COMPILED_BLOCK_ROWS", 4)
    labels, _, scores = ragged()
    queries = Queries.from_qid(np.repeat(["a", "b", "c", "d", "e"], SIZES))
    scores[9] = bad
    with pytest.raises(FloatingPointError, match=r"document 9 of query 'd'.* not finite"):
        bind_loss(surrogate, labels, queries).gradient_hessian(scores)


@pytest.mark.parametrize("surrogate", ["logistic", "centered-logistic"])
def test_targets_outside_the_bounds_are_errors(surrogate):
    with pytest.raises(ValueError, match=r"needs targets in \[0, 1\].* reach from 0 to 3"):
        bind_loss(surrogate, [2, 0, 1], Queries.from_sizes([3]), normalize="none")
    with pytest.raises(ValueError, match="discount that starts at 1"):
        bind_loss(surrogate, [2, 0], Queries.from_sizes([2]), DCG(discount=("exponential", 2.0)))
    bind_loss(surrogate, [1, 0, 1], Queries.from_sizes([3]), normalize="none")
    # The ratio of a gain to itself is 1.
    for label in (0.3, 49.0):
        labels = [label, 0, label, 0]
        queries = Queries.from_sizes([1, 1, 2])
        targets = bind_loss(surrogate, labels, queries, DCG(gain="linear")).targets
        assert targets.tolist() == pytest.approx([1.0, 0.0, 1.0, 0.0])


@every
@for_each("normalize", NORMALIZATIONS)
def test_data_without_any_relevance_and_lone_documents_stay_finite(surrogate, normalize):
    _, queries, scores = ragged()
    objective = bind_loss(surrogate, np.zeros(15), queries, normalize=normalize)
    of_lone_documents = bind_loss(surrogate, [1, 2, 3], Queries.from_sizes([1, 1, 1]))
    assert math.isfinite(objective.offset)
    assert math.isfinite(objective.scale)
    for one, start in (
        (objective, np.zeros(15)),
        (objective, scores),
        (of_lone_documents, np.zeros(3)),
    ):
        assert np.isfinite([*one.gradient_hessian(start)]).all()
        assert np.isfinite(surrogate.loss(start + one.offset, one.targets, one.queries)).all()


@for_each("surrogate", ["consistent-lambdarank", "softmax"])
@for_each("shift", [1e4, 1e8, -1e8, 1e300, -3e37])
def test_large_scores_with_small_differences_keep_them(surrogate, shift):
    labels, queries, scores = ragged()
    # Differences of 1 / 64 are exact in float64 for all shifts up to 1e8, and lost in float32 from
    # 2e6 on.
    differences = np.round(scores * 64) * (1 / 64 if abs(shift) < 1e30 else 0.0)
    objective = bind_loss(surrogate, labels, queries)
    ours, expected = (
        objective.gradient_hessian(differences + shift),
        objective.gradient_hessian(differences),
    )
    np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("surrogate", ["consistent-lambdarank", "softmax"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_scores_that_are_not_finite_are_errors_in_the_same_round(surrogate, bad, kind):
    boost = bind_loss(surrogate, [0.0, 2.0, 1.0], Queries.from_sizes([1, 2])).boosting_function()
    boost(np.zeros(3, kind))
    with pytest.raises(
        FloatingPointError, match="document 2 of query '1'; its scores are not finite"
    ):
        boost(np.array([0.0, 1.0, bad], kind))


def test_all_rounds_write_to_the_same_arrays():
    boost = bind_loss("softmax", [0.0, 2.0, 1.0], Queries.from_sizes([1, 2])).boosting_function()
    first = [values.ctypes.data for values in boost(np.zeros(3))]
    assert [values.ctypes.data for values in boost(np.ones(3))] == first


def test_unknown_names_are_errors():
    for make in (br.lightgbm_objective, br.xgboost_objective):
        with pytest.raises(
            ValueError, match=r"unknown objective 'softmx' \(did you mean 'softmax'"
        ):
            make("softmx")


@pytest.mark.parametrize("loss", ["squared", "softmax"])
def test_the_scale_does_not_depend_on_documents_of_weight_0(loss):
    labels, queries = [0.0, 2.0, 1.0, 1.0, 0.0, 3.0], Queries.from_sizes([3, 3])
    bound = bind_loss(loss, labels, queries, weights=np.array([2.0, 0.0]))
    hessian = bound.gradient_hessian(np.zeros(6))[1]
    # The mean over the documents that count is 1.
    assert bound.n_weighted() == 3
    assert hessian[:3].mean() == pytest.approx(1.0)
    assert hessian[3:].tolist() == [0.0] * 3
