"""Which measure tells two rankers apart: simulation against plain loops, the paper's claims, and numbers of queries."""

import tracemalloc

import numpy as np
import pytest
from scipy import stats

import boostrank as br
from boostrank import theory
from boostrank.queries import Queries
from boostrank.theory import CurvePair, RankedData, ScoreCurve, cutoffs, ordering
from boostrank.theory.sample_size import differences_by_measure

LINEAR = CurvePair(ScoreCurve.binary(lambda s: 0.6 * s), ScoreCurve.binary(lambda s: 0.15 + 0.3 * s))
GRADED = CurvePair(
    ScoreCurve([0, 1, 3], lambda s: np.stack([1 - 0.6 * s, 0.4 * s, 0.2 * s], axis=1)),
    ScoreCurve([0, 1, 3], lambda s: np.stack([0.8 - 0.2 * s, 0.15 + 0.1 * s, 0.05 + 0.1 * s], axis=1)),
)


def rankers(n_queries=60, seed=0, rounded=False, noise=(0.05, 0.15)):
    X, y, qid, bayes = br.make_ranking(n_queries=n_queries, n_documents=(1, 30), random_state=seed, return_bayes=True)
    first, second = bayes + noise[0] * X[:, 8], bayes + noise[1] * X[:, 9]
    return (y, first.round(1), second.round(1), qid) if rounded else (y, first, second, qid)


# Measures over ragged queries.


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("gain", ["exp2", "linear"])
def test_differences_by_measure_are_those_of_dcg(rounded, gain):
    y, first, second, qid = rankers(rounded=rounded)
    y[qid == 3] = 0
    queries, chosen = Queries.from_qid(qid), cutoffs.measures(cutoffs.DISCOUNTS, [None, 1, 3, 0.2, ("power", 0.5)])
    gains = br.DCG(gain=gain).gains(y)
    found = differences_by_measure(gains, first, second, queries, chosen)
    for measure, row in zip(chosen, found, strict=True):
        expected = np.empty(queries.n_queries)
        for i, rows in enumerate(np.split(np.arange(len(y)), queries.indptr[1:-1])):
            k = int(np.ceil(len(rows) ** 0.5)) if measure.k == ("power", 0.5) else measure.k
            dcg, one = br.DCG(k, gain, measure.discount), Queries.from_sizes([len(rows)])
            values = [dcg.ndcg(gains[rows], scores[rows], one)[0] for scores in (first, second)]
            expected[i] = values[0] - values[1]
        np.testing.assert_allclose(row, expected, atol=1e-12)
    assert np.isnan(found[:, 3]).all()


def test_measures_need_different_names_and_known_settings():
    with pytest.raises(ValueError, match="different names"):
        cutoffs.measures([lambda r: 1 / r, lambda r: 1 / r**2], [None])
    named = cutoffs.measures({"a": lambda r: 1 / r, "b": "zipf"}, [None, 5, 5])
    assert [measure[2:] for measure in named] == [("a", "n"), ("a", "5"), ("b", "n"), ("b", "5")]
    with pytest.raises(ValueError, match="list of discounts"):
        cutoffs.measures(("power", 0.5), [None])
    with pytest.raises(ValueError, match="discount must be"):
        cutoffs.measures(["log3"], [None])
    with pytest.raises(ValueError, match="at least one cutoff"):
        cutoffs.measures("log2", [])
    with pytest.raises(ValueError, match="at least one discount"):
        cutoffs.measures([], [None])


# Populations.


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
    # Of a Gaussian copula.
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
    assert CurvePair.estimate([0, 1, 0, 1], np.zeros(4), [1, 2, 3, 4]).correlation == 0


def test_the_estimated_correlation_is_that_within_labels():
    sharp = ScoreCurve.binary(lambda s: (s > 0.7) * 1.0, breaks=[0.7])
    lists = CurvePair(sharp, sharp).draw(1, 20_000, np.random.default_rng(3))
    first, second = lists.first.ravel(), lists.second.ravel()
    assert stats.spearmanr(first, second).statistic > 0.5
    assert CurvePair.estimate(lists.relevance.ravel(), first, second).correlation == pytest.approx(0.0, abs=0.03)


def test_rankers_of_one_population_share_labels_and_their_shares():
    with pytest.raises(ValueError, match="same shares; got"):
        CurvePair(ScoreCurve.binary(lambda s: s), ScoreCurve.binary(lambda s: 0.9 * s))
    with pytest.raises(ValueError, match="same labels"):
        CurvePair(LINEAR.first, GRADED.first)
    with pytest.raises(ValueError, match="correlation"):
        CurvePair(LINEAR.first, LINEAR.second, 1.1)
    with pytest.raises(ValueError, match="scores_b has 1 values for the 2 documents"):
        RankedData([0, 1], [1, 2], [1])


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


