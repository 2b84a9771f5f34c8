"""The gradient of LambdaMART, held to LightGBM's trainings, and what follows from it."""

import itertools
import math

import lightgbm
import numpy as np
import pytest

import boostrank as br
from boostrank.queries.queries import Queries
from boostrank.surrogates import LambdaMART, check
from boostrank.theory import LabelDistribution, minimizer

VARIANTS = [LambdaMART(), LambdaMART(normalize=False), LambdaMART(None, divide_by_distance=False)]
#: Two documents, of which the second one is better in most queries, and the first one has the larger expected target.
DIVIDED = [([3, 4], [3, 0], 0.62), ([1, 2], [1, 0], 0.62)]


def by_definition(scores, labels, is_divided, has_factor):
    """Gradient and Hessian of one query without equal scores, pair by pair, as LightGBM's source code computes them."""
    gains, m = 2.0 ** np.asarray(labels) - 1.0, len(scores)
    discount = 1.0 / np.log2(2.0 + np.argsort(np.argsort(-np.asarray(scores))))
    ideal = sum(gain / math.log2(2 + rank) for rank, gain in enumerate(sorted(gains, reverse=True)))
    gradient, hessian, total = np.zeros(m), np.zeros(m), 0.0
    for i, j in itertools.permutations(range(m), 2):
        if labels[i] <= labels[j]:
            continue
        x = scores[i] - scores[j]
        delta = (gains[i] - gains[j]) * abs(discount[i] - discount[j]) / ideal / ((0.01 + abs(x)) if is_divided else 1)
        loses = 1.0 / (1.0 + math.exp(x))
        gradient[i] -= delta * loses
        gradient[j] += delta * loses
        hessian[[i, j]] += delta * loses * (1.0 - loses)
        total += 2.0 * delta * loses
    factor = math.log2(1.0 + total) / total if has_factor and total > 0 else 1.0
    return gradient * factor, hessian * factor


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("is_divided", "has_factor"), itertools.product([True, False], repeat=2))
def test_results_are_those_of_the_definition(seed, is_divided, has_factor):
    random = np.random.default_rng(seed)
    sizes = [5, 1, 2, 9]
    queries, scores = Queries.from_sizes(sizes), random.normal(size=sum(sizes))
    labels = random.integers(0, 5, sum(sizes))
    found = LambdaMART(None, is_divided, has_factor).gradient_hessian(scores, br.make_targets(labels, queries), queries)
    parts = np.split(np.arange(len(labels)), np.cumsum(sizes)[:-1])
    expected = [by_definition(scores[part], labels[part].tolist(), is_divided, has_factor) for part in parts]
    for values, of_queries in zip(found, zip(*expected, strict=True), strict=True):
        np.testing.assert_allclose(values, np.concatenate(of_queries), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("norm", [True, False])
def test_a_round_of_lightgbm_is_a_newton_step(norm):
    """With a leaf for each document, LightGBM's first tree has the values ``-gradient / Hessian``."""
    random = np.random.default_rng(1)
    n_queries, m = 40, 4
    labels, scores = random.integers(0, 5, (n_queries, m)), np.round(random.normal(size=m), 2)
    X = np.tile(np.arange(m, dtype=float)[:, None], (n_queries, 1))
    data = lightgbm.Dataset(X, labels.ravel(), group=[m] * n_queries, init_score=np.tile(scores, n_queries))
    parameters = {"objective": "lambdarank", "learning_rate": 1.0, "min_data_in_leaf": 1, "lambdarank_norm": norm}
    parameters |= {"min_data_in_bin": 1, "min_sum_hessian_in_leaf": 0, "verbosity": -1, "num_threads": 1}
    step = lightgbm.train(parameters, data, 1).predict(X[:m])
    queries = Queries.from_sizes([m] * n_queries)
    surrogate = LambdaMART(divide_by_distance=norm, normalize=norm)
    gradient, hessian = surrogate.gradient_hessian(
        np.tile(scores, n_queries), br.make_targets(labels.ravel(), queries), queries
    )
    sums = gradient.reshape(n_queries, m).sum(axis=0) / hessian.reshape(n_queries, m).sum(axis=0)
    np.testing.assert_allclose(step, -sums, rtol=2e-3, atol=1e-6)


@pytest.mark.parametrize("surrogate", VARIANTS, ids=repr)
def test_the_laws_of_surrogates_hold(surrogate):
    check(surrogate)


@pytest.mark.parametrize(("usual", "other", "probability"), DIVIDED)
def test_two_documents_whose_judges_disagree(usual, other, probability):
    labels = LabelDistribution([usual, other], [probability, 1 - probability])
    best = labels.bayes_scores()
    assert best[0] > best[1]
    wrong = minimizer(LambdaMART(), labels)
    assert wrong[0] < wrong[1]
    for surrogate in ("consistent-lambdarank", *VARIANTS[1:]):
        right = minimizer(surrogate, labels)
        assert right[0] > right[1]
    # The limit of boosting is the zero of the expected gradient.
    n = 1000
    rows = np.where(np.arange(n)[:, None] < probability * n, usual, other)
    X, qid = np.tile(np.eye(2), (n, 1)), np.repeat(np.arange(n), 2)
    ranker = br.LightGBMRanker("lambdarank", n_estimators=300, n_jobs=1).fit(X, rows.ravel(), qid)
    np.testing.assert_allclose(ranker.predict(np.eye(2)) - ranker.predict(np.eye(2)).mean(), wrong, atol=2e-3)


def test_at_a_tie_the_factor_replaces_the_mean_by_the_majority():
    """The push of a pair that is nearly tied, in several distributions in which majority and mean disagree or agree."""
    random = np.random.default_rng(0)
    disagree = 0
    for _ in range(200):
        labels = random.integers(0, 5, (5, 2))
        targets = np.concatenate([br.make_targets(row, Queries.from_sizes([2])) for row in labels]).reshape(-1, 2)
        gap = targets[:, 0] - targets[:, 1]
        majority, mean = np.sign(gap).sum(), gap.mean()
        queries, scores = Queries.from_sizes([2] * 5), np.tile([1e-9, 0.0], 5)

        def push(surrogate, targets=targets, scores=scores, queries=queries):
            return -surrogate.gradient_hessian(scores, targets.ravel(), queries)[0].reshape(-1, 2).sum(axis=0)[0]

        assert np.isclose(push(VARIANTS[1]), gap.sum() / 2 * (1 - 1 / math.log2(3)) / 0.01, rtol=1e-6)
        # The weight of a pair at a tie is limited by the 0.01: the logarithm of the pair's weight has a remainder.
        weight = (1 - 1 / math.log2(3)) / 0.01
        assert np.isclose(push(VARIANTS[0]), (np.sign(gap) * np.log2(1 + weight * np.abs(gap))).sum() / 2, rtol=1e-6)
        disagree += majority * mean < 0
    assert disagree > 0


def test_division_by_distance_keeps_the_order_of_scores_that_is_right():
    """Small steps along the field without the factor, from equal scores: the order is that of the expected targets."""
    random = np.random.default_rng(3)
    n_problems, n_outcomes, m = 60, 3, 4
    shape = (n_problems, n_outcomes, m)
    queries = Queries.from_sizes([m] * n_problems * n_outcomes)
    targets = br.make_targets(random.integers(0, 5, queries.n_documents), queries)
    weights = random.dirichlet(np.ones(n_outcomes), n_problems)[:, :, None]
    v = (weights * targets.reshape(shape)).sum(axis=1)
    differ = np.diff(np.sort(v)).min(axis=1) >= 0.02
    assert differ.sum() > 20
    wrong = {}
    for has_factor in (True, False):
        surrogate, s = LambdaMART(normalize=has_factor), np.zeros((n_problems, m))
        for _ in range(400):
            found = surrogate.gradient_hessian(np.repeat(s, n_outcomes, axis=0).ravel(), targets, queries)
            gradient, hessian = ((weights * each.reshape(shape)).sum(axis=1) for each in found)
            s = s - 0.05 * gradient / (hessian + 1e-3)
        wrong[has_factor] = (np.argsort(s) != np.argsort(v)).any(axis=1)[differ]
    assert not wrong[False].any()
    assert wrong[True].any()
