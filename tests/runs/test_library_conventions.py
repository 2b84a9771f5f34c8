"""The conventions of each library in `reconcile`, compared with that library itself."""

import importlib.util
import shutil
from contextlib import nullcontext
from functools import lru_cache
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from interpreted_ranx import interpreted_ranx

import boostrank as br
from boostrank.runs import CONVENTIONS
from boostrank.runs.conventions import STEPS

spec = importlib.util.spec_from_file_location(
    "libraries", Path(__file__).parents[2] / "benchmarks" / "libraries.py"
)
libraries = importlib.util.module_from_spec(spec)
spec.loader.exec_module(libraries)
libraries.CALLS["ranx"] = interpreted_ranx()(libraries.ranx)
libraries.CALLS_OF_RUNS["ranx"] = interpreted_ranx()(libraries.ranx_of_run)

MODULES = {"scikit-learn": "sklearn"}
BINARY = ("map", "mrr")
REFUSALS = r"label|[Rr]elevance|binary|exit status|target|format|y_true|Invalid output"


PAIRS = [
    (library, measure)
    for library in libraries.CALLS
    for measure, conventions in CONVENTIONS.items()
    if library in {convention.library for convention in conventions}
]
WEIGHTED = [
    (library, measure)
    for library, measure in PAIRS
    if "weights" in signature(libraries.CALLS[library]).parameters
]
# The imports of the libraries take seconds.
pytestmark = pytest.mark.slow