# Order of two rankers, on one list of each length.


def test_the_table_is_that_of_a_plain_loop():
    lengths, n_lists, ks = [3, 9, 20], 25, [None, 2, ("power", 0.5)]
    table = theory.distinguishability(GRADED, lengths, ks=ks, n_lists=n_lists, random_state=5)
    lists = GRADED.draw(n_lists, 20, np.random.default_rng(5))
    rows = table.set_index(["discount", "k", "n"])
    for measure in cutoffs.measures(cutoffs.DISCOUNTS, ks):
        orders = {}
        for n in reversed(lengths):
            k = int(np.ceil(n**0.5)) if measure.k == ("power", 0.5) else measure.k
            differences = [
                np.subtract(*(br.ndcg_score(y[:n], s[:n], k=k, discount=measure.discount) for s in (one, other)))
                for y, one, other in zip(*lists, strict=True)
            ]
            row, order = rows.loc[(*measure[2:], n)], np.sign(np.round(differences, 12))
            orders[n] = order
            first, second = (order > 0).mean(), (order < 0).mean()
            assert row["difference"] == pytest.approx(np.mean(differences), abs=1e-12)
            assert row["sd"] == pytest.approx(np.std(differences, ddof=1))
            assert (row["first_wins"], row["second_wins"], row["correct"]) == (first, second, first)
            assert row["agreement"] == pytest.approx(first**2 + second**2)
            same = np.mean([len(set(seen)) == 1 and seen[0] != 0 for seen in zip(*orders.values(), strict=True)])
            assert np.isnan(row["settled"]) if n == 20 else row["settled"] == pytest.approx(same)
            assert row["queries"] == theory.required_queries(row["difference"] / row["sd"])


def test_feasible_discounts_settle_the_order_and_too_fast_ones_do_not():
    table = theory.distinguishability(LINEAR, [100, 10_000], n_lists=120, random_state=1)
    at = table.set_index(["discount", "k", "n"])["correct"]
    for discount in ("log2", "rank^-0.5"):
        for k in ("n", "0.2 n"):
            assert at[discount, k, 10_000] > 0.98
    for k in ("n", "10", "0.2 n", "n^0.5"):
        few, many = at["2^-rank", k, 100], at["2^-rank", k, 10_000]
        assert many < 0.8
        assert abs(many - few) < 0.15
    # A constant cutoff is no better for a slow discount.
    assert at["log2", "10", 10_000] < 0.9


def test_the_boundary_settles_orders_of_rankers_that_differ_at_the_top_and_no_others():
    # Beyond the paper: the difference is log n times more than its noise, so wrong orders are exp(-c log(n)^2).
    apart = CurvePair(ScoreCurve.binary(lambda s: 0.2 + 0.6 * s), ScoreCurve.binary(lambda s: 0.35 + 0.3 * s))
    alike = CurvePair(ScoreCurve.binary(lambda s: 0.3 + 0.4 * s), ScoreCurve.binary(lambda s: 0.7 - 1.2 * s * (1 - s)))
    n, settings = np.array([50, 500, 5_000]), {"discounts": ["zipf"], "ks": [None], "n_lists": 400}
    first, second = (theory.distinguishability(pair, n, **settings) for pair in (apart, alike))
    in_noise = first["difference"] / first["sd"] / np.log(n)
    np.testing.assert_allclose(in_noise, in_noise.mean(), rtol=0.15)
    assert first["correct"].iloc[2] > 0.87
    np.testing.assert_array_less(second["correct"], 0.7)
    assert second["correct"].iloc[2] < second["correct"].iloc[0]


def equal_limits(beta, size=0.4):
    """Curves 1/2 +- q(1 - s) with a quadratic q of mean 0 and of no correlation with (1 - s)^-beta."""
    moments = np.array([[1 / (1 - beta), 1 / (2 - beta), 1 / (3 - beta)], [1.0, 0.5, 1 / 3]])
    q = np.cross(*moments)
    q *= size / np.abs(np.polynomial.polynomial.polyval(np.linspace(0, 1, 1_001), q)).max() * np.sign(q[0])
    return CurvePair(
        ScoreCurve.binary(lambda s: 0.5 + np.polynomial.polynomial.polyval(1 - s, q)),
        ScoreCurve.binary(lambda s: 0.5 - np.polynomial.polynomial.polyval(1 - s, q)),
    )


