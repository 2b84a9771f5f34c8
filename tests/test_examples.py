"""Every example runs, with less data or smaller settings than a user would choose."""

import multiprocessing
import runpy
import sys
from multiprocessing.pool import ThreadPool
from pathlib import Path

import pytest

import boostrank as br

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
ARGUMENTS = {
    "consistency": ["--small"],
    "cost_of_inconsistency": ["--small", "--sizes", "40,80", "--seeds", "2", "--jobs", "1"],
    "discount_theory": ["--small"],
    "larger_than_memory": ["--blocks", "2", "--rows", "2000"],
    "preferences": ["--small"],
}
MAX_QUERIES = 100

pytestmark = pytest.mark.slow


@pytest.fixture
def fewer_queries(monkeypatch):
    """The examples without arguments draw some hundred queries."""
    make_ranking = br.make_ranking
    monkeypatch.setattr(
        br,
        "make_ranking",
        lambda n_queries=100, *rest, **settings: make_ranking(min(n_queries, MAX_QUERIES), *rest, **settings),
    )


@pytest.mark.usefixtures("fewer_queries")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [str(path), *ARGUMENTS.get(path.stem, [])])
    # A fork of this process would copy the threads of other tests.
    monkeypatch.setattr(multiprocessing, "Pool", ThreadPool)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()
