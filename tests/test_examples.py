"""Every example runs, with less data and smaller settings than a user would choose."""

import multiprocessing
import re
import runpy
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
    "preferences": ["--small"],
}
MAX_QUERIES = 60


@pytest.fixture
def _less_work(monkeypatch):
    """Examples without arguments get fewer queries than they ask for, and searches for counterexamples are short."""
    make_ranking = br.make_ranking

    def make_small_ranking(n_queries, **settings):
        return make_ranking(min(n_queries, MAX_QUERIES), **settings)

    monkeypatch.setattr(br, "make_ranking", make_small_ranking)
    monkeypatch.setattr("boostrank.theory.consistency.counterexample_search.N_CLIMBS", 1)
    # Threads, because a fork of this process would take over the locks of other tests' threads.
    monkeypatch.setattr(multiprocessing, "Pool", ThreadPool)


@pytest.mark.usefixtures("_less_work")
@pytest.mark.parametrize(
    "path",
    # The last test of this file runs larger_than_memory.
    [
        pytest.param(p, marks=[] if p.stem in FAST else pytest.mark.slow, id=p.stem)
        for p in EXAMPLES
        if p.stem != "larger_than_memory"
    ],
)
def test_example_runs(path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [str(path), *ARGUMENTS.get(path.stem, [])])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory as Linux tells it")
def test_memory_grows_by_the_bins_of_features_in_files(monkeypatch, capsys):
    """The figures that the example prints: bytes of memory for each document, whose features have 400 bytes."""
    path = next(path for path in EXAMPLES if path.stem == "larger_than_memory")
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    _, *lines = capsys.readouterr().out.splitlines()
    found = [re.fullmatch(r"(.+\w) +(\d+) bytes of memory; NDCG@10 in training (.+)", line).groups() for line in lines]
    memory = {way: int(bytes_each) for way, bytes_each, _ in found}
    for library, (ways, most) in {"LightGBM": (2, 0.5), "XGBoost": (3, 0.6)}.items():
        names = [way for way in memory if way.startswith(library)]
        assert len(names) == ways
        assert len({ndcg for way, _, ndcg in found if way.startswith(library)}) == 1
        # An array in memory has 400 bytes, beside the bins.
        assert memory[names[0]] > 400
        assert memory[names[1]] < most * memory[names[0]]
    assert memory["XGBoost, files and cache"] < 0.6 * memory["XGBoost, features in files"]