def test_equal_limits_are_not_told_apart_against_the_second_condition_of_theorem_8():
    beta = 0.8
    pair = equal_limits(beta)
    limits = [theory.ndcg_limit(curve, discount=("power", beta)).value for curve in (pair.first, pair.second)]
    assert limits[0] == pytest.approx(limits[1], abs=1e-9)
    # Lipschitz curves (alpha = 1 > 3 (1 - beta)) that differ at s = 1: the theorem promises a consistent order.
    assert abs(np.subtract(*(curve.expected_gain([1.0])[0] for curve in (pair.first, pair.second)))) > 0.05
    settings = {"ks": [None], "n_lists": 300, "random_state": 3}
    table = theory.distinguishability(pair, [100, 10_000], discounts=[("power", beta), "log2"], **settings)
    at = table.set_index(["discount", "n"])
    for n in (100, 10_000):
        assert 0.5 < at.loc[("rank^-0.8", n), "second_wins"] < 0.75
    # The noise shrinks no faster than the difference.
    ratio = (at["difference"] / at["sd"])["rank^-0.8"]
    assert abs(ratio[10_000]) < 1.3 * abs(ratio[100])
    # Standard NDCG orders them, as Theorem 6 says.
    assert at.loc[("log2", 10_000), "correct"] > 0.98


def test_data_are_resampled_by_query_and_document():
    y, first, second, qid = rankers(n_queries=200, seed=4)
    data = RankedData(y, first, second, qid)
    assert data.order() == 1
    assert RankedData(y, second, first, qid).order() == -1
    table = theory.distinguishability(data, [5, 50], discounts=["log2"], ks=[None], n_lists=400)
    # Many of the short lists are ties.
    assert (table["correct"] > table["second_wins"]).all()
    assert table["correct"].iloc[1] > 0.6 > table["correct"].iloc[0]
    other = theory.distinguishability(data, [5, 50], discounts=["log2"], ks=[None], n_lists=400, better="second")
    np.testing.assert_allclose(other["correct"], table["second_wins"])
    same = theory.distinguishability(RankedData(y, first, first, qid), [5, 10], n_lists=50)
    # A tie at the end is no order that could have settled.
    assert (same["settled"].dropna() == 0).all()
    assert (same["difference"] == 0).all()
    assert same["correct"].isna().all()
    assert np.isinf(same["queries"]).all()


def test_blocks_bound_memory_and_report_progress(monkeypatch):
    monkeypatch.setattr(ordering, "DOCUMENTS", 50_000)
    seen = []
    tracemalloc.start()
    theory.distinguishability(LINEAR, [5_000], ks=[None], n_lists=200, progress=lambda *done: seen.append(done))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6
    assert seen[0] == (10, 200)
    assert seen[-1] == (200, 200)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": [0]}, "n must be lengths"),
        ({"n": []}, "n must be lengths"),
        ({"n_lists": 1}, "n_lists must be"),
        ({"better": "both"}, "better must be"),
        ({"power": 0.01}, "level < power"),
    ],
)
def test_invalid_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        theory.distinguishability(LINEAR, **settings)


# Number of queries.


@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("level", [0.01, 0.05])
def test_required_queries_are_those_of_the_noncentral_t_distribution(power, level):
    for effect in (0.03, 0.1, 0.3, 0.7, 1.2):
        found = int(theory.required_queries(effect, power=power, level=level))

        def reached(n, effect=effect):
            quantile = stats.t.ppf(1 - level / 2, n - 1)
            return stats.nct.sf(quantile, n - 1, effect * np.sqrt(n)) >= power

        assert reached(found + 1)
        assert not reached(found - 2) if found > 4 else True


def test_required_queries_at_the_ends():
    assert theory.required_queries([0.0, np.inf, -np.inf]).tolist() == [np.inf, 2.0, 2.0]
    with pytest.raises(ValueError, match="level < power"):
        theory.required_queries(0.1, level=0.0)


def test_with_the_queries_needed_power_is_about_eighty_percent():
    y, first, second, qid = rankers(n_queries=3_000, seed=6, noise=(0.05, 0.08))
    settings = {"discounts": ["log2", ("exponential", 2)], "ks": [None, 3]}
    table = theory.queries_needed(y, first, second, qid, n_resamples=10, **settings)
    random = np.random.default_rng(0)
    for row in table.itertuples():
        discount = "log2" if row.discount == "log2" else ("exponential", 2)
        scores = [
            br.ndcg_score(y, s, qid, k=3 if row.k == "3" else None, discount=discount, per_query=True)
            for s in (first, second)
        ]
        differences = scores[0] - scores[1]
        n_tests = 3_000
        drawn = random.choice(differences, size=(n_tests, int(row.queries)))
        found = (stats.ttest_1samp(drawn, 0.0, axis=1).pvalue < 0.05).mean()
        # Monte Carlo error 0.007, and differences are not normal.
        assert found == pytest.approx(0.8, abs=0.03)


