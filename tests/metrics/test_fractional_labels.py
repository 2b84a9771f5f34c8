"""Labels between 0 and 1, of which measures with a threshold of 1 count none, are named."""

import warnings

import numpy as np
import pytest

import boostrank as br

X, Y, QID = br.make_ranking(n_queries=20, random_state=0)
SHARES = Y / Y.max()
N_LOW = int(((SHARES > 0) & (SHARES < 1)).sum())
SCORES = X[:, 0]
MEASURES = ["map", "mrr", "recall@5", "precision@5", "success@5", "bpref", "rprec", "auc", "rbp"]


def warned(call):
    """The texts of the warnings about labels between 0 and 1 that a call gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in caught if "above 0 and below 1" in str(one.message)]


@pytest.mark.parametrize("name", [*MEASURES, "iprec", "f@3", "xgboost:map"])
def test_a_measure_names_labels_that_it_does_not_count(name):
    (text,) = warned(lambda: br.get_measure(name)(SHARES, SCORES, QID))
    assert text.startswith(f"{N_LOW} labels are above 0 and below 1")
    assert "threshold=0.5" in text
    (text,) = warned(lambda: br.get_measure(name).bind(SHARES, br.Queries.from_qid(QID)))
    assert str(N_LOW) in text


def test_labels_that_count_as_they_are_meant_give_no_warning():
    measure = br.get_measure("map", threshold=0.5)
    assert warned(lambda: measure(SHARES, SCORES, QID)) == []
    for name in ("map(threshold=0.2)", "map(threshold=2)", "ndcg@5", "err", "lightgbm:map"):
        assert warned(lambda name=name: br.evaluate(SHARES, SCORES, QID, [name])) == []
    assert warned(lambda: br.evaluate(Y, SCORES, QID, MEASURES)) == []


def test_an_evaluation_warns_once():
    assert len(warned(lambda: br.evaluate(SHARES, SCORES, QID, MEASURES))) == 1
    ranker = br.LightGBMRanker(n_estimators=5, n_jobs=1)
    sets = {"eval_set": [(X, SHARES, QID)], "eval_metric": ["map", "mrr", "ndcg@5"]}
    assert len(warned(lambda: ranker.fit(X, SHARES, QID, **sets))) == 1
    held_out = br.LightGBMRanker(n_estimators=5, n_jobs=1, validation_fraction=0.3)
    assert len(warned(lambda: held_out.fit(X, SHARES, QID, eval_metric=["map", "mrr"]))) == 1
    fitted = br.LightGBMRanker(n_estimators=5, n_jobs=1).fit(X, SHARES, QID)
    assert len(warned(lambda: br.make_scorer("map")(fitted, X, SHARES, qid=QID))) == 1


def test_a_comparison_warns_once():
    rankers = {
        "a": br.LightGBMRanker(n_estimators=3, n_jobs=1),
        "b": br.LightGBMRanker(n_estimators=4, n_jobs=1),
    }

    def compare():
        br.compare(rankers, X, SHARES, QID, cv=2, measures=["map", "ndcg@5", "mrr"], n_jobs=1)

    (text,) = warned(compare)
    assert text.startswith(f"{N_LOW} labels")


def test_runs_warn_once():
    qrels = {"a": {"x": 0.6, "y": 0.0, "z": 1.0}, "b": {"x": 0.3, "y": 1.0}}
    run = {"a": {"x": 3.0, "y": 2.0, "z": 1.0}, "b": {"x": 1.0, "y": 2.0}}
    (text,) = warned(lambda: br.evaluate_run(qrels, run, ["AP", "RR", "P@1"]))
    assert text.startswith("2 labels")
    assert "AP(rel=0.5)" in text
    runs = {"one": run, "other": run}
    assert len(warned(lambda: br.compare_runs(qrels, runs, ["AP", "RR"]))) == 1
    assert warned(lambda: br.evaluate_run(qrels, run, ["AP(rel=0.5)"])) == []


def test_the_number_is_that_of_all_labels():
    labels = np.array([0.0, 0.4, 0.9, 1.0, 2.5])
    (text,) = warned(lambda: br.get_measure("map")(labels, labels, np.zeros(5)))
    assert text.startswith("2 labels are above 0 and below 1, and map counts only labels of at")
