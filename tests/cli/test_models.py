"""The commands `fit`, `predict` and `evaluate`, one after the other."""

import re

import numpy as np
import pandas as pd

import boostrank as br


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
    options = [
        "--validation",
        vali,
        "--patience",
        3,
        "--leaves",
        7,
        "--eval-metric",
        "mrr",
        "-k",
        5,
    ]
    options += ["--learning-rate", 0.1, "--objective", "softmax"]
    err = run("fit", path, model, *options, errors=True, width=100)
    assert "rounds " in err
    settings = {
        "early_stopping_rounds": 3,
        "num_leaves": 7,
        "random_state": 0,
        "k": 5,
        "learning_rate": 0.1,
    }
    data = br.read_letor(path)
    eval_set = [br.read_letor(vali, n_features=data.X.shape[1])]
    ranker = br.LightGBMRanker("softmax", **settings).fit(
        *data, eval_set=eval_set, eval_metric="mrr"
    )
    best, n_best = ranker.best_score_["valid_0"]["mrr"], ranker.best_iteration_
    first, last = run("fit", path, model, *options, width=100).splitlines()
    assert first == f"validation: mrr {best:.4f} with {n_best} rounds, the best of {n_best + 3}"
    assert last.endswith(f"of {len(set(data.qid))} queries")
    assert "with all of 1 round (more may be better: --rounds)" in run(
        "fit", path, model, *options, "--rounds", 1
    )
    ranker.set_params(n_estimators=1).fit(*data, eval_set=eval_set, eval_metric="mrr")
    np.testing.assert_array_equal(
        br.LightGBMRanker().load_model(model).predict(data.X), ranker.predict(data.X)
    )


def test_query_features_need_the_query_ids_of_documents(run, folder, tmp_path):
    model, path, (X, y, qid) = tmp_path / "m", folder / "all.txt", br.read_letor(folder / "all.txt")
    run("fit", path, model, "--query-features", "rank,standardize", "--rounds", 5)
    ranker = br.LightGBMRanker(
        query_features=["rank", "standardize"], n_estimators=5, random_state=0
    ).fit(X, y, qid)
    np.testing.assert_array_equal(
        np.loadtxt(run("predict", model, path).splitlines()), ranker.predict(X, qid=qid)
    )
    pd.DataFrame(X).add_prefix("x").to_csv(tmp_path / "x.csv", index=False)
    assert "m has query_features: " in (error := run("predict", model, tmp_path / "x.csv", code=2))
    assert "name one with --qid" in error
    assert "got 'gap'" in run("fit", path, model, "--query-features", "gap", code=2)


def test_probabilities_are_those_of_the_calibrated_ranker(run, folder, data, tmp_path):
    path, model = folder / "all.txt", tmp_path / "m.txt"
    options = ["--rounds", 20, "--threads", 1]
    text = run("fit", path, model, *options, "--probabilities", "first")
    calibrated = br.CalibratedRanker.load_model(model)
    assert f"temperature of the scores: {calibrated.temperature_:.4g}" in text
    assert "20 rounds" in text
    X, y, qid = br.read_letor(path)
    own = br.CalibratedRanker(br.LightGBMRanker(n_estimators=20, random_state=0, n_jobs=1))
    expected = own.fit(X, y, qid).predict_proba(X, qid=qid)
    printed = run("predict", model, path, "--probabilities", "first")
    np.testing.assert_allclose(list(map(float, printed.split())), expected)
    scores = run("predict", model, path)
    np.testing.assert_allclose(list(map(float, scores.split())), own.ranker_.predict(X))
    run("predict", model, path, "--probabilities", "first", "--output", tmp_path / "p.csv")
    table = pd.read_csv(tmp_path / "p.csv")
    assert table.columns.tolist() == ["qid", "score", "probability"]
    np.testing.assert_allclose(table.groupby("qid")["probability"].sum(), 1.0)


def test_probabilities_need_a_calibrated_model_and_its_own_folds(run, folder, tmp_path):
    path, model = folder / "all.txt", tmp_path / "m.txt"
    run("fit", path, model, "--rounds", 3, "--threads", 1)
    err = run("predict", model, path, "--probabilities", "first", code=2, width=300)
    assert "has no calibration" in err
    assert "fit --probabilities first" in err
    arguments = ["--probabilities", "first", "--validation", folder / "Fold1" / "vali.txt"]
    err = run("fit", path, model, *arguments, code=2, width=300)
    assert "leave one of them out" in err
