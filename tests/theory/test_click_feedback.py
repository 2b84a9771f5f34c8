"""Losses of clicks: unbiased gradients, expected targets, negative targets, and the cost of the unknown normalizer."""

import numpy as np
import pytest
from cases import for_each
from clicks.enumeration import binary_vectors, cascade_clicks, independent_clicks, normalized

from boostrank.clicks import Cascade, ClickLog, PositionBased, TrustBias, session_targets
from boostrank.queries.dcg import DCG
from boostrank.queries.segments import Segments
from boostrank.surrogates import SURROGATES, get_surrogate
from boostrank.theory import (
    ClickFeedback,
    LabelDistribution,
    check_consistency,
)
from boostrank.theory.consistency.distributions import DistributionBatch

P = [0.9, 0.6, 0.3, 0.2]
TRUST = TrustBias(P, 0.9, [0.4, 0.3, 0.1, 0.05])
MODELS = [PositionBased(P), TRUST, Cascade(0.6, 0.9)]
DISTRIBUTIONS = [LabelDistribution.random(2 + seed % 3, 3, max_label=1, random_state=seed) for seed in range(6)]
AFFINE = [name for name in SURROGATES if name != "centered-logistic"]


def is_affine(name):
    """Whether the gradient of a surrogate is affine in the targets, at 20 random scores and targets in [0, 1/5]."""
    chosen, random, queries = get_surrogate(name), np.random.default_rng(0), Segments.from_sizes([5])
    for _ in range(20):
        scores, weight = random.normal(size=5), random.random()
        first, second = 0.2 * random.random((2, 5))
        mixed = weight * first + (1.0 - weight) * second
        gradients = [chosen.gradient_hessian(scores, targets, queries)[0] for targets in (first, second, mixed)]
        error = np.abs(weight * gradients[0] + (1.0 - weight) * gradients[1] - gradients[2]).max()
        if error > 1e-9 * np.abs(gradients[2]).max():
            return False
    return True


def clicks_given(model, relevant):
    """All click vectors and their probabilities, by the oracles."""
    if isinstance(model, Cascade):
        return list(cascade_clicks(relevant, model.satisfaction, model.continuation))
    a, b = model.affine(len(relevant))
    return list(independent_clicks(a * relevant + b))


def corrected(model, clicks):
    if isinstance(model, Cascade):
        go = np.where(clicks > 0, model.continuation * (1 - model.satisfaction), model.continuation)
        return clicks / np.concatenate([[1.0], np.cumprod(go)[:-1]])
    a, b = model.affine(len(clicks))
    return (clicks - b) / a


@pytest.mark.parametrize("model", MODELS)
def test_click_distributions(model):
    for distribution in DISTRIBUTIONS:
        expected = {}
        for relevant, probability in zip(distribution.labels, distribution.probabilities, strict=True):
            for clicks, weight in clicks_given(model, relevant):
                key = tuple(clicks.astype(int).tolist())
                expected[key] = expected.get(key, 0.0) + probability * weight
        found = ClickFeedback(model).clicks(DistributionBatch.of([distribution]))[0]
        for clicks, probability in zip(found.labels.astype(int).tolist(), found.probabilities, strict=True):
            assert probability == pytest.approx(expected.get(tuple(clicks), 0.0), abs=1e-12)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("k", [None, 2])
def test_expected_targets(model, k):
    for distribution in DISTRIBUTIONS:
        gamma = distribution.probabilities @ distribution.labels
        u = distribution.bayes_scores(DCG(k))
        naive = sum(
            p * w * normalized(c, k)
            for r, p in zip(distribution.labels, distribution.probabilities, strict=True)
            for c, w in clicks_given(model, r)
        )
        for feedback, expected in (
            (ClickFeedback(model), gamma),
            (ClickFeedback(model, normalize="sessions"), u),
            (ClickFeedback(model, correct=False, normalize="dcg"), naive),
        ):
            np.testing.assert_allclose(feedback.expected_targets(distribution, DCG(k)), expected, atol=1e-10)


@pytest.mark.parametrize("normalize", ["sum", "l2", "dcg"])
def test_normalizing_by_the_clicks_of_a_session_is_biased(normalize):
    distribution = DISTRIBUTIONS[2]
    expected = 0.0
    for r, p in zip(distribution.labels, distribution.probabilities, strict=True):
        for c, w in clicks_given(MODELS[0], r):
            t = corrected(MODELS[0], c)
            if t.any():
                best = np.sort(t)[::-1] @ (1 / np.log2(np.arange(2, len(t) + 2)))
                expected = expected + p * w * t / {"sum": t.sum(), "l2": np.linalg.norm(t), "dcg": best}[normalize]
    found = ClickFeedback(MODELS[0], normalize=normalize).expected_targets(distribution)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_which_surrogates_are_affine_in_the_targets():
    assert [name for name in SURROGATES if is_affine(name)] == AFFINE


