"""Distinguishability of two rankers by discount and cutoff: against plain loops, and the claims of the paper."""

import tracemalloc

import numpy as np
import pytest
from oracles import one_query
from scipy import stats

import boostrank as br
from boostrank import theory
from boostrank.core import discounts
from boostrank.significance import queries_needed, required_queries
from boostrank.theory import CurvePair, RankedData, ScoreCurve

LINEAR = CurvePair(ScoreCurve.binary(lambda s: 0.6 * s), ScoreCurve.binary(lambda s: 0.15 + 0.3 * s))
GRADED = CurvePair(
    ScoreCurve([0, 1, 3], lambda s: np.stack([1 - 0.6 * s, 0.4 * s, 0.2 * s], axis=1)),
    ScoreCurve([0, 1, 3], lambda s: np.stack([0.8 - 0.2 * s, 0.15 + 0.1 * s, 0.05 + 0.1 * s], axis=1)),
)


def rankers(n_queries=60, seed=0, rounded=False, noise=(0.05, 0.15)):
    X, y, qid, bayes = br.make_ranking(n_queries=n_queries, n_documents=(1, 30), random_state=seed, return_bayes=True)
    first, second = bayes + noise[0] * X[:, 8], bayes + noise[1] * X[:, 9]
    return (y, first.round(1), second.round(1), qid) if rounded else (y, first, second, qid)


# Populations of lists.


@pytest.mark.parametrize("correlation", [0.0, 0.7, -0.5])
def test_drawn_lists_have_both_curves_and_the_correlation(correlation):
    pair = CurvePair(GRADED.first, GRADED.second, correlation)
    lists = pair.draw(50, 2_000, np.random.default_rng(0))
    labels = lists.relevance.ravel()
    for curve, scores in ((pair.first, lists.first.ravel()), (pair.second, lists.second.ravel())):
        assert stats.kstest(scores, "uniform").pvalue > 1e-3
        part = np.minimum((scores * 10).astype(int), 9)
        for label, expected in zip(curve.labels, curve.at((np.arange(10) + 0.5) / 10).T, strict=True):
            found = np.bincount(part, labels == label) / np.bincount(part)
            np.testing.assert_allclose(found, expected, atol=0.025)
    zeros = labels == 0
    found = stats.spearmanr(lists.first.ravel()[zeros], lists.second.ravel()[zeros]).statistic
    # The rank correlation of a Gaussian copula.
    assert found == pytest.approx(6 / np.pi * np.arcsin(correlation / 2), abs=0.015)


def test_estimated_pairs_recover_curves_and_correlation():
    pair = CurvePair(GRADED.first, GRADED.second, 0.6)
    lists = pair.draw(100, 500, np.random.default_rng(1))
    qid = np.repeat(np.arange(100), 500)
    found = CurvePair.estimate(lists.relevance.ravel(), lists.first.ravel(), lists.second.ravel(), qid)
    assert found.correlation == pytest.approx(0.6, abs=0.03)
    s = np.linspace(0.05, 0.95, 19)
    for curve, truth in ((found.first, pair.first), (found.second, pair.second)):
        assert np.abs(curve.at(s) - truth.at(s)).max() < 0.05
    assert CurvePair.estimate([0, 1, 0, 1], np.zeros(4), [1, 2, 3, 4], np.zeros(4)).correlation == 0


def test_the_estimated_correlation_is_that_within_labels():
    sharp = ScoreCurve.binary(lambda s: (s > 0.7) * 1.0, breaks=[0.7])
    lists = CurvePair(sharp, sharp).draw(1, 20_000, np.random.default_rng(3))
    first, second = lists.first.ravel(), lists.second.ravel()
    assert stats.spearmanr(first, second).statistic > 0.5
    estimated = CurvePair.estimate(lists.relevance.ravel(), first, second, np.zeros(20_000))
    assert estimated.correlation == pytest.approx(0.0, abs=0.03)


def test_rankers_of_one_population_share_labels_and_their_shares():
    with pytest.raises(ValueError, match="same shares of labels; got the shares"):
        CurvePair(ScoreCurve.binary(lambda s: s), ScoreCurve.binary(lambda s: 0.9 * s))
    with pytest.raises(ValueError, match="correlation"):
        CurvePair(LINEAR.first, LINEAR.second, 1.1)
    with pytest.raises(ValueError, match="scores_b has 1 values for the 2 rows"):
        RankedData([0, 1], [1, 2], [1], [0, 0])


def test_resampled_lists_take_documents_of_one_query():
    y, first, second, qid = rankers(seed=2)
    order = np.random.default_rng(0).permutation(len(y))
    data = RankedData(y[order], first[order], second[order], qid[order])
    lists = data.draw(300, 40, np.random.default_rng(1))
    rows = {(b, c): (a, q) for a, b, c, q in zip(y, first, second, qid, strict=True)}
    for labels, one, other in zip(*lists, strict=True):
        found = [rows[pair] for pair in zip(one, other, strict=True)]
        assert len({query for _, query in found}) == 1
        assert [label for label, _ in found] == labels.tolist()
    assert len({labels.tobytes() for labels in lists.first}) > 50


