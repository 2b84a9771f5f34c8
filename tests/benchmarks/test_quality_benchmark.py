"""The benchmarks of quality: which queries methods are trained on, jobs, and the numbers of the reports."""

import importlib
import itertools
import json
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
import pytest

import boostrank as br
from boostrank.training.settings import LOSS_LEARNING_RATE

with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    modules = ("workloads", "jobs", "quality_methods", "quality", "quality_report", "defaults")
    workloads, jobs, quality_methods, quality, report, defaults = map(importlib.import_module, modules)

NAN = float("nan")


@pytest.fixture(scope="module")
def fold():
    data = br.Dataset(*br.make_ranking(n_queries=60, random_state=2))
    return br.query_folds(data, 3, random_state=0)[0]


@pytest.fixture
def with_fold(monkeypatch, fold):
    """Every data set is this one fold."""
    for module in (quality, defaults):
        monkeypatch.setattr(module, "read_folds", lambda data: [fold])


def ndcg(data, scores):
    return br.ndcg_score(data.y, scores, data.qid, k=10, empty="skip", per_query=True)


def test_training_queries_are_those_of_training_and_validation(fold):
    X, y, qid = workloads.training_queries(fold)
    assert set(qid) == set(fold.train.qid) | set(fold.validation.qid)
    assert not set(qid) & set(fold.test.qid)
    assert len(X) == len(y) == len(qid) == len(fold.train.y) + len(fold.validation.y)
    row = np.flatnonzero(qid == fold.validation.qid[0])[0]
    assert (X[row] == fold.validation.X[0]).all()
    with pytest.raises(ValueError, match="query ids in common"):
        workloads.join(fold.train, fold.train)


def test_an_untuned_peer_is_its_own_ranker_with_default_parameters(fold, with_fold):
    result = quality.run("untuned", "data", "LGBMRanker", 0, 0, 0)
    X, y, qid = workloads.training_queries(fold)
    rows = np.argsort(qid, kind="stable")
    sizes = np.unique(qid, return_counts=True)[1]
    by_hand = lightgbm.LGBMRanker(n_jobs=1, verbosity=-1).fit(X[rows], y[rows], group=sizes)
    np.testing.assert_allclose(result["ndcg@10"], ndcg(fold.test, by_hand.predict(fold.test.X)))
    assert (result["rounds"], result["is_ours"], result["library"]) == (100, False, "lightgbm")


@pytest.mark.parametrize("name", ["LGBMRanker", "LightGBMRanker"])
def test_early_stopping_is_by_ndcg_at_10_on_the_validation_queries(fold, with_fold, monkeypatch, name):
    monkeypatch.setattr(quality_methods, "MAX_ROUNDS", 30)
    method, excluded = quality_methods.PROTOCOLS["early-stopping"][name], set()
    for seed in range(8):
        result = quality.run("early-stopping", "data", name, 0, seed, 0)
        rate = LOSS_LEARNING_RATE if name == "LightGBMRanker" else 0.1
        every_round = method.make(n_estimators=30, n_jobs=1, verbosity=-1, random_state=seed, learning_rate=rate)
        every_round = quality_methods.accept_qid(every_round).fit(*fold.train)
        booster = getattr(every_round, "estimator_", every_round).booster_
        X, y, qid = fold.validation
        best = {}
        for k in (1, 5, 10, None):
            curve = [br.ndcg_score(y, booster.predict(X, num_iteration=i), qid, k=k) for i in range(1, 31)]
            best[k] = np.argmax(np.round(curve, 12)) + 1
        assert result["rounds"] == best[10]
        excluded |= {k for k in best if best[k] != best[10]}
        scores = booster.predict(fold.test.X, num_iteration=result["rounds"])
        np.testing.assert_allclose(result["ndcg@10"], ndcg(fold.test, scores))
        if len(excluded) == 3:
            break
    assert excluded == {1, 5, None}, "another cutoff would pass, too"


def test_a_ranker_that_validates_itself_gets_all_training_queries(fold, with_fold, monkeypatch):
    seen = []
    method = quality_methods.PROTOCOLS["early-stopping"]["LightGBMRanker refit"]

    class Spy(br.LightGBMRanker):
        def fit(self, X, y, qid, **arguments):
            seen.append((set(qid), arguments))
            return super().fit(X, y, qid, **arguments)

    make = quality_methods.partial(Spy, **{**method.make.keywords, "n_estimators": 5})
    monkeypatch.setitem(quality.PROTOCOLS["early-stopping"], method.name, method._replace(make=make))
    quality.run("early-stopping", "data", method.name, 0, 0, 0)
    assert seen == [(set(fold.train.qid) | set(fold.validation.qid), {"eval_metric": "ndcg@10"})]


