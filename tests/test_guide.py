"""README.md and the guide: their code prints what stands below it, and in a browser nothing is cut
and search finds."""

import contextlib
import html
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest
import sklearn

import boostrank as br
from boostrank.cli import main
from boostrank.cli.app import load
from boostrank.surrogates import SURROGATES

GUIDE = Path(__file__).parents[1] / "examples" / "guide"
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(GUIDE.glob("*.md"))}
# Code, and what it prints.
BLOCK = re.compile(r"```python\n(.*?)```\n(?:```text\n(.*?)```\n)?", re.DOTALL)
READMES = [GUIDE.parents[1] / name for name in ("README.md", "benchmarks/README.md")]
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
MISSING = (
    "no Chromium"
    if BROWSER is None
    else None
    if importlib.util.find_spec("sphinx")
    else "no Sphinx"
)
WIDTHS = {"desktop": 1280, "phone": 390}
# Searches, and a page that one of the first three results is on.
SEARCHED = {
    "switch": "switch",
    "ndcg": "boostrank.ndcg_score",
    "shap": "production",
    "early stopping": "faq",
}
# Loads pages into a frame of each width, and writes what goes beyond it, and tables with more than
# six columns. Tables of the benchmarks and what code prints scroll, and code does so on phones and
# on pages of names. Names under "On this page" break. A dollar sign is a formula that was cut.
MEASURE = """<!doctype html><iframe id="frame" height="900"></iframe><script>
const frame = document.getElementById("frame"), found = [];
const load = (page, width) => new Promise(done => {
  frame.style.width = width + "px"; frame.style.border = 0;
  frame.onload = () => done(frame.contentWindow); frame.src = page; });
(async () => {
  for (const page of PAGES) for (const width of WIDTHS) {
    const view = await load(page, width), body = view.document;
    if (body.scrollingElement.scrollWidth > view.innerWidth) found.push([page, width, "page"]);
    for (const element of body.querySelectorAll("article :is(p, dt, li, pre, table, img, code)")) {
      const table = element.closest("table");
      const isWide = table?.matches(".dataframe");
      if (!element.closest(".highlight:not(.formula)") && !isWide &&
          element.getBoundingClientRect().right > width + 1)
        found.push([page, width, element.outerHTML.slice(0, 80)]);
      const mayScroll =
        width < 1000 || page.includes("/names/") || element.closest(".highlight-text");
      if (element.matches(mayScroll ? "pre.formula" : "pre") &&
          element.scrollWidth > element.clientWidth + 1)
        found.push([page, width, element.textContent]);
      const texts = [...element.childNodes].filter(node => node.nodeType == 3);
      if (element.matches("p, li") && texts.some(node => node.data.includes("$")))
        found.push([page, width, element.textContent]);
      if (element.matches("table") && element.rows[0].cells.length > 6)
        found.push([page, width, element.outerHTML.slice(0, 80)]); }
    for (const element of body.querySelectorAll("article span.math"))
      if (element.scrollWidth > element.clientWidth + 1 &&
          view.getComputedStyle(element).overflowX == "hidden")
        found.push([page, width, element.textContent]);
    for (const element of body.querySelectorAll(".bd-toc-nav a, .bd-toc-nav code"))
      if (element.getBoundingClientRect().right > width + 1)
        found.push([page, width, element.textContent]);
  }
  const links = {};
  for (const words of WORDS) {
    const view = await load("search.html?q=" + words, 1280);
    const results = () => view.document.querySelectorAll("#search-results li a");
    for (let i = 0; i < 100 && results().length < 3; i++)
      await new Promise(done => setTimeout(done, 50));
    links[words] = [...results()].map(link => link.pathname); }
  const result = JSON.stringify({found, links, measured: PAGES.length});
  document.body.textContent = "RESULT" + result + "END";
})();
</script>"""


def numbers(text):
    return np.array([float(number) for number in NUMBER.findall(text)])


