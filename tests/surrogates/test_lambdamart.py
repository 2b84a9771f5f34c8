"""The gradient of LambdaMART, held to LightGBM's trainings, and what follows from it."""

import itertools
import math

import lightgbm
import numpy as np
import pytest

import boostrank as br
from boostrank.queries.queries import Queries
from boostrank.surrogates import LambdaMART
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
