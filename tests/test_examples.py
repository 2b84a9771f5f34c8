"""Every example runs with less data than a user would choose, prints sentences, and draws only if
it is asked to."""

import contextlib
import io
import multiprocessing
import re
import runpy
import subprocess
import sys
from functools import partial, wraps
from multiprocessing.pool import ThreadPool
from pathlib import Path

import lightgbm
import pytest
import xgboost

import boostrank as br

distributed = pytest.importorskip("distributed")
plt = pytest.importorskip("matplotlib.pyplot")

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
FAST = {"native_xgboost", "production", "quick_start"}
ARGUMENTS = {
    "cost_of_inconsistency": ["--sizes", "40", "--seeds", "2", "--jobs", "1"],
    "larger_than_memory": ["--files", "4", "--rows", "500", "--jobs", "1"],
    "optuna_search": ["--trials", "4"],
}
MAX_QUERIES, MAX_ROUNDS = 40, 15
RUN = subprocess.run


def _run_here(command, **settings):
    """Run a Python script in this process, because the start of another one takes more time than
    the scripts."""
    if command[0] != sys.executable:
        return RUN(command, **settings)
    output = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(output):
        patch.setattr(sys, "argv", command[1:])
        runpy.run_path(command[1], run_name="__main__")
    return subprocess.CompletedProcess(command, 0, output.getvalue())


def with_few_rounds(fit):
    """The method, for which the number of rounds is at most `MAX_ROUNDS`."""

    @wraps(fit)
    def short_fit(self, *arguments, **settings):
        # None is the default of a library or of a loss, which may be hundreds.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self, "n_estimators", min(self.n_estimators or MAX_ROUNDS, MAX_ROUNDS))
            return fit(self, *arguments, **settings)

    return short_fit


@pytest.fixture
def _less_work(monkeypatch):
    """Examples get fewer queries and rounds than they ask for, searches are short, workers are
    threads."""
    make = br.make_ranking
    monkeypatch.setattr(
        br,
        "make_ranking",
        lambda n_queries, **settings: make(min(n_queries, MAX_QUERIES), **settings),
    )
    for ranker in (br.LightGBMRanker, br.XGBoostRanker, lightgbm.LGBMRanker, xgboost.XGBRanker):
        monkeypatch.setattr(ranker, "fit", with_few_rounds(ranker.fit))
    monkeypatch.setattr("boostrank.theory.search.N_CLIMBS", 0)
    for starts in ("N_STARTS", "N_QUICK_STARTS"):
        monkeypatch.setattr(f"boostrank.theory.minimizers.{starts}", 1)
    monkeypatch.setattr(subprocess, "run", _run_here)
    # Threads, because a fork of this process would take over the locks of other tests' threads.
    monkeypatch.setattr(multiprocessing, "Pool", ThreadPool)
    # Threads, because processes take ten seconds to start.
    monkeypatch.setattr(
        distributed, "LocalCluster", partial(distributed.LocalCluster, processes=False)
    )
    yield
    plt.close("all")


def run_example(path, arguments, monkeypatch, capsys):
    """Run an example in this process, and return what it prints."""
    monkeypatch.setattr(sys, "argv", [str(path), *arguments])
    with plt.rc_context():
        runpy.run_path(str(path), run_name="__main__")
    return capsys.readouterr().out


def test_sizes_that_are_too_small_are_said_to_be_so():
    conclusion = runpy.run_path(str(FOLDER / "larger_than_memory.py"))["conclusion"]
    needed = {"LightGBM, array in memory": 285.0, "LightGBM, features in files": 360.0}
    assert conclusion(needed, 80, 0.3).startswith("0.3 MB of features are too few to see")
    assert 'least memory with "LightGBM, array in memory"' in conclusion(needed, 80, 45.8)
    assert "enough memory" in conclusion({}, 80, 45.8)


@pytest.mark.usefixtures("_less_work")
@pytest.mark.filterwarnings(
    "ignore:.*Any type hint is inferred:UserWarning"
)  # Of MLflow, about a class of its own.
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(p, marks=[] if p.stem in FAST else pytest.mark.slow, id=p.stem)
        for p in EXAMPLES
    ],
)
def test_example_prints_sentences_and_what_was_learned(path, monkeypatch, capsys, tmp_path):
    for name in ("mlflow", "skops") if path.stem == "tracking" else ():
        pytest.importorskip(name)  # They have too many dependencies for the tests.
    monkeypatch.chdir(tmp_path)
    text = run_example(path, ARGUMENTS.get(path.stem, []), monkeypatch, capsys).rstrip()
    lines = text.splitlines()
    assert re.search(r"^Learned: .{40,}\.$", text, re.MULTILINE | re.DOTALL)
    assert "nan" not in text
    # No values of Python as they are written in a program.
    assert not re.search(r"array\(|dtype|[{\[]'|\d\.\d{8}|\bNone\b|\bTrue\b|\bFalse\b", text)
    # Lines that begin like a sentence end like one; other lines belong to tables.
    assert all(
        re.search(r"[.:,;]$", line) for line in lines if re.match(r"[A-Z][a-z]+ ([a-z]+ ){3}", line)
    )
    assert list(tmp_path.iterdir()) == []


