"""The commands: what they print and write, and their exit codes."""

import importlib
import json
import re
import subprocess
import sys

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import boostrank as br
from boostrank.cli.options import Backend, make_rankers
from boostrank.dcg import DCG


def test_help_names_the_commands(run):
    out = run("--help")
    assert all(command in out for command in ("compare", "fit", "predict", "evaluate", "check"))
    for command in ("compare", "fit", "predict", "evaluate", "check"):
        assert max(map(len, run(command, "--help").splitlines())) <= 80


# compare


def test_compare_folds_writes_tables_and_a_plot(run, folder, tmp_path):
    quick = ["--rounds", 10, "--objectives", "lambdarank,softmax,squared/none", "--measures", "ndcg@1,ndcg"]
    out = run("compare", folder, *quick, "--output", tmp_path / "t.json", "--plot", tmp_path / "p.png")
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
    assert (tmp_path / "t.md").read_text().startswith("| ranker | ndcg@1 | diff | p (Holm) | ndcg | diff | p (Holm) |")


def test_compare_on_synthetic_data_tells_the_regret(run, monkeypatch):
    monkeypatch.setattr(importlib.import_module("boostrank.cli.compare"), "SYNTHETIC_QUERIES", 30)
    out = run("compare", "--rounds", 3, "--folds", 3, "--objectives", "lambdarank,softmax", "--backend", "lightgbm")
    assert "Synthetic data: 30 queries whose optimal ranking is known." in out
    assert "-regret, compared with lightgbm lambdarank" in out
    assert "-regret: expected NDCG of the ranking, with gain exp2" in out
    assert "p (Holm): p-value" in out


def test_default_objectives_follow_the_registry(monkeypatch):
    module = importlib.import_module("boostrank.cli.compare")
    known, objectives = set(module.SURROGATES), module.default_objectives().split(",")
    assert known - set(objectives) == set(module.SLOW)
    assert objectives[0] == "lambdarank"
    rankers = make_rankers(module.default_objectives(), Backend.both, {}, 15)
    n_surrogates, n_native, n_controls = len(known) - len(module.SLOW), 3, 3
    assert len(rankers) == 2 * (n_surrogates + n_controls) + n_native
    monkeypatch.setattr(module, "SURROGATES", {**module.SURROGATES, "new": None})
    assert "new" in module.default_objectives().split(",")


# fit, predict, evaluate


@pytest.mark.parametrize("backend", ["lightgbm", "xgboost"])
def test_fit_predict_evaluate(run, folder, tmp_path, data, backend):
    _, y, qid = data
    model, scores = tmp_path / f"{backend}.json", tmp_path / f"{backend}.scores"
    options = ["--backend", backend, "--objective", "softmax", "--k", 10, "--rounds", 20]
    run("fit", folder / "all.txt", model, *options, "--validation", folder / "Fold1" / "vali.txt")
    run("predict", model, folder / "all.txt", "--output", scores)
    values = np.loadtxt(scores)
    assert run("predict", model, folder / "all.txt").split() == scores.read_text().split()
    expected = br.ndcg_score(y, values, qid, k=10)
    assert f"{expected:.6f}" in run("evaluate", folder / "all.txt", scores)
    assert expected > 0.7
    if backend == "lightgbm":
        lgb.Booster(model_file=model)


@pytest.mark.parametrize("backend", ["lightgbm", "xgboost"])
def test_files_with_and_without_their_zeros_get_the_same_scores(run, tmp_path, data, backend):
    X, y, qid = data
    X = np.where(X > 0.5, X, 0.0)
    paths = {"dense": tmp_path / "dense.txt", "sparse": tmp_path / "sparse.txt"}
    br.write_letor(paths["dense"], X, y, qid)
    lines = paths["dense"].read_text().splitlines()
    paths["sparse"].write_text("\n".join(re.sub(r" \d+:0(\.0)?(?= |$)", "", line) for line in lines) + "\n")
    read = {name: br.read_letor(path, n_features=X.shape[1]).X for name, path in paths.items()}
    assert sparse.issparse(read["sparse"])
    assert not sparse.issparse(read["dense"])
    scores = set()
    for name, path in paths.items():
        model = tmp_path / f"{name}.json"
        run("fit", path, model, "--backend", backend, "--objective", "softmax", "--rounds", 5)
        scores |= {run("predict", model, other) for other in paths.values()}
    assert len(scores) == 1


