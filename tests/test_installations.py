"""Installations without the command line's packages, and with LightGBM or XGBoost alone."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import boostrank as br
from boostrank.cli import main

ROOT = Path(__file__).parents[1]
WORKFLOW = """
import sys

import numpy as np

for name in ("rich", "typer", MISSING):
    sys.modules[name] = None

import boostrank as br

X, y, qid = br.make_ranking(n_queries=30, random_state=0)
ranker = RANKER(n_estimators=3, random_state=0)
rankers = {"a": ranker, "b": RANKER("cosine", n_estimators=3)}
print(br.compare(rankers, X, y, qid, cv=2, progress=True).to_text().splitlines()[0])
ranker.fit(X, y, qid, verbose="bar")
print(str(br.explain(ranker, X, qid, query=qid[0], ranks=1)).split(":")[0])
ranker.save_model(FILE)
assert np.array_equal(br.load_model(FILE).predict(X), ranker.predict(X))
bag = br.BaggedRanker(ranker, n_estimators=2).fit(X, y, qid)
assert bag.score(X, y, qid) > 0.5
br.CalibratedRanker(ranker, cv=2).fit(X, y, qid)
br.cross_validate(ranker, X, y, qid, cv=2)
br.evaluate(y, ranker.predict(X), qid, ["map"])
print(sorted(name for name in ("lightgbm", "xgboost") if sys.modules.get(name)))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ranker", "missing"), [("LightGBMRanker", "xgboost"), ("XGBoostRanker", "lightgbm")]
)
def test_one_library_is_enough_and_no_package_of_the_command_line(ranker, missing, tmp_path):
    names = f"MISSING = {missing!r}\nFILE = {str(tmp_path / 'model')!r}\n"
    code = names + WORKFLOW.replace("RANKER", f"br.{ranker}")
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[0] == "ndcg@1, compared with a"
    assert ran.stdout.splitlines()[-1] == repr([ranker.removesuffix("Ranker").lower()])


def test_without_typer_the_command_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["boostrank", "--version"])
    for name in list(sys.modules):
        if name.startswith("boostrank.cli."):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "error: the command line needs typer and rich (import of typer halted; None in "
        "sys.modules): pip install 'boostrank[cli]', or pip install rich typer\n"
    )


def test_clusters_without_xgboost_say_what_to_install(monkeypatch):
    pytest.importorskip("distributed", reason="Dask is not installed: pip install boostrank[dask]")
    for name in list(sys.modules):
        if name.startswith(("boostrank.clusters.dask", "boostrank.clusters.collective")):
            monkeypatch.delitem(sys.modules, name)
    for package in (br, br.clusters):
        monkeypatch.delitem(vars(package), "dask", raising=False)
    monkeypatch.delitem(vars(br.clusters), "collective", raising=False)
    for name in ("xgboost", "xgboost.core", "xgboost.tracker"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"sums of workers go through XGBoost.*pip install xgb"):
        br.dask  # noqa: B018


def test_compare_takes_the_library_that_is_installed(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    monkeypatch.setattr(importlib.import_module("boostrank.cli.compare"), "SYNTHETIC_QUERIES", 20)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["boostrank", "compare", *arguments])
        with pytest.raises(SystemExit):
            main()
        return capsys.readouterr()

    quick = ("--folds", "2", "--jobs", "1")
    out = run(*quick).out
    assert "Without XGBRanker and XGBoostRanker: xgboost is not installed (pip install xg" in out
    assert re.findall(r"^(\w+)\(\)  +\d", out, re.MULTILINE) == ["LGBMRanker", "LightGBMRanker"]
    losses = ("--objectives", "lambdarank,softmax", "--rounds", "2", *quick)
    assert "lightgbm softmax" in run(*losses).out
    # Before the data are read.
    for wanted in (("--rankers", "XGBoostRanker"), (*losses, "--backend", "xgboost")):
        error = run("there-is-no-such-file.csv", *wanted).err
        assert error.startswith("error: xgboost is not installed")
        assert error.endswith("pip install xgboost\n")
