"""Displays of means by group, of queries and of documents by score: all numbers are those of plain loops."""

import numpy as np
import pytest
from artists import error_bars, legend_texts, overlapping_texts, tick_texts
from scipy import stats

import boostrank as br
from boostrank.displays import QueryGroupDisplay

by_group = QueryGroupDisplay.from_predictions


def by_loop(values, groups, n_first):
    """Rows (group, queries, mean, low, high) of a plain loop, the groups in the sequence of `n_first`."""
    rows = []
    for group in [*n_first, "all queries"]:
        inside = [v for v, g in zip(values, groups, strict=True) if group in (g, "all queries") and not np.isnan(v)]
        n, mean = len(inside), np.mean(inside)
        margin = stats.t.ppf(0.975, n - 1) * np.std(inside, ddof=1) / np.sqrt(n) if n > 1 else np.nan
        rows.append((group, n, mean, mean - margin, mean + margin))
    return rows


@pytest.mark.parametrize("by", ["size", "relevant", "difficulty"])
def test_means_are_those_of_a_plain_loop(ragged, by):
    labels, scores, qid = ragged
    display = by_group(labels, {"tied": scores, "ideal": labels}, qid, by=by, measure="ndcg@3", n_groups=3)
    ids = list(dict.fromkeys(qid))
    assert display.values.index.tolist() == ids
    parts = [(labels[qid == one], scores[qid == one]) for one in ids]
    numbers = {
        "size": lambda y: len(y),
        "relevant": lambda y: int((y > 0).sum()),
        "difficulty": lambda y: br.ndcg_score(y, np.zeros(len(y)), np.zeros(len(y)), k=3),
    }
    values = [numbers[by](y) for y, _ in parts]
    for group, value in zip(display.groups, values, strict=True):
        low, _, high = group.partition(" to ")
        assert float(low) * 0.99 <= value <= float(high or low) * 1.01
    texts = list(dict.fromkeys(display.groups[np.argsort(values, kind="stable")]))
    if len(set(values)) > 10:
        assert len(texts) == 3 + (0 in values)
        assert ("0" in texts) == (0 in values)
    else:
        assert texts == [str(value) for value in sorted(set(values))]
    for column, of in (("tied", 1), ("ideal", 0)):
        each = [br.ndcg_score(part[0], part[of], np.zeros(len(part[0])), k=3) for part in parts]
        expected = by_loop(each, display.groups, texts)
        table = display.table[display.table["ranker"] == column]
        assert table["group"].tolist() == [row[0] for row in expected]
        np.testing.assert_allclose(table[["queries", "mean", "low", "high"]], [row[1:] for row in expected])


def test_the_worst_queries_are_those_that_rankers_could_improve(ragged):
    labels, scores, qid = ragged
    display = by_group(labels, {"a": scores, "b": -scores}, qid, n_worst=5)
    rows = []
    for one in dict.fromkeys(qid):
        y, s = labels[qid == one], scores[qid == one]
        if len(set(y)) > 1:
            value = np.mean([br.ndcg_score(y, sign * s, np.zeros(len(y)), k=10) for sign in (1, -1)])
            rows.append((value, -(y > 0).sum(), one, len(y)))
    rows.sort(key=lambda row: row[:2])
    assert display.worst.index.tolist() == [row[2] for row in rows[:5]]
    np.testing.assert_allclose(display.worst[["value", "documents"]], [(row[0], row[3]) for row in rows[:5]])
    (note,) = display.ax_.texts
    lines = note.get_text().split("\n")
    assert lines[:3] == ["queries of lowest", "NDCG@10,", "mean of the rankers:"]
    assert lines[3:] == [f"{row[0]:.3f}  {row[2]}" for row in rows[:5]]
    weights = np.array([query != rows[0][2] for query in dict.fromkeys(qid)], dtype=float)
    without = by_group(labels, {"a": scores, "b": -scores}, qid, n_worst=4, sample_weight=weights)
    assert without.worst.index.tolist() == [row[2] for row in rows[1:5]]
    assert not by_group(labels, scores, qid, n_worst=0).ax_.texts


