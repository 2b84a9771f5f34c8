"""The benchmarks of quality: which queries methods are trained on, jobs, and the numbers of the
reports."""

import importlib
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
import pytest

import boostrank as br
from boostrank.backends.lightgbm.parameters import LOSS_LEARNING_RATE

with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    modules = ("workloads", "jobs", "quality_methods", "quality", "quality_report", "defaults")
    workloads, jobs, quality_methods, quality, report, defaults = map(
        importlib.import_module, modules
    )


@pytest.fixture
def fold(monkeypatch):
    fold = br.query_folds(br.make_ranking(n_queries=60, random_state=2), 3, random_state=0)[0]
    for module in (quality, defaults):
        monkeypatch.setattr(module, "read_folds", lambda data: [fold])
    return fold


def ndcg(data, scores):
    return br.ndcg_score(data.y, scores, data.qid, k=10, empty="skip", per_query=True)


def test_training_queries_are_those_of_training_and_validation(fold):
    X, y, qid = workloads.training_queries(fold)
    for rows, (train, validation) in zip(
        (X, y, qid), zip(fold.train, fold.validation, strict=True), strict=True
    ):
        np.testing.assert_array_equal(rows, np.concatenate([train, validation]))
    with pytest.raises(ValueError, match="query ids in common"):
        workloads.join(fold.train, fold.train)


BY_HAND = [
    ("untuned", "LGBMRanker", lightgbm.LGBMRanker()),
    ("early-stopping", "LightGBMRanker default rounds", br.LightGBMRanker()),
]


@pytest.mark.parametrize(("protocol", "name", "ranker"), BY_HAND)
def test_rankers_without_validation_set_learn_from_all_training_queries(
    fold, protocol, name, ranker
):
    result = quality.run(protocol, "data", name, 0, 4, 0)
    ranker = quality_methods.accept_qid(ranker.set_params(n_jobs=1, verbosity=-1, random_state=4))
    ranker.fit(*workloads.training_queries(fold))
    np.testing.assert_allclose(result["ndcg@10"], ndcg(fold.test, ranker.predict(fold.test.X)))
    assert (result["rounds"], result["is_ours"]) == (ranker.best_iteration_, name != "LGBMRanker")


@pytest.mark.parametrize(
    ("name", "rate"), [("LGBMRanker", 0.1), ("LightGBMRanker", LOSS_LEARNING_RATE)]
)
def test_early_stopping_is_by_ndcg_at_10_on_the_validation_queries(fold, monkeypatch, name, rate):
    monkeypatch.setattr(quality_methods, "MAX_ROUNDS", 30)
    make, excluded = quality_methods.PROTOCOLS["early-stopping"][name].make, set()
    X, y, qid = fold.validation
    for seed in range(8):
        result = quality.run("early-stopping", "data", name, 0, seed, 0)
        ranker = make(
            n_estimators=30, n_jobs=1, verbosity=-1, random_state=seed, learning_rate=rate
        )
        ranker = quality_methods.accept_qid(ranker).fit(*fold.train)
        booster = getattr(ranker, "estimator_", ranker).booster_
        scores = [booster.predict(X, num_iteration=i) for i in range(1, 31)]
        best = {
            k: 1 + np.argmax([round(br.ndcg_score(y, s, qid, k=k), 12) for s in scores])
            for k in (1, 5, 10, None)
        }
        assert result["rounds"] == best[10]
        scores = booster.predict(fold.test.X, num_iteration=result["rounds"])
        np.testing.assert_allclose(result["ndcg@10"], ndcg(fold.test, scores))
        excluded |= {k for k in best if best[k] != best[10]}
    assert excluded == {1, 5, None}, "another cutoff would pass, too"


def test_the_best_draw_on_the_validation_queries_predicts(fold, monkeypatch):
    monkeypatch.setattr(quality_methods, "MAX_ROUNDS_TUNED", 5)
    result = quality.run("tuned", "data", "LightGBMRanker", 0, 5, 8)
    number = int(np.argmax([draw["validation"] for draw in result["draws"]]))
    assert number not in (0, 7), (
        "another number of draws is needed, so that neither end is the best"
    )
    best, method = result["draws"][number], quality_methods.PROTOCOLS["tuned"]["LightGBMRanker"]
    parameters = quality_methods.library_parameters(method, best["settings"]) | {
        "k": best["settings"]["k"]
    }
    ranker = br.LightGBMRanker(
        **parameters, n_estimators=best["rounds"], n_jobs=1, random_state=5
    ).fit(*fold.train)
    np.testing.assert_allclose(result["ndcg@10"], ndcg(fold.test, ranker.predict(fold.test.X)))


def double(number):
    if number < 0:
        raise ValueError("negative\nand more")
    return {"double": 2 * number}


