"""`compare` and `boostrank compare` with rankers of LightGBM, XGBoost and CatBoost, and with any
other estimator."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import boostrank as br
from boostrank.comparison.trainings import settings_hash

catboost = pytest.importorskip("catboost")

LIGHTGBM = lightgbm.LGBMRanker(
    objective="lambdarank", n_estimators=20, learning_rate=0.5, verbose=-1, n_jobs=1
)
XGBOOST = xgboost.XGBRanker(n_estimators=20, learning_rate=0.5, n_jobs=1)
CATBOOST = catboost.CatBoostRanker(
    iterations=20,
    learning_rate=0.9,
    verbose=0,
    allow_writing_files=False,
    random_seed=0,
    thread_count=1,
)


@pytest.fixture(scope="module")
def data():
    """Shuffled rows, string ids."""
    X, y, qid = br.make_ranking(n_queries=30, random_state=0)
    rows = np.random.default_rng(0).permutation(len(y))
    return br.Dataset(X[rows], y[rows], np.array([f"q{i}" for i in qid[rows]]))


@pytest.fixture(scope="module")
def folds(data):
    return br.query_folds(data, 3)


def scores_of(rankers, folds):
    """The result of `compare`, and the scores that each ranker predicts on each fold."""
    seen = []

    def remember(y, scores, qid, per_query=True):
        seen.append(scores)
        return np.zeros(len(set(qid)))

    settings = {"measures": {"ndcg@10": "ndcg@10", "scores": remember}, "n_permutations": 10}
    # Without processes, the trainings end in the sequence of the arguments.
    result = br.compare(rankers, folds, **settings)
    return result, {name: seen[i :: len(rankers)] for i, name in enumerate(rankers)}


def by_query(data):
    """Rows sorted by query, sizes of queries, and integer ids."""
    rows = np.argsort(data.qid, kind="stable")
    _, number, sizes = np.unique(data.qid[rows], return_inverse=True, return_counts=True)
    return data.X[rows], data.y[rows], sizes, number


def lightgbm_by_hand(ranker, train, validation, stops_early):
    (X, y, sizes, _), (V, v, valid_sizes, _) = train, validation
    stopping = {"eval_X": V, "eval_y": v, "eval_group": [valid_sizes]} if stops_early else {}
    fitted = ranker.fit(X, y, group=sizes, **stopping)
    return fitted, fitted.best_iteration_ or 20


def xgboost_by_hand(ranker, train, validation, stops_early):
    (X, y, _, qid), (V, v, _, valid_qid) = train, validation
    fitted = ranker.fit(X, y, qid=qid, eval_set=[(V, v)], eval_qid=[valid_qid])
    return fitted, fitted.best_iteration + 1 if stops_early else 20


def catboost_by_hand(ranker, train, validation, stops_early):
    (X, y, _, qid), (V, v, _, valid_qid) = train, validation
    pool = catboost.Pool(V, v, group_id=valid_qid) if stops_early else None
    fitted = ranker.fit(X, y, group_id=qid, eval_set=pool)
    return fitted, fitted.tree_count_


BY_HAND = [(LIGHTGBM, lightgbm_by_hand), (XGBOOST, xgboost_by_hand), (CATBOOST, catboost_by_hand)]
by_library = pytest.mark.parametrize(
    ("ranker", "by_hand"), BY_HAND, ids=["lightgbm", "xgboost", "catboost"]
)


@pytest.mark.slow
@by_library
@pytest.mark.parametrize(
    "stopping", [{}, {"early_stopping_rounds": 2}], ids=["all rounds", "early stopping"]
)
def test_libraries_give_the_scores_of_a_hand_written_loop(ranker, by_hand, stopping, folds):
    ranker = clone(ranker).set_params(**stopping)
    result, seen = scores_of({"theirs": ranker}, folds)
    rounds = []
    for fold, scores in zip(folds, seen["theirs"], strict=True):
        fitted, n_rounds = by_hand(
            clone(ranker), by_query(fold.train), by_query(fold.validation), bool(stopping)
        )
        expected = fitted.predict(fold.test.X)
        np.testing.assert_array_equal(scores, expected)
        rounds.append(n_rounds)
        queries = result.per_query[result.per_query["fold"] == fold.name]
        values = br.ndcg_score(fold.test.y, expected, fold.test.qid, k=10, per_query=True)
        np.testing.assert_array_equal(queries["ndcg@10"], values)
    assert result.per_query.groupby("fold")["rounds"].first().tolist() == rounds
    assert (min(rounds) < 20) == bool(stopping)


def test_catboost_gets_its_categories(folds):
    def with_names(part):
        frame = pd.DataFrame(part.X, columns=[f"x{i}" for i in range(part.X.shape[1])])
        return part._replace(X=frame.assign(name=np.where(frame["x0"] > 0, "high", "low")))

    fold = br.datasets.Fold("Fold1", *(with_names(part) for part in folds[0][1:]))
    ranker = clone(CATBOOST).set_params(cat_features=["name"], early_stopping_rounds=2)
    scores = scores_of({"theirs": ranker}, [fold])[1]["theirs"][0]
    # Lists are parameters that scikit-learn's `clone` refuses.
    assert settings_hash(ranker) != settings_hash(CATBOOST)
    rows, valid_rows = (
        np.argsort(part.qid, kind="stable") for part in (fold.train, fold.validation)
    )
    train, validation = fold.train.take(rows), fold.validation.take(valid_rows)
    pool = catboost.Pool(validation.X, validation.y, group_id=validation.qid, cat_features=["name"])
    fitted = type(ranker)(**ranker.get_params()).fit(
        train.X, train.y, group_id=train.qid, eval_set=pool
    )
    np.testing.assert_array_equal(scores, fitted.predict(fold.test.X))


class MeanPerQuery(BaseEstimator):
    """An estimator whose `fit` takes `qid` and no validation data."""

    def fit(self, X, y, qid):
        self.n_queries_ = len(set(qid))
        return self

    def predict(self, X):
        return X[:, 0] * self.n_queries_


def test_any_estimator_is_compared(folds):
    pipeline = make_pipeline(
        StandardScaler(),
        br.LightGBMRanker(n_estimators=20, learning_rate=0.5, early_stopping_rounds=2, n_jobs=1),
    )
    rankers = {
        "ridge": Ridge(),
        "own": MeanPerQuery(),
        "pipeline": pipeline,
        "xgboost": make_pipeline(XGBOOST),
    }
    result, seen = scores_of(rankers, folds[:1])
    train, validation, test = folds[0][1:]
    np.testing.assert_array_equal(seen["ridge"][0], Ridge().fit(train.X, train.y).predict(test.X))
    np.testing.assert_array_equal(seen["own"][0], test.X[:, 0] * len(set(train.qid)))
    scaler = StandardScaler().fit(train.X)
    scaled = [(scaler.transform(part.X), part.y, part.qid) for part in (train, validation)]
    alone = clone(pipeline[-1]).fit(*scaled[0], eval_set=scaled[1:])
    np.testing.assert_array_equal(seen["pipeline"][0], alone.predict(scaler.transform(test.X)))
    fitted, _ = xgboost_by_hand(clone(XGBOOST), by_query(train), by_query(validation), False)
    np.testing.assert_array_equal(seen["xgboost"][0], fitted.predict(test.X))
    rounds = result.table.set_index("ranker")["rounds"]
    assert rounds["pipeline"].iloc[0] == alone.best_iteration_ < 20
    assert rounds["ridge"].isna().all()
    assert result.cells("ridge", "ndcg@10")[-1] == ""
    assert result.cells("xgboost", "ndcg@10")[-1] == "20"
