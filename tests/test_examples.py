"""Every example runs, with less data and smaller settings than a user would choose."""

import contextlib
import io
import multiprocessing
import runpy
import subprocess
import sys
from multiprocessing.pool import ThreadPool
from pathlib import Path

import pytest

import boostrank as br

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
FAST = {"native_xgboost", "production", "quick_start"}
ARGUMENTS = {
    "consistency": ["--small"],
    "cost_of_inconsistency": ["--small", "--sizes", "40,80", "--seeds", "2", "--jobs", "1"],
    "discount_theory": ["--small"],
    "larger_than_memory": ["--files", "4", "--rows", "500"],
    "preferences": ["--small"],
}
MAX_QUERIES = 60
RUN = subprocess.run


def _run_here(command, **settings):
    """Run a Python script in this process, because the start of another one takes more time than the scripts."""
    if command[0] != sys.executable:
        return RUN(command, **settings)
    output = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(output):
        patch.setattr(sys, "argv", command[1:])
        runpy.run_path(command[1], run_name="__main__")
    return subprocess.CompletedProcess(command, 0, output.getvalue())


@pytest.fixture
def _less_work(monkeypatch):
    """Examples without arguments get fewer queries than they ask for, and searches for counterexamples are short."""
    make_ranking = br.make_ranking

    def make_small_ranking(n_queries, **settings):
        return make_ranking(min(n_queries, MAX_QUERIES), **settings)

    monkeypatch.setattr(br, "make_ranking", make_small_ranking)
    monkeypatch.setattr("boostrank.theory.consistency.counterexample_search.N_CLIMBS", 1)
    monkeypatch.setattr(subprocess, "run", _run_here)
    # Threads, because a fork of this process would take over the locks of other tests' threads.
    monkeypatch.setattr(multiprocessing, "Pool", ThreadPool)


@pytest.mark.usefixtures("_less_work")
@pytest.mark.parametrize(
    "path", [pytest.param(p, marks=[] if p.stem in FAST else pytest.mark.slow, id=p.stem) for p in EXAMPLES]
)
def test_example_runs(path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [str(path), *ARGUMENTS.get(path.stem, [])])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()


def test_the_gallery_draws_every_display():
    source = (Path(__file__).parents[1] / "examples" / "gallery.py").read_text(encoding="utf-8")
    names = [name for name in br.displays.__all__ if name.endswith("Display")]
    assert len(names) >= 11
    assert [name for name in names if f"displays.{name}." not in source] == []


@pytest.mark.usefixtures("_less_work")
@pytest.mark.slow
def test_example_of_clicks_reads_the_files_of_a_user(monkeypatch, capsys, tmp_path):
    path = next(p for p in EXAMPLES if p.stem == "clicks")
    table, features, _ = runpy.run_path(str(path))["simulated_tables"](n_sessions=3_000)
    files = [str(tmp_path / name) for name in ("log.csv", "features.csv")]
    for frame, file in zip((table, features.sample(frac=1.0, random_state=0)), files, strict=True):
        frame.to_csv(file, index=False)
    monkeypatch.setattr(sys, "argv", [str(path), *files, "--output", str(tmp_path / "out")])
    runpy.run_path(str(path), run_name="__main__")
    text = capsys.readouterr().out
    assert text.startswith("The log has 6,000 sessions of 60 queries")
    assert f"and {table['clicks'].sum():,} clicks" in text
    # The truth is not known.
    assert "true labels" not in text
    assert (tmp_path / "out" / "clicks.png").stat().st_size > 10_000