def test_evaluate_applies_settings_to_the_measures_that_have_them(run, folder, tmp_path, data):
    _, y, qid = data
    values = np.random.default_rng(0).integers(0, 4, len(y)) / 4
    np.savetxt(tmp_path / "scores", values)
    options = ["--measures", "ndcg@3, map,mrr,auc", "--gain", "linear", "--ties", "stable"]
    out = run("evaluate", folder / "all.txt", tmp_path / "scores", *options)
    expected = {
        "ndcg@3": br.ndcg_score(y, values, qid, k=3, gain="linear", ties="stable"),
        "map": br.metrics.average_precision_score(y, values, qid, ties="stable"),
        "mrr": br.metrics.reciprocal_rank_score(y, values, qid, ties="stable"),
        "auc": br.metrics.auc_score(y, values, qid),
    }
    rows = [[cell.strip() for cell in line.split("│")] for line in out.splitlines() if line.startswith("│")]
    assert {row[1]: row[2] for row in rows} == {name: f"{value:.6f}" for name, value in expected.items()}
    assert rows[0][3] == "empty zero, gain linear, discount log2, ties stable"
    assert rows[3][3] == "empty skip, threshold 1"


def test_fit_stops_early_by_the_measure_that_is_named(run, folder, tmp_path):
    train, validation = (br.read_letor(folder / "Fold1" / f"{name}.txt") for name in ("train", "vali"))
    options = ["--validation", folder / "Fold1" / "vali.txt", "--rounds", 30, "--patience", 3, "--leaves", 7]
    settings = {"n_estimators": 30, "early_stopping_rounds": 3, "num_leaves": 7, "random_state": 0}
    rounds = {}
    for metric in ("mrr", "ndcg@1"):
        out = run("fit", folder / "Fold1" / "train.txt", tmp_path / "m", *options, "--eval-metric", metric)
        ranker = br.LightGBMRanker(**settings).fit(*train, eval_set=[tuple(validation)], eval_metric=metric)
        rounds[metric] = ranker.best_iteration_
        assert f" {rounds[metric]} rounds," in " ".join(out.split())
    assert rounds["mrr"] != rounds["ndcg@1"]


def test_evaluate_explains_what_other_libraries_compute(run, folder, tmp_path, data):
    _, y, qid = data
    values = np.random.default_rng(0).integers(0, 4, len(y)) / 4
    np.savetxt(tmp_path / "scores", values)
    other = {"gain": "linear", "empty": "one", "ties": "worst"}
    chosen = ["--measures", "ndcg@10,ndcg@3,map", "--gain", "linear", "--empty", "one", "--ties", "worst"]
    for width, options, settings in ((80, [], {"k": 10}), (100, chosen, {"k": 3, **other})):
        found = br.reconcile(y, values, qid, **settings)
        out = run("evaluate", folder / "all.txt", tmp_path / "scores", "--explain", *options, width=width)
        lines = out.splitlines()
        assert max(map(len, lines)) <= width
        assert found.head in " ".join(out.split())
        assert "Each row shows the NDCG" in out
        for row in found.table.itertuples():
            at = next(i for i, line in enumerate(lines) if line.split()[:2] == [row.library, row.metric])
            parts = [part for part in row.because.split("; ") if part]
            assert lines[at].split()[2:4] == [f"{row.value:.4f}", f"{row.difference:+.4f}"]
            assert [line.rstrip()[-len(part) :] for line, part in zip(lines[at:], parts, strict=False)] == parts
    assert "Each row" not in run("evaluate", folder / "all.txt", tmp_path / "scores")


