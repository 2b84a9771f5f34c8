"""The commands `fit`, `predict` and `evaluate`, one after the other, and `evaluate --explain`."""

import io
import os
import threading

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest

import boostrank as br


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


@pytest.mark.parametrize("kind", ["txt", "csv", "tsv", "parquet", "csv.gz"])
def test_commands_read_standard_input_and_pipes(run, folder, tmp_path, data, monkeypatch, kind):
    path, model, scores = tmp_path / f"data.{kind}", tmp_path / "model", tmp_path / "scores"
    if kind == "txt":
        path = folder / "all.txt"
    else:
        frame = pd.DataFrame(data.X, columns=list("abcdefghij")).assign(qid=data.qid, label=data.y)
        getattr(frame, "to_parquet" if kind == "parquet" else "to_csv")(
            path, index=False, **({"sep": "\t"} if kind == "tsv" else {})
        )

    def piped(content, *arguments):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        return run(*arguments)

    content = path.read_bytes()
    piped(content, "fit", "-", model, "--rounds", 2)
    expected = run("predict", model, path)
    assert piped(content, "predict", model, "-") == expected
    scores.write_text(expected)
    assert piped(expected.encode(), "evaluate", path, "-") == run("evaluate", path, scores)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(content))
    writer.start()
    assert run("predict", model, pipe) == expected
    writer.join(20)


def test_evaluate_applies_settings_to_the_measures_that_have_them(run, folder, tmp_path, data):
    _, y, qid = data
    values = np.random.default_rng(0).integers(0, 4, len(y)) / 4
    np.savetxt(tmp_path / "scores", values)
    options = ["--measures", "ndcg@3, map,mrr,auc", "--gain", "linear", "--ties", "stable"]
    out = run("evaluate", folder / "all.txt", tmp_path / "scores", *options)
    expected = {
        "ndcg(gain=linear)@3": br.ndcg_score(y, values, qid, k=3, gain="linear", ties="stable"),
        "map": br.get_measure("map", ties="stable")(y, values, qid),
        "mrr": br.get_measure("mrr", ties="stable")(y, values, qid),
        "auc": br.get_measure("auc")(y, values, qid),
    }
    head, rule, *lines = out.splitlines()[1:]
    assert (head.split(), set(rule)) == (["measure", "value", "settings"], {"─"})
    rows = [line.split(maxsplit=2) for line in lines]
    assert {row[0]: row[1] for row in rows} == {name: f"{value:.6f}" for name, value in expected.items()}
    assert rows[0][2] == "empty zero, gain linear, discount log2, ties stable"
    assert rows[3][2] == "empty skip, threshold 1"


def test_fit_chooses_the_objective_and_the_rounds(run, folder, tmp_path):
    path, model = folder / "all.txt", tmp_path / "m"
    options = ["--objective", "auto", "--rounds", "auto", "--patience", 3, "--leaves", 7]
    out = " ".join(run("fit", path, model, *options, "--eval-metric", "mrr").split())
    settings = {"n_estimators": "auto", "early_stopping_rounds": 3, "num_leaves": 7, "random_state": 0}
    data = br.read_letor(path)
    ranker = br.LightGBMRanker("auto", **settings).fit(*data, eval_metric=br.get_measure("mrr"))
    changed = {"objective": ranker.objective_, **ranker.best_params_}
    assert "chosen: " + ", ".join(f"{name}={value}" for name, value in changed.items()) in out
    assert f" {ranker.best_iteration_} rounds," in out
    loaded = br.LightGBMRanker().load_model(model)
    np.testing.assert_array_equal(loaded.predict(data.X), ranker.predict(data.X))


def test_evaluate_explains_what_other_libraries_compute(run, folder, tmp_path, data):
    _, y, qid = data
    values = np.random.default_rng(0).integers(0, 4, len(y)) / 4
    np.savetxt(tmp_path / "scores", values)
    other = {"gain": "linear", "empty": "one", "ties": "worst"}
    chosen = ["--measures", "ndcg@10,ndcg@3,dcg", "--gain", "linear", "--empty", "one", "--ties", "worst"]
    for options, settings in (([], {"k": 10}), (chosen, {"k": 3, **other})):
        found = br.reconcile(y, values, qid, **settings)
        out = run("evaluate", folder / "all.txt", tmp_path / "scores", "--explain", *options)
        lines = out.splitlines()
        assert found.head in " ".join(out.split())
        assert "Each row shows what a library computes" in out
        for row in found.table.itertuples():
            # In a pipe nothing is cut and nothing continues on the next line.
            value = ["-", "-"] if np.isnan(row.value) else [f"{row.value:.4f}", f"{row.difference:+.4f}"]
            start = [*f"{row.library} {row.metric}".split(), *value]
            (line,) = (line for line in lines if line.split()[: len(start)] == start)
            assert line.endswith(row.because)


def test_a_pipe_gets_scores_models_tables_and_plots(run, folder, tmp_path):
    def received(name, *arguments):
        path, content = tmp_path / name, []
        os.mkfifo(path)
        reader = threading.Thread(target=lambda: content.append(path.read_bytes()))
        reader.start()
        run(*arguments, path) if arguments[0] != "fit" else run(*arguments[:2], path, *arguments[2:])
        reader.join(20)
        assert path.is_fifo()
        return content[0]

    data, model = folder / "all.txt", tmp_path / "model"
    model.write_bytes(received("m", "fit", data, "--rounds", 2))
    assert received("scores", "predict", model, data, "--output").decode() == run("predict", model, data)
    compare = ["compare", data, "--rounds", 1, "--folds", 3, "--objectives", "softmax", "--backend", "lightgbm"]
    assert received("t.csv", *compare, "--output").startswith(b"ranker,metric")
    assert received("plot.png", *compare, "--plot").startswith(b"\x89PNG")
