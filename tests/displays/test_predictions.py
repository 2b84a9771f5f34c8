"""Displays of scores: NDCG by cutoff and precision by recall are those of the measures."""

import numpy as np
import pandas as pd
import pytest
from artists import legend_texts, line, overlapping_texts
from scipy import stats

import boostrank as br
from boostrank.displays import NDCGCurveDisplay, PrecisionRecallDisplay


def interval(values, weights=None):
    """Mean and 95% interval of values that are not NaN, by the jackknife of a weighted mean."""
    w = np.ones(len(values)) if weights is None else weights
    kept = ~np.isnan(values) & (w > 0)
    x, w, n = np.asarray(values)[kept], w[kept], kept.sum()
    mean = np.average(x, weights=w)
    left = (w @ x - w * x) / (w.sum() - w)
    margin = stats.t.ppf(0.975, n - 1) * np.sqrt((n - 1) / n * np.square(left - mean).sum())
    return mean, mean - margin, mean + margin


@pytest.mark.parametrize("weighted", [False, True])
def test_curves_are_means_with_intervals(ragged, weighted):
    labels, scores, qid = ragged
    rankers = {"tied": scores, "ideal": labels, "reversed": -scores}
    weights = np.random.default_rng(0).integers(0, 3, 40).astype(float) if weighted else None
    settings = {"ks": [3, 1, 3], "empty": "skip", "sample_weight": weights}
    display = NDCGCurveDisplay.from_predictions(labels, rankers, qid, **settings)
    assert display.table[["ranker", "k"]].to_numpy().tolist() == [
        [name, k] for name in rankers for k in (1, 3)
    ]
    for row in display.table.itertuples():
        values = br.ndcg_score(
            labels, rankers[row.ranker], qid, k=row.k, empty="skip", per_query=True
        )
        mean, low, high = interval(values, weights)
        np.testing.assert_allclose(row[3:6], [mean, max(low, 0.0), min(high, 1.0)], atol=1e-12)
    assert (
        display.n_queries == (~np.isnan(values) & (True if weights is None else weights > 0)).sum()
    )
    ideal = display.table[display.table["ranker"] == "ideal"]
    np.testing.assert_array_equal(line(display.ax_, "ideal").get_xydata(), ideal[["k", "mean"]])
    assert legend_texts(display.ax_) == list(rankers)
    assert not display.ax_.collections
    assert not overlapping_texts(display.figure_)


def test_intervals_of_curves_are_by_group(ragged):
    labels, scores, qid = ragged
    users = {query: i % 6 for i, query in enumerate(br.Queries.from_qid(qid).ids)}
    display = NDCGCurveDisplay.from_predictions(labels, scores, qid, ks=[3], groups=users)
    values = br.ndcg_score(labels, scores, qid, k=3, per_query=True)
    expected = br.significance.confidence_interval(values, 0 * values, groups=list(users.values()))
    np.testing.assert_allclose(display.table[["low", "high"]].iloc[0], expected)


def test_the_curve_of_one_ranker_has_a_band(ragged):
    labels, scores, qid = ragged
    alone = NDCGCurveDisplay.from_predictions(labels, scores, qid, ks=[1, 3, 10])
    assert alone.ax_.get_title() == "mean over 40 queries, with 95% confidence intervals"
    (band,) = alone.ax_.collections
    ends = {tuple(point) for point in band.get_paths()[0].vertices.round(12)}
    assert ends >= set(
        map(tuple, np.concatenate([alone.table[["k", end]].round(12) for end in ("low", "high")]))
    )
    one = NDCGCurveDisplay.from_predictions([0, 1, 2], [3, 2, 1], [7, 7, 7], ks=[1, 2])
    assert one.table["low"].isna().all()
    assert (one.ax_.get_title(), len(one.ax_.collections)) == ("one query", 0)
    # Intervals are not beyond what is possible.
    few = NDCGCurveDisplay.from_predictions([1, 0, 2], [1, 2, 3], [1, 1, 2], ks=[1]).table
    assert few[["low", "high"]].to_numpy().tolist() == [[0, 1]]


def test_predictions_of_estimators(data, rankers):
    X, y, qid = data
    rankers = {
        **rankers,
        "c": br.LightGBMRanker(query_features="rank", n_estimators=3, k=5, n_jobs=1).fit(*data),
    }
    display = NDCGCurveDisplay.from_estimator(rankers, X, y, qid, ks=[5])
    assert display.table["mean"].tolist() == pytest.approx(
        [ranker.score(X, y, qid) for ranker in rankers.values()]
    )
    frame = pd.DataFrame(X).set_index(pd.Index(qid, name="qid"))
    one = NDCGCurveDisplay.from_estimator(rankers["a"], frame, y, ks=[5])
    assert one.table[["ranker", "mean"]].to_numpy().tolist() == [
        ["LightGBMRanker", display.table["mean"][0]]
    ]
    with pytest.raises(ValueError, match="got no qid"):
        NDCGCurveDisplay.from_estimator(rankers, X, y)


def test_precision_of_runs_has_the_settings_of_runs():
    qrels, run = {"q": {"a": 1, "b": 0, "c": 1}}, {"q": {"x": 3.0, "a": 2.0, "b": 1.0}}
    plain = PrecisionRecallDisplay.from_runs(qrels, {"mine": run})
    assert plain.precision["mine"].tolist() == [1 / 2] * 6 + [0.0] * 5
    np.testing.assert_array_equal(
        line(plain.ax_, "mine").get_xydata(), np.c_[np.arange(11) / 10, plain.precision]
    )
    stable = PrecisionRecallDisplay.from_runs(
        qrels, {"other": {"q": {"x": 1.0, "a": 1.0}}}, ties="stable"
    )
    assert stable.precision["other"].tolist() == [1 / 2] * 6 + [0.0] * 5
    assert set(
        PrecisionRecallDisplay.from_runs(qrels, {"mine": run}, threshold=2).precision["mine"]
    ) == {0.0}
    with pytest.raises(TypeError, match=r"run must be a DataFrame, a dict of dicts, .* got list"):
        PrecisionRecallDisplay.from_runs(qrels, [run])


@pytest.mark.parametrize(
    ("scores", "settings", "message"),
    [([1, 2], {"ks": [0]}, "k must"), ([1, 2, 3], {"ks": [1]}, "y_score")],
)
def test_bad_input_is_named(scores, settings, message):
    with pytest.raises(ValueError, match=message):
        NDCGCurveDisplay.from_predictions([0, 1], scores, [7, 7], **settings)
