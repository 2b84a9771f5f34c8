"""The report of a comparison: one file with all numbers, pictures and settings, readable on a screen and a phone."""

import base64
import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import matplotlib as mpl
import pytest
from sklearn.linear_model import Ridge

import boostrank as br
from boostrank.comparison import Comparison

mpl.use("Agg")
BROWSER = shutil.which("chromium")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]
# Loads a page in a frame of some width, and writes what is too wide there.
MEASURE = """
<iframe id="frame" style="width: {width}px; height: 900px; border: 0" srcdoc="{page}"></iframe><script>
onload = () => {{
  const page = document.getElementById("frame").contentDocument, right = one => one.getBoundingClientRect().right
  const images = [...page.images], boxes = [...page.querySelectorAll("div")]
  document.body.textContent = "found" + JSON.stringify({{
    page: page.documentElement.scrollWidth, broken: images.filter(one => !one.naturalWidth).length,
    images: Math.max(...images.map(right)), tables: Math.max(...boxes.map(one => one.scrollWidth - one.clientWidth)),
  }}) + "end"
}}
</script>"""


class Report(HTMLParser):
    """Heads, tables and pictures of a report."""

    def __init__(self, path):
        super().__init__()
        self.text, self.heads, self.rows, self.pictures, self.tag = path.read_text("utf-8"), [], {}, {}, ""
        self.feed(self.text)

    def handle_starttag(self, tag, attrs):
        self.tag, attrs = tag, dict(attrs)
        if tag == "img":
            kind, _, data = attrs["src"].partition(";base64,")
            assert kind == "data:image/svg+xml"
            self.pictures[attrs["alt"]] = base64.b64decode(data).decode()
        elif tag == "tr":
            self.rows[self.heads[-1]].append([])
        elif tag in ("td", "th"):
            self.rows[self.heads[-1]][-1].append("")
        else:
            assert tag not in ("script", "link", "iframe")

    def handle_endtag(self, tag):
        self.tag = ""

    def handle_data(self, data):
        if self.tag == "h2":
            self.heads.append(data)
            self.rows[data] = []
        elif self.tag in ("td", "th"):
            self.rows[self.heads[-1]][-1][-1] += data


@pytest.fixture(scope="module")
def comparison():
    data = br.make_ranking(n_queries=80, random_state=0)
    rankers = {"<ridge>": Ridge()}
    for name in ("lambdarank", "softmax"):
        rankers[name] = br.LightGBMRanker(name, n_estimators=8, early_stopping_rounds=4, random_state=7, n_jobs=1)
    return br.compare(rankers, *data, cv=3, measures=["ndcg@5", "map"])


def test_report_has_the_numbers_of_the_comparison(comparison, tmp_path):
    comparison.save_html(tmp_path / "r.html", "ndcg@5")
    found = Report(tmp_path / "r.html")
    groups, lowest, training = (
        "NDCG@5 by group of queries",
        "Queries with the lowest difference in NDCG@5",
        "Validation",
    )
    assert found.heads == [
        "80 queries",
        "Differences in NDCG@5",
        groups,
        lowest,
        f"{training} during training",
        "Settings",
    ]
    rows = [
        row for measure in ("ndcg@5", "map") for row in [[c, *comparison.cells(c, measure)] for c in comparison.names]
    ]
    assert [row for row in found.rows["80 queries"] if row[0] != "ranker"] == rows
    values = comparison.per_query.pivot(index="query", columns="ranker", values="ndcg@5")
    means = values.mean().drop("<ridge>")
    best, relevant = means.idxmax(), comparison.per_query.groupby("query")["relevant"].first()
    difference = (values[best] - values["<ridge>"]).sort_values()[:10]
    assert found.rows[lowest][0] == ["query", "relevant", "<ridge>", best, "diff"]
    assert [row[-1] for row in found.rows[lowest][1:]] == [f"{one:+.4f}" for one in difference]
    for query, n_relevant, baseline, value, _ in found.rows[lowest][1:]:
        assert int(n_relevant) == relevant[int(query)]
        assert [baseline, value] == [f"{one:.4f}" for one in values.loc[int(query), ["<ridge>", best]]]
    settings = dict(found.rows["Settings"])
    assert {"objective='softmax'", "random_state=7"} <= set(re.split(r", |\(|\)", settings["softmax"]))
    assert settings["<ridge>"].startswith("Ridge(alpha=1.0, ")
    assert f"boostrank {br.__version__}" in settings["versions"]
    assert len(found.pictures) == 3
    # Nothing is loaded: references of pictures are to their own parts.
    outside = re.compile(r"(?:href|src)=\"(?!#|data:)|@import|url\((?!#)")
    assert not any(outside.search(text) for text in [found.text, *found.pictures.values()])


