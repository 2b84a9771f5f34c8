"""The report of a comparison: one file with all numbers, pictures and settings, readable on a
screen and a phone."""

import base64
import html
import re

import matplotlib as mpl
import pytest
from sklearn.linear_model import Ridge

import boostrank as br
from boostrank.comparison import Comparison

mpl.use("Agg")


def read(path):
    """Rows of the tables under each head of a report, its pictures by their texts, and all text."""
    text = path.read_text("utf-8")
    parts = [part.partition("</h2>") for part in text.split("<h2>")[1:]]
    cells = {
        head: [re.findall("<t[dh].*?>(.*?)</t", row) for row in part.split("<tr>")[1:]]
        for head, _, part in parts
    }
    rows = {
        head: [[html.unescape(cell) for cell in row] for row in part]
        for head, part in cells.items()
    }
    pictures = re.findall('<img alt="(.*?)" src="data:image/svg.xml;base64,(.*?)">', text)
    return rows, {alt: base64.b64decode(data).decode() for alt, data in pictures}, text


@pytest.fixture(scope="module")
def comparison():
    rankers = {"<ridge>": Ridge()}
    for name in ("lambdarank", "softmax"):
        rankers[name] = br.LightGBMRanker(
            name, n_estimators=8, early_stopping_rounds=4, random_state=7, n_jobs=1
        )
    return br.compare(
        rankers, *br.make_ranking(n_queries=80, random_state=0), cv=3, measures=["ndcg@5", "map"]
    )


def test_report_has_the_numbers_of_the_comparison(comparison, tmp_path):
    comparison.save_html(tmp_path / "r.html", "ndcg@5")
    rows, pictures, text = read(tmp_path / "r.html")
    names = [(measure, name) for measure in ("ndcg@5", "map") for name in comparison.names]
    printed = [[name, *comparison.cells(name, measure)] for measure, name in names]
    assert [row for row in rows["80 queries"] if row[0] != "ranker"] == printed
    values, (_, y, qid) = comparison.per_query, br.make_ranking(n_queries=80, random_state=0)
    values = values.pivot(index="query", columns="ranker", values="ndcg@5")
    best = values.mean().drop("<ridge>").idxmax()
    difference = (values[best] - values["<ridge>"]).nsmallest(10)
    head, *worst = rows["Queries with the lowest difference in NDCG@5"]
    assert head == ["query", "relevant", "<ridge>", best, "diff"]
    for row, (query, value) in zip(worst, difference.items(), strict=True):
        relevant, both = (y[qid == query] > 0).sum(), values.loc[query, ["<ridge>", best]]
        assert row == [str(query), str(relevant), *map("{:.4f}".format, both), f"{value:+.4f}"]
    settings = dict(rows["Settings"])
    assert {"objective='softmax'", "random_state=7"} <= set(
        re.split(r", |\(|\)", settings["softmax"])
    )
    assert settings["<ridge>"].startswith("Ridge(alpha=1.0, ")
    assert f"boostrank {br.__version__}" in settings["versions"]
    assert list(pictures) == ["Differences to &lt;ridge&gt;"]
    # Nothing is loaded: references of pictures are to their own parts.
    outside = re.compile(r"(?:href|src)=\"(?!#|data:)|@import|url\((?!#)|<script|<link")
    assert not any(outside.search(one) for one in [text, *pictures.values()])


def test_parts_without_data_are_left_out(comparison, tmp_path):
    qrels, file = {query: {"a": 1, "b": 0, "c": 2} for query in "1234"}, tmp_path / "r.html"
    runs = {
        name: {query: {"a": 2.0, "b": high} for query in qrels}
        for name, high in (("one", 1.0), ("two", 3.0))
    }
    br.compare_runs(qrels, runs, ["RR"]).save_html(file)
    worst = read(file)[0]["Queries with the lowest difference in RR"][1:]
    assert [row[:2] for row in worst] == [[query, "2"] for query in "1234"]
    ridge = comparison.per_query[comparison.per_query["ranker"] == "<ridge>"].drop(
        columns="relevant"
    )
    Comparison(ridge, ["ndcg@5", "map"], "<ridge>").save_html(file)
    assert list(read(file)[0]) == ["80 queries", "Differences in map", "Settings"]
    with pytest.raises(ValueError, match="measure must be one of ndcg@5, map; got 'mrr'"):
        comparison.save_html(file, "mrr")
