"""The commands `fit`, `predict` and `evaluate`, one after the other, and `evaluate --explain`."""

import re

import lightgbm as lgb
import numpy as np
import pytest
from scipy import sparse

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
        "ndcg(gain=linear)@3": br.ndcg_score(y, values, qid, k=3, gain="linear", ties="stable"),
        "map": br.metrics.average_precision_score(y, values, qid, ties="stable"),
        "mrr": br.metrics.reciprocal_rank_score(y, values, qid, ties="stable"),
        "auc": br.metrics.auc_score(y, values, qid),
    }
    head, rule, *lines = out.splitlines()[1:]
    assert (head.split(), set(rule)) == (["measure", "value", "settings"], {"─"})
    rows = [line.split(maxsplit=2) for line in lines]
    assert {row[0]: row[1] for row in rows} == {name: f"{value:.6f}" for name, value in expected.items()}
    assert rows[0][2] == "empty zero, gain linear, discount log2, ties stable"
    assert rows[3][2] == "empty skip, threshold 1"


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
            (line,) = (
                line for line in lines if f"{' '.join(line.split())} ".startswith(f"{row.library} {row.metric} ")
            )
            value = ["-", "-"] if np.isnan(row.value) else [f"{row.value:.4f}", f"{row.difference:+.4f}"]
            assert line.split()[2:4] == value or line.split(row.metric)[1].split()[:2] == value
            assert line.endswith(row.because)
    assert "Each row" not in run("evaluate", folder / "all.txt", tmp_path / "scores")