def test_relevant_documents_and_curves_are_those_of_the_folds(comparison, tmp_path):
    X, y, qid = br.make_ranking(n_queries=80, random_state=0)
    seen = comparison.per_query.groupby("query")["relevant"].first()
    assert seen.to_dict() == {query: int((y[qid == query] > 0).sum()) for query in set(qid.tolist())}
    assert comparison.curves["<ridge>", "Fold1"] == {}
    assert [list(curve) for (name, _), curve in comparison.curves.items() if name == "softmax"] == [["ndcg"]] * 3
    ranker = {
        "softmax": br.LightGBMRanker("softmax", n_estimators=8, early_stopping_rounds=4, random_state=7, n_jobs=1)
    }
    again = [br.compare(ranker, X, y, qid, cv=3, measures="map", results=tmp_path / "results").curves for _ in range(2)]
    expected = {key: curve for key, curve in comparison.curves.items() if key[0] == "softmax"}
    assert again == [expected, expected]


def test_parts_without_data_are_left_out(comparison, tmp_path):
    qrels = {query: {"a": 1, "b": 0, "c": 2} for query in "1234"}
    runs = {name: {query: {"a": 2.0, "b": high} for query in qrels} for name, high in (("one", 1.0), ("two", 3.0))}
    kinds = {"relevant documents": {}, "group": {"by": dict.fromkeys("123", "x") | {"4": "y"}}}
    for title, settings in kinds.items():
        found = br.compare_runs(qrels, runs, ["RR"], sample_weight={"1": 0.0, "2": 1, "3": 1, "4": 1}, **settings)
        found.save_html(tmp_path / "r.html")
        report = Report(tmp_path / "r.html")
        assert any(text.startswith(f"Means by {title}") for text in report.pictures)
        lowest = report.rows["Queries with the lowest difference in RR"]
        # A query of weight 0 is in no mean, and is not listed.
        assert [row[0] for row in lowest[1:]] == ["2", "3", "4"]
        assert dict(report.rows["Settings"])["ties"] == "trec_eval"
        assert found.per_query["relevant"].tolist() == [2] * 8
    alone = comparison.table[comparison.table["ranker"] == "<ridge>"]
    Comparison(alone, comparison.per_query.drop(columns="relevant"), "<ridge>").save_html(tmp_path / "r.html")
    assert Report(tmp_path / "r.html").heads == ["80 queries", "Differences in map", "Settings"]
    with pytest.raises(ValueError, match="measure must be one of ndcg@5, map; got 'mrr'"):
        comparison.save_html(tmp_path / "never.html", "mrr")
    assert not (tmp_path / "never.html").exists()


@pytest.mark.skipif(BROWSER is None, reason="there is no program `chromium`: apt-get install -y chromium")
@pytest.mark.slow
def test_report_fits_a_phone_and_a_screen(comparison, tmp_path):
    comparison.save_html(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text("utf-8")
    for width in (390, 1100):
        (tmp_path / "m.html").write_text(MEASURE.format(width=width, page=html.escape(text)), "utf-8")
        printed = browse(tmp_path, "--virtual-time-budget=10000", "--dump-dom", f"file://{tmp_path}/m.html")
        found = json.loads(re.search("found(.*)end", html.unescape(printed.split("<body>")[1])).group(1))
        assert found["broken"] == found["tables"] == 0
        assert max(found["page"], found["images"]) <= width
    browse(tmp_path, f"--print-to-pdf={tmp_path}/r.pdf", f"file://{tmp_path}/r.html")
    assert 2 <= len(re.findall(rb"/Type /Page\b", (tmp_path / "r.pdf").read_bytes())) <= 4


def browse(folder, *arguments):
    command = [BROWSER, *FLAGS, f"--user-data-dir={folder}/profile", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
