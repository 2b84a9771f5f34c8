"""The gradient of LambdaMART, held to the trainings of both libraries, and what follows from it."""

import lightgbm
import numpy as np
import pytest
import xgboost
from scipy.optimize import minimize

import boostrank as br
from boostrank.queries.queries import Queries
from boostrank.surrogates import LambdaMART
from boostrank.theory import LabelDistribution, minimizer

VARIANTS = [LambdaMART(), LambdaMART(normalize=False), LambdaMART(None, divide_by_distance=False)]


@pytest.mark.parametrize(
    ("settings", "is_divided", "has_factor"),
    [
        ({"objective": "lambdarank"}, True, True),
        ({"objective": "lambdarank", "lambdarank_norm": False}, False, False),
        ({"objective": "rank:ndcg"}, True, True),
        ({"objective": "rank:ndcg", "lambdarank_normalization": False}, True, False),
        ({"objective": "rank:ndcg", "lambdarank_score_normalization": False}, False, True),
    ],
)
def test_the_first_tree_of_the_libraries_is_a_newton_step(settings, is_divided, has_factor):
    """With a leaf for each document, its values are ``-gradient / (Hessian + 1)``; XGBoost's
    Hessian is twice ours."""
    random, n, m = np.random.default_rng(1), 40, 4
    labels, scores = random.integers(0, 5, n * m), np.tile(np.round(random.normal(size=m), 2), n)
    X, qid = np.tile(np.arange(m, dtype=float)[:, None], (n, 1)), np.repeat(np.arange(n), m)
    settings = settings | {"lambda": 1, "learning_rate": 1, "nthread": 1}
    if settings["objective"] == "lambdarank":
        data, hessians = lightgbm.Dataset(X, labels, group=[m] * n, init_score=scores), 1
        leaves = {
            "min_data_in_leaf": 1,
            "min_data_in_bin": 1,
            "min_sum_hessian_in_leaf": 0,
            "verbosity": -1,
        }
        step = lightgbm.train(settings | leaves, data, 1).predict(X[:m])
    else:
        data, hessians = xgboost.DMatrix(X, labels, qid=qid, base_margin=scores), 2
        booster = xgboost.train(settings | {"min_child_weight": 0, "base_score": 0}, data, 1)
        step = booster.predict(xgboost.DMatrix(X[:m]))
    queries, surrogate = Queries.from_sizes([m] * n), LambdaMART(None, is_divided, has_factor)
    derivatives = surrogate.gradient_hessian(scores, br.make_targets(labels, queries), queries)
    gradient, hessian = (values.reshape(n, m).sum(axis=0) for values in derivatives)
    np.testing.assert_allclose(step, -gradient / (hessians * hessian + 1), rtol=2e-3, atol=1e-6)


def trained(ranker, usual, other, percent):
    """Scores of the documents after training on 100 queries, of which `percent` have the usual
    labels."""
    m, qid = len(usual), np.repeat(np.arange(100), len(usual))
    rows = np.where(np.arange(100)[:, None] < percent, usual, other).ravel()
    return (
        ranker.set_params(n_jobs=1).fit(np.tile(np.eye(m), (100, 1)), rows, qid).predict(np.eye(m))
    )


def distribution(usual, other, percent):
    return LabelDistribution([usual, other], [percent / 100, 1 - percent / 100])


def ranks_wrongly(ranker, *data):
    return (
        np.argsort(trained(ranker, *data)) != np.argsort(distribution(*data).bayes_scores())
    ).any()


def test_the_limit_of_boosting_is_the_zero_of_the_expected_gradient():
    data = (3, 4), (3, 0), 62
    wrong, scores = (
        minimizer(LambdaMART(), distribution(*data)),
        trained(br.LightGBMRanker("lambdarank"), *data),
    )
    np.testing.assert_allclose(scores - scores.mean(), wrong, atol=2e-3)
    assert wrong[0] < wrong[1]
    for surrogate in ("consistent-lambdarank", *VARIANTS[1:]):
        right = minimizer(surrogate, distribution(*data))
        assert right[0] > right[1]


LAMBDARANK, NDCG = br.LightGBMRanker("lambdarank"), br.XGBoostRanker("rank:ndcg", learning_rate=0.3)
REPAIRS = {
    "norm": br.LightGBMRanker("lambdarank", lambdarank_norm=False),
    "normalization": br.XGBoostRanker("rank:ndcg", lambdarank_normalization=False),
    "mean": br.XGBoostRanker("rank:ndcg", lambdarank_pair_method="mean"),
}