# The order of two rankers by their NDCG on lists of each length.


@pytest.mark.slow
def test_the_table_is_that_of_a_plain_loop():
    lengths, n_lists, ks = [3, 9, 20], 8, [None, 2, ("power", 0.5)]
    table = theory.distinguishability(GRADED, lengths, ks=ks, n_lists=n_lists, random_state=5)
    lists = GRADED.draw(n_lists, 20, np.random.default_rng(5))
    rows = table.set_index(["discount", "k", "n"])
    for each in discounts.discounted_cutoffs(discounts.DISCOUNTS, ks):
        orders = {}
        for n in reversed(lengths):
            k = int(np.ceil(n**0.5)) if each.k == ("power", 0.5) else each.k
            settings = {"k": k, "discount": each.discount}
            differences = [
                np.subtract(*(br.ndcg_score(y[:n], s[:n], one_query(y[:n]), **settings) for s in (one, other)))
                for y, one, other in zip(*lists, strict=True)
            ]
            row, order = rows.loc[(*each[2:], n)], np.sign(np.round(differences, 12))
            orders[n] = order
            first, second = (order > 0).mean(), (order < 0).mean()
            assert row["difference"] == pytest.approx(np.mean(differences), abs=1e-12)
            assert row["sd"] == pytest.approx(np.std(differences, ddof=1))
            assert (row["first_wins"], row["second_wins"], row["correct"]) == (first, second, first)
            assert row["agreement"] == pytest.approx(first**2 + second**2)
            same = np.mean([len(set(seen)) == 1 and seen[0] != 0 for seen in zip(*orders.values(), strict=True)])
            assert np.isnan(row["settled"]) if n == 20 else row["settled"] == pytest.approx(same)
            assert row["queries"] == required_queries(row["difference"] / row["sd"])


def test_feasible_discounts_settle_the_order_and_too_fast_ones_do_not():
    table = theory.distinguishability(LINEAR, [100, 10_000], n_lists=60, random_state=1)
    at = table.set_index(["discount", "k", "n"])["correct"]
    for discount in ("log2", "rank^-0.5"):
        for k in ("n", "0.2 n"):
            assert at[discount, k, 10_000] > 0.98
    for k in ("n", "10", "0.2 n", "n^0.5"):
        few, many = at["2^-rank", k, 100], at["2^-rank", k, 10_000]
        assert many < 0.8
        assert abs(many - few) < 0.15
    # A constant cutoff does not distinguish them, even if the discount is slow.
    assert at["log2", "10", 10_000] < 0.9


def test_data_are_resampled_by_query_and_document():
    y, first, second, qid = rankers(n_queries=200, seed=4)
    data = RankedData(y, first, second, qid)
    assert data.better_ranker() == 1
    assert RankedData(y, second, first, qid).better_ranker() == -1
    table = theory.distinguishability(data, [5, 50], discounts=["log2"], ks=[None], n_lists=400)
    # Many of the short lists are ties.
    assert (table["correct"] > table["second_wins"]).all()
    assert table["correct"].iloc[1] > 0.6 > table["correct"].iloc[0]
    same = theory.distinguishability(RankedData(y, first, first, qid), [5, 10], n_lists=50)
    # Where the longest lists tie, there is no final order, so no order counts as settled.
    assert (same["settled"].dropna() == 0).all()
    assert (same["difference"] == 0).all()
    assert same["correct"].isna().all()
    assert np.isinf(same["queries"]).all()


def test_blocks_bound_memory_and_report_progress(monkeypatch):
    monkeypatch.setattr("boostrank.theory.long_lists.distinguishability.MAX_DOCUMENTS_AT_ONCE", 10_000)
    seen = []
    tracemalloc.start()
    theory.distinguishability(LINEAR, [2_000], ks=[None], n_lists=100, progress=lambda *done: seen.append(done))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # All lists at once take 12 MB.
    assert peak < 4e6
    assert seen[0] == (5, 100)
    assert seen[-1] == (100, 100)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": [0]}, "n must be lengths"),
        ({"n_lists": 1}, "n_lists must be"),
        ({"power": 0.01}, "power must be a finite number above"),
    ],
)
def test_invalid_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        theory.distinguishability(LINEAR, **settings)


def test_curves_predict_the_queries_needed_for_lists_of_another_length():
    pair = CurvePair(GRADED.first, GRADED.second, 0.5)
    random = np.random.default_rng(2)
    long = pair.draw(100, 1_000, random)
    estimated = CurvePair.estimate(*(values.ravel() for values in long), np.repeat(np.arange(100), 1_000))
    settings = {"discounts": ["log2", ("exponential", 2)], "ks": [None]}
    foretold = theory.distinguishability(estimated, [20], n_lists=3_000, **settings).set_index("discount")["queries"]
    short = (values.ravel() for values in pair.draw(3_000, 20, random))
    seen = queries_needed(*short, np.repeat(np.arange(3_000), 20), n_resamples=10, **settings)
    for name, queries in seen.set_index("discount")["queries"].items():
        assert foretold[name] == pytest.approx(queries, rel=0.25)