def test_queries_needed_are_from_mean_and_spread_over_queries_and_sorted():
    y, first, second, qid = rankers(seed=7)
    order = np.random.default_rng(0).permutation(len(y))
    table = theory.queries_needed(y[order], first[order], second[order], qid[order], ks=[None, 5, 0.5])
    assert table["queries"].is_monotonic_increasing
    assert len(table) == 12
    row = table[(table["discount"] == "zipf") & (table["k"] == "5")].iloc[0]
    values = [br.ndcg_score(y, s, qid, k=5, discount="zipf", per_query=True) for s in (first, second)]
    differences = values[0] - values[1]
    assert row["difference"] == pytest.approx(differences.mean())
    assert row["sd"] == pytest.approx(differences.std(ddof=1))
    assert row["effect"] == pytest.approx(br.effect_size(*values))
    assert row["queries"] == np.ceil(7.8489 / row["effect"] ** 2 + 1.9207)
    assert (table["low"] <= table["queries"]).all()
    assert (table["queries"] <= table["high"]).all()


def test_the_interval_of_the_number_covers_the_truth_and_is_infinite_for_a_difference_that_is_not_shown():
    y, first, second, qid = rankers(n_queries=4_000, seed=8)
    settings = {"discounts": "log2", "ks": [None], "n_resamples": 400}
    truth = theory.queries_needed(y, first, second, qid, **settings)["queries"].iloc[0]
    covered = []
    for part in range(40):
        rows = (qid >= 100 * part) & (qid < 100 * (part + 1))
        found = theory.queries_needed(y[rows], first[rows], second[rows], qid[rows], **settings).iloc[0]
        covered.append(found["low"] <= truth <= found["high"])
    assert np.mean(covered) >= 0.85
    noise = np.random.default_rng(0).standard_normal((2, len(y)))
    assert np.isinf(theory.queries_needed(y, *noise, qid, **settings)["high"].iloc[0])


def test_the_interval_is_that_of_a_plain_bootstrap():
    y, first, second, qid = rankers(n_queries=9, seed=10, noise=(0.0, 0.3))
    settings = {"discounts": "log2", "ks": [None], "n_resamples": 20_000}
    found = theory.queries_needed(y, first, second, qid, **settings).iloc[0]
    values = [br.ndcg_score(y, scores, qid, per_query=True) for scores in (first, second)]
    drawn = np.random.default_rng(1).choice(values[0] - values[1], size=(20_000, 9))
    effects = drawn.mean(axis=1) / np.maximum(drawn.std(axis=1, ddof=1), 1e-12)
    low, high = np.quantile(effects, [0.025, 0.975])
    assert found["high"] == pytest.approx(theory.required_queries(low), rel=0.06)
    assert found["low"] == pytest.approx(theory.required_queries(high), abs=1)


def test_empty_queries_are_among_those_needed_unless_skipped():
    y, first, second, qid = rankers(seed=9)
    y[qid < 20] = 0
    counted, skipped = (
        theory.queries_needed(y, first, second, qid, discounts="log2", ks=[None], empty=empty).iloc[0]
        for empty in ("zero", "skip")
    )
    assert counted["queries"] > 1.2 * skipped["queries"]
    with pytest.raises(ValueError, match="no relevant document"):
        theory.queries_needed(y, first, second, qid, empty="raise")
    with pytest.raises(ValueError, match="at least two"):
        theory.queries_needed(y[qid < 21], first[qid < 21], second[qid < 21], qid[qid < 21], empty="skip")
    with pytest.raises(ValueError, match="scores_a has"):
        theory.queries_needed(y, first[1:], second, qid)


def test_curves_foretell_the_queries_needed_for_lists_of_another_length():
    pair = CurvePair(GRADED.first, GRADED.second, 0.5)
    random = np.random.default_rng(2)
    long = pair.draw(100, 1_000, random)
    estimated = CurvePair.estimate(*(values.ravel() for values in long), np.repeat(np.arange(100), 1_000))
    settings = {"discounts": ["log2", ("exponential", 2)], "ks": [None]}
    foretold = theory.distinguishability(estimated, [20], n_lists=6_000, **settings).set_index("discount")["queries"]
    short = (values.ravel() for values in pair.draw(6_000, 20, random))
    seen = theory.queries_needed(*short, np.repeat(np.arange(6_000), 20), n_resamples=10, **settings)
    for name, queries in seen.set_index("discount")["queries"].items():
        assert foretold[name] == pytest.approx(queries, rel=0.25)