def test_jobs_are_resumed_and_failures_do_not_stop_the_others(tmp_path, capsys):
    (tmp_path / "1.json").write_text('{"double": "kept"}')
    with pytest.raises(SystemExit, match="1 of 2 jobs failed"):
        jobs.run_jobs(double, {tmp_path / f"{number}.json": (number,) for number in (1, -1, 3)}, 1)
    assert "-1: ValueError: negative\n" in capsys.readouterr().out
    assert [result["double"] for result in jobs.read_results(tmp_path)] == ["kept", 6]


def run_of(method, fold, values, *, data="A", seed=0, **columns):
    library = "xgboost" if method.startswith("XGB") else "lightgbm"
    about = {
        "protocol": "untuned",
        "data": data,
        "method": method,
        "library": library,
        "is_ours": method == "ours",
    }
    return {**about, "fold": fold, "seed": seed, "fit_s": 1.0, "ndcg@10": values, **columns}


def test_values_are_means_over_seeds_of_the_queries_of_all_folds(capsys):
    first, second, peer = ([value, np.nan] for value in (0.1, 0.3, 0.4))
    runs = [run_of("ours", 1, [0.5]), run_of("ours", 0, first), run_of("ours", 0, second, seed=1)]
    values = report.values_by_method(pd.DataFrame([*runs, run_of("LGBMRanker", 0, peer)]))
    assert list(values["A"]) == ["ours"]
    np.testing.assert_allclose(values["A"]["ours"], [0.2, 0.5])
    assert "LGBMRanker has no runs of the folds [1]" in capsys.readouterr().out


def test_table_by_set_compares_with_the_lambdamart_of_each_library():
    methods, values = (
        ("LGBMRanker", "XGBRanker", "XGBoostRanker", "ours"),
        ((5, 5, 5), (6, 4, 4), (6, 5, 5), (9, 4, 5)),
    )
    runs = pd.DataFrame(
        [run_of(name, 0, [v / 10 for v in row]) for name, row in zip(methods, values, strict=True)]
    )
    table = report.table_by_set(runs, report.values_by_method(runs))
    assert table["method"].tolist() == [
        "LGBMRanker",
        "XGBRanker",
        "XGBoostRanker",
        "XGBoostRanker",
        "ours",
    ]
    assert table["baseline"].tolist()[1:] == ["LGBMRanker", "LGBMRanker", "XGBRanker", "LGBMRanker"]
    assert table.loc[0, ["baseline", "difference", "p", "wins"]].isna().all()
    assert table["difference"].tolist()[3:] == pytest.approx([0.2 / 3, 0.1])
    assert table.loc[4, ["wins", "ties", "losses", "queries", "ndcg@10"]].tolist() == pytest.approx(
        [1, 1, 1, 3, 0.6]
    )
    assert table.loc[4, "low"] < 0.1 < table.loc[4, "high"]


def test_time_is_the_geometric_mean_over_sets_of_the_ratio_of_the_seconds_of_all_fits():
    seconds = {
        ("A", "LGBMRanker"): [1, 3],
        ("A", "ours"): [4, 4],
        ("B", "LGBMRanker"): [2, 2],
        ("B", "ours"): [66, 6],
    }
    runs = [
        run_of(method, fold, [0.5, 0.4], data=data, fit_s=of_fold)
        for (data, method), by_fold in seconds.items()
        for fold, of_fold in enumerate(by_fold)
    ]
    runs = pd.DataFrame(runs)
    table = report.summary(report.table_by_set(runs, report.values_by_method(runs)))
    assert table.set_index("method")["times_lgbmranker"].to_dict() == {"ours": pytest.approx(6.0)}


def test_headline_gives_all_sets_the_same_weight():
    gaps = {
        "small": np.array([0.3, 0.2, 0.25, -0.05]),
        "large": np.array([0.1, -0.2, 0, 0.05, -0.1, -0.1]),
    }
    weak = {"small": 0.4, "large": 0.51}
    values = {
        name: {"ours": gap + 0.5, "peer": 0 * gap + 0.5, "weak": 0 * gap + weak[name]}
        for name, gap in gaps.items()
    }
    table = report.headline(values, ["ours"], ["peer", "weak"]).set_index("peer")
    small, large = 0.7 / 4, -0.25 / 6
    means = {
        "peer": small + large,
        "weak": small + 0.1 + large - 0.01,
        report.BEST_PEER: small + large - 0.01,
    }
    assert table["difference"].to_dict() == pytest.approx(
        {peer: total / 2 for peer, total in means.items()}
    )
    assert table.loc["peer", ["sets", "worst_set"]].tolist() == [2, "large"]
    assert table.loc["peer", "worst_difference"] == pytest.approx(large)
    # The p-value is that of all signs of the differences.
    differences = np.concatenate([gap / len(gap) for gap in gaps.values()])
    sums = abs((1 - 2 * (np.arange(1024)[:, None] >> np.arange(10) & 1)) @ differences)
    assert table.loc["peer", "p"] == pytest.approx(np.mean(sums >= abs(differences.sum()) - 1e-12))


