"""Pictures: their numbers are the metrics', their artists show them, and bad input is named."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import boostrank as br
from boostrank import displays
from boostrank.displays import style
from boostrank.metrics import dcg_breakdown, tie_range

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def ragged(n_queries=40, seed=0):
    """Labels, tied scores and shuffled ids of queries of 1 to 12 documents, some without relevant ones."""
    random = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), random.integers(1, 13, n_queries))
    order = random.permutation(len(qid))
    labels = random.integers(0, 4, len(qid)) * (qid % 7 > 0)
    return labels, random.integers(0, 5, len(qid)).astype(float), qid[order]


@pytest.fixture(scope="module")
def data():
    return br.make_ranking(n_queries=30, random_state=0)


@pytest.fixture(scope="module")
def rankers(data):
    settings = {"n_estimators": 8, "k": 5, "n_jobs": 1, "random_state": 0}
    models = {"a": br.LightGBMRanker("softmax", **settings), "b": br.XGBoostRanker("squared", **settings)}
    return {name: model.fit(*data, eval_set=[data, data]) for name, model in models.items()}


def texts(ax):
    legend = ax.get_legend()
    return [text.get_text() for text in legend.get_texts()] if legend else []


def line(ax, label):
    (found,) = (one for one in ax.get_lines() if one.get_label() == label)
    return found


# NDCG by cutoff


def test_curve_display():
    labels, scores, qid = ragged()
    both = {"tied": scores, "ideal": labels}
    display = displays.NDCGCurveDisplay.from_predictions(labels, both, qid, ks=[3, 1, 10, 3], empty="skip", level=0.9)
    assert display.names == ["tied", "ideal"]
    assert display.ks.tolist() == [1, 3, 10]
    for j, k in enumerate(display.ks):
        values = br.ndcg_score(labels, scores, qid, k=int(k), empty="skip", per_query=True)
        values = values[~np.isnan(values)]
        expected = stats.norm.interval(0.9, values.mean(), stats.sem(values))
        np.testing.assert_allclose((display.low[0, j], display.high[0, j]), np.clip(expected, 0, 1), atol=1e-12)
        assert display.mean[0, j] == pytest.approx(values.mean(), abs=1e-12)
    assert display.n_queries == len(values)
    np.testing.assert_allclose(display.mean[1], 1.0)
    assert texts(display.ax_) == ["tied", "ideal"]
    np.testing.assert_array_equal(line(display.ax_, "tied").get_xydata(), np.c_[display.ks, display.mean[0]])
    assert f"{display.n_queries} queries" in display.ax_.get_ylabel()
    assert "90%" in display.ax_.get_title()
    assert len(display.ax_.collections) == 2
    assert display.figure_ is display.ax_.figure


def test_curve_display_from_estimators(data, rankers):
    X, y, qid = data
    display = displays.NDCGCurveDisplay.from_estimator(rankers, X, y, qid, ks=[5])
    for i, ranker in enumerate(rankers.values()):
        assert display.mean[i, 0] == pytest.approx(ranker.score(X, y, qid), abs=1e-12)
    frame = pd.DataFrame(X).set_index(pd.Index(qid, name="qid"))
    one = displays.NDCGCurveDisplay.from_estimator(rankers["a"], frame, y, ks=[5], name="mine")
    assert one.names == ["mine"]
    assert one.mean[0, 0] == pytest.approx(display.mean[0, 0], abs=1e-12)
    assert displays.NDCGCurveDisplay.from_estimator(rankers["a"], X, y, qid).names == ["LightGBMRanker"]
    with pytest.raises(ValueError, match="got no qid"):
        displays.NDCGCurveDisplay.from_estimator(rankers, X, y)


def test_curve_display_of_one_query_has_no_band():
    display = displays.NDCGCurveDisplay.from_predictions([0, 1, 2], [3, 2, 1], ks=[1, 2])
    assert np.isnan(display.low).all()
    assert display.ax_.get_ylabel() == "NDCG@k of one query"
    assert not texts(display.ax_)


def test_curve_display_names_bad_input():
    make = displays.NDCGCurveDisplay.from_predictions
    for scores, settings, message in (
        ([1, 2], {"level": 1.0}, "level"),
        ([1, 2], {"ks": [0]}, "ks"),
        ([1, 2], {"ks": 3}, "ks"),
        ({}, {}, "y_score"),
        ({"a": [1, 2]}, {"name": "b"}, "name"),
        ([1, np.nan], {}, "scores"),
        ([1, 2, 3], {}, "y_score"),
    ):
        with pytest.raises(ValueError, match=message):
            make([0, 1], scores, **settings)


# One query


def test_breakdown_display():
    labels, scores = [3, 2, 0, 1], [0.1, 0.4, 0.3, 0.2]
    display = displays.DCGBreakdownDisplay.from_predictions(labels, scores, k=3, documents="ABCD")
    pd.testing.assert_frame_equal(display.table, dcg_breakdown(labels, scores, k=3))
    assert display.documents == ["B", "C", "D"]
    assert display.dcg == pytest.approx(br.dcg_score(labels, scores, k=3))
    assert display.ndcg == pytest.approx(br.ndcg_score(labels, scores, k=3))
    heights = [bar.get_height() for bar in display.ax_.patches]
    np.testing.assert_allclose(heights, [*display.table["contribution"], *display.table["ideal_contribution"]])
    ticks = [tick.get_text() for tick in display.ax_.get_xticklabels()]
    assert ticks == ["1\nB", "2\nC", "3\nD"]
    assert f"{display.dcg:.3f}" in texts(display.ax_)[0]
    assert display.ax_.get_title() == f"NDCG@3 = {display.ndcg:.4f}"
    assert [text.get_text() for text in display.ax_.texts] == ["2", "0", "1", "3", "2", "1"]


def test_breakdown_display_of_one_of_several_queries(data, rankers):
    X, y, qid = data
    display = displays.DCGBreakdownDisplay.from_estimator(rankers["a"], X, y, qid, query=3)
    rows = qid == 3
    assert display.ndcg == pytest.approx(br.ndcg_score(y[rows], rankers["a"].predict(X[rows])))
    assert set(display.table["document"]) == set(np.flatnonzero(rows))
    assert np.isnan(displays.DCGBreakdownDisplay.from_predictions([0, 0], [1, 2]).ndcg)
    make = displays.DCGBreakdownDisplay.from_predictions
    for arguments, settings, message in (
        (([1, 0], [1, 2], [1, 2]), {}, "query must say"),
        (([1, 0], [1, 2], [1, 2]), {"query": 3}, "query must be one"),
        (([1, 0], [1, 2]), {"query": 3}, "needs qid"),
        (([1, 0], [1, 2]), {"documents": "ABC"}, "documents has 3"),
        (([1, 0], [1, 2]), {"k": 0}, "k must be"),
    ):
        with pytest.raises(ValueError, match=message):
            make(*arguments, **settings)


# Conventions


def test_discount_and_gain_displays():
    choices = ["log2", "zipf", ("power", 0.5), ("exponential", 2)]
    display = displays.DiscountDisplay.from_discounts(choices, n_ranks=6)
    for discount, values in zip(choices, display.discounts, strict=True):
        np.testing.assert_array_equal(values, br.DCG(discount=discount).discounts(6))
    names = ["log2: 1 / log2(1 + rank)", "zipf: 1 / rank", "power: rank^-0.5", "exponential: 2^-rank"]
    assert display.names == texts(display.ax_) == names
    np.testing.assert_array_equal(line(display.ax_, names[1]).get_ydata(), 1 / np.arange(1, 7))
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("rank", "discount")
    gains = displays.GainDisplay.from_gains({"table": [0, 1, 5], "exp2": "exp2"}, labels=[2, 0, 1])
    np.testing.assert_array_equal(gains.gains, [[0, 1, 5], [0, 1, 3]])
    assert texts(gains.ax_) == ["table", "exp2"]
    assert (gains.ax_.get_xlabel(), gains.ax_.get_ylabel()) == ("label", "gain")
    assert displays.GainDisplay.from_gains("linear").names == ["linear: label"]
    assert displays.DiscountDisplay.from_discounts(np.reciprocal).names == ["reciprocal"]


def test_discount_and_gain_displays_name_bad_input():
    for make, message in (
        (lambda: displays.DiscountDisplay.from_discounts([]), "discounts must not be empty"),
        (lambda: displays.DiscountDisplay.from_discounts(["cubic"]), "discount must be"),
        (lambda: displays.DiscountDisplay.from_discounts(n_ranks=0), "n_ranks"),
        (lambda: displays.GainDisplay.from_gains(["cubic"]), "gain must be"),
        (lambda: displays.GainDisplay.from_gains(labels=[-1]), "negative"),
    ):
        with pytest.raises(ValueError, match=message):
            make()


# Ties


def test_tie_display():
    labels, scores, qid = ragged()
    display = displays.TieSpreadDisplay.from_predictions(labels, scores, qid, k=3, empty="skip")
    expected = tie_range(labels, scores, qid, k=3, empty="skip", per_query=True)
    known = pd.DataFrame(expected._asdict(), index=br.Queries.from_qid(qid).ids).dropna()
    assert sorted(display.queries) == sorted(known.index)
    for name in expected._fields:
        np.testing.assert_array_equal(getattr(display, name), known.loc[display.queries, name])
    assert (np.diff(display.average) >= 0).all()
    segments = np.array([segment[:, 1] for segment in display.ax_.collections[0].get_segments()])
    np.testing.assert_array_equal(segments, np.c_[display.worst, display.best])
    np.testing.assert_array_equal(line(display.ax_, "average over orders").get_ydata(), display.average)
    affected = (known["best"] - known["worst"] > 1e-12).sum()
    assert f"{affected} of {len(known)}" in display.ax_.get_xlabel()
    assert f"{known['worst'].mean():.4f} to {known['best'].mean():.4f}" in display.ax_.get_title()
    assert texts(display.ax_) == ["worst to best order of ties", "average over orders"]


def test_tie_display_from_estimator(data, rankers):
    X, y, qid = data
    display = displays.TieSpreadDisplay.from_estimator(rankers["a"], X, y, qid, k=5)
    assert display.average.mean() == pytest.approx(rankers["a"].score(X, y, qid), abs=1e-12)
    one = displays.TieSpreadDisplay.from_predictions([1, 0], [1, 1])
    assert one.ax_.get_title() == "NDCG: 0.6309 to 1.0000, average 0.8155"
    with pytest.raises(ValueError, match="empty must be"):
        displays.TieSpreadDisplay.from_predictions([1, 0], [1, 1], empty="none")


# Training


def test_training_display(rankers):
    names = {"valid_0": "training", "valid_1": "validation"}
    display = displays.TrainingCurveDisplay.from_estimator(rankers, datasets=names)
    assert display.metric == "ndcg@5"
    assert display.best == {"a": 8, "b": 8}
    for (ranker, title), values in display.curves.items():
        key = {"training": "valid_0", "validation": "valid_1"}[title]
        np.testing.assert_array_equal(values, rankers[ranker].evals_result_[key]["ndcg@5"])
        drawn = line(display.ax_, f"{ranker}, {title}")
        np.testing.assert_array_equal(drawn.get_xydata(), np.c_[np.arange(1, 9), values])
        assert list(drawn.get_markevery()) == ([7] if title == "validation" else [])
    final = display.curves["a", "validation"][-1]
    assert texts(display.ax_)[0] == f"a: {final:.4f} after 8 rounds"
    assert texts(display.ax_)[2:] == ["training", "validation"]
    assert display.ax_.get_ylabel() == "NDCG@5, mean over queries"


def test_training_display_marks_the_best_round(data):
    ranker = br.LightGBMRanker(n_estimators=60, early_stopping_rounds=3, validation_fraction=0.3, random_state=0)
    display = displays.TrainingCurveDisplay.from_estimator(ranker.fit(*data), name="mine")
    (values,) = display.curves.values()
    assert display.best["mine"] == ranker.best_iteration_ == np.argmax(values) + 1 < len(values)
    (drawn,) = display.ax_.get_lines()
    assert list(drawn.get_markevery()) == [ranker.best_iteration_ - 1]


def test_training_display_of_other_estimators_and_bad_input(rankers):
    make = displays.TrainingCurveDisplay.from_estimator
    foreign = SimpleNamespace(evals_result_={"valid": {"map": [0.1, 0.2]}}, best_iteration_=0)
    assert make(foreign).best == {}
    for estimator, settings, message in (
        (br.LightGBMRanker(), {}, "evals_result_"),
        (rankers, {"metric": "map"}, "metric must be one of ndcg@5"),
        (rankers, {"datasets": {"test": "x"}}, "datasets must be among valid_0, valid_1"),
        (rankers, {"datasets": {}}, "datasets"),
        (rankers | {"c": foreign}, {}, "metric must be one of map"),
        (rankers, {"name": "x"}, "name"),
        ({}, {}, "estimator"),
    ):
        with pytest.raises(ValueError, match=message):
            make(estimator, **settings)


# Comparisons


@pytest.fixture(scope="module")
def comparison():
    folds = br.query_folds(br.Dataset(*br.make_ranking(n_queries=40, random_state=0)), 3)
    rankers = {name: br.LightGBMRanker(name, n_estimators=5, n_jobs=1) for name in ("softmax", "squared", "logistic")}
    return br.compare(rankers, folds, measures=["ndcg@1", "ndcg@10"])


def test_comparison_display(comparison):
    display = displays.ComparisonDisplay.from_comparison(comparison, "ndcg@10")
    rows = comparison.table[comparison.table["metric"] == "ndcg@10"].set_index("ranker")
    columns = ["mean", "difference", "low", "high"]
    pd.testing.assert_frame_equal(
        display.table.set_index("ranker").loc[rows.index, columns], rows[columns], check_names=False
    )
    assert display.table["difference"].is_monotonic_increasing
    (bars,) = display.ax_.containers
    segments = np.array([segment[:, 0] for segment in bars.lines[2][0].get_segments()])
    others = display.table[display.table["ranker"] != "softmax"]
    np.testing.assert_allclose(segments, others[["low", "high"]], atol=1e-12)
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == [f"{row.ranker}  ({row.mean:.4f})" for row in display.table.itertuples()]
    assert "NDCG@10" in display.ax_.get_xlabel()
    assert "softmax" in display.ax_.get_title()


def test_comparison_display_without_intervals_is_normal(comparison):
    bare = comparison._replace(table=comparison.table.drop(columns=["low", "high"]))
    display = displays.ComparisonDisplay.from_comparison(bare, "ndcg@1")
    values = {name: rows["ndcg@1"].to_numpy() for name, rows in comparison.per_query.groupby("ranker")}
    row = display.table.set_index("ranker").loc["squared"]
    margin = 1.96 * stats.sem(values["squared"] - values["softmax"])
    assert (row["low"], row["high"]) == pytest.approx((row["difference"] - margin, row["difference"] + margin))
    with pytest.raises(ValueError, match=r"metric must be one of ndcg@1, ndcg@10"):
        displays.ComparisonDisplay.from_comparison(comparison, "ndcg@5")


# All of them


def test_every_display_draws_onto_given_axes_and_again(rankers, comparison):
    labels, scores, qid = ragged()
    for make in (
        lambda ax: displays.NDCGCurveDisplay.from_predictions(labels, scores, qid, ax=ax),
        lambda ax: displays.DCGBreakdownDisplay.from_predictions(labels, scores, qid, query=1, ax=ax),
        lambda ax: displays.DiscountDisplay.from_discounts(ax=ax),
        lambda ax: displays.GainDisplay.from_gains(ax=ax),
        lambda ax: displays.TieSpreadDisplay.from_predictions(labels, scores, qid, ax=ax),
        lambda ax: displays.TrainingCurveDisplay.from_estimator(rankers, ax=ax),
        lambda ax: displays.ComparisonDisplay.from_comparison(comparison, "ndcg@1", ax=ax),
    ):
        figure, ax = plt.subplots()
        display = make(ax)
        assert (display.ax_, display.figure_) == (ax, figure)
        assert ax.get_xlabel()
        assert ax.get_ylabel() or ax.get_yticklabels()
        figure.canvas.draw()
        assert display.plot().ax_ is not ax
        with pytest.raises(TypeError, match="ax must be"):
            make("axes")


def test_lines_differ_without_colour_and_colours_are_safe():
    looks = style.styles(8)
    assert len({(one.marker, one.linestyle) for one in looks}) == 8
    assert len({one.color for one in looks[:7]}) == 7
    assert not any(one.marker for one in style.styles(3, 100))


def test_missing_matplotlib_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"boostrank\[plot\]"):
        displays.GainDisplay.from_gains()