def ragged(longest, seed=0, n_queries=40):
    """Graded labels and tied scores of queries of 1 to `longest` documents, some without relevant
    ones."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, longest + 1, n_queries)
    sizes[:4] = 1
    qid = np.repeat(np.arange(n_queries), sizes)
    y = random.choice(5, len(qid), p=[0.5, 0.2, 0.15, 0.1, 0.05]) * (qid % 5 > 0)
    scores = random.integers(-3, 4, len(qid)) / 4.0
    empty = np.bincount(qid, y) == 0
    assert 5 < empty.sum() < 20
    assert {True, False} == set(empty[sizes == 1].tolist())
    return y, scores, qid


def need(library):
    """Skip the test if the library, or a program that it calls, is not installed."""
    if library == "ir_measures" and shutil.which("perl") is None:
        pytest.skip("ir_measures calls gdeval, which is written in Perl")
    with interpreted_ranx() if library == "ranx" else nullcontext():
        pytest.importorskip(MODULES.get(library, library.lower()), exc_type=ImportError)


@lru_cache(maxsize=40)
def table_of(measure, weights, settings, *data):
    """The reconciliation, which is the same for all libraries, of tuples."""
    return br.reconcile(*data, measure, sample_weight=weights, **dict(settings)).table


def rows_of(library, *data, measure="ndcg", sample_weight=None, **settings):
    """Rows of the reconciliation that are about one library."""
    need(library)
    weights = None if sample_weight is None else tuple(sample_weight)
    settings = tuple(sorted({"k": 10, **settings}.items()))
    table = table_of(measure, weights, settings, *(tuple(values.tolist()) for values in data))
    rows = table[table["library"] == library]
    assert len(rows) == sum(convention.library == library for convention in CONVENTIONS[measure])
    return rows


def compare(library, measure, *data, weights=None, **settings):
    """Compare each row of a library with that library; returns the rows that the library does not
    refuse."""
    given = {} if weights is None else {"weights": weights}
    rows = rows_of(library, *data, measure=measure, sample_weight=weights, **settings)
    for row in rows.itertuples():
        if np.isnan(row.value):
            with pytest.raises(Exception, match=REFUSALS):
                libraries.CALLS[library](row.metric, *data, **given)
        else:
            theirs = libraries.CALLS[library](row.metric, *data, **given)
            assert row.low - 1e-6 <= theirs <= row.high + 1e-6, row.metric
            assert row.low - 1e-12 <= row.value <= row.high + 1e-12
    return rows[rows["value"].notna()]


@pytest.mark.parametrize(("library", "measure"), PAIRS)
def test_each_library_computes_what_reconcile_says(library, measure):
    known = 0
    for longest, tied, k, largest in (
        (15, True, 3, 4),
        (15, True, None, 1),
        (70, True, 10, 1),
        (70, False, 1, 4),
    ):
        y, scores, qid = ragged(longest, seed=0 if longest == 15 else 4)
        by = scores if tied else np.random.default_rng(5).permutation(len(y)) / 8.0 - 20
        rows = compare(library, measure, np.minimum(y, largest), by, qid, k=k)
        if not tied or longest == 15:
            np.testing.assert_allclose(rows["low"], rows["high"], rtol=0, atol=1e-12)
        known += len(rows)
    assert known


@pytest.mark.parametrize(("library", "measure"), [pair for pair in PAIRS if pair[1] in BINARY])
def test_documents_are_relevant_from_the_label_that_reconcile_says(library, measure):
    threshold, (y, scores, qid) = 2, ragged(15)
    rows = compare(library, measure, y, scores, qid, k=10, threshold=threshold)
    for row in rows.itertuples():
        is_argument = isinstance(CONVENTIONS[measure][row.Index].threshold, str)
        assert (row.from_threshold == 0) == is_argument
        assert (f"{threshold}" in row.metric or f"{threshold - 0.5}" in row.metric) == is_argument


@pytest.mark.parametrize("measure", ["ndcg", "map"])
def test_ranx_leaves_the_order_of_rows_in_queries_of_16_documents(measure):
    random, qid = np.random.default_rng(0), np.repeat(np.arange(50), 16)
    y, scores = random.integers(0, 2, 800), random.integers(0, 3, 800) / 2.0
    row = rows_of("ranx", y, scores, qid, measure=measure).iloc[0]
    theirs = libraries.CALLS["ranx"](row["metric"], y, scores, qid)
    assert abs(theirs - row["value"]) > 1e-4
    assert row["low"] + 1e-3 < theirs < row["high"] - 1e-3


@pytest.mark.parametrize(("library", "measure"), WEIGHTED)
def test_each_library_computes_what_reconcile_says_with_weights(library, measure):
    weights = np.random.default_rng(6).uniform(0.1, 3.0, 40)
    known = 0
    for largest in (4, 1):
        y, scores, qid = ragged(15)
        rows = compare(
            library,
            measure,
            np.minimum(y, largest),
            scores,
            qid,
            k=5,
            weights=weights + 2 * (np.bincount(qid, y) == 0),
        )
        for row in rows.itertuples():
            assert (abs(row.from_weights) > 1e-3) == (row.weights != "queries"), row.metric
        known += len(rows)
    assert known


@pytest.mark.parametrize("library", ["LightGBM", "XGBoost"])
def test_an_empty_query_adds_its_weight_here_and_one_in_the_libraries(library):
    need(library)
    y, scores, qid = np.array([0, 0, 0, 1]), np.array([0.2, 0.1, 0.2, 0.1]), np.array([0, 0, 1, 1])
    second = 1 / np.log2(3)
    for weights in ([4.0, 1.0], [0.25, 0.75]):
        ours = br.ndcg_score(y, scores, qid, k=2, ties="stable", empty="one", sample_weight=weights)
        assert ours == pytest.approx((weights[0] + weights[1] * second) / sum(weights), abs=1e-12)
        theirs = (1 + weights[1] * second) / sum(weights)
        row = rows_of(library, y, scores, qid, k=2, sample_weight=weights).iloc[0]
        if theirs < 1 or library == "LightGBM":
            seen = libraries.CALLS[library]("ndcg@2", y, scores, qid, weights=np.array(weights))
            assert seen == pytest.approx(theirs, abs=1e-6)
            assert row["value"] == pytest.approx(theirs, abs=1e-9)
            assert row["from_weights"] == pytest.approx(theirs - ours, abs=1e-9)
        else:
            with pytest.raises(Exception, match="Invalid output score"):
                libraries.xgboost("ndcg@2", y, scores, qid, weights=np.array(weights))
            assert np.isnan(row["value"])
            assert "above 1: 1.4732" in row["because"]


@pytest.mark.parametrize(("library", "measure"), PAIRS)
def test_precision_of_scores_and_refused_or_truncated_labels_are_those_that_reconcile_says(
    library, measure
):
    y, scores, qid = np.array([0, 1, 0]), 1.0 + np.array([0.0, 2e-9, 1e-9]), np.zeros(3, dtype=int)
    for row in compare(library, measure, y, scores, qid, k=1).itertuples():
        assert (row.from_scores < -0.01) == (row.scores == "float32")
    scores, qid = np.array([4.0, 3.0, 2.0, 1.0]), np.zeros(4, dtype=int)
    for labels in (
        [0.5, 1.7, 0, 3],
        [0.4, 0.7, 0, 0],
        [0, 30, 29, 1],
        [0, 31, 30, 1],
        [0, 32, 1, 2],
    ):
        settings = {"gain": "linear"} if measure == "ndcg" else {}
        compare(library, measure, np.array(labels), scores, qid, **settings)


def test_lightgbm_refuses_long_queries():
    lightgbm = pytest.importorskip("lightgbm")
    y, scores, qid = np.arange(10_001) % 3, np.arange(10_001.0), np.zeros(10_001, dtype=int)
    (row,) = rows_of("LightGBM", y, scores, qid).itertuples()
    assert np.isnan(row.value)
    with pytest.raises(lightgbm.basic.LightGBMError, match="10000"):
        libraries.lightgbm("ndcg@10", y, scores, qid)
    (row,) = rows_of("LightGBM", y[1:], scores[1:], qid[1:], k=None).itertuples()
    assert row.value == pytest.approx(
        libraries.lightgbm(row.metric, y[1:], scores[1:], qid[1:]), abs=1e-6
    )


def judgments_and_run():
    """Judgments and a run of dictionaries: documents that only one of them has, ties, and queries
    of only one."""
    random, names = np.random.default_rng(3), [f"{i:08}" for i in range(40)]
    qrels, run = {}, {}
    for query in map(str, range(100, 125)):
        judged, found = (
            random.permutation(names)[:12],
            random.permutation(names)[: random.integers(2, 15)],
        )
        qrels[query] = dict(
            zip(judged.tolist(), random.choice([0, 0, 1, 2, 4], 12).tolist(), strict=True)
        )
        run[query] = dict(
            zip(found.tolist(), (random.integers(0, 6, len(found)) / 4).tolist(), strict=True)
        )
    lost = sum(
        qrels[query][name] > 0 for query in run for name in qrels[query].keys() - run[query].keys()
    )
    assert lost > 50
    del qrels["105"], run["107"]
    # One query has no relevant document, and one of which none was retrieved.
    qrels["110"] = dict.fromkeys(qrels["110"], 0)
    qrels["111"] = {"x": 2} | dict.fromkeys(run["111"], 0)
    return qrels, run


@pytest.mark.filterwarnings("ignore:1 of 24 queries")
@pytest.mark.parametrize("measure", ["nDCG@5", "AP(rel=2)@10", "RR"])
@pytest.mark.parametrize(
    "library", ["pytrec_eval", "ranx", "ir_measures", "scikit-learn", "LightGBM", "CatBoost"]
)
def test_each_library_computes_of_a_run_what_reconcile_run_says(library, measure):
    need(library)
    qrels, run = judgments_and_run()
    merged = [
        (qrels[query].get(name, 0), score, int(query))
        for query in sorted(run.keys() & qrels.keys())
        for name, score in run[query].items()
    ]
    arrays = [np.array(column) for column in zip(*merged, strict=True)]
    floats = {
        query: {name: float(y) for name, y in labels.items()} for query, labels in qrels.items()
    }
    for queries in (None, "common"):
        found = br.reconcile_run(qrels, run, measure, queries=queries)
        assert found.value == pytest.approx(
            br.evaluate_run(qrels, run, measure, queries=queries)[measure], abs=1e-15
        )
        assert (found.n_queries, found.n_empty) == (24 if queries is None else 23, 1)
        rows = found.table[(found.table["library"] == library) & found.table["value"].notna()]
        for row in rows.itertuples():
            if library in libraries.CALLS_OF_RUNS:
                given = floats if library == "ranx" else qrels
                theirs = libraries.CALLS_OF_RUNS[library](row.metric, given, run)
            else:
                theirs = libraries.CALLS[library](row.metric, *arrays)
            assert row.low - 1e-6 <= theirs <= row.high + 1e-6, row.metric
            # No list has more than 15 documents, which ranx sorts by a stable method.
            assert row.low == row.high
            parts = [
                getattr(row, f"from_{step}")
                for step in ("empty", "queries", "documents", *STEPS[found.name][1:])
            ]
            assert sum(parts) == pytest.approx(row.value - found.value, abs=1e-12)
        if library == "pytrec_eval":
            settings = {"queries": queries, "ties": "average"}
            value = br.evaluate_run(qrels, run, measure, **settings)[measure]
            assert br.reconcile_run(qrels, run, measure, **settings).value == pytest.approx(
                value, abs=1e-15
            )
        if library == "pytrec_eval" and measure == "nDCG@5":
            # Documents that were not retrieved are lost in a merge, and change the value.
            assert br.reconcile(*arrays, gain="linear", k=5).value > rows["value"].item() + 0.01
