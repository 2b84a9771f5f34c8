"""Comparisons on folds that are drawn repeatedly: folds, seeds of rankers, tests, texts, and saved
results."""

import catboost
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import boostrank as br
from boostrank.model_selection import with_validation
from boostrank.model_selection.estimators import fit_with_validation
from boostrank.significance import confidence_interval, corrected_resampled_t_test, holm

DATA = br.Dataset(*br.make_ranking(n_queries=31, n_documents=8, random_state=0))


class Seeded(BaseEstimator):
    """Predicts numbers that depend on the seed."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.random.default_rng(self.random_state).normal(size=len(X))


STOPPING = {"n_estimators": 9, "early_stopping_rounds": 2, "subsample_queries": 0.5}
FAST = {"iterations": 2, "verbose": 0, "allow_writing_files": False}
# Functions of a seed that make a ranker, and the seed. CatBoost does not list parameters that are
# None.
RANKERS = {
    "base": (lambda seed: br.LightGBMRanker(random_state=seed, **STOPPING), 5),
    "generator": (Seeded, np.random.RandomState(1)),
    "step": (lambda seed: make_pipeline(StandardScaler(), Seeded(seed)), 6),
    "CatBoost": (lambda seed: catboost.CatBoostRanker(random_seed=seed, **FAST), None),
    "seed": (lambda seed: catboost.CatBoostRanker(random_seed=seed, **FAST), 3),
}


def compare(names=RANKERS, repeats=3, results=None):
    rankers = {name: make(seed) for name, (make, seed) in RANKERS.items() if name in names}
    settings = {"repeats": repeats, "results": results, "random_state": 7, "measures": "ndcg@10"}
    return br.compare(rankers, *DATA, cv=2, **settings)


def test_values_and_tests_are_those_of_a_hand_written_loop(tmp_path):
    tested, values = set(), {name: [] for name in RANKERS}
    for seed in np.random.RandomState(7).randint(2**31 - 1, size=3).tolist():
        for train, test in br.QueryKFold(2, shuffle=True, random_state=seed).split(
            DATA.X, groups=DATA.qid
        ):
            fold = with_validation(
                br.datasets.Fold("", DATA.take(train), None, DATA.take(test)), random_state=seed
            )
            for name, (make, own) in RANKERS.items():
                ranker = make(len(tested) + (own if isinstance(own, int) else 0))
                scores = fit_with_validation(ranker, fold.train, fold.validation).predict(
                    fold.test.X
                )
                values[name].append(
                    br.ndcg_score(fold.test.y, scores, fold.test.qid, k=10, per_query=True)
                )
            tested.add(frozenset(fold.test.qid))
    result, means = (
        compare(),
        {name: np.array([part.mean() for part in parts]) for name, parts in values.items()},
    )
    for name, rows in result.per_query.groupby("ranker"):
        np.testing.assert_array_equal(rows["ndcg@10"], np.concatenate(values[name]))
        assert rows["repetition"].tolist() == [1] * 31 + [2] * 31 + [3] * 31
        row = result.rows_of("ndcg@10").loc[name]
        assert row["Fold1":"Fold6"].tolist() == pytest.approx(means[name])
        assert row["mean"] == pytest.approx(means[name].mean())
        if name != "base":
            test = corrected_resampled_t_test(means[name], means["base"], test_to_train=1)
            assert row[list(test._fields)].tolist() == pytest.approx(list(test))
            interval = confidence_interval(means[name], means["base"], test_to_train=1)
            assert row[["low", "high"]].tolist() == pytest.approx(interval)
    assert result.pairwise()["p_value"][:4].tolist() == result.table["p_value"][1:].tolist()
    np.testing.assert_array_equal(result.table["p_holm"], holm(result.table["p_value"]))

    result.save_html(tmp_path / "report.html")
    report, note = (tmp_path / "report.html").read_text("utf-8"), result.to_markdown()
    for text in (repr(result), report, note, result.to_latex("pairs")):
        assert (
            "t-tests over folds drawn 3 times: they count training on other queries with"
            in " ".join(text.split())
        )
        assert "randomization" not in text
    assert "Means over 31 queries, " in note
    # Pictures and reports have a row for each query, with means over the repetitions.
    assert "of 31 queries" in report
    assert "n_permutations" not in report
    of_queries = result.per_query.groupby(["ranker", "query"])["ndcg@10"].mean()
    differences = result.plot_queries("step").table.set_index("query")["difference"]
    np.testing.assert_allclose(
        differences.sort_index(), of_queries["step"] - of_queries["base"], atol=1e-12
    )


def test_a_comparison_goes_on_with_more_repetitions(tmp_path, ended):
    compare(["base", "step"], 2, tmp_path)
    ended.clear()
    more = compare(["base", "step"], 3, tmp_path).per_query
    assert [is_saved for *_, is_saved in ended] == [True] * 8 + [False] * 4
    pd.testing.assert_frame_equal(
        more.assign(seconds=1), compare(["base", "step"], 3).per_query.assign(seconds=1)
    )


def test_folds_of_all_repetitions_are_checked_before_the_first_training(ended):
    # With this seed, the folds of the first repetition have relevant documents, and one of the
    # second has none.
    few = DATA._replace(y=DATA.y * (DATA.qid < 2))
    settings = {"cv": 2, "random_state": 4, "measures": [br.get_measure("ndcg@10", empty="skip")]}
    with pytest.raises(ValueError, match=r"the test labels of Fold\d: no query is left to average"):
        br.compare({"a": Seeded()}, *few, repeats=8, **settings)
    assert ended == []


def test_invalid_arguments_are_named():
    for rows, settings, message in (
        (DATA, {"repeats": 1}, "repeats must be None or an integer of at least 2; got 1"),
        (
            DATA,
            {"repeats": 2, "cv": 1},
            "cv with repeats must be None or an integer of at least 2; got 1",
        ),
        (DATA, {"repeats": 2, "cv": br.QueryKFold(3)}, "cv with repeats must be"),
        (
            (br.query_folds(DATA, 3),),
            {"repeats": 2},
            "list of folds without cv and repeats.*; got list, cv or repeats",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            br.compare({"a": Seeded()}, *rows, **settings)