EXTRAS = (
    "dask",
    "distributed",
    "matplotlib",
    "mlflow",
    "onnxmltools",
    "onnxruntime",
    "optuna",
    "shap",
    "treelite",
)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_says_in_one_line_at_the_start_which_packages_are_missing(
    path, monkeypatch, capsys, tmp_path
):
    for name in [*sys.modules]:
        if name.split(".")[0] in EXTRAS or name.startswith("boostrank.clusters.dask"):
            monkeypatch.delitem(sys.modules, name)
    for name in EXTRAS:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(sys, "argv", [path.name, "--output", str(tmp_path / "new")])
    with pytest.raises(SystemExit) as stopped:
        runpy.run_path(str(path), run_name="__main__")
    out, err = capsys.readouterr()
    message = stopped.value.code if isinstance(stopped.value.code, str) else err.splitlines()[-1]
    assert re.search(r"needs [^\n]+: pip install \S[^\n]*$", message)
    assert out == ""
    assert not (tmp_path / "new").exists()


@pytest.mark.usefixtures("_less_work")
@pytest.mark.parametrize(
    "name", ["native_xgboost", pytest.param("quick_start", marks=pytest.mark.slow)]
)
def test_example_writes_its_picture_if_asked_to(name, monkeypatch, capsys, tmp_path):
    folder = tmp_path / "new" / "folder"
    text = run_example(FOLDER / f"{name}.py", ["--output", str(folder)], monkeypatch, capsys)
    if name == "native_xgboost":
        # What was learned follows from the numbers that were printed before.
        validation = float(re.search(r"is best, ([\d.]+)\.\n", text)[1])
        test, difference, relation = re.search(
            r"NDCG@10 is ([\d.]+), ([\d.]+) (above|below)", text
        ).groups()
        sign = 1 if relation == "above" else -1
        assert float(test) - validation == pytest.approx(sign * float(difference), abs=2e-4)
    assert [path.name for path in (tmp_path / "new" / "folder").iterdir()] == [f"{name}.png"]


@pytest.mark.usefixtures("_less_work")
def test_notebooks_are_valid_and_run(monkeypatch, capsys, tmp_path):
    nbformat = pytest.importorskip("nbformat")
    make = runpy.run_path(str(FOLDER / "guide" / "notebooks.py"))
    sources = {path.stem: path.read_text(encoding="utf-8") for path in EXAMPLES}
    notebooks = {
        name: nbformat.reads(make["notebook"](name, "Title", source), as_version=4)
        for name, source in sources.items()
        if make["has_notebook"](source)
    }
    assert sources.keys() - notebooks.keys() == {"cost_of_inconsistency", "larger_than_memory"}
    for notebook in notebooks.values():
        nbformat.validate(notebook)
    *program, last = [
        cell.source for cell in notebooks["quick_start"].cells if cell.cell_type == "code"
    ]
    names = {"__name__": "__main__", "__doc__": "The text of IPython."}
    monkeypatch.setattr(sys, "argv", ["kernel", "-f", "connection.json"])
    monkeypatch.chdir(tmp_path)
    for code in program:
        exec(code, names)
    assert "Learned: " in capsys.readouterr().out
    # The last cell, which shows the picture, needs IPython.
    assert 'Path("quick_start").glob' in last
    assert Path("quick_start/quick_start.png").exists()


def test_every_example_has_an_option_for_its_picture_and_stands_in_the_index():
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    for path in EXAMPLES:
        assert '"--output"' in path.read_text(encoding="utf-8")
        assert f"[{path.name}]({path.name})" in index
    pictures = {path.name: path.read_bytes() for path in (FOLDER / "figures").iterdir()}
    assert set(re.findall(r"\]\(figures/([^)]+)\)", index)) == pictures.keys()
    assert max(map(len, pictures.values())) <= 150_000
    # A picture of less than 1,000 pixels is not sharp in the guide. (PNG: the width is in bytes 16
    # to 20.)
    of_benchmarks = [path.read_bytes() for path in FOLDER.parent.glob("benchmarks/figures/*.png")]
    assert (
        min(int.from_bytes(content[16:20]) for content in [*pictures.values(), *of_benchmarks])
        >= 1000
    )


def test_the_gallery_draws_every_display():
    source = (FOLDER / "gallery.py").read_text(encoding="utf-8")
    drawn = {
        "ComparisonDisplay": "comparison.plot()",
        "QueryDifferencesDisplay": "comparison.plot_queries()",
    }
    names = [name for name in br.displays.__all__ if name.endswith("Display")]
    assert names
    assert [name for name in names if drawn.get(name, f"displays.{name}") not in source] == []


@pytest.mark.usefixtures("_less_work")
@pytest.mark.slow
def test_example_of_clicks_reads_the_files_of_a_user(monkeypatch, capsys, tmp_path):
    path = FOLDER / "clicks.py"
    table, features, _ = runpy.run_path(str(path))["simulated_tables"](n_sessions=3_000)
    files = [str(tmp_path / name) for name in ("log.csv", "features.csv")]
    for frame, file in zip((table, features.sample(frac=1.0, random_state=0)), files, strict=True):
        frame.to_csv(file, index=False)
    text = run_example(path, [*files, "--output", str(tmp_path / "out")], monkeypatch, capsys)
    assert text.startswith("The log has 6,000 sessions of 40 queries")
    assert f"and {table['clicks'].sum():,} clicks" in text
    assert "true labels" not in text, "they are not known"
    assert (tmp_path / "out" / "clicks.png").stat().st_size > 10_000