@pytest.mark.parametrize("page", [name for name, text in TEXTS.items() if BLOCK.search(text)])
def test_code_prints_what_stands_below_it(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for code, expected in BLOCK.findall(TEXTS[page]):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(code, names)
        printed = output.getvalue()
        assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", expected).split(), code
        found, right = numbers(printed), numbers(expected)
        # Other versions of the libraries may train slightly different trees, and another number of
        # them.
        tolerance = np.where(right == right.round(), 0.3 * right, 0.03)
        assert (abs(found - right) <= tolerance).all(), (code, printed)


def test_commands_have_the_options_that_pages_name():
    shown = "".join(re.findall(r"```bash\n(.*?)```", "".join(TEXTS.values()), re.DOTALL)).replace(
        "\\\n", ""
    )
    lines = re.findall(r"^boostrank (\w+) (.*)$", shown, re.MULTILINE)
    assert lines
    for command, arguments in ((load(name), arguments.split()) for name, arguments in lines):
        assert command.make_parser(command.context_class(command)).parse_args(arguments)[1] == []


def test_commands_of_get_started_run_as_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y, qid = br.make_ranking(n_queries=20, random_state=0)
    features = pd.DataFrame(X).add_prefix("x")
    for name in ("train.csv", "test.csv"):
        features.assign(query=qid, grade=y).to_csv(name, index=False)
    # The third command, a comparison, takes many fits.
    for line in re.search(r"```bash\n(.*?)```", TEXTS["get_started"], re.DOTALL)[1].splitlines()[
        :2
    ]:
        monkeypatch.setattr(sys, "argv", line.split())
        with pytest.raises(SystemExit, match="0"):
            main()
    scores = br.LightGBMRanker().load_model("model.txt").predict(features)
    np.testing.assert_allclose(pd.read_csv("scores.csv")["score"], scores)


def test_tables_have_at_most_six_columns():
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(GUIDE.rglob("*.md"))}
    texts |= {path: path.read_text(encoding="utf-8") for path in READMES}
    rules = [
        (path.name, line)
        for path, text in texts.items()
        for line in re.findall(r"^\|(?:[ :-]+\|)+$", text, re.MULTILINE)
    ]
    assert len(rules) > 40
    assert [rule for rule in rules if rule[1].count("|") > 7] == []


def test_pages_begin_with_what_they_answer():
    for path in sorted(GUIDE.rglob("*.md")):
        if "_generated" in path.parts or path.name == "changes.md":
            continue
        begin = path.read_text(encoding="utf-8").split("\n\n", 2)[1]
        assert not begin.startswith(("#", "`", "|", "$", ":")), path
        sentences = re.findall(r"[.?:!](?:\*\*)?(?=\s|$)", begin)
        assert len(sentences) >= 2, (path, begin)


def broken_links(site, pages):
    """Links within the site to files or places that do not exist, and addresses of mail, which the
    site has not."""
    texts = {site / page: (site / page).read_text(encoding="utf-8") for page in pages}
    places = {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in texts.items()}
    broken = []
    for path, text in texts.items():
        for link in re.findall(r'(?:href|src)="(?!https?:|data:)([^"]+)"', text):
            name, _, place = unquote(html.unescape(link)).partition("#")
            target = (path.parent / name.split("?")[0]).resolve() if name else path
            if not target.exists() or (place and place not in places.get(target, {place})):
                broken.append((path.name, link))
    return broken