@for_each("name", [name for name in AFFINE if name not in ("logistic",)])
@for_each("model", [MODELS[0], MODELS[2]])
def test_the_expected_gradient_is_that_of_the_true_relevance(name, model):
    """Over all sessions, the gradient with corrected clicks is the one with the probabilities of relevance."""
    surrogate, scores = get_surrogate(name), np.array([0.3, -0.5, 0.2, 1.0])
    queries = Segments.from_sizes([4])
    for relevant in binary_vectors(4):
        mean = sum(
            w * surrogate.gradient_hessian(scores, corrected(model, c), queries)[0]
            for c, w in clicks_given(model, relevant)
        )
        expected = surrogate.gradient_hessian(scores, relevant.astype(float), queries)[0]
        np.testing.assert_allclose(mean, expected, atol=1e-9)


@pytest.mark.slow
def test_search_finds_the_error_of_naive_clicks_and_none_of_unbiased_targets():
    for name, normalize in (("squared", "dcg"), ("pairwise-logistic", "none")):
        report = check_consistency(name, ClickFeedback(correct=False, normalize=normalize), n_distributions=30)
        assert not report.consistent
        assert report.regret > 0.05
        assert not report.declared
    for name, model in (("squared", "position-based"), ("softmax", "trust-bias"), ("softmax", Cascade(0.5))):
        feedback = ClickFeedback(model, normalize="sessions")
        report = check_consistency(name, feedback, n_distributions=30)
        assert report.consistent
        assert report.declared


@pytest.mark.slow
def test_search_finds_that_unnormalized_targets_are_not_consistent_with_ndcg():
    report = check_consistency("softmax", ClickFeedback(normalize="none"), n_distributions=50)
    assert report.regret > 0.05
    assert "with targets ClickFeedback(PositionBased(" in repr(report)
    gamma = report.counterexample.probabilities @ report.counterexample.labels
    # Its minimizer is optimal for DCG: it sorts like the probabilities of relevance.
    better, worse = np.argmax(gamma), np.argmin(gamma)
    assert report.minimizer[better] >= report.minimizer[worse]
    only_first = check_consistency("softmax", ClickFeedback(normalize="none"), DCG(k=1), n_distributions=50)
    assert only_first.consistent


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ClickFeedback(correct=False, normalize="sessions"), "needs correct=True"),
        (lambda: ClickFeedback("cascade"), "no unbiased correction of single sessions, because every click ends"),
        (lambda: ClickFeedback(TRUST, normalize="dcg").expected_targets(DISTRIBUTIONS[0]), "may be negative"),
        (lambda: ClickFeedback().expected_targets(LabelDistribution([[2, 1]], [1.0])), "needs labels 0 and 1"),
        (lambda: check_consistency("softmax", ClickFeedback(TrustBias([0.9] * 5, 0.9, [0.4] * 5))), "needs targets in"),
    ],
)
def test_invalid_settings_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def session_target_variance(propensities, dcg, n_documents):
    """Variance of the target of the first relevant document, and its part with a known normalizer: formula 5 of
    `boostrank.clicks.targets`, for the propensities of all relevant documents."""
    p, n = np.asarray(propensities), len(propensities)
    h = 1 / np.cumsum(dcg.discounts_of_ranks(Segments.from_sizes([n_documents])))[:n]
    symmetric = np.poly(-(1 / p[1:] - 1)) if n > 1 else np.ones(1)
    differences = np.array([np.diff(h, order)[-1] for order in range(n)])
    return (symmetric * differences**2).sum() / p[0] - h[-1] ** 2, h[-1] ** 2 * (1 / p[0] - 1)


@pytest.mark.parametrize("k", [None, 2])
def test_variance_of_session_targets(k):
    p, random = np.array([0.9, 0.5, 0.35, 0.2]), np.random.default_rng(0)
    for relevant in binary_vectors(4):
        if not relevant.any():
            continue
        mean = square = 0.0
        for clicks, weight in independent_clicks(p * relevant):
            log = ClickLog([1] * 4, range(4), range(1, 5), clicks, session=[0] * 4)
            target = session_targets(log, p, dcg=DCG(k))
            mean, square = mean + weight * target, square + weight * target**2
        for i in np.flatnonzero(relevant):
            others = [p[j] for j in random.permutation(np.flatnonzero(relevant)) if j != i]
            total, known_normalizer = session_target_variance([p[i], *others], DCG(k), 4)
            assert total == pytest.approx((square - mean**2)[i], rel=1e-9)
            assert known_normalizer == pytest.approx(normalized(relevant, k)[i] ** 2 * (1 / p[i] - 1))
