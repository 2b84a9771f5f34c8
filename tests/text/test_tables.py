"""Results in notebooks: HTML tables with the same texts as the printed ones, escaped, without
colours."""

import re
from html.parser import HTMLParser

import pytest

import boostrank as br
from boostrank.text.tables import html_table, text_lines


class Tables(HTMLParser):
    """Captions, cells and notes of HTML; an unclosed or unknown element is an error."""

    def __init__(self, text):
        super().__init__()
        self.open, self.captions, self.tables, self.notes, self.aligned = [], [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        if tag == "br":
            self.handle_data("\n")
            return
        self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self.aligned.append(
                re.search("text-align: (left|right)", dict(attrs)["style"]).group(1)
            )
        elif tag in ("caption", "p"):
            (self.captions if tag == "caption" else self.notes).append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        inside = self.open[-1] if self.open else ""
        if inside in ("td", "th"):
            self.tables[-1][-1][-1] += data
        elif inside in ("caption", "p"):
            (self.captions if inside == "caption" else self.notes)[-1] += data
        else:
            assert not data.strip()


def test_cells_are_escaped_and_aligned():
    rows = [["<b>name</b>", "n & m"], ["</td><script>x</script>", '"1"\n2'], ["", 3]]
    text = html_table(rows, "a < b", notes=["<i>", "", "end"])
    tables = Tables(text)
    assert tables.tables == [[[str(cell) for cell in row] for row in rows]]
    assert (tables.captions, tables.notes) == (["a < b"], ["<i>", "end"])
    assert tables.aligned == ["left", "right"] * 3
    assert "script>" not in text
    assert text.count("<th ") == 2
    # A notebook may be dark: no colour of text or background is set.
    assert not re.search(r"#|rgb|background|color: (?!inherit)", text)


def test_lines_are_aligned_on_a_terminal():
    # Two characters of Japanese are as wide as four others, and a combining mark has no width.
    rows = [["name", "n", "note"], ["東京", "10", "two\nlines"], ["na\u0308me", "1\r", "[b]\tc"]]
    assert text_lines(rows, last_is_text=True) == [
        "name   n  note",
        "─" * (4 + 2 + 2 + 2 + 9),
        "東京  10  two",
        "          lines",
        "na\u0308me   1  [b]     c",
    ]


@pytest.fixture(scope="module")
def comparison():
    folds = br.query_folds(br.Dataset(*br.make_ranking(n_queries=30, random_state=0)), 3)
    rankers = {
        name: br.LightGBMRanker("softmax", n_estimators=n, n_jobs=1)
        for name, n in (("<a>", 2), ("b", 5))
    }
    return br.compare(rankers, folds, measures=["ndcg@1", "mrr"])


def test_comparisons(comparison):
    tables = Tables(comparison._repr_html_())
    assert tables.captions == ["ndcg@1, compared with <a>", "mrr, compared with <a>"]
    for table, measure in zip(tables.tables, comparison.measures, strict=True):
        rows = [[name, *comparison.cells(name, measure)] for name in comparison.names]
        assert table == [["ranker", *comparison.heads], *rows]
    assert tables.notes == [*map(comparison.conclusion, comparison.measures), comparison.caveats()]


def test_reconciliations():
    found = br.reconcile([0, 2, 0, 0], [0.1, 0.2, 0.3, 0.4], [7, 7, 8, 8], "ndcg@10")
    tables = Tables(found._repr_html_())
    assert tables.captions == [found.head]
    assert tables.tables[0][0] == ["library", "metric", "because", "value", "diff"]
    assert tables.tables[0][1:] == [[a, b, e, c, d] for a, b, c, d, e in found.rows]
    assert len(tables.tables[0]) > 5


def test_a_search_does_not_print_row_numbers():
    ranker, data = (
        br.LightGBMRanker(n_estimators=2, n_jobs=1),
        br.make_ranking(n_queries=20, random_state=0),
    )
    search = br.grid_search(ranker, {"num_leaves": [2, 4]}, *data, cv=3)
    assert "of 2 settings on 3 folds" in repr(search)
    assert "&lt;3 folds of queries&gt;" in search._repr_html_()