def test_of_equal_queries_the_one_with_more_relevant_documents_is_first():
    labels, scores = [1, 0, 0, 1, 1, 0, 1, 0], [0, 1, 2, 0, 0, 5, 1, 0]
    qid = ["a", "a", "a", "b", "b", "b", "c", "c"]
    display = by_group(labels, scores, qid, measure="precision@1")
    assert display.worst["value"].tolist() == [0, 0, 1]
    assert display.worst.index.tolist() == ["b", "a", "c"]
    assert display.worst["relevant"].tolist() == [2, 1, 1]


def test_rows_points_and_texts(ragged):
    labels, scores, qid = ragged
    display = by_group(labels, {"a": scores, "b": -scores}, qid, by="relevant", measure=br.get_measure("mrr"))
    for number, (name, offset) in enumerate((("a", -0.15), ("b", 0.15))):
        part = display.table[display.table["ranker"] == name]
        points, segments = error_bars(display.ax_, number)
        np.testing.assert_allclose(points, np.c_[part["mean"], np.arange(len(part)) + offset])
        found = np.array([segment[:, 0] for segment in segments])
        np.testing.assert_allclose(found, part[["low", "high"]])
    n = len(part)
    assert display.ax_.get_ylim() == (n - 0.4, -0.6)
    rows = [f"{row.group}  ({row.queries} {'query' if row.queries == 1 else 'queries'})" for row in part.itertuples()]
    assert tick_texts(display.ax_.yaxis) == rows
    assert display.ax_.get_xlabel() == "mrr, mean over queries with 95% interval"
    assert display.ax_.get_ylabel() == "relevant documents of the query"
    assert legend_texts(display.ax_) == ["a", "b"]
    assert not overlapping_texts(display.figure_)
    named = by_group(labels, scores, qid, name="mine")
    assert (legend_texts(named.ax_), named.ax_.get_title()) == ([], "mine")


def test_skipped_groups_and_one_query():
    skip = br.get_measure("ndcg@10", empty="skip")
    display = by_group([0, 0, 1, 0], [1, 2, 3, 4], [1, 1, 2, 2], by="relevant", measure=skip)
    assert display.table["queries"].tolist() == [0, 1, 1]
    assert display.worst.index.tolist() == [2]
    display.figure_.canvas.draw()
    one = by_group([0, 1], [1, 2], [7, 7])
    assert one.table["mean"].tolist() == [1, 1]
    assert not overlapping_texts(one.figure_)


def test_groups_name_bad_input(ragged):
    for settings, message in (
        ({"by": "length"}, "by must be one of size, relevant, difficulty; got 'length'"),
        ({"by": {1: "a"}}, "by must have a value for each query"),
        ({"measure": "nothing"}, "measure must be"),
        ({"n_groups": 0}, "n_groups"),
        ({"n_worst": -1}, "n_worst"),
    ):
        with pytest.raises(ValueError, match=message):
            by_group(*ragged, **settings)
    many = np.arange(60)
    with pytest.raises(ValueError, match="by has 60 groups, and a plot shows at most 40"):
        by_group(np.ones(60), np.ones(60), many, by={one: f"g{one}" for one in many})
    with pytest.raises(ValueError, match="QueryGroupDisplay needs relevance labels"):
        by_group(br.PreferenceGraph([7, 7], [0], [1]), [1, 2], [7, 7])


@pytest.mark.parametrize(
    ("numbers", "texts"),
    [
        ([0.33, 0.33001, 0.398, 0.4, 0.41, 0.5, 0.61, 0.7, 0.81, 0.9, 1.0, 100.0], ["0.330 to 0.500", "0.610 to 100"]),
        ([float(n) for n in range(12)], ["0 to 5", "6 to 11"]),
        (list(range(12)), ["0 to 5", "6 to 11"]),
    ],
)
def test_ranges_of_numbers_have_three_digits(numbers, texts):
    qid = np.repeat(np.arange(12), 2)
    by = dict(enumerate(numbers))
    display = by_group(np.tile([0, 1], 12), np.arange(24.0), qid, by=by, n_groups=2)
    assert [text.split("  (")[0] for text in tick_texts(display.ax_.yaxis)][:2] == texts
