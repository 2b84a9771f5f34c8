"""Displays of rankings of single queries: bars of ranks, ranges of ties, and contributions that add up."""

import numpy as np
import pandas as pd
import pytest
from artists import legend_texts, line, overlapping_texts, tick_texts

import boostrank as br
from boostrank.core.queries import Queries
from boostrank.displays import ContributionDisplay, DCGBreakdownDisplay, TieRangeDisplay
from boostrank.inspection.explanations import explain
from boostrank.metrics import dcg_breakdown, tie_range


def test_bars_are_contributions_of_ranks():
    labels, scores, qid = [3, 2, 0, 1], [0.1, 0.4, 0.3, 0.2], [7, 7, 7, 7]
    display = DCGBreakdownDisplay.from_predictions(labels, scores, qid, k=3, documents="ABCD")
    pd.testing.assert_frame_equal(display.table, dcg_breakdown(labels, scores, qid, k=3))
    assert display.documents == ["B", "C", "D"]
    assert display.dcg == pytest.approx(br.get_measure("dcg@3")(labels, scores, qid))
    assert display.ndcg == pytest.approx(br.ndcg_score(labels, scores, qid, k=3))
    heights = [bar.get_height() for bar in display.ax_.patches]
    np.testing.assert_allclose(heights, [*display.table["contribution"], *display.table["ideal_contribution"]])
    ticks = [tick.get_text() for tick in display.ax_.get_xticklabels()]
    assert ticks == ["1\nB", "2\nC", "3\nD"]
    assert f"{display.dcg:.3f}" in legend_texts(display.ax_)[0]
    assert display.ax_.get_title() == f"query 7: NDCG@3 = {display.ndcg:.4f}; numbers at bars: relevance"
    assert [text.get_text() for text in display.ax_.texts] == ["2", "0", "1", "3", "2", "1"]


def test_one_of_several_queries(data, rankers):
    X, y, qid = data
    display = DCGBreakdownDisplay.from_estimator(rankers["a"], X, y, qid, query=3)
    rows = qid == 3
    scores = rankers["a"].predict(X[rows])
    assert display.ndcg == pytest.approx(br.ndcg_score(y[rows], scores, qid[rows], ties="stable"))
    assert set(display.table["document"]) == set(np.flatnonzero(rows))
    make = DCGBreakdownDisplay.from_predictions
    for arguments, settings, message in (
        (([1, 0], [1, 2], [1, 2]), {}, "query must be one of the 2 queries of qid, such as 1; got None"),
        (([1, 0], [1, 2], [1, 2]), {"query": 3}, "query must be one of .* got 3"),
        (([1, 0], [1, 2], [7, 7]), {"documents": "ABC"}, "documents has 3"),
    ):
        with pytest.raises(ValueError, match=message):
            make(*arguments, **settings)


def test_a_query_without_relevant_documents():
    display = DCGBreakdownDisplay.from_predictions([0, 0], [1, 2], ["a b"] * 2)
    assert np.isnan(display.ndcg)
    title = "query a b: NDCG not defined (no relevant document); numbers at bars: relevance"
    assert display.ax_.get_title().replace("\n", " ") == title


def test_long_names_do_not_overlap():
    labels, scores, qid = np.arange(12) % 3, np.arange(12), ["a query with a very long id " * 5] * 12
    names = [f"https://example.org/documents/{i}" for i in range(12)]
    display = DCGBreakdownDisplay.from_predictions(labels, scores, qid, documents=names, k=10)
    assert tick_texts(display.ax_.xaxis)[0] == "1 https://exam…ocuments/11"
    slanted = {label.get_rotation() for label in display.ax_.get_xticklabels()}
    assert slanted == {35}
    title = display.ax_.get_title()
    assert title.startswith("query a query with a … very long id : NDCG@10 = 0.8")
    assert len(title) < 100
    # Boxes of slanted texts overlap where their letters do not.
    upright = [pair for pair in overlapping_texts(display.figure_) if not any("https" in text for text in pair)]
    assert not upright


def test_lines_go_from_the_worst_to_the_best_permutation(ragged):
    labels, scores, qid = ragged
    display = TieRangeDisplay.from_predictions(labels, scores, qid, k=3, empty="skip")
    expected = tie_range(labels, scores, qid, k=3, empty="skip", per_query=True)
    known = pd.DataFrame(expected._asdict(), index=Queries.from_qid(qid).ids).dropna()
    assert sorted(display.queries) == sorted(known.index)
    for name in expected._fields:
        np.testing.assert_array_equal(getattr(display, name), known.loc[display.queries, name])
    assert (np.diff(display.average) >= 0).all()
    segments = np.array([segment[:, 0] for segment in display.ax_.collections[0].get_segments()])
    np.testing.assert_array_equal(segments, np.c_[display.worst, display.best])
    np.testing.assert_array_equal(line(display.ax_, "average over all permutations").get_xdata(), display.average)
    affected = (known["best"] - known["worst"] > 1e-12).sum()
    assert f"{affected} of {len(known)}" in display.ax_.get_xlabel()
    means = ", ".join(f"{name} {known[name].mean():.4f}" for name in ("worst", "average", "best"))
    assert display.ax_.get_title() == f"mean NDCG@3 over queries: {means}"
    assert legend_texts(display.ax_) == ["worst to best permutation of ties", "average over all permutations"]


