"""The command `compare`: tables, files, the plot, and its default objectives."""

import importlib
import json
import re
import sys

import pandas as pd
import pytest

from boostrank.cli import options
from boostrank.cli.options import make_rankers
from boostrank.comparison import Comparison

# Fixtures replace it in the module.
DEFAULT_JOBS = importlib.import_module("boostrank.cli.compare").default_jobs


def test_compare_folds_writes_tables_and_a_plot(run, folder, tmp_path, monkeypatch):
    quick = ["--rounds", 2, "--objectives", "lambdarank,softmax,squared/none", "--measures", "ndcg@1,ndcg"]
    drawn, plot = [], Comparison.plot
    monkeypatch.setattr(
        Comparison, "plot", lambda self, measure, **how: drawn.append(measure) or plot(self, measure, **how)
    )
    report = ["--html", tmp_path / "r.html"]
    out = run("compare", folder, *quick, "--output", tmp_path / "t.json", "--plot", tmp_path / "p.png", *report)
    # The report has the same plot.
    assert drawn == ["ndcg", "ndcg"]
    assert "<td" in (tmp_path / "r.html").read_text("utf-8")
    error = run("compare", folder, "--html", tmp_path / "r.pdf", code=2)
    assert "--html must be a file that ends in .html" in " ".join(error.split())
    for name in ("lightgbm lambdarank", "lightgbm softmax", "xgboost softmax", "xgboost squared/none"):
        assert name in out
    table = pd.DataFrame(json.loads((tmp_path / "t.json").read_text()))
    assert set(table["metric"]) == {"ndcg@1", "ndcg"}
    assert len(table) == 2 * 5
    assert table["mean"].between(0.3, 1).all()
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"
    run("compare", folder, *quick, "--output", tmp_path / "t.csv", "--backend", "xgboost")
    assert set(pd.read_csv(tmp_path / "t.csv")["ranker"]) == {"xgboost softmax", "xgboost squared/none"}
    run("compare", folder / "all.txt", *quick, "--output", tmp_path / "t.md", "--folds", 3, "--backend", "lightgbm")
    assert (tmp_path / "t.md").read_text().startswith("| ranker | ndcg@1 | ndcg |\n")


def test_compare_on_synthetic_data_shows_the_expected_ndcg(run, monkeypatch):
    monkeypatch.setattr(importlib.import_module("boostrank.cli.compare"), "SYNTHETIC_QUERIES", 30)
    quick = ["compare", "--rounds", 3, "--folds", 3, "--objectives", "lambdarank,softmax", "--backend", "lightgbm"]
    compared = re.compile(r"^(.*), compared with lightgbm lambdarank$", re.MULTILINE)
    out = run(*quick)
    assert compared.findall(out) == ["ndcg@10"]
    assert "Synthetic data: 30 queries whose optimal ranking is known" in " ".join(out.split())
    out = run(*quick, "--measures", "expected ndcg,map")
    assert compared.findall(out) == ["map", "expected ndcg"]
    assert "--objectives all" not in out
    # Plain text: no escape codes, also around brackets.
    assert "\x1b" not in out


def test_the_default_objectives_on_data_are_few_and_the_footer_names_all(run, folder):
    out = run("compare", folder, "--rounds", 1, "--measures", "ndcg@5")
    names = [line.split("  ")[0] for line in out.splitlines()[3:11]]
    losses = ("ensemble", "softmax", "pairwise-exponential")
    both = [f"{library} {loss}" for loss in losses for library in ("lightgbm", "xgboost")]
    assert names == ["lightgbm lambdarank", "xgboost rank:ndcg", *both]
    n_all = len(make_rankers(importlib.import_module("boostrank.cli.compare").all_objectives(), "both", {}, 15))
    assert f"These are the default objectives. --objectives all compares {n_all} rankers." in out


THREADS = """
import threadpoolctl
import lightgbm
from sklearn.linear_model import Ridge

seen = []


class Counting(Ridge):
    def fit(self, X, y):
        seen.append({pool["num_threads"] for pool in threadpoolctl.threadpool_info()})
        return super().fit(X, y)
"""


def test_threads_are_those_of_the_rankers_and_of_other_estimators(run, folder, tmp_path, monkeypatch):
    (tmp_path / "threads.py").write_text(THREADS)
    made = []
    monkeypatch.setattr(options, "make_rankers", lambda *args: made.append(make_rankers(*args)) or made[-1])
    common = ["compare", folder, "--rounds", 1, "--objectives", "softmax"]
    common += ["--ranker", f"{tmp_path}/threads.py:Counting"]
    first = run(*common, "--threads", 2, errors=True).splitlines()[0]
    assert first == "3 rankers, 2 folds: 6 trainings, one after the other with 2 threads each"
    assert {ranker.n_jobs for ranker in made[-1].values()} == {2}
    assert sys.modules["boostrank_file_threads"].seen == [{2}] * 2


def test_there_is_a_job_for_each_fold_and_at_most_one_for_each_processor(monkeypatch):
    monkeypatch.setattr("joblib.cpu_count", lambda: 8)
    assert [DEFAULT_JOBS(n) for n in (3, 5, 8, 10)] == [3, 5, 8, 8]


OWN = """
import lightgbm
import xgboost
from sklearn.linear_model import Ridge

theirs = lightgbm.LGBMRanker(objective="lambdarank", n_estimators=4, learning_rate=0.5, verbose=-1, n_jobs=1)
number = 3


class Deep(xgboost.XGBRanker):
    def __init__(self, *, n_estimators=4, **settings):
        super().__init__(n_estimators=n_estimators, **settings)


"""


@pytest.mark.slow
def test_compare_takes_estimators_of_a_file(run, folder, tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    quick = ["compare", folder, "--rounds", 4, "--learning-rate", 0.5, "--objectives", "lambdarank"]
    quick += ["--leaves", 31, "--backend", "lightgbm", "--output", tmp_path / "t.csv"]
    own = tmp_path / "own.py"
    run(*quick, "--ranker", f"{own}:theirs", "--ranker", f"{own}:Deep", "--ranker", f"{own}:Ridge")
    table = pd.read_csv(tmp_path / "t.csv")
    table = table[table["metric"] == "ndcg@10"].set_index("ranker")
    assert list(table.index) == ["lightgbm lambdarank", "theirs", "Deep", "Ridge"]
    assert table["mean"].between(0.3, 1).all()
    assert table["rounds"].isna().tolist() == [False, False, False, True]
    assert table.loc["theirs", "rounds"] == 4
    for text, message in (
        ("own.py", "must be FILE.py:NAME"),
        (f"{own}:typo", "the estimators in it are Ridge, theirs, Deep"),
        (f"{own}:number", "number must be an estimator with fit, predict and get_params; got int"),
    ):
        assert message in run(*quick, "--ranker", text, code=2)
    assert "two rankers called 'theirs'" in run(*quick, *["--ranker", f"{own}:theirs"] * 2, code=2)
