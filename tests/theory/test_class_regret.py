"""Distributions of queries whose documents share scores, and what losses lose there."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

import boostrank as br
from boostrank.queries.segments import Segments
from boostrank.theory.expected_losses import ExpectedLoss
from boostrank.theory.minimizers import minimize_numerically
from boostrank.theory.query_distributions import QueryBatch

#: One scorer ranks all queries perfectly: kind 1, then kind 0, then kind 2.
PERFECT = br.theory.QueryDistribution(
    [[0, 1], [1, 2], [0, 2]], [[1, 2], [4, 3], [2, 0]], [0.2, 0.4, 0.4]
)
#: Queries of several sizes, one with two documents of a kind.
REPEATED = br.theory.QueryDistribution(
    [[0, 1, 1], [2, 0], [1, 2, 0, 2]], [[3, 0, 1], [1, 0], [4, 2, 0, 1]], [0.5, 0.2, 0.3]
)


def expected(distribution, per_query):
    """The sum over the queries of their probability times a function of their kinds and labels."""
    queries = zip(distribution.probabilities, distribution.kinds, distribution.labels, strict=True)
    return sum(
        p * per_query(list(kinds), np.array(labels, dtype=float)) for p, kinds, labels in queries
    )


def expected_ndcg(distribution, scores):
    return expected(
        distribution,
        lambda kinds, labels: br.ndcg_score(labels, scores[kinds], [0] * len(kinds), empty="zero"),
    )


def expected_loss(surrogate, distribution, scores):
    def of_query(kinds, labels):
        queries = Segments.from_sizes([len(kinds)])
        return surrogate.loss(scores[kinds], br.make_targets(labels, queries), queries)[0]

    return expected(distribution, of_query)


def largest_ndcg(distribution):
    """The largest expected NDCG over all scores of the kinds that are whole numbers below the
    number of kinds."""
    n = distribution.n_kinds
    return max(
        expected_ndcg(distribution, np.array(scores))
        for scores in itertools.product(range(n), repeat=n)
    )


@pytest.mark.parametrize("distribution", [PERFECT, REPEATED])
@pytest.mark.parametrize("loss", ["softmax", "pairwise-logistic", "poisson"])
def test_minimizer_and_regret_are_those_of_another_optimizer(distribution, loss):
    surrogate = br.surrogates.get_surrogate(loss)
    oracle = minimize(lambda s: expected_loss(surrogate, distribution, s), np.zeros(3), tol=1e-12).x
    oracle -= oracle.mean() * surrogate.shift_invariant
    scores = br.theory.minimizer(loss, distribution)
    np.testing.assert_allclose(scores, oracle, atol=1e-4)
    regret = largest_ndcg(distribution) - expected_ndcg(distribution, oracle)
    assert distribution.ndcg_regret(scores) == pytest.approx(regret, abs=1e-12)


def test_best_scores_are_the_best_of_all_and_may_tie():
    for distribution in (PERFECT, REPEATED):
        assert distribution.expected_ndcg(distribution.best_scores()) == pytest.approx(
            largest_ndcg(distribution)
        )
    tie = br.theory.QueryDistribution(
        [[0.0, 0.0, 1.0], [0, 1, 1]], [[1, 4, 0], [2, 3, 4]], [0.5, 0.5]
    )
    assert tie.best_scores().tolist() == [0, 0]
    assert tie.expected_ndcg([0, 0]) > 0.001 + max(
        tie.expected_ndcg([0, 1]), tie.expected_ndcg([1, 0])
    )


def test_a_query_with_a_score_for_each_document_has_the_minimizer_of_its_labels():
    labels, probabilities = [[3, 4, 0], [3, 0, 1]], [0.6, 0.4]
    shared = br.theory.QueryDistribution([[0, 1, 2]] * 2, labels, probabilities)
    alone = br.theory.LabelDistribution(labels, probabilities)
    for loss in ("softmax", "consistent-lambdarank"):
        np.testing.assert_allclose(
            br.theory.minimizer(loss, shared), br.theory.minimizer(loss, alone), atol=1e-6
        )
    assert shared.ndcg_regret([0, 1, 2]) == pytest.approx(alone.ndcg_regret([0, 1, 2]))


def test_distributions_of_a_batch_are_solved_as_each_alone():
    drawn = [
        PERFECT,
        REPEATED,
        *(br.theory.QueryDistribution.random(3, 4, random_state=seed) for seed in (0, 1, 3)),
    ]
    batch = QueryBatch.of(drawn)
    solution = minimize_numerically(br.surrogates.get_surrogate("softmax"), batch.targets())
    for i, distribution in enumerate(drawn):
        np.testing.assert_allclose(
            solution.scores[i], br.theory.minimizer("softmax", distribution), atol=1e-8
        )
        part = batch.take(np.array([i]))
        np.testing.assert_array_equal(part.values, np.concatenate(distribution.labels))
        np.testing.assert_array_equal(part.best_scores()[0], distribution.best_scores())


def test_division_by_distance_is_what_decides_where_scores_are_shared():
    # The consistent losses differ by a factor of nine. LambdaMART, which is not consistent, has
    # little regret.
    undivided = br.surrogates.ConsistentLambdaRank(divide_by_distance=False)
    losses = [
        "softmax",
        undivided,
        "consistent-lambdarank",
        br.surrogates.LambdaMART(normalize=False),
    ]
    softmax, undivided, divided, lambdamart = (
        br.theory.class_regrets(loss, n_distributions=20) for loss in losses
    )
    means = [losses.regrets.mean() for losses in (softmax, undivided, divided, lambdamart)]
    assert min(means[:2]) > 8 * max(means[2:])
    of_each = map(
        br.theory.QueryDistribution.ndcg_regret, softmax.distributions, softmax.minimizers
    )
    np.testing.assert_allclose(list(of_each), softmax.regrets, atol=1e-12)


@pytest.mark.parametrize(
    "loss", [br.surrogates.ConsistentLambdaRank, lambda: br.surrogates.LambdaMART(normalize=False)]
)
def test_two_kinds_near_a_tie_move_in_the_direction_of_the_larger_ndcg(loss):
    # The theorem of the page theory/class_regret, with the distance of the scores plus 0.01 in
    # place of the distance.
    for seed in range(20):
        distribution = br.theory.QueryDistribution.random(4, 10, random_state=seed)
        scores = np.array([3.0, 1.0 + 1e-6, 1.0, -2.0])
        field = -ExpectedLoss(loss(), QueryBatch.of([distribution]).targets()).gradient(
            scores[None]
        )[0]
        change = distribution.expected_ndcg(scores) - distribution.expected_ndcg(
            scores[[0, 2, 1, 3]]
        )
        assert 0.01 * (field[1] - field[2]) == pytest.approx(change, abs=0.01)


def test_realizable_problems_have_a_perfect_scorer():
    for seed in range(20):
        distribution = br.theory.QueryDistribution.random(realizable=True, random_state=seed)
        # Queries without a relevant document have NDCG 0.
        relevant = sum(
            p
            for p, labels in zip(distribution.probabilities, distribution.labels, strict=True)
            if any(labels)
        )
        assert distribution.expected_ndcg(np.arange(distribution.n_kinds)) == pytest.approx(
            relevant
        )


@pytest.mark.parametrize(
    ("kinds", "labels", "probabilities", "message"),
    [
        (
            [[0, 1]],
            [[1]],
            [1.0],
            r"labels must be one for each of the documents in kinds; got \[1\] for \[2\]",
        ),
        ([], [], [], "labels must be one for each"),
        ([[0, 0.5]], [[1, 2]], [1.0], "kinds must be whole numbers from 0 to 5"),
        ([[0, 6]], [[1, 2]], [1.0], "kinds must be whole numbers from 0 to 5"),
        ([[0, 1]], [[1, -2]], [1.0], "labels"),
        ([[0, 1]], [[1, 2]], [0.9], r"probabilities must be one per query \(1\)"),
        ([[0, 1]], [[1, 2]], [np.nan], r"probabilities must be one per query \(1\)"),
    ],
)
def test_invalid_distributions(kinds, labels, probabilities, message):
    with pytest.raises(ValueError, match=message):
        br.theory.QueryDistribution(kinds, labels, probabilities)


@pytest.mark.parametrize(
    "settings", [{"n_kinds": 1}, {"n_kinds": 2.5}, {"n_queries": 0}, {"max_label": -1}]
)
def test_invalid_settings_of_random_distributions(settings):
    with pytest.raises(ValueError, match=f"{next(iter(settings))} must be an integer of at least"):
        br.theory.QueryDistribution.random(**settings)


def test_targets_outside_of_the_bounds_are_an_error():
    with pytest.raises(
        ValueError, match=r"Logistic\(\) needs targets in \[0, 1\].* reach from 0 to 15"
    ):
        br.theory.class_regrets("logistic", "none", n_distributions=5)
