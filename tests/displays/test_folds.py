"""Displays of values over folds: learning curves."""

import numpy as np
import pytest
from artists import error_bars, legend_texts, line, overlapping_texts
from scipy import stats

import boostrank as br
from boostrank import displays
from boostrank.model_selection import learning_curve

SETTINGS = {"n_estimators": 4, "n_jobs": 1, "random_state": 0}
RANKERS = {name: br.LightGBMRanker(name, **SETTINGS) for name in ("softmax", "squared")}


def within_folds(scores):
    """Means and intervals within folds of scores, shape (n_folds, n_points), by plain loops."""
    n_folds, n_points = scores.shape
    rows = []
    for j in range(n_points):
        values = [scores[i, j] - np.mean(scores[i]) + np.mean(scores) for i in range(n_folds)]
        error = np.std(values, ddof=1) / np.sqrt(n_folds) * np.sqrt(n_points / (n_points - 1))
        margin = stats.t.ppf(0.975, n_folds - 1) * error
        rows.append((np.mean(scores[:, j]), np.mean(scores[:, j]) - margin, np.mean(scores[:, j]) + margin))
    return np.array(rows)


def test_learning_curves_are_means_with_intervals_within_folds(data):
    sizes = {"train_sizes": [1.0, 4, 0.5], "cv": 3}
    display = displays.LearningCurveDisplay.from_estimator(RANKERS, *data, scoring="mrr", **sizes)
    tables = [learning_curve(ranker, *data, scoring="mrr", **sizes) for ranker in RANKERS.values()]
    scores = np.concatenate([table["test_score"].to_numpy().reshape(3, 3).T for table in tables], axis=1)
    expected = within_folds(scores)
    for i, name in enumerate(RANKERS):
        part = display.means[display.means["ranker"] == name]
        assert part["n_queries"].tolist() == [4, 10, 20]
        # The sizes were given in the sequence full, 4, half.
        rows = expected[3 * i + np.array([1, 2, 0])]
        np.testing.assert_allclose(part[["mean", "low", "high"]], rows, atol=1e-12)
        points, segments = error_bars(display.ax_, i)
        np.testing.assert_allclose(points, part[["n_queries", "mean"]])
        np.testing.assert_allclose([segment[:, 1] for segment in segments], rows[:, 1:], atol=1e-12)
    assert legend_texts(display.ax_) == ["softmax", "squared"]
    assert display.ax_.get_xlabel() == "training queries"
    assert display.ax_.get_ylabel() == "mrr, mean over 3 folds,\n95% interval within folds"
    assert not overlapping_texts(display.figure_)
    low, high = display.ax_.get_ylim()
    assert low < display.means["low"].min() < display.means["high"].max() < high
    assert display.ax_.get_xlim()[0] == 0
    assert display.ax_.get_xlim()[1] >= 20


def test_scores_on_training_queries_are_drawn_if_asked_for(data):
    settings = {"train_sizes": [0.5, 1.0], "cv": 2, "return_train_score": True}
    display = displays.LearningCurveDisplay.from_estimator(RANKERS["softmax"], *data, **settings, name="mine")
    table = learning_curve(RANKERS["softmax"], *data, **settings)
    np.testing.assert_allclose(display.means["train"], table.groupby("train_size")["train_score"].mean())
    drawn = line(display.ax_, "_training").get_xydata()
    np.testing.assert_allclose(drawn, display.means[["n_queries", "train"]])
    assert legend_texts(display.ax_) == ["mine", "on the training queries"]
    assert display.ax_.get_ylim()[1] > display.means["train"].max()
    assert display.ax_.get_ylabel().startswith("NDCG@10, mean over 2 folds")
    without = displays.LearningCurveDisplay.from_estimator(RANKERS["softmax"], *data, train_sizes=[0.5, 1.0], cv=2)
    assert "train" not in without.means
    assert (legend_texts(without.ax_), without.ax_.get_title()) == ([], "LightGBMRanker")


def test_rankers_have_the_same_folds_of_a_random_splitter(data):
    same = dict.fromkeys("ab", RANKERS["softmax"])
    random = br.QueryKFold(3, shuffle=True)
    learning = displays.LearningCurveDisplay.from_estimator(same, *data, train_sizes=[1.0], cv=random)
    first, second = (learning.table["test_score"][learning.table["ranker"] == name].tolist() for name in "ab")
    assert first == second


def test_a_plot_has_one_score_and_one_name_for_each_ranker(data):
    make = displays.LearningCurveDisplay.from_estimator
    with pytest.raises(ValueError, match="scoring must be one measure or scorer"):
        make(RANKERS["softmax"], *data, scoring=["mrr", "map"])
    with pytest.raises(ValueError, match="name is for a single ranker"):
        make(RANKERS, *data, name="x")


def test_names_of_scores(data):
    make, settings = displays.LearningCurveDisplay.from_estimator, {"train_sizes": [1.0], "cv": 2}

    def half(y_true, y_score, qid):
        return 0.5

    def scorer(estimator, X, y):
        return 0.25

    for scoring, name in (
        (br.get_measure("ndcg@5"), "NDCG@5"),
        (br.make_scorer("map"), "map"),
        (br.get_measure(half), "half"),
        (scorer, "scorer"),
    ):
        display = make(RANKERS["softmax"], *data, scoring=scoring, **settings)
        assert display.score == name
