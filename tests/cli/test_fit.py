"""The command `fit`: what it says about validation queries, and early stopping."""

import re

import pytest

import boostrank as br


@pytest.fixture
def quick():
    return ["--threads", 1, "--learning-rate", 0.5]


def test_the_best_value_of_the_validation_queries_is_printed(run, folder, tmp_path, quick):
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


@pytest.mark.filterwarnings("always:no tree has a split")
def test_labels_that_are_all_0_are_a_warning(run, tmp_path):
    (tmp_path / "t.csv").write_text("qid,label,a\n1,0,1\n1,0,2\n")
    err = run("fit", tmp_path / "t.csv", tmp_path / "m", "--threads", 1, errors=True, width=300)
    cause = "The cause is that all labels are 0; give labels that differ within queries"
    assert err == f"warning: no tree has a split, so every document gets the same score. {cause}\n"


def test_trainings_on_folds_show_a_bar(run, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    options = ["--threads", 1, "--folds", 2, "--objective", "auto", "--rounds", 2]
    err = run("fit", folder / "all.txt", tmp_path / "m", *options, errors=True, width=100)
    assert err.startswith("cross-validation over the training queries ...\n")
    assert "rounds on folds" in err
