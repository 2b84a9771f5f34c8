"""Displays of scores: NDCG by cutoff, precision by recall, and means by group are those of the measures."""

import numpy as np
import pandas as pd
import pytest
from artists import error_bars, legend_texts, line, overlapping_texts, tick_texts
from scipy import stats

import boostrank as br
from boostrank.displays import NDCGCurveDisplay, PrecisionRecallDisplay, QueryGroupDisplay
from boostrank.displays.predictions import ranges

by_group = QueryGroupDisplay.from_predictions


def interval(values, weights=None):
    """Mean and 95% interval of values that are not NaN, by the formula of a weighted mean."""
    w = np.ones(len(values)) if weights is None else weights
    kept = ~np.isnan(values) & (w > 0)
    x, w, n = np.asarray(values)[kept], w[kept], kept.sum()
    mean = np.average(x, weights=w)
    margin = stats.t.ppf(0.975, n - 1) * np.sqrt(n / (n - 1) * np.square(w * (x - mean)).sum()) / w.sum()
    return mean, mean - margin, mean + margin


@pytest.mark.parametrize("weighted", [False, True])
def test_curves_are_means_with_intervals(ragged, weighted):
    labels, scores, qid = ragged
    rankers = {"tied": scores, "ideal": labels, "reversed": -scores}
    weights = np.random.default_rng(0).integers(0, 3, 40).astype(float) if weighted else None
    settings = {"ks": [3, 1, 3], "empty": "skip", "sample_weight": weights}
    display = NDCGCurveDisplay.from_predictions(labels, rankers, qid, **settings)
    assert display.table[["ranker", "k"]].to_numpy().tolist() == [[name, k] for name in rankers for k in (1, 3)]
    for row in display.table.itertuples():
        values = br.ndcg_score(labels, rankers[row.ranker], qid, k=row.k, empty="skip", per_query=True)
        mean, low, high = interval(values, weights)
        np.testing.assert_allclose(row[3:6], [mean, max(low, 0.0), min(high, 1.0)], atol=1e-12)
    assert display.n_queries == (~np.isnan(values) & (True if weights is None else weights > 0)).sum()
    ideal = display.table[display.table["ranker"] == "ideal"]
    np.testing.assert_array_equal(line(display.ax_, "ideal").get_xydata(), ideal[["k", "mean"]])
    assert legend_texts(display.ax_) == list(rankers)
    assert not display.ax_.collections
    assert not overlapping_texts(display.figure_)


def test_the_curve_of_one_ranker_has_a_band(ragged):
    labels, scores, qid = ragged
    alone = NDCGCurveDisplay.from_predictions(labels, scores, qid, ks=[1, 3, 10])
    assert alone.ax_.get_title() == "mean over 40 queries, with 95% confidence intervals"
    (band,) = alone.ax_.collections
    ends = {tuple(point) for point in band.get_paths()[0].vertices.round(12)}
    assert ends >= set(map(tuple, np.concatenate([alone.table[["k", end]].round(12) for end in ("low", "high")])))
    one = NDCGCurveDisplay.from_predictions([0, 1, 2], [3, 2, 1], [7, 7, 7], ks=[1, 2])
    assert one.table["low"].isna().all()
    assert (one.ax_.get_title(), len(one.ax_.collections)) == ("one query", 0)
    # Intervals are not beyond what is possible.
    few = NDCGCurveDisplay.from_predictions([1, 0, 2], [1, 2, 3], [1, 1, 2], ks=[1]).table
    assert few[["low", "high"]].to_numpy().tolist() == [[0, 1]]


def test_predictions_of_estimators(data, rankers):
    X, y, qid = data
    rankers = {**rankers, "c": br.LightGBMRanker(query_features="rank", n_estimators=3, k=5, n_jobs=1).fit(*data)}
    display = NDCGCurveDisplay.from_estimator(rankers, X, y, qid, ks=[5])
    assert display.table["mean"].tolist() == pytest.approx([ranker.score(X, y, qid) for ranker in rankers.values()])
    frame = pd.DataFrame(X).set_index(pd.Index(qid, name="qid"))
    one = NDCGCurveDisplay.from_estimator(rankers["a"], frame, y, ks=[5])
    assert one.table[["ranker", "mean"]].to_numpy().tolist() == [["LightGBMRanker", display.table["mean"][0]]]
    with pytest.raises(ValueError, match="got no qid"):
        NDCGCurveDisplay.from_estimator(rankers, X, y)


