"""The commands: what they print and write, and their exit codes."""

import importlib
import json
import runpy
import sys

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest

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
    quick = ["--rounds", 4, "--objectives", "lambdarank,softmax,squared/none", "--cutoffs", "1,all"]
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
    assert "-regret: expected NDCG of the ranking minus" in out
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
    options = ["--backend", backend, "--objective", "softmax", "--k", 10, "--rounds", 15]
    run("fit", folder / "all.txt", model, *options, "--validation", folder / "Fold1" / "vali.txt")
    run("predict", model, folder / "all.txt", "--output", scores)
    values = np.loadtxt(scores)
    assert run("predict", model, folder / "all.txt").split() == scores.read_text().split()
    expected = br.ndcg_score(y, values, qid, k=10)
    assert f"{expected:.6f}" in run("evaluate", folder / "all.txt", scores)
    assert expected > 0.7
    if backend == "lightgbm":
        lgb.Booster(model_file=model)


def test_evaluate_explains_what_other_libraries_compute(run, folder, tmp_path, data):
    _, y, qid = data
    values = np.random.default_rng(0).integers(0, 4, len(y)) / 4
    np.savetxt(tmp_path / "scores", values)
    other = {"gain": "linear", "empty": "one", "ties": "worst"}
    chosen = ["--cutoffs", "3,10", *(part for name, value in other.items() for part in (f"--{name}", value))]
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
        ("compare TMP/absent", "absent"),
        ("compare TMP", "Fold"),
        ("compare TMP/broken.txt", "line 2"),
        ("compare --objectives lambdamart", "unknown objective 'lambdamart'"),
        ("compare --objectives softmax/idcg", "'softmax/idcg' is not SURROGATE/NORMALIZE"),
        ("compare --objectives lambdarank/dcg", "'lambdarank/dcg' is not SURROGATE/NORMALIZE"),
        ("compare --objectives lambdarank --backend xgboost", "none of the objectives"),
        ("compare --cutoffs 0", "--cutoffs"),
        ("compare --output t.xls", "t.xls"),
        ("compare --rounds 0", "rounds"),
        ("fit DATA TMP/no/model", "there is no folder"),
        ("fit DATA TMP/m --backend both", "fit trains one model"),
        ("predict TMP/broken.txt DATA", "broken.txt"),
        ("evaluate DATA TMP/scores", "line 2"),
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
    filled = arguments.replace("TMP", str(tmp_path)).replace("DATA", str(folder / "all.txt"))
    error = run(*filled.split(), code=2)
    assert message in " ".join(error.split())


def test_python_m_boostrank_has_the_same_output_and_exit_code(run, monkeypatch, capsys):
    arguments = ["check", "softmax/softmax", "--distributions", "20"]
    expected = run(*arguments, code=1)
    monkeypatch.setattr(sys, "argv", ["python -m boostrank", *arguments])
    with pytest.raises(SystemExit) as stopped:
        runpy.run_module("boostrank", run_name="__main__")
    assert stopped.value.code == 1
    assert capsys.readouterr() == (expected, "")
