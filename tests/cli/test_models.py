"""The commands `fit`, `predict` and `evaluate`, one after the other."""

import re

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


def test_the_best_value_of_the_validation_queries_is_printed(run, folder, tmp_path):
    quick = ["--threads", 1, "--learning-rate", 0.5]
    train, vali = folder / "Fold1" / "train.txt", folder / "Fold1" / "vali.txt"
    out = run("fit", train, tmp_path / "m", "--validation", vali, "-k", 5, "--patience", 4, *quick, width=200)
    found = re.fullmatch(r"validation: ndcg@5 (0\.\d{4}) with (\d+) rounds, the best of (\d+)\n(.*)\n", out)
    value, n_best, n_trained = float(found[1]), int(found[2]), int(found[3])
    assert n_trained == n_best + 4 < 100
    ranker = br.LightGBMRanker().load_model(tmp_path / "m")
    assert ranker.best_iteration_ == n_best
    X, y, qid = br.read_letor(vali, n_features=ranker.n_features_in_)
    assert br.ndcg_score(y, ranker.predict(X), qid, k=5) == pytest.approx(value, abs=1e-4)
    n_queries = len(set(br.read_letor(train).qid))
    assert f"of {n_queries} queries" in found[4]
    out = run("fit", train, tmp_path / "m", "--validation", vali, "--eval-metric", "map", "--rounds", 1, width=200)
    assert re.match(r"validation: map 0\.\d{4} with all of 1 round \(more may be better: --rounds\)\n", out)


def test_fit_says_that_left_out_queries_chose_the_rounds(run, folder, tmp_path):
    arguments = "fit", folder / "Fold1" / "train.txt", tmp_path / "m", "--threads", 1
    choice = r"(\d+) rounds; the loss of left-out queries was least after round \d+\n"
    found = re.match(choice, run(*arguments, width=200))
    assert int(found[1]) == br.LightGBMRanker().load_model(tmp_path / "m").best_iteration_
    for options in (["--rounds", 110], ["--objective", "lambdarank"]):
        assert not re.match(choice, run(*arguments, *options, width=200))


def test_fit_trains_the_ranker_with_these_settings(run, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    path, vali, model = folder / "all.txt", folder / "Fold1" / "vali.txt", tmp_path / "m"
    options = ["--validation", vali, "--patience", 3, "--leaves", 7, "--eval-metric", "mrr"]
    err = run("fit", path, model, *options, errors=True, width=100)
    assert "rounds " in err
    settings = {"early_stopping_rounds": 3, "num_leaves": 7, "random_state": 0}
    data = br.read_letor(path)
    eval_set = [br.read_letor(vali, n_features=data.X.shape[1])]
    ranker = br.LightGBMRanker(**settings).fit(*data, eval_set=eval_set, eval_metric="mrr")
    line = run("fit", path, model, *options, width=100).splitlines()[0]
    best = ranker.best_score_["valid_0"]["mrr"]
    assert line.startswith(f"validation: mrr {best:.4f} with {ranker.best_iteration_} rounds, the best of ")
    np.testing.assert_array_equal(br.LightGBMRanker().load_model(model).predict(data.X), ranker.predict(data.X))


def test_query_features_need_the_query_ids_of_documents(run, folder, tmp_path):
    model, path, (X, y, qid) = tmp_path / "m", folder / "all.txt", br.read_letor(folder / "all.txt")
    run("fit", path, model, "--query-features", "rank,standardize", "--rounds", 5)
    ranker = br.LightGBMRanker(query_features=["rank", "standardize"], n_estimators=5, random_state=0).fit(X, y, qid)
    np.testing.assert_array_equal(np.loadtxt(run("predict", model, path).splitlines()), ranker.predict(X, qid=qid))
    pd.DataFrame(X).add_prefix("x").to_csv(tmp_path / "x.csv", index=False)
    assert "name one with --qid" in run("predict", model, tmp_path / "x.csv", code=2)
    assert "got 'gap'" in run("fit", path, model, "--query-features", "gap", code=2)
