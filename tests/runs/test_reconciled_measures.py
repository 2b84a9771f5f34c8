"""`reconcile` for every measure: each row against slow definitions of its conventions, and what the rows say."""

import math
from itertools import pairwise, permutations
from statistics import fmean

import numpy as np
import pytest
from cases import for_each

import boostrank as br
from boostrank.metrics import get_measure
from boostrank.runs import CONVENTIONS
from boostrank.runs.conventions import KINDS

MEASURES = list(CONVENTIONS)
BINARY = ("map", "mrr", "precision")


def precisions(relevant, k):
    return [sum(relevant[:r]) / r for r in range(1, min(k, len(relevant)) + 1) if relevant[r - 1]]


def slow_measure(measure, row, labels, threshold, max_grade, k):
    """The measure of a list of labels in the sequence of their ranks."""
    k = len(labels) if k is None or math.isnan(k) else int(k)
    if measure == "ndcg":
        gain = {"linear": lambda y: y, "exp2": lambda y: 2.0**y - 1}[row.gain]
        dcg = [
            sum(gain(y) / math.log(1 + r) for r, y in enumerate(order[:k], 1))
            for order in (labels, sorted(labels, reverse=True))
        ]
        return dcg[0] / dcg[1]
    if measure == "err":
        value, reading = 0.0, 1.0
        for r, y in enumerate(labels[:k], 1):
            satisfied = y if row.gain == "probability" else (2.0**y - 1) / 2.0**max_grade
            value += reading * satisfied / r
            reading *= 1 - satisfied
        return value
    relevant = [y >= threshold for y in labels]
    found = precisions(relevant, k)
    if measure == "map":
        return sum(found) / {"all": sum(relevant), "possible": min(sum(relevant), k)}[row.denominator] if found else 0.0
    if measure == "mrr":
        return 1 / (relevant.index(True) + 1) if any(relevant[:k]) else 0.0
    return sum(relevant[:k]) / (k if row.depth == "cutoff" else min(k, len(labels)))


def slow_query(measure, row, documents, *settings):
    """Low, value and high of a query of documents (label, score, name), or None if it has no relevant document."""
    threshold = settings[0]
    documents = [(math.floor(y) if row.labels == "truncated" else y, s, name) for y, s, name in documents]
    if not any(y >= threshold if measure in BINARY else y > 0 for y, _, _ in documents):
        return None
    if row.scores == "float32":
        documents = [(y, float(np.float32(s)), name) for y, s, name in documents]
    if getattr(row, "relevant_scores", "any") == "above 0":
        documents = [(y if s > 0 else 0, s, name) for y, s, name in documents]
    if row.ties == "last rank":
        relevant = [(y, s) for y, s, _ in documents if y >= threshold]
        value = fmean(sum(t >= s for _, t in relevant) / sum(t >= s for _, t, _ in documents) for _, s in relevant)
        return value, value, value
    if row.ties == "average":
        orders = [order for order in permutations(documents) if all(a[1] >= b[1] for a, b in pairwise(order))]
    else:
        keys = {
            "stable": lambda d: -d[1],
            "worst": lambda d: (-d[1], d[0]),
            "names": lambda d: (-d[1], [-ord(letter) for letter in d[2]] + [0]),
            "names ascending": lambda d: (-d[1], d[2]),
        }
        orders = [sorted(documents, key=keys[row.ties])]
    values = [slow_measure(measure, row, [y for y, _, _ in order], *settings) for order in orders]
    if getattr(row, "decimals", None) == 5:
        values = [float(f"{value:.5f}") for value in values]
    ranks_by_no_rule = row.library == "torchmetrics" and measure in BINARY
    value = fmean(values)
    return (min(values), value, max(values)) if ranks_by_no_rule else (value, value, value)


