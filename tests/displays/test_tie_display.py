"""Range of NDCG over the permutations of ties: its numbers are those of the metric, and the lines show them."""

import numpy as np
import pandas as pd
import pytest
from artists import legend_texts, line, overlapping_texts, tick_texts

from boostrank import displays
from boostrank.core.queries import Queries
from boostrank.metrics import tie_range


def test_lines_go_from_the_worst_to_the_best_permutation(ragged):
    labels, scores, qid = ragged
    display = displays.TieRangeDisplay.from_predictions(labels, scores, qid, k=3, empty="skip")
    expected = tie_range(labels, scores, qid, k=3, empty="skip", per_query=True)
    known = pd.DataFrame(expected._asdict(), index=Queries.from_qid(qid).ids).dropna()
    assert sorted(display.queries) == sorted(known.index)
    for name in expected._fields:
        np.testing.assert_array_equal(getattr(display, name), known.loc[display.queries, name])
    assert (np.diff(display.average) >= 0).all()
    segments = np.array([segment[:, 1] for segment in display.ax_.collections[0].get_segments()])
    np.testing.assert_array_equal(segments, np.c_[display.worst, display.best])
    np.testing.assert_array_equal(line(display.ax_, "average over all permutations").get_ydata(), display.average)
    affected = (known["best"] - known["worst"] > 1e-12).sum()
    assert f"{affected} of {len(known)}" in display.ax_.get_xlabel()
    means = ", ".join(f"{name} {known[name].mean():.4f}" for name in ("worst", "average", "best"))
    assert display.ax_.get_title() == f"mean NDCG@3 over queries: {means}"
    assert legend_texts(display.ax_) == ["worst to best permutation of ties", "average over all permutations"]


def test_few_queries_are_rows_with_their_ids(ragged):
    labels, scores, qid = ragged
    kept = qid < 10
    display = displays.TieRangeDisplay.from_predictions(labels[kept], scores[kept], qid[kept], k=3)
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
    display = displays.TieRangeDisplay.from_estimator(rankers["a"], X, y, qid, k=5)
    assert display.average.mean() == pytest.approx(rankers["a"].score(X, y, qid), abs=1e-12)
    one = displays.TieRangeDisplay.from_predictions([1, 0], [1, 1], [7, 7])
    assert one.ax_.get_title() == "NDCG: worst 0.6309, average 0.8155, best 1.0000"
    assert (one.ax_.get_xlabel(), one.ax_.get_ylabel()) == ("NDCG", "query")
    assert tick_texts(one.ax_.yaxis) == ["7"]
    assert one.figure_.get_figheight() < 2.5
    with pytest.raises(ValueError, match="empty must be"):
        displays.TieRangeDisplay.from_predictions([1, 0], [1, 1], [7, 7], empty="none")
    with pytest.raises(ValueError, match="tie_range got no qid"):
        displays.TieRangeDisplay.from_predictions([1, 0], [1, 1])


def test_means_in_the_title_have_the_weights_of_queries(ragged):
    labels, scores, qid = ragged
    weights = np.random.default_rng(1).integers(1, 5, 40)
    display = displays.TieRangeDisplay.from_predictions(labels, scores, qid, k=3, empty="skip", sample_weight=weights)
    expected = tie_range(labels, scores, qid, k=3, empty="skip", sample_weight=weights)
    means = ", ".join(f"{name} {value:.4f}" for name, value in expected._asdict().items())
    assert display.ax_.get_title() == f"mean NDCG@3 over weighted queries: {means}"
    known = dict(zip(Queries.from_qid(qid).ids.tolist(), weights.tolist(), strict=True))
    assert display.weights.tolist() == [known[query] for query in display.queries.tolist()]
