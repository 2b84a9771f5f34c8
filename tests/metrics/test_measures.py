"""The measures beside NDCG: each against its definition over every permutation of ties, and other implementations."""

import inspect
import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import one_query, orders_by
from scipy.stats import kendalltau
from sklearn.metrics import roc_auc_score

from boostrank import metrics
from boostrank.metrics import MEASURES, get_measure, make_scorer
from boostrank.queries import Queries

P = 0.7
FUNCTIONS = {
    **{name: getattr(metrics, f"{name}_score") for name in MEASURES if name not in ("map", "mrr")},
    "map": metrics.average_precision_score,
    "mrr": metrics.reciprocal_rank_score,
}


# Each takes the labels of the ranked documents, the number of ranks that count, and the threshold or largest grade.
def slow_precision(shown, depth, threshold):
    return sum(label >= threshold for label in shown[:depth]) / depth


def slow_recall(shown, depth, threshold):
    return sum(label >= threshold for label in shown[:depth]) / sum(label >= threshold for label in shown)


def slow_mean_precision(shown, depth, threshold):
    return sum(slow_precision(shown, r, threshold) for r in range(1, depth + 1)) / depth


def slow_rbp(shown, depth, threshold):
    return sum((1 - P) * P ** (r - 1) for r, label in enumerate(shown[:depth], 1) if label >= threshold)


def slow_map(shown, depth, threshold):
    found = [slow_precision(shown, r, threshold) for r, label in enumerate(shown[:depth], 1) if label >= threshold]
    return sum(found) / sum(label >= threshold for label in shown)


def slow_mrr(shown, depth, threshold):
    return next((1 / r for r, label in enumerate(shown[:depth], 1) if label >= threshold), 0.0)


def slow_err(shown, depth, largest):
    total, reading = 0.0, 1.0
    for r, label in enumerate(shown[:depth], 1):
        satisfied = (2**label - 1) / 2**largest
        total += reading * satisfied / r
        reading *= 1 - satisfied
    return total


SLOW = {
    "precision": slow_precision,
    "recall": slow_recall,
    "mean_precision": slow_mean_precision,
    "rbp": slow_rbp,
    "map": slow_map,
    "mrr": slow_mrr,
    "err": slow_err,
}
SETTINGS = {"rbp": {"p": P}}
RANKED = list(SLOW)
SKIPPING = ["auc", "kendall_tau", "agreement"]
BINARY = [name for name in SLOW if name != "err"]
CHOOSE = {"average": np.mean, "best": max, "worst": min, "stable": lambda values: values[0]}


def slow(name, y, scores, k, ties, cut):
    """A metric of one query, over every permutation of its ties; NaN where nothing is relevant."""
    if max(y) < (1 if name == "err" else cut):
        return math.nan
    depth = len(y) if k is None else k if isinstance(k, int) else math.ceil(k * len(y))
    values = [SLOW[name]([y[i] for i in order], depth, cut) for order in orders_by(scores)]
    return CHOOSE[ties](values)


def queries_of(qid, *rows):
    return [tuple(row[qid == query].tolist() for row in rows) for query in pd.unique(qid)]


@pytest.fixture(scope="module")
def ragged():
    """Shuffled queries of 1 to 6 documents, most with ties, some without relevance."""
    random = np.random.default_rng(0)
    qid = random.permutation(np.repeat(np.arange(40), random.integers(1, 7, 40)))
    y = random.integers(0, 4, len(qid)) * (random.random(len(qid)) < 0.6)
    return y, random.integers(0, 4, len(qid)) / 4.0, qid


@pytest.mark.parametrize("name", RANKED)
@pytest.mark.parametrize("ties", ["average", "stable", "best", "worst"])
@pytest.mark.parametrize("k", [None, 1, 3, 9, 0.5])
def test_each_query_equals_the_definition(ragged, name, k, ties):
    y, scores, qid = ragged
    for cut in (3, 5) if name == "err" else (1, 2):
        settings = {"max_grade": cut} if name == "err" else {"threshold": cut}
        settings |= SETTINGS.get(name, {})
        values = FUNCTIONS[name](y, scores, qid, k=k, ties=ties, empty="skip", per_query=True, **settings)
        expected = [slow(name, *query, k, ties, cut) for query in queries_of(qid, y, scores)]
        np.testing.assert_allclose(values, expected, atol=1e-13)


queries = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1)), min_size=1, max_size=6)


