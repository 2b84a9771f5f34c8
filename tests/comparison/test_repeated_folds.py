"""Comparisons on folds that are drawn repeatedly: folds, seeds of rankers, tests, texts, and saved results."""

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
CAT = {"iterations": 2, "verbose": 0, "thread_count": 1, "allow_writing_files": False}
STOPPING = {"n_estimators": 20, "early_stopping_rounds": 2, "subsample_queries": 0.5, "n_jobs": 1}


class Seeded(BaseEstimator):
    """Predicts numbers that depend on the seed."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.random.default_rng(self.random_state).normal(size=len(X))


# A ranker, and the ranker of the fold with a number. CatBoost does not list parameters that were not given.
RANKERS = {
    "base": (
        br.LightGBMRanker(random_state=5, **STOPPING),
        lambda i: br.LightGBMRanker(random_state=5 + i, **STOPPING),
    ),
    "no seed": (Seeded(), Seeded),
    "generator": (Seeded(np.random.RandomState(1)), Seeded),
    "step": (make_pipeline(StandardScaler(), Seeded(6)), lambda i: Seeded(6 + i)),
    "CatBoost": (catboost.CatBoostRanker(**CAT), lambda i: catboost.CatBoostRanker(**CAT, random_state=i)),
    "seed": (
        catboost.CatBoostRanker(**CAT, random_seed=3),
        lambda i: catboost.CatBoostRanker(**CAT, random_seed=3 + i),
    ),
}


def repeated(repeats=3, names=RANKERS, **settings):
    rankers = {name: RANKERS[name][0] for name in names}
    return br.compare(rankers, *DATA, cv=2, repeats=repeats, random_state=7, measures="ndcg@10", **settings)


@pytest.fixture(scope="module")
def comparison():
    return repeated()


def test_values_and_tests_are_those_of_a_hand_written_loop(comparison):
    tested, values = [], {name: [] for name in RANKERS}
    for seed in np.random.RandomState(7).randint(2**31 - 1, size=3).tolist():
        for train, test in br.QueryKFold(2, shuffle=True, random_state=seed).split(DATA.X, groups=DATA.qid):
            fold = with_validation(br.datasets.Fold("", DATA.take(train), None, DATA.take(test)), random_state=seed)
            for name, (_, of_fold) in RANKERS.items():
                scores = fit_with_validation(of_fold(len(tested)), fold.train, fold.validation).predict(fold.test.X)
                values[name].append(br.ndcg_score(fold.test.y, scores, fold.test.qid, k=10, per_query=True))
            tested.append(frozenset(fold.test.qid))
    assert len(set(tested)) == 6
    of_ranker = {name: np.array([part.mean() for part in parts]) for name, parts in values.items()}
    for name, rows in comparison.per_query.groupby("ranker"):
        np.testing.assert_array_equal(rows["ndcg@10"], np.concatenate(values[name]))
        assert rows["repetition"].tolist() == [1] * 31 + [2] * 31 + [3] * 31
        row = comparison.rows_of("ndcg@10").loc[name]
        assert row["Fold1":"Fold6"].tolist() == pytest.approx(of_ranker[name])
        assert row["mean"] == pytest.approx(of_ranker[name].mean())
        if name != "base":
            means = of_ranker[name], of_ranker["base"]
            test = corrected_resampled_t_test(*means, test_to_train=1.0)
            assert row[list(test._fields)].tolist() == pytest.approx(list(test))
            assert row[["low", "high"]].tolist() == pytest.approx(confidence_interval(*means, test_to_train=1.0))
            pairs = comparison.pairwise().set_index(["ranker", "other_ranker"])
            assert pairs["p_value"]["base", name] == pytest.approx(test.p_value)


def test_texts_name_the_test_and_say_what_it_counts(comparison, tmp_path):
    comparison.save_html(tmp_path / "report.html")
    html, note = (tmp_path / "report.html").read_text("utf-8"), comparison.to_markdown()
    for text in (repr(comparison), html, note, comparison.to_latex("pairs")):
        counted = "Corrected resampled t-tests over folds drawn 3 times: they count training on other queries"
        assert counted in " ".join(text.split())
        assert "randomization" not in text
    assert "two-sided corrected resampled t-test over all folds" in html
    assert "Means over 31 queries, " in note
    # Pictures and reports have a row for each query, with means over the repetitions.
    values = comparison.per_query.groupby(["ranker", "query"])["ndcg@10"].mean()
    differences = comparison.plot_queries("step").table.set_index("query")["difference"]
    np.testing.assert_allclose(differences.sort_index(), values["step"] - values["base"], atol=1e-12)
    assert "of 31 queries" in html


def test_a_comparison_goes_on_with_more_repetitions(tmp_path, ended):
    names = ["no seed", "generator", "step"]
    table = repeated(2, names, results=tmp_path).table
    np.testing.assert_array_equal(table["p_holm"], holm(table["p_value"]))
    ended.clear()
    more = repeated(3, names, results=tmp_path).per_query
    assert [is_saved for *_, is_saved in ended] == [True] * 12 + [False] * 6
    pd.testing.assert_frame_equal(more.assign(seconds=1.0), repeated(3, names).per_query.assign(seconds=1.0))


def test_invalid_arguments_are_named():
    for rows, settings, message in (
        (DATA, {"repeats": 1}, "repeats must be None or an integer of at least 2; got 1"),
        (DATA, {"repeats": 2, "cv": 1}, "cv with repeats must be None or an integer of at least 2; got 1"),
        (DATA, {"repeats": 2, "cv": br.QueryKFold(3)}, "cv with repeats must be"),
        (DATA, {"repeats": 2, "cv": 32}, "32 folds need at least 32 queries; got 31"),
        ((br.query_folds(DATA, 3),), {"repeats": 2}, "got list, cv or repeats without y"),
    ):
        with pytest.raises(ValueError, match=message):
            br.compare({"a": Seeded()}, *rows, **settings)
