"""Power analysis: numbers of queries against the noncentral t distribution, plain loops and simulation."""

import numpy as np
import pytest
from scipy import stats

import boostrank as br
from boostrank.queries.dcg import DCG
from boostrank.queries.discounts import DISCOUNTS, discounted_cutoffs
from boostrank.queries.queries import Queries
from boostrank.significance import effect_size, queries_needed, required_queries
from boostrank.significance.power import ndcg_differences


def rankers(n_queries=60, seed=0, rounded=False, noise=(0.05, 0.15)):
    X, y, qid, bayes = br.make_ranking(n_queries=n_queries, n_documents=(1, 30), random_state=seed, return_bayes=True)
    first, second = bayes + noise[0] * X[:, 8], bayes + noise[1] * X[:, 9]
    return (y, first.round(1), second.round(1), qid) if rounded else (y, first, second, qid)


@pytest.mark.parametrize(("gain", "rounded"), [("exp2", False), ("linear", True)])
def test_ndcg_differences_are_those_of_dcg(rounded, gain):
    y, first, second, qid = rankers(n_queries=12, rounded=rounded)
    y[qid == 3] = 0
    queries, cutoffs = Queries.from_qid(qid), discounted_cutoffs(DISCOUNTS, [None, 1, 3, 0.2, ("power", 0.5)])
    gains = DCG(gain=gain).gains(y)
    found = ndcg_differences(gains, first, second, queries, cutoffs)
    for cutoff, row in zip(cutoffs, found, strict=True):
        expected = np.empty(queries.n_queries)
        for i, rows in enumerate(np.split(np.arange(len(y)), queries.indptr[1:-1])):
            k = int(np.ceil(len(rows) ** 0.5)) if cutoff.k == ("power", 0.5) else cutoff.k
            dcg, query = DCG(k, gain, cutoff.discount), Queries.from_sizes([len(rows)])
            values = [dcg.ndcg(gains[rows], scores[rows], query)[0] for scores in (first, second)]
            expected[i] = values[0] - values[1]
        np.testing.assert_allclose(row, expected, atol=1e-12)
    assert np.isnan(found[:, 3]).all()


@pytest.mark.parametrize(("power", "level"), [(0.5, 0.05), (0.8, 0.01), (0.95, 0.05)])
def test_required_queries_are_those_of_the_noncentral_t_distribution(power, level):
    for effect in (0.03, 0.1, 0.3, 0.7, 1.2):
        found = int(required_queries(effect, power=power, level=level))

        def reached(n, effect=effect):
            quantile = stats.t.ppf(1 - level / 2, n - 1)
            return stats.nct.sf(quantile, n - 1, effect * np.sqrt(n)) >= power

        assert reached(found + 1)
        assert not reached(found - 2)


def test_required_queries_at_the_ends():
    assert required_queries([0.0, np.inf, -np.inf]).tolist() == [np.inf, 2.0, 2.0]
    with pytest.raises(ValueError, match="level"):
        required_queries(0.1, level=0.0)
    with pytest.raises(ValueError, match=r"power must be a finite number above 0.05"):
        required_queries(0.1, power=0.01)


def test_queries_needed_are_from_mean_and_standard_deviation_over_queries_and_sorted():
    y, first, second, qid = rankers(seed=7)
    order = np.random.default_rng(0).permutation(len(y))
    table = queries_needed(y[order], first[order], second[order], qid[order], ks=[None, 5, 0.5])
    assert table["queries"].is_monotonic_increasing
    assert len(table) == 12
    row = table[(table["discount"] == "zipf") & (table["k"] == "5")].iloc[0]
    values = [br.ndcg_score(y, s, qid, k=5, discount="zipf", per_query=True) for s in (first, second)]
    differences = values[0] - values[1]
    assert row["difference"] == pytest.approx(differences.mean())
    assert row["sd"] == pytest.approx(differences.std(ddof=1))
    assert row["effect"] == pytest.approx(effect_size(*values))
    assert row["queries"] == np.ceil(7.8489 / row["effect"] ** 2 + 1.9207)
    assert (table["low"] <= table["queries"]).all()
    assert (table["queries"] <= table["high"]).all()


def test_the_interval_has_the_effects_that_the_noncentral_t_distribution_does_not_reject():
    y, first, second, qid = rankers(n_queries=12, seed=10, noise=(0.0, 0.3))
    settings = {"discounts": "log2", "ks": [None]}
    values = [br.ndcg_score(y, scores, qid, per_query=True) for scores in (first, second)]
    t = effect_size(*values) * np.sqrt(12)
    found = queries_needed(y, first, second, qid, **settings).iloc[0]
    for end, tail in (("low", stats.nct.cdf), ("high", stats.nct.sf)):
        few, more = (np.sqrt(12 * 7.8489 / (found[end] - 1.92 + side)) for side in (1.5, -1.5))
        assert (tail(t, 11, few) - 0.025) * (tail(t, 11, more) - 0.025) < 0
    # The sign of the difference does not matter.
    assert queries_needed(y, second, first, qid, **settings)[["low", "high"]].iloc[0].tolist() == [
        *found[["low", "high"]]
    ]
    # The interval of a difference that is not shown has no end.
    noise = np.random.default_rng(0).standard_normal((2, len(y)))
    assert np.isinf(queries_needed(y, *noise, qid, **settings)["high"].iloc[0])


def test_equal_differences_need_two_queries():
    y, qid = np.tile([1, 0], 9), np.repeat(np.arange(9), 2)
    row = queries_needed(y, y, -y, qid, discounts="log2", ks=[None]).iloc[0]
    assert row[["effect", "queries", "low", "high"]].tolist() == [np.inf, 2.0, 2.0, 2.0]


def test_empty_queries_are_among_those_needed():
    y, first, second, qid = rankers(seed=9)
    y[qid < 20] = 0
    settings = {"discounts": "log2", "ks": [None]}
    rest = qid >= 20
    without = queries_needed(y[rest], first[rest], second[rest], qid[rest], **settings).iloc[0]
    assert queries_needed(y, first, second, qid, **settings).iloc[0]["queries"] > 1.2 * without["queries"]
    with pytest.raises(ValueError, match="at least two"):
        queries_needed([1, 0], [1, 2], [2, 1], [7, 7])
    with pytest.raises(ValueError, match="scores_a has"):
        queries_needed(y, first[1:], second, qid)
