"""Comparisons of rankers that learn from clicks, judged by the clicks or by true labels, and saved
results of them."""

import functools

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge

import boostrank as br
from boostrank.clicks import ClickDCG
from boostrank.comparison.trainings import data_hash

RANKERS = {
    name: br.LightGBMRanker(name, n_estimators=5, num_leaves=7, n_jobs=1, random_state=0)
    for name in ("softmax", "squared")
}
MODEL = ("power", 1.0)


@functools.cache
def data():
    """Shuffled rows of 40 queries, and a log; the last two queries have no sessions."""
    X, y, qid = br.make_ranking(40, n_documents=(5, 12), random_state=0)
    order = np.random.default_rng(0).permutation(len(y))
    X, y, qid = X[order], y[order], qid[order]
    sessions = np.where(np.arange(40) < 38, 50, 0)
    log = br.simulate_clicks(y, X[:, 0], qid, depth=None, n_sessions=sessions, random_state=0).log
    return X, y, qid, log


def clicks(**settings):
    return br.ClickLabels(data()[3], **{"model": MODEL, **settings})


def folds_of(labels, **settings):
    return br.query_folds(br.Dataset(data()[0], labels, data()[2]), n_splits=3, **settings)


def test_the_measure_is_that_of_each_fold():
    folds = folds_of(clicks())
    comparison = br.compare(RANKERS, folds, n_permutations=200)
    assert comparison.measures == ["click-dcg@1", "click-dcg@5", "click-dcg@10"]
    row = comparison.table.set_index(["ranker", "metric"]).loc[("squared", "click-dcg@5")]
    for fold in folds:
        ranker = clone(RANKERS["squared"]).fit(fold.train.X, fold.train.y)
        assert row[fold.name] == pytest.approx(
            ClickDCG(5)(fold.test.y, ranker.predict(fold.test.X)), rel=1e-12
        )
    sizes = [len(fold.test.y.queries.ids) for fold in folds]
    assert row["mean"] == pytest.approx(
        np.average([row[fold.name] for fold in folds], weights=sizes)
    )
    # Queries without impressions are ties.
    assert row["wins"] + row["ties"] + row["losses"] == 40
    assert row["ties"] >= 2
    assert set(comparison.per_query["query"]) == set(range(40))


def test_test_labels_may_be_true_labels():
    _, y, _, _ = data()
    folds = folds_of(clicks(), test_labels=y)
    comparison = br.compare(RANKERS, folds, n_permutations=200)
    assert comparison.measures == ["ndcg@1", "ndcg@5", "ndcg@10"]
    row = comparison.table.set_index(["ranker", "metric"]).loc[("softmax", "ndcg@10")]
    fold = folds[1]
    ranker = clone(RANKERS["softmax"]).fit(
        fold.train.X, fold.train.y, eval_set=[tuple(fold.validation)]
    )
    assert list(ranker.evals_result_["valid_0"]) == ["click-dcg"]
    assert row["Fold2"] == pytest.approx(
        br.ndcg_score(fold.test.y, ranker.predict(fold.test.X), fold.test.qid, k=10)
    )
    with pytest.raises(ValueError, match="test_labels has 3 values"):
        folds_of(clicks(), test_labels=y[:3])
    without_validation = [fold._replace(validation=None) for fold in folds]
    assert br.compare(RANKERS, without_validation, measures="map", n_permutations=200).measures == [
        "map"
    ]


def test_the_identity_is_that_of_the_content():
    _, _, qid, log = data()
    (fold, *_) = folds_of(clicks())
    used = folds_of(clicks())[0]
    used.train.y.targets()
    assert data_hash(used) == data_hash(fold)
    names = [f"s{i}" for i in log.sessions.repeat(np.arange(log.n_sessions))]
    renamed = br.ClickLog(qid, log.row, log.position, log.clicks, session=names)
    assert data_hash(folds_of(br.ClickLabels(renamed, MODEL))[0]) == data_hash(fold)
    one_less = log.clicks.copy()
    one_less[np.flatnonzero(one_less)] = np.append(0, one_less[one_less > 0][1:])
    other = br.ClickLog(
        qid, log.row, log.position, one_less, session=log.sessions.repeat(log.session_ids)
    )
    variants = [
        *(
            clicks(),
            clicks(model=1.0),
            clicks(normalize="none"),
            clicks(average="queries"),
            clicks(clip=0.1),
        ),
        *(
            clicks(not_shown="irrelevant"),
            br.ClickLabels(log.aggregate(), MODEL),
            br.ClickLabels(other, MODEL),
        ),
    ]
    assert len({tuple(map(data_hash, folds_of(labels))) for labels in variants}) == len(variants)


def test_labels_of_another_kind_are_errors_before_the_first_training():
    _, y, _, log = data()
    for labels, settings, message in (
        (
            clicks(),
            {"measures": "ndcg@10"},
            "ndcg@10 needs relevance labels.*got ClickLabels.*'click-dcg'",
        ),
        (y, {"measures": "click-dcg@10"}, "click-dcg@10 needs ClickLabels; got ndarray"),
        (log, {}, "y is a ClickLog"),
    ):
        with pytest.raises(ValueError, match=message):
            br.compare({"never trained": Ridge(alpha=-1.0)}, folds_of(labels), **settings)
    with pytest.raises(ValueError, match=r"relevance labels are needed, .*got ClickLabels"):
        br.compare({"ridge": Ridge()}, folds_of(clicks()))