def test_the_best_draw_on_the_validation_queries_predicts(fold, with_fold, monkeypatch):
    monkeypatch.setattr(quality_methods, "MAX_ROUNDS_TUNED", 5)
    result = quality.run("tuned", "data", "LightGBMRanker", 0, 5, 8)
    values = [draw["validation"] for draw in result["draws"]]
    assert np.argmax(values) not in (0, 7), "another number of draws is needed, so that neither end is the best"
    best = result["draws"][int(np.argmax(values))]
    method = quality_methods.PROTOCOLS["tuned"]["LightGBMRanker"]
    parameters = quality_methods.library_parameters(method, best["settings"])
    parameters.update(k=best["settings"]["k"], n_estimators=best["rounds"], n_jobs=1, random_state=5)
    ranker = br.LightGBMRanker(**parameters).fit(*fold.train)
    np.testing.assert_allclose(result["ndcg@10"], ndcg(fold.test, ranker.predict(fold.test.X)))


def double(number):
    if number < 0:
        raise ValueError("negative\nand more")
    return {"double": 2 * number}


def test_jobs_are_resumed_and_failures_do_not_stop_the_others(tmp_path, capsys):
    jobs_by_path = {tmp_path / "runs" / f"{number}.json": (number,) for number in (1, -1, 3)}
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "1.json").write_text(json.dumps({"double": "kept"}))
    with pytest.raises(SystemExit, match="1 of 2 jobs failed"):
        jobs.run_jobs(double, jobs_by_path, 1)
    printed = capsys.readouterr().out
    assert "-1: ValueError: negative\n" in printed
    assert "2/2 3 " in printed
    assert [result["double"] for result in jobs.read_results(tmp_path / "runs")] == ["kept", 6]


def run_of(method, fold, values, *, data="A", seed=0, **columns):
    library = "xgboost" if method.startswith("XGB") else "lightgbm"
    about = {"protocol": "untuned", "data": data, "method": method, "library": library, "is_ours": method == "ours"}
    return {**about, "fold": fold, "seed": seed, "seconds": 1.0, "ndcg@10": values, **columns}


def test_values_are_means_over_seeds_of_the_queries_of_all_folds(capsys):
    runs = [run_of("ours", 1, [0.5]), run_of("ours", 0, [0.1, NAN]), run_of("ours", 0, [0.3, NAN], seed=1)]
    runs += [run_of("LGBMRanker", 0, [0.4, NAN])]
    values = report.values_by_method(pd.DataFrame(runs))
    assert list(values["A"]) == ["ours"]
    np.testing.assert_allclose(values["A"]["ours"], [0.2, 0.5])
    assert "LGBMRanker has no runs of the folds [1]" in capsys.readouterr().out


def test_table_by_set_compares_with_the_lambdamart_of_each_library():
    own = {"LGBMRanker": [0.5, 0.5, 0.5], "XGBRanker": [0.6, 0.4, 0.4], "XGBoostRanker": [0.6, 0.5, 0.5]}
    own["ours"] = [0.9, 0.4, 0.5]
    runs = pd.DataFrame([run_of(method, 0, values) for method, values in own.items()])
    table = report.table_by_set(runs, report.values_by_method(runs))
    pairs = list(table[["method", "baseline"]].itertuples(index=False, name=None))
    assert pairs[1:] == [
        ("XGBRanker", "LGBMRanker"),
        ("XGBoostRanker", "LGBMRanker"),
        ("XGBoostRanker", "XGBRanker"),
        ("ours", "LGBMRanker"),
    ]
    assert table.loc[0, "method"] == "LGBMRanker"
    assert table.loc[0, ["baseline", "difference", "p", "wins"]].isna().all()
    assert table.loc[3, "difference"] == pytest.approx(0.2 / 3)
    row = table.loc[4]
    assert (row["wins"], row["ties"], row["losses"], row["queries"]) == (1, 1, 1, 3)
    assert row["difference"] == pytest.approx(0.1)
    assert row["ndcg@10"] == pytest.approx(0.6)
    assert row["low"] < 0.1 < row["high"]


@pytest.fixture(scope="module")
def two_sets():
    """Values of one of our methods and two peers on two sets of different sizes."""
    random = np.random.default_rng(0)
    values = {}
    for data, n, differences in (("small", 4, [0.3, 0.2, 0.25, -0.05]), ("large", 6, [0.1, -0.2, 0, 0.05, -0.1, -0.1])):
        peer = random.uniform(0.3, 0.6, n)
        values[data] = {"ours": peer + differences, "peer": peer, "weak": peer - (0.1 if data == "small" else -0.01)}
    return values


def test_headline_gives_all_sets_the_same_weight(two_sets):
    table = report.headline(two_sets, ["ours"], ["peer", "weak"]).set_index("peer")
    assert list(table.index) == ["peer", "weak", report.BEST_PEER]
    small, large = 0.7 / 4, -0.25 / 6
    assert table["difference"].tolist() == pytest.approx(
        [(small + large) / 2, (small + 0.1 + large - 0.01) / 2, (small + large - 0.01) / 2]
    )
    assert table.loc["peer", "worst_set"] == "large"
    assert table.loc["peer", "worst_difference"] == pytest.approx(large)
    assert table["sets"].tolist() == [2, 2, 2]