def slow_means(measure, row, y, scores, qid, names, weights, *settings):
    """Low, value and high of the mean over queries."""
    queries = list(dict.fromkeys(qid))
    documents = {q: [(y[i], scores[i], names[i]) for i in range(len(y)) if qid[i] == q] for q in queries}
    values = {q: slow_query(measure, row, documents[q], *settings) for q in queries}
    if row.weights == "ignored":
        weights = dict.fromkeys(queries, 1.0)
    full = [q for q in queries if values[q] is not None]
    means = []
    for i in range(3):
        total = sum(weights[q] * values[q][i] for q in full)
        for q in queries:
            if values[q] is None and row.empty == "one":
                total += 1.0 if row.weights == "not of empty queries" else weights[q]
        means.append(total / sum(weights.values()))
    return means


@pytest.fixture
def short():
    """Shuffled queries of 1 to 5 documents, tied scores, some queries without relevant documents."""
    random = np.random.default_rng(0)
    qid = random.permutation(np.repeat(np.arange(25), random.integers(1, 6, 25)))
    y = random.integers(0, 5, len(qid)) * (qid % 6 > 0)
    return y, random.integers(-2, 3, len(qid)) / 4.0 + random.choice([0, 1e-9], len(qid)), qid


@for_each("measure", MEASURES)
@for_each("k", [3, None])
@for_each("largest", [4, 1])
def test_each_row_is_the_definition_of_its_convention(short, measure, k, largest):
    y, scores, qid = short
    y = np.minimum(y, largest)
    names = np.random.default_rng(1).permutation(len(y)).astype(str)
    weights = dict(enumerate(np.random.default_rng(2).uniform(0.5, 2.0, 25)))
    for threshold in (1, 3) if measure in BINARY and largest == 4 else (1,):
        asked = {"k": k} | ({"threshold": threshold} if measure in BINARY else {})
        if measure == "err":
            asked["max_grade"] = 6
        given = [weights[query] for query in dict.fromkeys(qid)]
        found = br.reconcile(y, scores, qid, measure, documents=names, sample_weight=given, **asked)
        assert found.value == get_measure(measure, **asked)(y, scores, qid, sample_weight=given)
        refused = 0
        for row in found.table.itertuples():
            if np.isnan(row.value):
                refused += 1
                continue
            relevant = getattr(row, "threshold", 1)
            grade = getattr(row, "max_grade", 6)
            expected = slow_means(measure, row, y, scores, qid, names, weights, relevant, grade, row.k)
            assert [row.low, row.value, row.high] == pytest.approx(expected, abs=1e-12), row.metric
        assert refused == (0 if largest == 1 else {"ndcg": 0, "map": 5, "mrr": 1, "err": 1, "precision": 2}[measure])


@for_each("measure", MEASURES)
@for_each("settings", [{}, {"k": 2, "empty": "one", "ties": "best"}, {"empty": "skip", "ties": "stable"}])
def test_parts_sum_to_the_difference(short, measure, settings):
    y, scores, qid = short
    if measure in BINARY:
        settings = {**settings, "threshold": 0.5}
    for largest in (4, 1):
        labels = np.minimum(y, largest)
        found = br.reconcile(labels, scores, qid, measure, **settings)
        parts = found.table[[f"from_{step}" for step in KINDS[measure].steps]]
        known = found.table["value"].notna()
        assert found.value == get_measure(measure, **settings)(labels, scores, qid)
        np.testing.assert_allclose(parts.sum(axis=1)[known], found.table["difference"][known], atol=1e-12)
        np.testing.assert_allclose((found.table["value"] - found.table["difference"])[known], found.value, atol=1e-12)
        assert parts[~known].isna().all(axis=None)


def test_the_denominator_of_ours_is_replaced(short):
    y, scores, qid = short
    for denominator in ("all", "possible"):
        found = br.reconcile(np.minimum(y, 1), scores, qid, "map", k=2, denominator=denominator)
        table = found.table[found.table["k"] == 2]
        assert ((table["from_denominator"] != 0) == (table["denominator"] != denominator)).all()
        lightgbm = table[table["library"] == "LightGBM"].iloc[0]
        difference = "divided by min(R, k) " in lightgbm["because"]
        assert difference == (denominator != "possible")
        text = {"all": "divided by R", "possible": "divided by min(R, k)"}
        assert f"relevant from 1, {text[denominator]}, ties averaged, empty 0" in found.head