@pytest.mark.slow
@pytest.mark.skipif(
    MISSING is not None, reason=f"{MISSING}, with which the guide is built and looked at"
)
def test_nothing_is_cut_and_search_finds(tmp_path, monkeypatch):
    site, profile = tmp_path / "site", tmp_path / "profile"
    monkeypatch.setenv("PYTHON", sys.executable)
    if "BOOSTRANK_GUIDE" in os.environ:
        # It is built already.
        shutil.copytree(os.environ["BOOSTRANK_GUIDE"], site)
    else:
        subprocess.run([GUIDE / "build", site], check=True)
    pages = [
        path.relative_to(site).as_posix()
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.parts
    ]
    assert broken_links(site, pages) == []
    # All pages of names are made alike.
    measured = [page for page in pages if "/names/" not in page or page in pages[::30]]
    script = MEASURE.replace("PAGES", json.dumps(measured)).replace(
        "WIDTHS", json.dumps(list(WIDTHS.values()))
    )
    script = script.replace("WORDS", json.dumps(list(SEARCHED)))
    (site / "measure.html").write_text(script, encoding="utf-8")
    monkeypatch.setattr(SimpleHTTPRequestHandler, "log_message", lambda *_: None)
    with ThreadingHTTPServer(
        ("localhost", 0), partial(SimpleHTTPRequestHandler, directory=site)
    ) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        quiet = (
            "--no-first-run --disable-background-networking --disable-component-update "
            "--disable-sync"
        )
        options = f"--headless --no-sandbox --disable-gpu --disable-quic {quiet} --dump-dom".split()
        address = f"http://localhost:{server.server_port}/measure.html"
        shown = subprocess.run(
            [
                BROWSER,
                *options,
                "--virtual-time-budget=600000",
                f"--user-data-dir={profile}",
                address,
            ],
            capture_output=True,
            text=True,
            timeout=300,
        ).stdout
        server.shutdown()
    result = json.loads(html.unescape(re.search("RESULT(.*)END", shown)[1]))
    assert result["measured"] > 60
    assert result["found"] == []
    for words, page in SEARCHED.items():
        assert any(page in link for link in result["links"][words][:3]), result["links"]


README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
SHELL = re.findall(r"```bash\n(.*?)```", README, re.DOTALL)


def test_each_command_stands_below_the_installation_that_it_needs():
    assert [block.splitlines()[0] for block in SHELL] == [
        'pip install -e ".[cli]"',
        "boostrank fit train.csv model.txt --qid query --label grade",
        'pip install -e ".[test]"',
    ]


@pytest.mark.filterwarnings("error")
def test_code_and_commands_print_what_readme_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    with sklearn.config_context():
        exec("".join(BLOCKS), names)
    printed = capsys.readouterr().out
    expected = "\n".join(
        re.findall(r"# ((?:LGBM|LightGBM|{).*|True)$", "".join(BLOCKS), re.MULTILINE)
    )
    assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", expected).split()
    # Other versions of the libraries may train slightly different trees.
    np.testing.assert_allclose(numbers(printed), numbers(expected), atol=0.03)
    assert Path("model.txt").read_text(encoding="utf-8").startswith("tree\n")
    assert not sklearn.get_config()["enable_metadata_routing"]
    evaluated = numbers(printed)[1]
    for line in SHELL[1].splitlines():
        # A comparison takes many fits.
        if "compare" not in line:
            monkeypatch.setattr(sys, "argv", line.split())
            with pytest.raises(SystemExit, match="0"):
                main()
    assert f"{evaluated:.6f}" in capsys.readouterr().out
    assert Path("model.json").exists()


def test_losses_that_are_named_exist():
    section = README.split("## Where to start")[1].split("\n## ")[0]
    named = set(re.findall(r"`([a-z-]+)`", section)) - {"lambdarank", "rank"}
    assert named - {"edge-logistic"} <= {*SURROGATES}


def test_arguments_of_the_migration_table_are_accepted():
    data = br.make_ranking(n_queries=20, noise=0.0, random_state=0)
    for argument in (
        "gain=[0, 1, 3, 7]",
        'gain="linear"',
        'objective="lambdarank"',
        "validation_fraction=0.2",
    ):
        assert argument in README
        assert (
            eval(f"br.LightGBMRanker(n_estimators=2, {argument})").fit(*data).booster_.num_trees()
            == 2
        )
