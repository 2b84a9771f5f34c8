"""Measures of real labels: SciPy's correlations list by list, spreads by definition, and errors."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
from cases import for_each
from scipy import stats

import boostrank as br

NAMES = ["spearman", "kendall", "ic", "ic_ir", "spread@0.3"]


@pytest.fixture(scope="module")
def lists():
    """Real labels, scores and query ids: lists of 1 to 12 rows, not grouped, many of them tied."""
    random = np.random.default_rng(0)
    qid = np.repeat(np.arange(60), random.integers(1, 13, 60))
    qid = random.permutation(qid)
    labels = random.normal(size=len(qid)).round(1)
    scores = random.normal(size=len(qid)).round(1)
    scores[qid % 7 == 0] = 0.5
    labels[qid % 11 == 0] = -0.25
    return labels, scores, qid


def by_list(labels, scores, qid, function):
    """A function of labels and scores for each list; 0 for equal scores, NaN for equal labels."""
    values = []
    for one in pd.unique(qid):
        y, s = labels[qid == one], scores[qid == one]
        undefined = np.nan if np.ptp(y) == 0 else 0.0
        values.append(undefined if np.ptp(y) == 0 or np.ptp(s) == 0 else function(y, s))
    return np.array(values)


ORACLES = {
    "spearman": lambda y, s: stats.spearmanr(y, s).statistic,
    "kendall": lambda y, s: stats.kendalltau(y, s, variant="b").statistic,
    "ic": lambda y, s: stats.pearsonr(y, s).statistic,
    "ic_ir": lambda y, s: stats.pearsonr(y, s).statistic,
    "ic_ir(ranks=True)": lambda y, s: stats.spearmanr(y, s).statistic,
}


@for_each("name", ORACLES)
def test_values_of_lists_are_those_of_scipy(lists, name):
    expected = by_list(*lists, ORACLES[name])
    assert np.isnan(expected).any()
    assert (expected == 0).any()
    np.testing.assert_allclose(br.get_measure(name)(*lists, per_query=True), expected, atol=1e-12)


@for_each("name", ["spearman", "kendall", "ic"])
def test_the_mean_leaves_out_lists_of_equal_labels(lists, name):
    values = by_list(*lists, ORACLES[name])
    assert br.evaluate(*lists, name)[name] == pytest.approx(np.nanmean(values), abs=1e-13)
    zero = br.get_measure(name, empty="zero")(*lists)
    assert zero == pytest.approx(np.nan_to_num(values).mean(), abs=1e-13)
    with pytest.raises(ValueError, match="has fewer than two different labels"):
        br.get_measure(name, empty="raise")(*lists)


def test_ic_ir_is_the_mean_by_the_standard_deviation(lists):
    values = pd.Series(by_list(*lists, ORACLES["ic"]))
    ratio = values.mean() / values.std()
    assert br.evaluate(*lists, "ic_ir")["ic_ir"] == pytest.approx(ratio, abs=1e-12)
    table = br.evaluate(*lists, ["ic_ir", "ic"], by=np.arange(60) % 2).set_index(
        ["group", "metric"]
    )
    of_group = values[0::2].mean() / values[0::2].std()
    assert table.loc[(0, "ic_ir"), "mean"] == pytest.approx(of_group, abs=1e-12)
    assert table.loc[("all queries", "ic_ir"), "mean"] == pytest.approx(ratio, abs=1e-12)
    assert table["low"].isna().tolist() == [name == "ic_ir" for _, name in table.index]


def test_integer_weights_of_ic_ir_repeat_lists_up_to_the_divisor(lists):
    labels, scores, qid = lists
    values = by_list(*lists, ORACLES["ic"])
    weights = np.random.default_rng(1).integers(1, 4, 60)
    counted = ~np.isnan(values)
    repeated = np.repeat(values[counted], weights[counted])
    n = counted.sum()
    expected = repeated.mean() / np.sqrt(repeated.var() * n / (n - 1))
    found = br.get_measure("ic_ir")(labels, scores, qid, sample_weight=weights)
    assert found == pytest.approx(expected, abs=1e-12)


def test_ic_ir_needs_two_lists_and_is_0_without_any_correlation():
    with pytest.raises(ValueError, match=r"at least two queries.*got 1"):
        br.evaluate([0.1, -0.1, 0.5], [1, 2, 3], [0, 0, 0], "ic_ir")
    assert br.evaluate([1, -1, 1, -1], [0, 0, 0, 0], [0, 0, 1, 1], "ic_ir") == {"ic_ir": 0.0}
    table = br.evaluate([1, -1, 1, -1], [0, 1, 0, 0], [0, 0, 1, 1], "ic_ir", by=[0, 1])
    assert table["mean"].isna().tolist() == [True, True, False]


def spread_by_definition(y, s, k):
    """The label at each rank is the mean of those that are tied there."""
    n = len(y)
    at_end = k if isinstance(k, int) else int(np.ceil(k * n - 1e-9))
    at_end = max(1, min(at_end, n // 2))
    by_rank = pd.Series(y).groupby(s).transform("mean").to_numpy()[np.argsort(-s)]
    return by_rank[:at_end].mean() - by_rank[-at_end:].mean()


@for_each("k", [1, 3, 0.1, 0.5])
def test_spread_equals_its_definition(lists, k):
    expected = by_list(*lists, lambda y, s: spread_by_definition(y, s, k))
    found = br.get_measure(f"spread@{k}")(*lists, per_query=True)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert str(br.get_measure("spread")) == "spread@0.1"
    with pytest.raises(ValueError, match="k must be an integer of at least 1"):
        br.get_measure("spread", k=None)


@for_each("scale", [1e-200, 1e200])
@for_each("name", ["spearman", "kendall", "ic"])
def test_tiny_and_huge_labels_and_scores_are_no_ties(lists, name, scale):
    labels, scores, qid = lists
    expected = br.get_measure(name)(*lists, per_query=True)
    found = br.get_measure(name)(labels * scale, scores * scale, qid, per_query=True)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_negative_labels_are_refused_only_where_they_have_no_meaning():
    labels, scores, qid = [0.2, -0.1, 0.3], [1, 2, 3], [7, 7, 7]
    assert len(br.evaluate(labels, scores, qid, [*NAMES[:3], "ndcg(gain=rank)@2"])) == 4
    with pytest.raises(ValueError, match=r"y_true\[1\] = -0.1 is negative.*gain='rank'"):
        br.evaluate(labels, scores, qid, ["spearman", "ndcg@10"])


def test_measures_work_where_others_do():
    X, y, qid = br.make_ranking(n_queries=40, random_state=0)
    returns = y - 1.5 + 0.1 * X[:, 0]
    ranker = br.LightGBMRanker(n_estimators=20, learning_rate=0.1, gain="rank", random_state=0)
    ranker.fit(X, returns, qid, eval_set=[(X, returns, qid)], eval_metric=NAMES)
    scores = ranker.predict(X)
    expected = br.evaluate(returns, scores, qid, NAMES)
    assert ranker.best_score_["training"] == pytest.approx(expected, abs=1e-6)
    assert expected["spearman"] > 0.5
    scorer = br.make_scorer("spearman")
    assert scorer(ranker, X, returns, qid) == expected["spearman"]
    result = br.cross_validate(ranker, X, returns, qid, cv=3, scoring=NAMES)
    assert set(result) > {f"test_{name}" for name in NAMES}
    groups = np.unique(qid, return_counts=True)[1]
    native = lightgbm.train(
        {"objective": br.lightgbm_objective(gain="rank"), "metric": "None", "verbosity": -1},
        lightgbm.Dataset(X, returns, group=groups),
        num_boost_round=10,
    )
    metric = br.lightgbm_metric("spearman")(
        native.predict(X), lightgbm.Dataset(X, returns, group=groups).construct()
    )
    assert metric[1] > 0.5


def test_compare_takes_means_over_lists_only():
    data = br.make_ranking(n_queries=20, random_state=0)
    rankers = {
        name: br.LightGBMRanker(n_estimators=2, num_leaves=n) for name, n in (("a", 3), ("b", 4))
    }
    means = br.compare(rankers, *data, cv=2, measures=["spearman", "spread@0.2"])
    assert list(dict.fromkeys(means.table["metric"])) == ["spearman", "spread@0.2"]
    with pytest.raises(ValueError, match="'ic_ir' is no mean"):
        br.compare(rankers, *data, cv=2, measures=["ic_ir"])
