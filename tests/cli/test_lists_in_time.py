"""The command line for lists in time: ids of two columns, labels of both signs, their measures."""

import numpy as np
import pandas as pd
import pytest

import boostrank as br


@pytest.fixture(scope="module")
def returns(tmp_path_factory):
    """A table of features, weeks, markets and returns, and its path; it is not sorted."""
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(300, 3)), columns=["value", "momentum", "size"])
    table["week"] = random.integers(0, 20, 300)
    table["market"] = random.choice(["a", "b,c"], 300)
    table["return"] = (table["value"] + random.normal(size=300)) / 100
    path = tmp_path_factory.mktemp("returns") / "returns.csv"
    table.to_csv(path, index=False)
    return table, path


OPTIONS = ["--qid", "week,market", "--label", "return"]


def test_fit_predict_and_evaluate_take_two_columns_and_ranks(run, returns, tmp_path):
    table, path = returns
    names = ["week", "market"]
    model, scores = tmp_path / "model.txt", tmp_path / "scores.csv"
    settings = ["--rounds", 20, "--gain", "rank", "--threads", 1]
    out = run("fit", path, model, *OPTIONS, *settings, "--query-features", "rank")
    assert f"300 documents of {table.groupby(names).ngroups} queries" in out
    run("predict", model, path, *OPTIONS[:2], "--output", scores)
    ranker = br.LightGBMRanker(
        n_estimators=20, gain="rank", query_features="rank", random_state=0, n_jobs=1
    )
    X = table.drop(columns="return")
    expected = ranker.fit(X, table["return"], names).predict(X)
    written = pd.read_csv(scores)
    np.testing.assert_allclose(written["score"], expected)
    of_first = f"{table['week'][0]},{table['market'][0]}"
    assert written["qid"][0].replace('"', "") == of_first
    assert written["qid"].nunique() == table.groupby(names).ngroups
    measures = "spearman,kendall,ic,ic_ir,spread@0.2,ndcg(gain=rank)@5"
    out = run("evaluate", path, scores, *OPTIONS, "--measures", measures)
    printed = {line.split()[0]: float(line.split()[1]) for line in out.splitlines()[3:]}
    queries = table.groupby(names).ngroup()
    found = br.evaluate(table["return"], expected, queries, measures.split(","))
    assert printed == pytest.approx(found, abs=1e-6)


def test_columns_that_do_not_exist_and_negative_labels_are_errors(run, returns, tmp_path):
    _, path = returns
    message = run("fit", path, tmp_path / "model", "--qid", "week,shop", *OPTIONS[2:], code=2)
    assert "--qid" in message
    assert "'shop'" in message
    message = run("fit", path, tmp_path / "model", *OPTIONS, code=2)
    assert "gain='rank'" in message


@pytest.mark.parametrize("dates", [False, True])
def test_compare_trains_on_earlier_lists(run, returns, tmp_path, dates):
    table, _ = returns
    week = table["week"]
    if dates:
        week = (pd.Timestamp("2024-01-05") + pd.to_timedelta(7 * week, "D")).dt.date
    path = tmp_path / "t.csv"
    table.assign(when=week, grade=(table["return"] > 0).astype(int)).drop(columns="return").to_csv(
        path, index=False
    )
    options = ["--qid", "week,market", "--label", "grade", "--drop", "week,market"]
    quick = ["--folds", 2, "--rankers", "LightGBMRanker,XGBoostRanker", "--measures", "ndcg@3"]
    out = run("compare", path, *options, "--time", "when", *quick, "--output", tmp_path / "o.csv")
    assert "2 folds" in out
    X = table[["value", "momentum", "size"]].to_numpy()
    y = (table["return"] > 0).astype(int)
    qid = table.groupby(["week", "market"]).ngroup().to_numpy()
    rankers = {
        "LightGBMRanker()": br.LightGBMRanker(random_state=0),
        "XGBoostRanker()": br.XGBoostRanker(random_state=0),
    }
    cv = br.QueryTimeSplit(2, time=table["week"].to_numpy())
    expected = br.compare(rankers, X, y, qid, cv=cv, measures="ndcg@3").table
    np.testing.assert_allclose(pd.read_csv(tmp_path / "o.csv")["mean"], expected["mean"])
    error = run("compare", path, *options, "--time", "wen", *quick, code=2)
    assert "did you mean 'when'" in error
    error = run("compare", path, *options, "--time", "market", *quick, code=2)
    assert "the time (column 'market') must be a number or a date" in error
    error = run("compare", path, *options, "--time", "when", "--repeats", 2, *quick, code=2)
    assert "give --time or --repeats" in error


def test_fit_keeps_groups_together(run, returns, tmp_path):
    table, path = returns
    model = tmp_path / "model.txt"
    options = ["--qid", "week,market", "--label", "return", "--gain", "rank", "--threads", 1]
    run("fit", path, model, *options, "--group", "week", "--drop", "market")
    ranker = br.LightGBMRanker(gain="rank", random_state=0, n_jobs=1)
    X = table[["value", "momentum", "size"]]
    qid = table.groupby(["week", "market"], sort=False).ngroup().to_numpy()
    ranker.fit(X, table["return"], qid, groups=table["week"].to_numpy())
    found = br.load_model(model)
    assert found.best_iteration_ == ranker.best_iteration_
    np.testing.assert_allclose(found.predict(X), ranker.predict(X))
    assert "did you mean 'week'" in run("fit", path, model, *options, "--group", "wek", code=2)