def test_precision_by_recall_is_the_measure_at_eleven_levels(ragged):
    labels, scores, qid = ragged
    weights = np.random.default_rng(0).random(40)
    both = {"tied": scores, "ideal": labels}
    display = PrecisionRecallDisplay.from_predictions(labels, both, qid, threshold=2, sample_weight=weights)
    expected = [
        br.get_measure("iprec", recall=tenths / 10, threshold=2)(labels, scores, qid, sample_weight=weights)
        for tenths in range(11)
    ]
    np.testing.assert_allclose(display.precision["tied"], expected, atol=1e-12)
    points = line(display.ax_, "tied").get_xydata()
    np.testing.assert_allclose(points, np.c_[np.arange(11) / 10, expected], atol=1e-12)
    # It is 1 in queries with relevant documents, and 0 in others.
    (share,) = set(display.precision["ideal"].round(12))
    assert share == pytest.approx(br.get_measure("mrr", threshold=2)(labels, labels, qid, sample_weight=weights))


def test_precision_of_runs_has_the_settings_of_runs():
    qrels, run = {"q": {"a": 1, "b": 0, "c": 1}}, {"q": {"x": 3.0, "a": 2.0, "b": 1.0}}
    plain = PrecisionRecallDisplay.from_runs(qrels, {"mine": run})
    assert plain.precision["mine"].tolist() == [1 / 2] * 6 + [0.0] * 5
    judged = PrecisionRecallDisplay.from_runs(qrels, {"mine": run, "other": run}, unjudged="remove")
    assert judged.precision["other"].tolist() == [1.0] * 6 + [0.0] * 5
    with pytest.raises(TypeError, match=r"run must be a DataFrame, a dict of dicts, .* got list"):
        PrecisionRecallDisplay.from_runs(qrels, [run])


@pytest.mark.parametrize("by", ["size", "relevant"])
def test_means_of_groups_are_those_of_a_plain_loop(ragged, by):
    labels, scores, qid = ragged
    rankers, skip = {"tied": scores, "ideal": labels}, br.get_measure("ndcg@3", empty="skip")
    display = by_group(labels, rankers, qid, by=by, measure=skip)
    of_query = (
        pd.Series(labels > 0 if by == "relevant" else np.ones(len(labels), dtype=int)).groupby(qid, sort=False).sum()
    )
    names = [name for name in dict.fromkeys(display.table["group"]) if name != "all queries"]
    if of_query.nunique() > 10:
        assert len(names) == 4 + (0 in of_query.to_numpy())
    else:
        assert names == list(map(str, sorted(set(of_query))))
    for row in display.table.itertuples():
        low, _, high = row.group.partition(" to ") if row.group in names else ("-inf", "", "inf")
        inside = of_query.between(float(low), float(high or low)).to_numpy()
        values = br.ndcg_score(labels, rankers[row.ranker], qid, k=3, empty="skip", per_query=True)[inside]
        assert row.queries == (~np.isnan(values)).sum()
        if row.queries > 1:
            np.testing.assert_allclose(row[4:], interval(values), atol=1e-12)
    n = len(names) + 1
    for number, (name, offset) in enumerate((("tied", -0.15), ("ideal", 0.15))):
        rows = display.table[display.table["ranker"] == name]
        points, segments = error_bars(display.ax_, number)
        np.testing.assert_allclose(points, np.c_[rows["mean"], np.arange(n) + offset])
    drawn = np.array([segment[:, 0] for segment in segments if len(segment)])
    np.testing.assert_allclose(drawn, rows[["low", "high"]].dropna())
    texts = [f"{row.group}  ({row.queries} {'query' if row.queries == 1 else 'queries'})" for row in rows.itertuples()]
    assert tick_texts(display.ax_.yaxis) == texts
    assert display.ax_.get_ylim() == (n - 0.4, -0.6)
    assert display.ax_.get_xlabel() == "NDCG@3, mean over queries with 95% interval"
    assert legend_texts(display.ax_) == ["tied", "ideal"]
    assert not overlapping_texts(display.figure_)


@pytest.mark.parametrize(
    ("numbers", "texts"),
    [
        ([0, 0, *range(1, 11)], ["0", "1 to 3", "4 to 5", "6 to 7", "8 to 10"]),
        (list(range(8, 20)), ["8 to 10", "11 to 13", "14 to 16", "17 to 19"]),
    ],
)
def test_numbers_are_divided_into_ranges(numbers, texts):
    assert list(ranges(np.array(numbers)).categories) == texts


def test_the_name_of_one_ranker_is_the_title():
    display = by_group([0, 1], {"mine": [0.0, 1.0]}, [7, 7])
    assert (legend_texts(display.ax_), display.ax_.get_title()) == ([], "mine")


def test_bad_input_is_named(ragged):
    for make, message in (
        (lambda: NDCGCurveDisplay.from_predictions([0, 1], [1, 2], [7, 7], ks=[0]), "k must"),
        (lambda: NDCGCurveDisplay.from_predictions([0, 1], [1, 2, 3], [7, 7]), "y_score"),
        (lambda: by_group(*ragged, by="length"), "by must be one of size, relevant; got 'length'"),
        (lambda: by_group(*ragged, measure="nothing"), "measure must be"),
        (
            lambda: by_group(br.PreferenceGraph([7, 7], [0], [1]), [1, 2], [7, 7]),
            "QueryGroupDisplay needs relevance labels",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            make()
