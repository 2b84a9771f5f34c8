"""Columns of labels with weights, as in --label click:0.7,order:0.3."""

import numpy as np
import pandas as pd
import pytest

import boostrank as br


@pytest.fixture
def table(tmp_path):
    """A table with two columns of labels, of which one is missing for some queries."""
    X, clicks, qid = br.make_ranking(40, n_documents=(4, 8), random_state=0)
    frame = pd.DataFrame(X[:, :4], columns=[f"x{i}" for i in range(4)])
    frame = frame.assign(query=qid, click=clicks, order=np.where(qid < 9, np.nan, clicks[::-1]))
    frame.to_csv(tmp_path / "train.csv", index=False)
    return tmp_path / "train.csv", pd.read_csv(tmp_path / "train.csv")


def test_fit_trains_on_several_objectives_and_evaluate_shows_each(run, table, tmp_path):
    path, frame = table
    model, scores = tmp_path / "model.txt", tmp_path / "scores.txt"
    labels = "--label", "click:0.7, order:0.3"
    run("fit", path, model, *labels, "--rounds", 5, "--threads", 1, "--validation", path)
    several = br.MultipleLabels(frame[["click", "order"]], [0.7, 0.3])
    features = frame[[f"x{i}" for i in range(4)]]
    ranker = br.LightGBMRanker(n_estimators=5, random_state=0, early_stopping_rounds=150)
    ranker.fit(features, several, frame["query"], eval_set=[(features, several, frame["query"])])
    found = br.LightGBMRanker().load_model(model).predict(features)
    np.testing.assert_array_equal(found, ranker.predict(features))
    scores.write_text("".join(f"{score!r}\n" for score in found.tolist()))
    shown = run("evaluate", path, scores, *labels, "--measures", "ndcg@5,map", width=200)
    values = br.evaluate(several, found, frame["query"], ["ndcg@5", "map"])
    for name, value in values.items():
        assert f"{name}  " in shown
        assert f"{value:.6f}" in shown
    assert len(values) == 6


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("click:0.7,ordr:0.3", "--label: .* has no column 'ordr' (did you mean 'order'?)"),
        ("click:0,order:0", "--label: weights must be one number of 0 or more"),
        ("click:0.7", "--label: .* has no column 'click:0.7'"),
    ],
)
def test_columns_and_weights_that_are_wrong_are_errors(run, table, tmp_path, label, message):
    err = run("fit", table[0], tmp_path / "m", "--label", label, code=2, width=400)
    for part in message.split(".*"):
        assert part.strip() in err


def test_compare_takes_one_column(run, table):
    err = run("compare", table[0], "--label", "click:0.7,order:0.3", code=2, width=400)
    assert "compare takes one column of labels" in err