def test_p_value_of_the_mean_is_that_of_all_signs(two_sets):
    differences = {data: of_data["ours"] - of_data["peer"] for data, of_data in two_sets.items()}
    observed = abs(np.mean([values.mean() for values in differences.values()]))
    extreme = []
    for signs in itertools.product([1, -1], repeat=10):
        means = [differences["small"] @ signs[:4] / 4, differences["large"] @ signs[4:] / 6]
        extreme.append(abs(np.mean(means)) >= observed - 1e-12)
    table = report.headline(two_sets, ["ours"], ["peer"])
    assert table["p"].iloc[0] == pytest.approx(np.mean(extreme))


def test_interval_of_the_mean_is_of_resamples_within_the_sets():
    random = np.random.default_rng(0)
    # One set has a wide interval; the distance of the means of the sets does not count.
    differences = {"A": random.normal(0.5, 1.0, 300), "B": random.normal(-0.5, 0.1, 50), "C": random.normal(0, 2.0, 80)}
    values = {data: {"ours": row, "peer": np.zeros(len(row))} for data, row in differences.items()}
    row = report.headline(values, ["ours"], ["peer"]).iloc[0]
    error = np.sqrt(sum(row.var() / len(row) for row in differences.values())) / 3
    assert row["high"] - row["low"] == pytest.approx(2 * 1.96 * error, rel=0.05)
    assert (row["high"] + row["low"]) / 2 == pytest.approx(row["difference"], abs=0.1 * error)


def test_sets_won_and_lost_with_and_without_correction():
    differences = {"won": np.full(20, 0.1), "lost": np.full(20, -0.1), "tied": np.tile([0.1, -0.1], 10)}
    # Six queries that are all won: p = 1/32, which does not survive a correction for four sets.
    differences["few"] = np.full(6, 0.1)
    values = {data: {"ours": row + 0.5, "peer": np.full(len(row), 0.5)} for data, row in differences.items()}
    row = report.headline(values, ["ours"], ["peer"]).iloc[0]
    assert (row["won"], row["lost"], row["won_holm"], row["lost_holm"]) == (2, 1, 1, 1)


def test_runs_of_different_budgets_are_refused():
    about = {"protocol": "tuned"}
    runs = [run_of("LGBMRanker", fold, [0.5], **about, draws=[{}] * n) for fold, n in ((0, 8), (1, 8))]
    runs.append(run_of("LGBMRanker", 0, [0.5]))
    assert len(report.of_protocol(pd.DataFrame(runs), "tuned")) == 2
    runs[0]["draws"] = [{}]
    with pytest.raises(SystemExit, match="budgets differ"):
        report.of_protocol(pd.DataFrame(runs), "tuned")


def test_differences_of_candidates_count_each_query_once():
    def result(data, objective, query, values):
        names = {"library": "lightgbm", "objective": objective, "parameters": ""}
        return {**names, "data": data, "query": query, "ndcg": values}

    results = [
        result("A", "LambdaMART", [1, 2], [0.1, 0.5]),
        result("A", "LambdaMART", [1, 3], [0.3, NAN]),
        result("A", "new", [1, 2], [0.2, 0.8]),
        result("A", "new", [1, 3], [0.4, NAN]),
        result("B", "LambdaMART", [1, 2, 3], [0.5, 0.5, 0.5]),
        result("B", "new", [1, 2, 3], [0.3, 0.4, 0.4]),
        result("synthetic", "LambdaMART", [1, 2], [0.5, 0.5]),
        result("synthetic", "new", [1, 2], [0.9, 0.9]),
    ]
    row = defaults.difference_table(results).iloc[0]
    assert (row["objective"], row["worse"]) == ("new", 1)
    assert row["A"] == pytest.approx(0.2)
    assert row["B"] == pytest.approx(-0.4 / 3)
    assert row["synthetic"] == pytest.approx(0.4)
    assert row["mean"] == pytest.approx((0.2 - 0.4 / 3) / 2)
    errors = [np.std([0.1, 0.3], ddof=1) / np.sqrt(2), np.std([-0.2, -0.1, -0.1], ddof=1) / np.sqrt(3)]
    assert [row["A_se"], row["B_se"]] == pytest.approx(errors)
    assert row["mean_se"] == pytest.approx(np.hypot(*errors) / 2)


def test_defaults_are_chosen_without_test_queries(fold, with_fold):
    first, second = (defaults.run("data", 0, split, "lightgbm", None, {}) for split in (0, 1))
    for result in (first, second):
        assert len(result["query"]) == len(result["ndcg"]) == 10
        assert not set(result["query"]) & set(fold.test.qid)
    assert first["query"] != second["query"]
    X, y, qid = workloads.training_queries(fold)
    kept = ~np.isin(qid, first["query"])
    ranker = quality_methods.accept_qid(lightgbm.LGBMRanker(n_jobs=1, verbosity=-1)).fit(X[kept], y[kept], qid[kept])
    for query, value in zip(first["query"], first["ndcg"], strict=True):
        rows = qid == query
        expected = br.ndcg_score(y[rows], ranker.predict(X[rows]), qid[rows], k=10, empty="skip")
        np.testing.assert_allclose(value, expected)