def test_few_queries_are_rows_with_their_ids(ragged):
    labels, scores, qid = ragged
    kept = qid < 10
    display = TieRangeDisplay.from_predictions(labels[kept], scores[kept], qid[kept], k=3)
    assert tick_texts(display.ax_.yaxis) == [str(query) for query in display.queries]
    segments = np.array(display.ax_.collections[0].get_segments())
    np.testing.assert_array_equal(segments[..., 0], np.c_[display.worst, display.best])
    np.testing.assert_array_equal(segments[:, 0, 1], np.arange(1, 11))
    points = line(display.ax_, "average over all permutations").get_xydata()
    np.testing.assert_array_equal(points, np.c_[display.average, np.arange(1, 11)])
    affected = (display.best - display.worst > 1e-12).sum()
    assert display.ax_.get_xlabel() == f"NDCG@3 ({affected} of 10 depend on the ranking of ties)"
    assert not overlapping_texts(display.figure_)


def test_predictions_of_an_estimator_and_one_query(data, rankers):
    X, y, qid = data
    display = TieRangeDisplay.from_estimator(rankers["a"], X, y, qid, k=5)
    assert display.average.mean() == pytest.approx(rankers["a"].score(X, y, qid), abs=1e-12)
    one = TieRangeDisplay.from_predictions([1, 0], [1, 1], [7, 7])
    assert one.ax_.get_title() == "NDCG: worst 0.6309, average 0.8155, best 1.0000"
    assert (one.ax_.get_xlabel(), one.ax_.get_ylabel()) == ("NDCG", "query")
    assert tick_texts(one.ax_.yaxis) == ["7"]
    assert one.figure_.get_figheight() < 2.5


def bars(ax):
    """Left end and width of each bar, from the top to the bottom."""
    rectangles = sorted(ax.patches, key=lambda one: one.get_y())
    return np.array([(one.get_x(), one.get_width()) for one in rectangles])


def test_bars_begin_where_the_one_above_ends_and_add_up(rankers, data):
    X, _, qid = data
    for ranker in rankers.values():
        display = ContributionDisplay.from_estimator(ranker, X, qid, query=2, ranks=(1, 5), n_features=4)
        found, ax = display.explanation, display.ax_
        drawn = bars(ax)
        np.testing.assert_allclose(drawn[:-1, 1], found.summary(4)["difference"])
        np.testing.assert_allclose(drawn[1:-1, 0], drawn[:-2].sum(axis=1))
        np.testing.assert_allclose([drawn[0, 0], drawn[-1, 0]], 0.0)
        np.testing.assert_allclose([drawn[-2].sum(), drawn[-1, 1]], found.difference)
        low, high = ax.get_xlim()
        assert low < drawn.sum(axis=1).min() < drawn.sum(axis=1).max() < high
        labels = tick_texts(ax.yaxis)
        assert labels[-2:] == [f"{len(found.table) - 4} other features", "difference of scores"]
        first = found.table.iloc[0]
        assert labels[0] == f"feature {first['feature']} ({first['value_a']:.6g} | {first['value_b']:.6g})"
        assert ax.get_title() == "query 2: why rank 1 is above rank 5"
        assert ax.get_xlabel().startswith("score of rank 1 minus score of rank 5\n")
        # Bars to the left differ from those to the right also in grey.
        assert {one.get_hatch() for one in ax.patches if one.get_width() < 0} <= {"////"}
        assert not overlapping_texts(display.figure_)


def test_the_score_of_one_document_begins_at_the_expected_score(rankers, data):
    X, _, qid = data
    found = explain(rankers["a"], X, qid, query=2, ranks=3)
    display = ContributionDisplay(found, 3).plot()
    drawn = bars(display.ax_)
    np.testing.assert_allclose(drawn[0, 0], found.expected_score)
    np.testing.assert_allclose([drawn[-2].sum(), drawn[-1, 1]], found.scores[0])
    assert tick_texts(display.ax_.yaxis)[-1] == "score"
    assert display.ax_.get_title() == "query 2: the score of the document at rank 3"
    assert not overlapping_texts(display.figure_)


def test_long_names_and_no_difference(data):
    X, y, qid = data
    frame = pd.DataFrame(X, columns=[f"the number of all clicks of the last {i} weeks" for i in range(X.shape[1])])
    ranker = br.LightGBMRanker(n_estimators=5, reg_lambda=1.0, n_jobs=1).fit(frame, y, qid)
    display = ContributionDisplay.from_estimator(ranker, frame, qid, query=1, ranks=(4, 1))
    assert display.ax_.get_title() == "query 1: why rank 4 is below rank 1"
    assert not overlapping_texts(display.figure_)
    same = pd.concat([frame[:1]] * 2)
    display = ContributionDisplay.from_estimator(ranker, same)
    assert tick_texts(display.ax_.yaxis) == [f"{X.shape[1]} other features", "difference of scores"]