@pytest.mark.parametrize("name", ["map", "mrr", "err"])
@given(query=queries, k=st.sampled_from([None, 2, 4]))
def test_expectation_over_ties_of_any_query(name, query, k):
    y, scores = zip(*query, strict=True)
    cut = max(y) if name == "err" else 1
    expected = slow(name, y, scores, k, "average", cut)
    expected = 0.0 if math.isnan(expected) else expected
    assert FUNCTIONS[name](y, scores, one_query(y), k=k) == pytest.approx(expected, abs=1e-13)


@given(query=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30))
def test_pair_metrics_of_any_query(query):
    y, scores = zip(*query, strict=True)
    pairs = list(combinations(query, 2))
    balance = sum(np.sign(a[0] - b[0]) * np.sign(a[1] - b[1]) for a, b in pairs)
    norm = math.sqrt(sum(a[0] != b[0] for a, b in pairs)) * math.sqrt(sum(a[1] != b[1] for a, b in pairs))
    expected = balance / norm if norm else 1.0
    assert FUNCTIONS["kendall_tau"](y, scores, one_query(y), empty="one") == pytest.approx(expected, abs=1e-13)
    pairs = [(a[1], b[1]) for a in query for b in query if a[0] >= 3 > b[0]]
    expected = np.mean([(a > b) + (a == b) / 2 for a, b in pairs]) if pairs else 1.0
    assert FUNCTIONS["auc"](y, scores, one_query(y), threshold=3, empty="one") == pytest.approx(expected, abs=1e-13)


def test_pair_metrics_of_ragged_queries_equal_scipy_and_scikit_learn():
    random = np.random.default_rng(1)
    qid = random.integers(0, 50, 3000)
    y, scores = random.integers(0, 5, 3000), random.integers(0, 12, 3000)
    for labels in (y, random.random(3000), y * (qid % 3 == 0)):
        tau = FUNCTIONS["kendall_tau"](labels, scores, qid, per_query=True)
        auc = FUNCTIONS["auc"](labels, scores, qid, threshold=0.4, per_query=True)
        for value, area, (one_y, one_score) in zip(tau, auc, queries_of(qid, labels, scores), strict=True):
            if len(set(one_y)) == 1:
                assert np.isnan([value, area]).all()
            else:
                assert value == pytest.approx(kendalltau(one_y, one_score).statistic, abs=1e-12)
                assert area == pytest.approx(roc_auc_score(np.array(one_y) >= 0.4, one_score), abs=1e-12)


def test_values_equal_trec_eval():
    pytrec_eval = pytest.importorskip("pytrec_eval")
    random = np.random.default_rng(2)
    qid = random.integers(0, 60, 900).astype(str)
    y, scores = random.integers(-2, 3, 900).clip(0), random.permutation(900) / 8.0
    judged = {query: {} for query in pd.unique(qid)}
    run = {query: {} for query in judged}
    for document, (query, label, score) in enumerate(zip(qid, y, scores, strict=True)):
        judged[query][f"d{document}"] = int(label)
        run[query][f"d{document}"] = float(score)
    names = {"P_5": ("precision", 5), "P_30": ("precision", 30), "recall_5": ("recall", 5), "map": ("map", None)}
    names |= {"map_cut_5": ("map", 5), "recip_rank": ("mrr", None)}
    for level in (1, 2):
        seen = pytrec_eval.RelevanceEvaluator(judged, set(names), relevance_level=level).evaluate(run)
        for theirs, (name, k) in names.items():
            values = FUNCTIONS[name](y, scores, qid, k=k, threshold=level, per_query=True)
            np.testing.assert_allclose(values, [seen[query][theirs] for query in judged], atol=1e-12)


def test_graded_rank_biased_precision(ragged):
    y, scores, qid = ragged
    table = [0.0, 0.25, 0.5, 1.0]
    for ties in ("average", "best"):
        values = FUNCTIONS["rbp"](y, scores, qid, p=0.5, k=3, gain=table, ties=ties, per_query=True)
        for value, (labels, by) in zip(values, queries_of(qid, y, scores), strict=True):
            orders = [sum(table[labels[i]] / 2**r for r, i in enumerate(o[:3], 1)) for o in orders_by(by)]
            assert value == pytest.approx(CHOOSE[ties](orders), abs=1e-13)
    assert FUNCTIONS["rbp"](y, scores, qid) == FUNCTIONS["rbp"](y, scores, qid, p=0.8, gain=[0, 1, 1, 1])