@pytest.mark.parametrize(
    ("ranker", "wrong"),
    [
        (LAMBDARANK, range(61, 71)),
        (br.LightGBMRanker("lambdarank", learning_rate=0.01, n_estimators=1000), range(58, 71)),
        (NDCG, range(62, 71)),
        (br.XGBoostRanker("rank:ndcg", learning_rate=0.1), range(60, 71)),
        (br.XGBoostRanker("rank:pairwise"), range(51, 71)),
        (br.LightGBMRanker("rank_xendcg"), [71]),
        *((ranker, []) for ranker in REPAIRS.values()),
    ],
)
def test_percentages_at_which_the_example_of_readme_is_ranked_wrongly(ranker, wrong):
    # Both sides of each end, and every fourth one between 51 and 80.
    ends = {end + side for end in (*wrong[:1], *wrong[-1:]) for side in (-1, 0, 1)}
    tried = sorted({*range(51, 81, 4), *ends} - {50})
    assert [percent for percent in tried if ranks_wrongly(ranker, (3, 4), (3, 0), percent)] == [
        percent for percent in tried if percent in wrong
    ]


def pushes(x, share, distance):
    """Push on the score of document A less that of B, and the Hessian of one, by the formulas of
    the libraries."""
    wins, weight = 1 / (1 + np.exp(-x)), (1 - 1 / np.log2(3)) / distance
    sums = 2 * weight * (1 - wins), 2 * weight * 8 / (15 + 7 / np.log2(3)) * wins
    for_a, for_b = (1 - share) * np.log2(1 + sums[0]), share * np.log2(1 + sums[1])
    return for_a - for_b, (for_a * wins + for_b * (1 - wins)) / 2


@pytest.mark.parametrize(
    ("hessians", "rate", "first"), [(1, 0.1, 61), (1, 0.01, 58), (2, 0.3, 62), (2, 0.1, 60)]
)
def test_formulas_of_the_libraries_explain_these_percentages(hessians, rate, first):
    """Newton steps from equal scores, whose weights are not divided: the page theory/lambdamart of
    the guide."""
    x, share = np.zeros(30), np.arange(51, 81) / 100
    for _ in range(round(10 / rate)):
        push, hessian = pushes(x, share, np.where(x == 0, 1.0, 0.01 + np.abs(x)))
        x += rate * push / (hessians * hessian)
    assert (51 + np.flatnonzero((x > 0) != (share < 0.708))).tolist() == list(range(first, 71))


def test_the_shares_at_which_the_push_is_zero():
    def share_at_zero(x, distance):
        for_a, for_b = pushes(x, 0, distance)[0], -pushes(x, 1, distance)[0]
        return for_a / (for_a + for_b)

    x = np.linspace(0.0, 5.0, 5001)
    assert share_at_zero(x, 0.01 + x).max() == pytest.approx(0.619, abs=5e-4)
    at_ties = [share_at_zero(0.0, distance) for distance in (1.0, 0.01, 1e-300)]
    np.testing.assert_allclose(at_ties, [0.689, 0.566, 0.5], atol=5e-4)


@pytest.mark.parametrize(
    ("usual", "other", "percent", "wrong"),
    [((2, 1, 1), (0, 3, 2), 38, {"norm", "mean"}), ((0, 1, 3, 5), (2, 2, 1, 0), 18, {*REPAIRS})],
)
def test_what_repairs_the_example_of_readme_ranks_others_wrongly(usual, other, percent, wrong):
    assert {
        name for name, ranker in REPAIRS.items() if ranks_wrongly(ranker, usual, other, percent)
    } == wrong
    assert not any(ranks_wrongly(ranker, usual, other, percent) for ranker in (LAMBDARANK, NDCG))


def test_undivided_weights_may_have_no_right_zero():
    """While scores sort like the targets, the weights are constants, and the field is that of a
    convex function."""
    queries, labels = Queries.from_sizes([3]), distribution((2, 1, 1), (0, 3, 2), 38)
    best, targets = labels.bayes_scores(), [br.make_targets(row, queries) for row in labels.labels]
    fixed = LambdaMART(None, False, normalize=False).at(best, queries)
    losses = (
        (lambda s: labels.probabilities @ [fixed.loss(s, u, queries)[0] for u in targets]),
        np.zeros(3),
    )
    scores = minimize(*losses, tol=1e-9).x
    np.testing.assert_allclose(scores - scores.mean(), [-0.102, 1.062, -0.959], atol=1e-3)
    assert (np.argsort(scores) != np.argsort(best)).any()
