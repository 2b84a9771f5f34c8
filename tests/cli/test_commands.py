"""The command line, as a person runs it."""

import json
import subprocess
import sys

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest

import boostrank as br


def run(*arguments, code=0):
    command = [sys.executable, "-m", "boostrank", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=None)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """LETOR folds, one of them without a validation part."""
    path = tmp_path_factory.mktemp("letor")
    X, y, qid = br.make_ranking(n_queries=60, random_state=0)
    for i in (1, 2):
        (path / f"Fold{i}").mkdir()
        for j, part in enumerate(("train", "vali", "test")):
            rows = (qid + i) % 3 == j
            if (i, part) != (2, "vali"):
                br.write_letor(path / f"Fold{i}" / f"{part}.txt", X[rows], y[rows], qid[rows])
    br.write_letor(path / "all.txt", X, y, qid)
    return path


def test_compare_folds_writes_tables_and_a_plot(folder, tmp_path):
    quick = ["--rounds", 20, "--objectives", "lambdarank,softmax,squared/none", "--cutoffs", "1,all"]
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


def test_fit_predict_evaluate(folder, tmp_path):
    _, y, qid = br.make_ranking(n_queries=60, random_state=0)
    for backend in ("lightgbm", "xgboost"):
        model, scores = tmp_path / f"{backend}.json", tmp_path / f"{backend}.scores"
        options = ["--backend", backend, "--objective", "softmax", "--k", 10, "--rounds", 20]
        run("fit", folder / "all.txt", model, *options, "--validation", folder / "Fold1" / "vali.txt")
        run("predict", model, folder / "all.txt", "--output", scores)
        values = np.loadtxt(scores)
        assert run("predict", model, folder / "all.txt").split() == scores.read_text().split()
        expected = br.ndcg_score(y, values, qid, k=10)
        assert f"{expected:.6f}" in run("evaluate", folder / "all.txt", scores)
        assert expected > 0.7
    lgb.Booster(model_file=tmp_path / "lightgbm.json")


def test_bad_input_is_one_line_and_exit_code_2(folder, tmp_path):
    (tmp_path / "broken.txt").write_text("1 qid:1 1:0.5\nx qid:1 1:0.5\n")
    (tmp_path / "scores").write_text("0.5\nnan\n")
    for arguments, message in (
        (["compare", tmp_path / "absent"], "absent"),
        (["compare", tmp_path], "Fold"),
        (["compare", tmp_path / "broken.txt"], "line 2"),
        (["compare", "--objectives", "lambdamart"], "unknown objective 'lambdamart'"),
        (["compare", "--objectives", "softmax/idcg"], "softmax/idcg"),
        (["compare", "--objectives", "lambdarank", "--backend", "xgboost"], "none of the objectives"),
        (["compare", "--cutoffs", "0"], "--cutoffs"),
        (["compare", "--output", "t.xls"], "t.xls"),
        (["compare", "--rounds", "0"], "rounds"),
        (["fit", folder / "all.txt", tmp_path / "no" / "model"], "no folder"),
        (["fit", folder / "all.txt", tmp_path / "m", "--backend", "both"], "one model"),
        (["predict", tmp_path / "broken.txt", folder / "all.txt"], "broken.txt"),
        (["evaluate", folder / "all.txt", tmp_path / "scores"], "line 2"),
        (["check", "lambdarank"], "unknown surrogate 'lambdarank'"),
        (["check", "softmax/l1"], "targets must be one of dcg, none, l2, sum, softmax; got 'l1'"),
        (["check", "softmax/sum", "--normalize", "dcg"], "disagree"),
    ):
        error = " ".join(run(*arguments, code=2).split())
        assert message in error, error


def test_help_names_the_commands():
    out = run("--help")
    assert all(command in out for command in ("compare", "fit", "predict", "evaluate", "check"))


def test_evaluate_explains_what_other_libraries_print(folder, tmp_path):
    _, y, qid = br.make_ranking(n_queries=60, random_state=0)
    values = np.random.default_rng(0).integers(0, 4, len(y)) / 4
    np.savetxt(tmp_path / "scores", values)
    other = {"gain": "linear", "empty": "one", "ties": "worst"}
    chosen = ["--cutoffs", "3,10", *(part for name, value in other.items() for part in (f"--{name}", value))]
    for width, options, settings in ((80, [], {"k": 10}), (100, chosen, {"k": 3, **other})):
        found = br.reconcile(y, values, qid, **settings)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("COLUMNS", str(width))
            out = run("evaluate", folder / "all.txt", tmp_path / "scores", "--explain", *options)
        lines = out.splitlines()
        assert max(map(len, lines)) <= width
        assert found.head in " ".join(out.split())
        assert "Each line: what a library prints" in out
        for row in found.table.itertuples():
            at = next(i for i, line in enumerate(lines) if line.split()[:2] == [row.library, row.metric])
            parts = [part for part in row.because.split("; ") if part]
            assert lines[at].split()[2:4] == [f"{row.value:.4f}", f"{row.difference:+.4f}"]
            assert [line.rstrip()[-len(part) :] for line, part in zip(lines[at:], parts, strict=False)] == parts
    assert "Each line" not in run("evaluate", folder / "all.txt", tmp_path / "scores")


def test_check_tells_consistent_losses_from_others_by_its_exit_code(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    quick = ["--distributions", "100"]
    arguments = ["squared/dcg", "-k", 2, "--gain", "linear", "--discount", "zipf"]
    assert "no counterexample to consistency with NDCG@2" in run("check", *arguments, *quick)
    options = ["--normalize", "softmax", "-k", "3", "--seed", "7", *quick]
    command = [sys.executable, "-m", "boostrank", "check", "softmax", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == ""
    assert max(map(len, done.stdout.splitlines())) <= 80
    report = br.theory.check_consistency("softmax", "softmax", br.DCG(k=3), n_distributions=100, random_state=7)
    assert done.stdout == f"{report!r}\n"