def test_expected_reciprocal_rank_of_a_long_tie():
    # Exact in integers: e_t / C(n, t) of the products of 1 - R, whose numerators over 2^4 are whole.
    y = np.random.default_rng(3).choice(5, 300, p=[0.3, 0.3, 0.2, 0.1, 0.1])
    symmetric = [1] + [0] * 300
    for numerator in (2**4 - (2**y - 1)).tolist():
        for t in range(300, 0, -1):
            symmetric[t] += numerator * symmetric[t - 1]
    reading = [e / (math.comb(300, t) * 16**t) for t, e in enumerate(symmetric)]
    for k in (None, 7):
        expected = sum((reading[t - 1] - reading[t]) / (t + 1) for t in range(1, 301 if k is None else k))
        values = FUNCTIONS["err"]([0, *y], [1.0, *np.zeros(300)], np.zeros(301), k=k)
        assert values == pytest.approx(expected, abs=1e-13)


def test_expected_reciprocal_rank_of_rare_relevance_in_a_long_tie():
    y = np.zeros(5000)
    y[17] = 3.0
    expected = 7 / 8 * sum(1 / r for r in range(1, 5001)) / 5000
    assert FUNCTIONS["err"](y, np.zeros(5000), one_query(y)) == pytest.approx(expected, rel=1e-10)
    y[4000:4002] = 1.0
    expected = sum(math.comb(5000 - t, 2) / t for t in range(1, 4999)) / math.comb(5000, 3)
    assert FUNCTIONS["mrr"](y, np.zeros(5000), one_query(y)) == pytest.approx(expected, rel=1e-12)


def test_long_ties_of_much_relevance_do_not_overflow():
    y = np.arange(5000) < 4000
    expected = sum(math.comb(5000 - t, 3999) / math.comb(5000, 4000) / t for t in range(1, 1002))
    assert FUNCTIONS["mrr"](y, np.zeros(5000), one_query(y)) == pytest.approx(expected, rel=1e-12)
    # All documents satisfy with probability 1/256 but one: it is among the first t with probability t / n.
    y, others, that = np.ones(3000), 255 / 256, 253 / 256
    y[1234] = 2.0
    reading = [(1 - t / 3000) * others**t + t / 3000 * others ** (t - 1) * that for t in range(3001)]
    expected = sum((reading[t - 1] - reading[t]) / t for t in range(1, 3001))
    assert FUNCTIONS["err"](y, np.zeros(3000), one_query(y), max_grade=8) == pytest.approx(expected, rel=1e-10)


