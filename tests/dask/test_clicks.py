"""Rankers on Dask that are trained, stopped and scored by clicks: as those of one process."""

import dask.array as da
import numpy as np
import pytest

import boostrank as br
import boostrank.dask as bd
from boostrank.clicks import DocumentClicks
from boostrank.core.dcg import DCG
from boostrank.metrics import ClickDCG

MODEL = ("power", 1.0)


@pytest.fixture(scope="module")
def logs(data):
    """Logs of the rows of `data` and of new queries; the first 40 and the last 5 queries have no sessions."""
    _, y, qid = data
    sessions = np.full(len(np.unique(qid)), 40)
    sessions[:40] = sessions[-5:] = 0
    X = data[0]
    full, cut = (
        br.simulate_clicks(y, X[:, 0], qid, depth=depth, n_sessions=sessions, random_state=0).log for depth in (None, 5)
    )
    return {"full": full, "cut": cut}


def log_of(logs, name, qid, original):
    """The log with the rows in the sequence of `qid`, which may be interleaved; rows of a query keep their sequence."""
    rows = np.argsort(original, kind="stable")
    inverse = np.empty_like(rows)
    inverse[np.argsort(qid, kind="stable")] = rows
    return logs[name][inverse]


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_the_model_is_that_of_one_process(place, interleaved, data, even_sizes, logs, small, small_local):
    # All queries are cut.
    X, y, qid = interleaved
    partitioned = place((X, y, qid), even_sizes(len(y), 3))
    labels = br.ClickLabels(log_of(logs, "full", qid, data[2]), MODEL)
    expected = small_local(bd.LightGBMRanker, k=5).fit(X, labels)
    ranker = small(bd.LightGBMRanker, k=5).fit(partitioned[0], labels)
    assert_close(ranker.to_local().predict(X), expected.predict(X))
    assert len(np.unique(expected.predict(X))) > 20
    assert ranker.score(partitioned[0], labels) == pytest.approx(expected.score(X, labels), rel=1e-6)
    assert ranker.score(partitioned[0], labels, partitioned[2]) == ranker.score(partitioned[0], labels)


def test_partitions_may_hold_only_queries_without_sessions(place, data, aligned_sizes, logs, small, small_local):
    X, _, qid = data
    partitioned = place(data, aligned_sizes(qid, 5))
    labels = br.ClickLabels(logs["cut"], MODEL, not_shown="drop", average="queries")
    expected = small_local(bd.XGBoostRanker, k=5).fit(X, labels)
    ranker = small(bd.XGBoostRanker, k=5).fit(partitioned[0], labels, partitioned[2])
    assert_close(ranker.to_local().predict(X), expected.predict(X))


def test_weights_multiply_those_of_the_clicks(rows, data, logs, small, small_local):
    labels, X = br.ClickLabels(logs["cut"], MODEL, not_shown="drop"), data[0]
    weights = np.random.default_rng(0).uniform(1, 3, 150)
    of_rows = labels.queries.ungroup(labels.queries.repeat(weights))
    given = da.from_array(of_rows, chunks=rows[0].chunks[0])
    expected = small_local(bd.XGBoostRanker).fit(X, labels, sample_weight=weights)
    ranker = small(bd.XGBoostRanker).fit(rows[0], labels, sample_weight=given)
    assert_close(ranker.to_local().predict(X), expected.predict(X))


def test_early_stopping_by_clicks_of_all_workers(rows, data, logs, small, small_local):
    X, y, qid = data
    train, valid = br.ClickLabels(logs["full"], MODEL), br.ClickLabels(logs["cut"], MODEL, not_shown="drop")
    settings = {"early_stopping_rounds": 3, "n_estimators": 15, "k": 5, "learning_rate": 0.3}
    # The last set is on one worker only.
    n_rows = int(np.flatnonzero(qid == qid[rows[0].chunks[0][0]])[0])
    sets = [(X, y, qid), (X[:n_rows], valid[:n_rows])]
    on_dask = [rows, (rows[0][:n_rows].rechunk(-1), valid[:n_rows])]
    expected = small_local(bd.LightGBMRanker, **settings).fit(X, train, eval_set=sets)
    ranker = small(bd.LightGBMRanker, **settings).fit(rows[0], train, eval_set=on_dask)
    assert ranker.best_iteration_ == expected.best_iteration_
    for name, measure in (("valid_0", "ndcg@5"), ("valid_1", "click-dcg@5")):
        assert list(ranker.evals_result_[name]) == [measure]
        np.testing.assert_allclose(
            ranker.evals_result_[name][measure], expected.evals_result_[name][measure], rtol=1e-5
        )