def test_a_measure_may_be_a_name_or_an_object_with_settings(short):
    expected = br.reconcile(*short, "map", k=3, threshold=2)
    for same in ("AP(rel=2)@3", get_measure("map@3", threshold=2), get_measure("map", k=3, threshold=2)):
        assert repr(br.reconcile(*short, same)) == repr(expected)
    assert repr(br.reconcile(*short, measure="map@3", threshold=2)) == repr(expected)
    assert expected.head.startswith(
        f"MAP@3 = {expected.value:.4f} (relevant from 2, divided by R, ties averaged, empty 0)"
    )
    assert br.reconcile(*short, "err(max_grade=4)@5").head.startswith("ERR@5 = ")
    assert "(largest grade 4, ties averaged, empty 0)" in br.reconcile(*short, "err").head
    assert br.reconcile(*short, "precision@2").head.startswith("P@2 = ")
    assert br.reconcile(*short).settings == br.reconcile(*short, "ndcg").settings


def test_relevant_documents_of_scores_up_to_0_are_not_found_by_torchmetrics():
    labels, scores, qid = [1, 0, 0, 1], [-1.0, 0.5, 0.5, 0.5], [0, 0, 1, 2]
    for measure, first in (("map", 0.5), ("mrr", 0.5), ("precision@2", 0.5)):
        (row,) = br.reconcile(labels, scores, qid, measure).table.query("library == 'torchmetrics'").itertuples()
        assert row.from_relevant_scores == pytest.approx(-first / 3)
        assert row.because == f"scores above 0 only {-first / 3:+.4f}"


@pytest.mark.parametrize(
    ("measure", "library", "value"),
    [
        ("map@2", "XGBoost", 1 / 2),
        ("map@2", "ranx", 1 / 3),
        ("precision@8", "ranx", 3 / 8),
        ("precision@8", "XGBoost", 3 / 4),
    ],
)
def test_divisors_worked_by_hand(measure, library, value):
    table = br.reconcile([1, 0, 1, 1], [0.4, 0.3, 0.2, 0.1], [0] * 4, measure).table
    assert table.loc[table["library"] == library, "value"].iloc[0] == pytest.approx(value, abs=1e-15)


def test_names_of_metrics_say_cutoff_and_threshold():
    def metrics(*args, **settings):
        table = br.reconcile([0, 3], [1.0, 0.5], [0, 0], *args, **settings).table
        return dict.fromkeys(table["metric"])

    assert {"MAP:top=5;border=1.5", "map_cut_5 (relevance_level=2)", "map@5-l2", "AP(rel=2)@5"} < metrics(
        "map@5", threshold=2
    ).keys()
    assert {"MRR:top=-1;border=2.5", "recip_rank (relevance_level=3)", "mrr-l3", "RR(rel=3)"} < metrics(
        "mrr", threshold=2.5
    ).keys()
    assert {"pre", "set_P", "precision", "SetP", "PrecisionAt:top=-1"} < metrics("precision").keys()


@pytest.mark.parametrize("measure", ["dcg", "auc", "agreement", "recall@5", lambda y, s, q: 0.0])
def test_other_measures_are_an_error_that_names_the_known_ones(measure):
    with pytest.raises(ValueError, match="measure must be one of ndcg, map, mrr, err, precision, such as 'ndcg@10'"):
        br.reconcile([0, 1], [0.1, 0.2], [0, 0], measure)


def test_bad_settings_are_errors():
    data = [0, 1], [0.1, 0.2], [0, 0]
    for k in (0.5, True):
        with pytest.raises(ValueError, match=r"k must be .*got (0\.5|True)"):
            br.reconcile(*data, "map", k=k)
    with pytest.raises(ValueError, match=r"ties must be .*got 'names'"):
        br.reconcile(*data, ties="names")
    with pytest.raises(TypeError, match="'mrr' has no setting 'gain'"):
        br.reconcile(*data, "mrr", gain="linear")
    with pytest.raises(ValueError, match="map with judged_only=True is not defined for arrays"):
        br.reconcile(*data, get_measure("map", judged_only=True))
    with pytest.raises(ValueError, match="max_grade, at least the largest label, must be"):
        br.reconcile([0, 3], *data[1:], "err", max_grade=2)
