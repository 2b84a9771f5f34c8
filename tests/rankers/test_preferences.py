"""Rankers that are trained on preferences, or with a loss of edges on grades."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_validate

import boostrank as br
from boostrank.preferences import PreferenceGraph


@pytest.fixture
def ranker(ranker_class):
    return ranker_class("edge-logistic", n_estimators=6, max_depth=3, random_state=0, n_jobs=1)


def data(seed=0, n_queries=25):
    """Features, grades and query ids of shuffled rows."""
    X, y, qid = br.make_ranking(n_queries, random_state=seed)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order], qid[order] + n_queries * seed


def test_the_graph_of_grades_gives_the_model_of_grades(ranker):
    X, y, qid = data()
    graph = PreferenceGraph.from_grades(y, qid)
    scores = [
        clone(ranker).fit(X, *labels).predict(X) for labels in ((y, qid), (graph,), (graph, qid))
    ]
    np.testing.assert_allclose(scores[1:], [scores[0]] * 2)


def test_early_stopping_watches_the_agreement(ranker):
    X, y, qid = data()
    fresh, fresh_y, fresh_qid = data(seed=1)
    sets = {
        "grades": (fresh, fresh_y, fresh_qid),
        "graph": (fresh, PreferenceGraph.from_grades(fresh_y, fresh_qid)),
    }
    fitted = clone(ranker).set_params(early_stopping_rounds=5, n_estimators=60)
    fitted.fit(X, PreferenceGraph.from_grades(y, qid), eval_set=sets)
    assert [list(fitted.evals_result_[name]) for name in sets] == [["ndcg"], ["agreement"]]
    history = fitted.evals_result_["graph"]["agreement"]
    assert fitted.best_iteration_ == np.argmax(history) + 1
    assert fitted.score(*sets["graph"]) == pytest.approx(max(history), abs=1e-6)


def test_cross_validation_slices_the_graph(ranker):
    X, y, qid = data()
    graph = PreferenceGraph.from_grades(y, qid)
    folds = list(br.QueryKFold(3).split(X, groups=qid))
    expected = [
        clone(ranker).fit(X[train], graph[train]).score(X[test], graph[test])
        for train, test in folds
    ]
    # The second works without metadata routing, because a PreferenceGraph has the query ids.
    ours = br.cross_validate(ranker, X, graph, cv=3, scoring="agreement")
    for done in (ours, cross_validate(ranker, X, graph, cv=br.QueryKFold(3))):
        np.testing.assert_allclose(done["test_score"], expected, rtol=1e-12)


def test_misuse_is_an_error(ranker, lambdamart):
    X, y, qid = data()
    graph = PreferenceGraph.from_grades(y, qid)
    for settings, arguments, message in (
        ({"objective": lambdamart}, (X, graph), "needs relevance labels"),
        ({"objective": "softmax"}, (X, graph), "needs relevance labels"),
        ({}, (X, graph, qid[::-1]), "qid differs"),
        ({}, (X, graph[:10]), "y has 10 values"),
        ({"normalize": "sum"}, (X, graph), "normalize='sum'"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(ranker).set_params(**settings).fit(*arguments)