def headline_of(differences):
    values = {
        data: {"ours": row + 0.5, "peer": np.full(len(row), 0.5)}
        for data, row in differences.items()
    }
    return report.headline(values, ["ours"], ["peer"]).iloc[0]


@pytest.mark.filterwarnings("ignore:P-values below 0.05 of fewer than 100 queries")
def test_interval_is_of_resamples_within_the_sets_and_sets_are_won_with_and_without_correction():
    random = np.random.default_rng(0)
    # The distance of the means of the sets does not count.
    differences = {
        "A": random.normal(0.5, 1.0, 300),
        "B": random.normal(-0.5, 0.1, 50),
        "C": random.normal(0, 2.0, 80),
    }
    row = headline_of(differences)
    error = np.sqrt(sum(row.var() / len(row) for row in differences.values())) / 3
    center = pytest.approx(row["difference"], abs=0.1 * error)
    assert (row["high"] - row["low"], (row["high"] + row["low"]) / 2) == (
        pytest.approx(3.92 * error, rel=0.05),
        center,
    )
    differences = {
        "won": np.full(20, 0.1),
        "lost": np.full(20, -0.1),
        "tied": np.tile([0.1, -0.1], 10),
    }
    # Six queries that are all won: p = 1/32, which does not survive a correction for four sets.
    row = headline_of({**differences, "few": np.full(6, 0.1)})
    assert row[["won", "lost", "won_holm", "lost_holm"]].tolist() == [2, 1, 1, 1]


def test_runs_of_different_budgets_are_refused():
    runs = [
        run_of("LGBMRanker", fold, [0.5], protocol="tuned", draws=[{}] * n)
        for fold, n in ((0, 8), (1, 8), (2, 1))
    ]
    runs.append(run_of("LGBMRanker", 0, [0.5]))
    assert len(report.of_protocol(pd.DataFrame([*runs[:2], runs[3]]), "tuned")) == 2
    with pytest.raises(SystemExit, match="budgets differ"):
        report.of_protocol(pd.DataFrame(runs), "tuned")


def test_differences_of_candidates_count_each_query_once():
    queries = {"A": [[1, 2], [1, 3]], "B": [[1, 2, 3]], "synthetic": [[1, 2]]}
    lambdamart = {
        "A": [[0.1, 0.5], [0.3, np.nan]],
        "B": [[0.5, 0.5, 0.5]],
        "synthetic": [[0.5, 0.5]],
    }
    new = {"A": [[0.2, 0.8], [0.4, np.nan]], "B": [[0.3, 0.4, 0.4]], "synthetic": [[0.9, 0.9]]}
    results = [
        {
            "library": "lightgbm",
            "objective": name,
            "parameters": "",
            "data": data,
            "query": query,
            "ndcg": ndcg_values,
            "rounds": 100,
            "fit_s": 2.0 if name == "new" else 1.0,
        }
        for name, by_set in {"LambdaMART": lambdamart, "new": new}.items()
        for data in queries
        for query, ndcg_values in zip(queries[data], by_set[data], strict=True)
    ]
    row = defaults.difference_table(results).iloc[0]
    errors = [
        np.std([0.1, 0.3], ddof=1) / np.sqrt(2),
        np.std([-0.2, -0.1, -0.1], ddof=1) / np.sqrt(3),
    ]
    expected = {"A": 0.2, "B": -0.4 / 3, "synthetic": 0.4, "mean": (0.2 - 0.4 / 3) / 2, "worse": 1}
    expected |= {"A_se": errors[0], "B_se": errors[1], "mean_se": np.hypot(*errors) / 2}
    expected |= {"times": 2.0, "rounds": 100}
    assert row["objective"] == "new"
    assert row[list(expected)].tolist() == pytest.approx(list(expected.values()))


def test_defaults_are_chosen_without_test_queries(fold):
    first, second = (defaults.run("data", 0, split, "lightgbm", None, {}) for split in (0, 1))
    assert first["query"] != second["query"]
    X, y, qid = workloads.training_queries(fold)
    held_out = np.isin(qid, first["query"])
    assert (len(first["query"]), set(first["query"]) & set(fold.test.qid)) == (10, set())
    assert first["query"] == pd.unique(qid[held_out]).tolist()
    ranker = quality_methods.accept_qid(lightgbm.LGBMRanker(n_jobs=1, verbosity=-1))
    scores = ranker.fit(X[~held_out], y[~held_out], qid[~held_out]).predict(X[held_out])
    test = br.Dataset(X[held_out], y[held_out], qid[held_out])
    np.testing.assert_allclose(first["ndcg"], ndcg(test, scores))
