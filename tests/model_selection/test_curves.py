"""Learning curves on folds of queries: those of plain loops over folds, without cut queries."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from loss_defaults import PLAIN_TREES

import boostrank as br
from boostrank.model_selection import learning_curve


@pytest.fixture(scope="module")
def data():
    """Queries whose rows are not grouped."""
    X, y, qid = br.make_ranking(n_queries=30, n_documents=(3, 8), random_state=0)
    rows = np.random.default_rng(0).permutation(len(y))
    return X[rows], y[rows], qid[rows]


RANKER = br.LightGBMRanker(
    "softmax",
    n_estimators=4,
    min_child_samples=2,
    min_child_weight=0.1,
    n_jobs=1,
    random_state=0,
    **PLAIN_TREES,
)


class Recorder(br.LightGBMRanker):
    """A ranker that remembers the query ids it was trained on."""

    seen: ClassVar = []

    def fit(self, X, y, qid=None):
        self.seen.append(np.asarray(qid))
        return super().fit(X, y, qid)


def test_scores_are_those_of_a_loop_over_folds(data):
    X, y, qid = data
    Recorder.seen.clear()
    ranker = Recorder(**RANKER.get_params())
    table = learning_curve(
        ranker, X, y, qid, train_sizes=[0.15, 0.33, 1.0], cv=3, return_train_score=True
    )
    folds = list(br.QueryKFold(3).split(X, y, qid))
    assert table["fold"].tolist() == [0, 1, 2] * 3
    assert table["train_size"].tolist() == [0.15] * 3 + [0.33] * 3 + [1.0] * 3
    for row, seen in zip(table.itertuples(), Recorder.seen, strict=True):
        train, test = folds[row.fold]
        n_available = len(np.unique(qid[train]))
        n_queries = {0.15: 3, 0.33: round(0.33 * n_available), 1.0: n_available}[row.train_size]
        assert len(np.unique(seen)) == row.n_queries == n_queries
        # Whole queries of this fold only.
        rows = train[np.isin(qid[train], seen)]
        np.testing.assert_array_equal(seen, qid[rows])
        fitted = RANKER.fit(X[rows], y[rows], qid[rows])
        assert row.test_score == br.make_scorer("ndcg@10")(fitted, X[test], y[test], qid[test])
        assert row.train_score == br.make_scorer("ndcg@10")(fitted, X[rows], y[rows], qid[rows])
    for fold in range(3):
        small, half, full = (set(Recorder.seen[3 * i + fold]) for i in range(3))
        assert small < half < full


def test_the_seed_query_ids_in_a_frame_and_several_scores(data):
    X, y, qid = data
    settings = {"train_sizes": [0.25], "cv": 2, "scoring": ["ndcg@5", "mrr"]}
    table = learning_curve(RANKER, pd.DataFrame(X).assign(qid=qid), y, **settings, random_state=1)
    pd.testing.assert_frame_equal(
        table, learning_curve(RANKER, X, y, qid, **settings, random_state=1)
    )
    assert list(table)[3:] == ["test_ndcg@5", "test_mrr"]
    other = learning_curve(RANKER, X, y, qid, **settings, random_state=2)
    assert (other["test_ndcg@5"] != table["test_ndcg@5"]).any()


def test_bad_sizes_are_named(data):
    for size in (0.0, 1.5, 16, True):
        with pytest.raises(ValueError, match="an element of train_sizes must be"):
            learning_curve(RANKER, *data, train_sizes=[0.5, size], cv=2)
    with pytest.raises(ValueError, match="train_sizes must be at least one fraction"):
        learning_curve(RANKER, *data, train_sizes=[])
    with pytest.raises(ValueError, match="learning_curve got no qid"):
        learning_curve(RANKER, *data[:2])