def test_largest_grade_is_that_of_the_data_unless_given(ragged):
    y, scores, qid = ragged
    assert FUNCTIONS["err"](y, scores, qid) == FUNCTIONS["err"](y, scores, qid, max_grade=3)
    assert FUNCTIONS["err"]([1, 1000], [1, 0], [0, 0]) == pytest.approx(0.5)
    assert FUNCTIONS["err"]([1000], [1.0], [0]) == 1.0
    assert FUNCTIONS["err"]([1, 0, 0], [0.5, 0.5, 0.5], [0, 0, 0], max_grade=1074) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_empty_queries_count_as_told(name):
    y, scores, qid = [0, 0, 1, 0, 0, 1], [0.2, 0.1, 0.2, 0.1, 0.1, 0.2], list("aabbcc")
    metric = FUNCTIONS[name]
    skipped = metric(y, scores, qid, empty="skip", per_query=True)
    assert np.isnan(skipped).tolist() == [True, False, False]
    one = skipped[1]
    assert skipped[2] == one
    for empty, expected in (("zero", 2 * one / 3), ("one", (1 + 2 * one) / 3), ("skip", one)):
        assert metric(y, scores, qid, empty=empty) == pytest.approx(expected, abs=1e-13)
    assert np.isnan(metric(y, scores, qid, per_query=True)[0]) == (name in SKIPPING)
    with pytest.raises(ValueError, match=r"query 'a' has .*empty='zero'"):
        metric(y, scores, qid, empty="raise")
    with pytest.raises(ValueError, match="no query is left"):
        metric([0, 0], [1, 2], [0, 0], empty="skip")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_integer_weights_repeat_queries(ragged, name):
    y, scores, qid = ragged
    weights = np.random.default_rng(4).integers(0, 4, 40)
    codes, uniques = pd.factorize(qid)
    copies = [np.flatnonzero(codes == code) for code in range(40) for _ in range(weights[code])]
    rows = np.concatenate(copies)
    repeated = FUNCTIONS[name](y[rows], scores[rows], np.repeat(np.arange(len(copies)), [len(copy) for copy in copies]))
    # ERR's default scale would follow from the queries that are left.
    assert y.max() == y[rows].max()
    assert len(uniques) == 40
    assert FUNCTIONS[name](y, scores, qid, sample_weight=weights) == pytest.approx(repeated, abs=1e-12)
    assert FUNCTIONS[name](y, scores, qid, sample_weight=weights[codes]) == pytest.approx(repeated, abs=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_order_of_rows_and_monotone_changes_of_scores_do_not_matter(ragged, name):
    y, scores, qid = ragged
    order = np.random.default_rng(5).permutation(len(y))
    values = pd.Series(FUNCTIONS[name](y, scores, qid, per_query=True), pd.unique(qid))
    moved = pd.Series(
        FUNCTIONS[name](y[order], np.exp(scores[order]), qid[order], per_query=True), pd.unique(qid[order])
    )
    np.testing.assert_allclose(moved[values.index], values, atol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_perfect_ranking_and_the_reverse_are_the_bounds(name):
    y, scores = np.array([3, 2, 1, 0]), np.array([4.0, 3.0, 2.0, 1.0])
    best, worst = FUNCTIONS[name](y, scores, one_query(y)), FUNCTIONS[name](y, -scores, one_query(y))
    perfect = {"precision": 0.75, "recall": 1, "map": 1, "mrr": 1, "kendall_tau": 1, "auc": 1, "ndcg": 1}
    assert best == pytest.approx(perfect.get(name, best), abs=0)
    assert worst <= best
    if name in ("kendall_tau", "auc"):
        assert worst == {"kendall_tau": -1, "auc": 0}[name]
    if "k" in inspect.signature(FUNCTIONS[name]).parameters:
        expected = {"rbp": 0.2, "err": 0.5}.get(name, 1.0)
        assert FUNCTIONS[name]([1], [0.3], [0], k=1) == pytest.approx(expected, abs=1e-16)


def test_mean_precision_beyond_the_list_goes_on():
    y, scores, qid = [1, 0, 1], [0.9, 0.5, 0.1], [0, 0, 0]
    expected = np.mean([FUNCTIONS["precision"](y, scores, qid, k=r) for r in range(1, 11)])
    assert FUNCTIONS["mean_precision"](y, scores, qid, k=10) == pytest.approx(expected, abs=1e-13)
    assert FUNCTIONS["mean_precision"](y, scores, qid, k=10**12) == pytest.approx(0.0, abs=1e-10)
    # Fractions cut queries of different sizes at different ranks.
    values = FUNCTIONS["mean_precision"]([*y, 1], [*scores, 1.0], [*qid, 1], k=0.5, per_query=True)
    assert values.tolist() == pytest.approx([0.75, 1.0], abs=1e-13)


@pytest.mark.parametrize(
    ("names", "change", "message"),
    [
        ([*BINARY, "auc"], {"threshold": math.nan}, "threshold must be a finite number above 0.*got nan"),
        ([*BINARY, "auc"], {"threshold": 0}, "threshold must be .*got 0"),
        ([*BINARY, "auc"], {"threshold": "1"}, "threshold must be .*got '1'"),
        (["rbp"], {"p": 1}, "p must be a number above 0 and below 1; got 1"),
        (["rbp"], {"p": 0.0}, r"p must be .*got 0\.0"),
        (["rbp"], {"p": math.nan}, "p must be .*got nan"),
        (["rbp"], {"p": None}, "p must be .*got None"),
        (["rbp"], {"gain": "linear", "threshold": 2}, "threshold acts only .*threshold=2 with gain='linear'"),
        (["rbp"], {"gain": "cubic"}, "gain must be .*'cubic'"),
        (["rbp"], {"gain": "linear", "ties": "random"}, "ties must be"),
        (["rbp"], {"gain": [0, 1], "y_true": [2, 0]}, r"relevance\[0\] = 2 is not an integer from 0 to 1"),
        (["err"], {"max_grade": 2, "y_true": [3, 0]}, "max_grade must be at least the largest label, 3; got 2"),
        (["err"], {"max_grade": 0}, "max_grade must be .*got 0"),
        (["err"], {"max_grade": math.nan}, "max_grade must be .*got nan"),
        (["err"], {"max_grade": math.inf}, "max_grade must be .*got inf"),
        (RANKED, {"k": 0}, "k must be .*got 0"),
        (RANKED, {"k": 1.5}, r"k must be .*got 1\.5"),
        (RANKED, {"ties": "random"}, "ties must be .*got 'random'"),
        (list(FUNCTIONS), {"empty": "nan"}, "empty must be .*got 'nan'"),
        (list(FUNCTIONS), {"y_score": [0.1, math.nan]}, r"y_score\[1\] is nan"),
        (list(FUNCTIONS), {"y_true": [0, -1]}, r"y_true\[1\] = -1"),
        (list(FUNCTIONS), {"qid": [1]}, "qid has 1 values"),
        (list(FUNCTIONS), {"sample_weight": [-1.0]}, "weight"),
    ],
)
def test_bad_input_is_an_error_that_names_it(names, change, message):
    for name in names:
        with pytest.raises(ValueError, match=message):
            FUNCTIONS[name](**{"y_true": [0, 1], "y_score": [0.1, 0.2], "qid": [0, 0], **change})


def test_what_a_metric_has_no_use_for_it_does_not_take():
    assert set(MEASURES) == {"ndcg", "dcg", *SKIPPING, *RANKED}
    for name in ("auc", "kendall_tau"):
        assert not {"k", "ties"} & set(inspect.signature(FUNCTIONS[name]).parameters)


class LastColumn:
    """An estimator that predicts what it was given."""

    def predict(self, X):
        return X[:, -1]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_scorers_are_the_functions(ragged, name):
    y, scores, qid = ragged
    settings = {"k": 2, "ties": "worst"}
    settings = {key: settings[key] for key in settings if key in inspect.signature(FUNCTIONS[name]).parameters}
    for chosen in ({}, {"empty": "one", **settings}):
        expected = FUNCTIONS[name](y, scores, qid, **chosen)
        assert make_scorer(name, **chosen)(LastColumn(), scores[:, None], y, qid=qid) == expected
        assert get_measure(name, **chosen)(y, scores, qid) == expected


@pytest.mark.parametrize("name", MEASURES)
def test_bound_to_labels_it_is_the_function(ragged, name):
    y, _, qid = ragged
    queries, random = Queries.from_qid(qid), np.random.default_rng(8)
    per_query = random.random(40)
    for weights in (None, per_query, queries.ungroup(queries.repeat(per_query))):
        grouped = weights if weights is None or len(weights) == 40 else queries.group(weights)
        for empty in ("zero", "one", "skip"):
            bound = get_measure(name, empty=empty).bind(queries.group(y), queries, grouped)
            assert str(bound) == name
            # Constant scores have no Kendall's tau.
            for scores in (random.integers(0, 4, len(y)) / 4.0, np.zeros(len(y)), random.random(len(y))):
                if name == "kendall_tau" and empty == "skip" and not scores.any():
                    with pytest.raises(ValueError, match="no query is left"):
                        bound.mean(scores)
                    continue
                seen = [bound.mean(queries.group(scores)), *bound.per_query(queries.group(scores))]
                mean = FUNCTIONS[name](y, scores, qid, empty=empty, sample_weight=weights)
                values = FUNCTIONS[name](y, scores, qid, empty=empty, per_query=True)
                np.testing.assert_array_equal(seen, [mean, *values])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_many_documents_are_the_same_queries(name):
    """More than a block of documents, in short, long and tied queries, equal those queries one by one."""
    random = np.random.default_rng(6)
    sizes = np.concatenate([random.integers(1, 200, 1500), [40_000], random.integers(1, 200, 200)])
    qid = np.repeat(np.arange(len(sizes)), sizes)
    y, scores = random.choice(5, len(qid), p=[0.6, 0.2, 0.1, 0.06, 0.04]), random.integers(0, 30, len(qid))
    assert len(qid) > 180_000
    values = FUNCTIONS[name](y, scores, qid, empty="zero", per_query=True)
    scale = {"max_grade": 4} if name == "err" else {}
    for query in (0, 1, 700, 1499, 1500, 1501, len(sizes) - 1):
        mine = qid == query
        expected = FUNCTIONS[name](y[mine], scores[mine], qid[mine], empty="zero", **scale)
        assert values[query] == pytest.approx(expected, abs=1e-12)