# check


def test_check_tells_consistent_losses_from_others_by_its_exit_code(run):
    out = run("check", "squared/dcg", "-k", 2, "--gain", "linear", "--discount", "zipf", "--distributions", 50)
    assert "no counterexample to consistency with NDCG@2" in out
    out = run("check", "softmax", "--normalize", "softmax", "-k", 3, "--seed", 7, "--distributions", 100, code=1)
    assert max(map(len, out.splitlines())) <= 80
    report = br.theory.check_consistency("softmax", "softmax", DCG(k=3), n_distributions=100, random_state=7)
    assert out == f"{report!r}\n"


# Errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("compare TMP/absent", "absent: No such file or directory"),
        ("compare TMP", "Fold"),
        ("compare TMP/broken.txt", "line 2"),
        ("compare --objectives lambdamart", "unknown objective 'lambdamart'"),
        ("compare --objectives softmax/idcg", "'softmax/idcg' is not SURROGATE/NORMALIZE"),
        ("compare --objectives lambdarank/dcg", "'lambdarank/dcg' is not SURROGATE/NORMALIZE"),
        ("compare --objectives lambdarank --backend xgboost", "none of the objectives"),
        ("compare --measures ndcg@0", "--measures ndcg@0: k must be None, an integer of at least 1"),
        ("compare --measures ndgc@10", "--measures: unknown measure 'ndgc@10'; use ndcg, dcg, precision,"),
        ("compare --measures ndcg@10,ndcg@010", "--measures has ndcg@10 twice"),
        ("evaluate DATA TMP/scores --measures auc@5", "--measures auc@5: the measure 'auc' has no setting 'k'"),
        ("evaluate DATA TMP/scores --measures map --explain", "--explain needs an NDCG"),
        ("fit DATA TMP/m --eval-metric accuracy", "--eval-metric: unknown measure 'accuracy'"),
        ("compare --output t.xls", "t.xls"),
        ("compare --output TMP/no/t.csv", "there is no folder"),
        ("compare --plot TMP/no/p.png", "there is no folder"),
        ("compare --plot TMP/p.xls", "the file of a plot must end in one of"),
        ("compare --rounds 0", "rounds"),
        ("fit DATA TMP/no/model", "there is no folder"),
        ("fit DATA TMP/m --backend both", "fit trains one model"),
        ("predict TMP/broken.txt DATA", "is a model neither of LightGBM nor of XGBoost"),
        ("evaluate DATA TMP/scores", "line 2"),
        ("evaluate DATA TMP/one_score", "one_score has 1 scores for the"),
        ("check lambdarank", "unknown surrogate 'lambdarank'"),
        ("check softmax/l1", "targets must be one of dcg, none, l2, sum, softmax; got 'l1'"),
        ("check softmax/", "targets must be one of dcg, none, l2, sum, softmax; got ''"),
        ("check softmax/sum --normalize dcg", "disagree"),
        ("check TMP/absent.py:Mine", "no file"),
        ("check TMP/absent.py", "add the name of a surrogate in it"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(run, folder, tmp_path, arguments, message):
    (tmp_path / "broken.txt").write_text("1 qid:1 1:0.5\nx qid:1 1:0.5\n")
    (tmp_path / "scores").write_text("0.5\nnan\n")
    (tmp_path / "one_score").write_text("0.5\n")
    filled = arguments.replace("TMP", str(tmp_path)).replace("DATA", str(folder / "all.txt"))
    error = run(*filled.split(), code=2)
    assert message in " ".join(error.split())


def test_python_m_boostrank_has_the_same_output_and_exit_code(run):
    arguments = ["check", "softmax/softmax", "--distributions", "50"]
    command = [sys.executable, "-m", "boostrank", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == run(*arguments, code=1)
