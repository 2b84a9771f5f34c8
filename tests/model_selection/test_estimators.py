"""Rankers of LightGBM, XGBoost and CatBoost behind one interface: groups, weights, and errors."""

import lightgbm
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import boostrank as br
from boostrank.model_selection.estimators import NativeRanker, accept_qid


@pytest.fixture
def ranker(of_library):
    return of_library


@pytest.fixture(scope="module")
def data():
    return br.make_ranking(n_queries=20, random_state=0)


def test_rankers_of_the_libraries_are_recognized(ranker):
    assert isinstance(accept_qid(ranker), NativeRanker)
    pipeline = make_pipeline(StandardScaler(), ranker)
    assert isinstance(accept_qid(pipeline)[-1], NativeRanker)
    assert pipeline[-1] is ranker
    assert isinstance(accept_qid(type("OwnRanker", (type(ranker),), {})()), NativeRanker)
    for other in (br.LightGBMRanker(), Ridge(), lightgbm.LGBMRegressor()):
        assert accept_qid(other) is other


def test_parameters_have_their_own_names(ranker):
    wrapped = accept_qid(clone(ranker))
    assert wrapped.set_params(max_depth=3).get_params()["max_depth"] == 3
    other = clone(ranker).set_params(max_depth=4)
    changed = wrapped.set_params(estimator=other, learning_rate=0.2)
    assert changed.get_params() == {**other.get_params(), "estimator": other}
    assert (other.get_params()["max_depth"], other.get_params()["learning_rate"]) == (4, 0.2)


def test_weights_of_queries_and_of_documents(ranker, data):
    X, y, qid = data
    weights = np.random.default_rng(0).integers(1, 5, 20)
    groups = {
        "LGBMRanker": {"group": np.bincount(qid), "sample_weight": weights[qid]},
        "XGBRanker": {"qid": qid, "sample_weight": weights},
        "CatBoostRanker": {"group_id": qid, "group_weight": weights[qid].astype(float)},
    }
    expected = clone(ranker).fit(X, y, **groups[type(ranker).__name__]).predict(X)
    # Queries are mixed, and the documents of each stay in their sequence.
    rows = np.argsort(np.argsort(np.random.default_rng(0).permutation(qid), kind="stable"))
    per_query = [weights[query] for query in dict.fromkeys(qid[rows].tolist())]
    for sample_weight in (per_query, weights[qid][rows]):
        fitted = accept_qid(ranker).fit(X[rows], y[rows], qid[rows], sample_weight=sample_weight)
        np.testing.assert_array_equal(fitted.predict(X), expected)
    assert not np.array_equal(expected, accept_qid(ranker).fit(X, y, qid).predict(X))


def test_only_lightgbm_takes_weights_that_differ_within_a_query(ranker, data):
    X, y, qid = data
    weights = np.random.default_rng(0).uniform(1, 2, len(y))
    if isinstance(ranker, lightgbm.LGBMRanker):
        seen = accept_qid(ranker).fit(X, y, qid, sample_weight=weights).predict(X)
        expected = clone(ranker).fit(X, y, group=np.bincount(qid), sample_weight=weights).predict(X)
        np.testing.assert_array_equal(seen, expected)
    else:
        with pytest.raises(
            ValueError, match=rf"query '0'.*{type(ranker).__name__} takes no weights of documents"
        ):
            accept_qid(ranker).fit(X, y, qid, sample_weight=weights)


def test_misuse_is_an_error(ranker, data):
    X, y, qid = data
    name = type(ranker).__name__
    with pytest.raises(ValueError, match=rf"{name}\.fit got no qid"):
        accept_qid(ranker).fit(X, y)
    with pytest.raises(ValueError, match=f"'{name}' needs relevance labels"):
        accept_qid(ranker).fit(X, br.PreferenceGraph.from_grades(y, qid))