def test_held_out_queries_are_those_of_one_process(rows, data, logs, small, small_local):
    labels = br.ClickLabels(logs["cut"], MODEL, not_shown="drop")
    settings = {"validation_fraction": 0.3, "early_stopping_rounds": 3, "n_estimators": 10, "refit": True}
    expected = small_local(bd.XGBoostRanker, **settings).fit(data[0], labels)
    ranker = small(bd.XGBoostRanker, **settings).fit(rows[0], labels)
    history = [one.evals_result_["valid_0"]["click-dcg"] for one in (ranker, expected)]
    np.testing.assert_allclose(*history, rtol=1e-5)
    assert_close(ranker.to_local().predict(data[0]), expected.predict(data[0]))


def test_workers_get_the_records_of_their_rows_only(client, rows, data, logs, small, monkeypatch):
    sent = []
    scatter = client.scatter

    def record(pieces, **settings):
        sent.extend((settings["workers"], piece) for piece in pieces)
        return scatter(pieces, **settings)

    monkeypatch.setattr(client, "scatter", record)
    small(bd.XGBoostRanker, n_estimators=1).fit(rows[0], br.ClickLabels(logs["full"], MODEL), rows[2])
    lengths = [len(piece) for _, piece in sent]
    assert sorted(lengths) == sorted(rows[0].chunks[0])
    assert len({workers[0] for workers, _ in sent}) == 2


def test_misuse_is_an_error_that_names_it(rows, data, logs, small):
    X, y, qid = rows
    labels, ranker = br.ClickLabels(logs["full"], MODEL), small(bd.XGBoostRanker)
    silent = br.ClickLog(data[2], row=np.arange(len(data[2])), position=np.ones(len(data[2])), clicks=0 * data[2])
    cases = [
        (ranker, (X, logs["full"], qid), {}, "y is a ClickLog.*pass boostrank.ClickLabels"),
        (ranker, (X, labels[2000:], None), {}, "y has .* values"),
        (ranker, (X, labels, qid + 1), {}, "partition [012]: qid differs from the query ids of the click log, at row"),
        (ranker, (X, br.ClickLabels(logs["cut"], MODEL), None), {}, "rows have no support"),
        (small(bd.LightGBMRanker, "lambdarank"), (X, labels, None), {}, "'lambdarank' needs relevance labels"),
        (small(bd.XGBoostRanker, normalize="none"), (X, labels, None), {}, "set normalize of the ClickLabels"),
        (ranker, (X, labels), {"eval_set": [(X, y, qid)], "eval_metric": "click-dcg"}, "needs ClickLabels; got nd"),
        (ranker, (X, labels), {"eval_set": [(X, labels)], "eval_metric": "ndcg@5"}, "ndcg@5 needs relevance labels"),
        (ranker, (X, labels), {"eval_set": [(X, br.ClickLabels(silent, 1.0))]}, r"eval_set\[0\].*documents is 0"),
    ]
    for one, arguments, settings, message in cases:
        with pytest.raises(ValueError, match=message):
            one.fit(*arguments, **settings)
    with pytest.raises(TypeError, match=r"y must be a dask .*; got PreferenceGraph"):
        ranker.fit(X, br.PreferenceGraph.from_grades(data[1], data[2]))
    with pytest.raises(ValueError, match="y is a ClickLog"):
        ranker.score(X, logs["full"], qid)
    # The cluster still works.
    ranker.fit(X, labels)


def test_records_have_the_numbers_of_the_labels(logs, data):
    labels = br.ClickLabels(logs["full"], MODEL)
    records = DocumentClicks.of(labels, np.zeros(len(labels), dtype=np.uint64), DCG(5))
    part = records[np.flatnonzero(data[2] == data[2][-1])]
    np.testing.assert_array_equal(records.targets(DCG(5)), labels.targets(DCG(5)))
    np.testing.assert_array_equal(records.query_weights, labels.query_weights)
    assert part.query_weights.tolist() == labels.query_weights[-1:].tolist()
    # Rows in another sequence, in which the queries are not adjacent.
    mixed = np.random.default_rng(0).permutation(len(labels))
    weights = dict(zip(labels.queries.ids, labels.query_weights, strict=True))
    assert records[mixed].query_weights.tolist() == [weights[one] for one in records[mixed].queries.ids]
    records[mixed].check_qid(data[2][mixed])
    scores = data[0][:, 1]
    assert ClickDCG(5)(records[mixed], scores[mixed]) == pytest.approx(ClickDCG(5)(labels, scores), rel=1e-12)
    assert ClickDCG(5)(records, scores) == ClickDCG(5)(labels, scores)
    with pytest.raises(ValueError, match="got clicks"):
        np.asarray(records)
    with pytest.raises(ValueError, match="qid differs"):
        part.check_qid([0] * len(part))
