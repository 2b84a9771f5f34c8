"""NDCG@10 by processor time: curves of trainings, shares of the time of LGBMRanker, picture."""

import argparse
import importlib
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import lightgbm
import matplotlib
import numpy as np
import pytest

import boostrank as br

with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    names = ("time_to_quality", "quality", "quality_methods")
    ttq, quality, quality_methods = map(importlib.import_module, names)

LAMBDARANK, OURS, CATBOOST = "LGBMRanker", "LightGBMRanker", "CatBoostRanker"


@pytest.fixture
def fold(monkeypatch):
    fold = br.query_folds(br.make_ranking(n_queries=60, random_state=2), 3, random_state=0)[0]
    for module in (ttq, quality):
        monkeypatch.setattr(module, "read_folds", lambda data: [fold])
    return fold


def ndcg_of_fit(fold, name, **parameters):
    method = ttq.METHODS[name]
    method = method._replace(make=partial(method.make, **parameters))
    ranker, _ = quality_methods.fit(method, "untuned", fold, 4, 0)
    scores = quality_methods.predict(ranker, fold.test.X, fold.test.qid)
    return br.ndcg_score(fold.test.y, scores, fold.test.qid, k=10, empty="skip")


@pytest.mark.parametrize("name", ttq.METHODS)
def test_the_value_after_each_round_is_that_of_a_fit_of_so_many_rounds(fold, name):
    result = ttq.run("data", name, 0, 4, 12)
    assert result["rounds"] == list(range(1, 13))
    assert np.all(np.diff([0.0, *result["fit_s"]]) > 0)
    values = [ndcg_of_fit(fold, name, n_estimators=n) for n in result["rounds"]]
    np.testing.assert_allclose(result["ndcg@10"], values)
    assert len(set(values)) > 6


DEFAULT_ROUNDS = {LAMBDARANK: 100, "XGBRanker": 100, CATBOOST: 7}


@pytest.mark.parametrize("name", ttq.METHODS)
def test_the_default_is_that_of_quality(fold, monkeypatch, name):
    monkeypatch.setattr(ttq, "CATBOOST_DEFAULT", 7)
    result = ttq.run("data", name, 0, 4, 8)
    default = result["default"]
    parameters = {"n_estimators": 7} if name == CATBOOST else {}
    assert default["ndcg@10"] == pytest.approx(ndcg_of_fit(fold, name, **parameters))
    if name in DEFAULT_ROUNDS:
        assert default["rounds"] == DEFAULT_ROUNDS[name]
    if name == CATBOOST:
        assert default["fit_s"] == result["fit_s"][6]
        assert ttq.run("data", name, 0, 4, 6)["default"] is None


@pytest.mark.parametrize("name", ttq.METHODS)
def test_only_the_training_counts_as_time(fold, monkeypatch, name):
    now = 0

    def process_time():
        nonlocal now
        now += 1
        return now

    def slow_ndcg(*arguments, **settings):
        nonlocal now
        now += 1000
        return 0.5

    for module in (ttq, quality_methods):
        monkeypatch.setattr(module, "time", SimpleNamespace(process_time=process_time))
    monkeypatch.setattr(ttq, "ndcg", slow_ndcg)
    result = ttq.fit_by_round(ttq.METHODS[name], fold, 0, 5)
    # Two seconds are outside of the rounds, and each round has its share of them.
    np.testing.assert_allclose(result["fit_s"], np.arange(1, 6) * (1 + 2 / 5))


def test_a_round_without_a_split_has_the_value_of_the_model_before(fold):
    make = partial(lightgbm.LGBMRanker, min_split_gain=0.8)
    method = ttq.METHODS[LAMBDARANK]._replace(make=make)
    result = ttq.fit_by_round(method, fold, 0, 200)
    model = make(**ttq.RUNNING["lightgbm"], n_estimators=200)
    data = ttq.training_queries(fold)
    model.fit(data.X, data.y, group=br.Queries.from_qid(data.qid).sizes)
    n_kept = model.booster_.current_iteration()
    assert 1 < n_kept < 200
    assert len(result["ndcg@10"]) == 200
    assert result["ndcg@10"][-1] == pytest.approx(ttq.ndcg(fold.test, model.predict(fold.test.X)))


def test_smoothing_is_by_the_mean_over_a_tenth_of_the_rounds_before_and_after():
    values = np.random.default_rng(0).random(25)
    expected = [
        np.mean([values[i - 1] for i in range(n - n // 10, n + n // 10 + 1) if i <= 25])
        for n in range(1, 26)
    ]
    np.testing.assert_allclose(ttq.smoothed(values), expected)


def result_of(method, seconds, values, *, default, data="A", fold=0, seed=0, queries=1):
    about = {"data": data, "method": method, "fold": fold, "seed": seed, "queries": queries}
    curve = {"rounds": [*range(1, len(values) + 1)], "fit_s": seconds, "ndcg@10": values}
    names = ("rounds", "fit_s", "ndcg@10")
    return {**about, **curve, "default": dict(zip(names, default, strict=True))}


def results_of_set(data, values, *, seconds=2.0):
    """A set on which LGBMRanker takes some seconds, and has 0.5."""
    baseline = (100, seconds, 0.5)
    times = (seconds * np.array([0.25, 0.5, 0.75, 1.25])).tolist()
    return [
        result_of(LAMBDARANK, [seconds / 2, 2 * seconds], [0.4, 0.5], default=baseline, data=data),
        result_of(OURS, times, values, default=(3, 1.5 * seconds, 0.56), data=data),
    ]


REACHED = results_of_set("A", [0.3, 0.52, 0.49, 0.6])


def table_by_set(results):
    return ttq.table_of(results).set_index("data")


def test_share_is_the_time_of_the_first_round_that_is_as_good():
    row = table_by_set(REACHED).loc["A"]
    assert row[["method", "reached"]].tolist() == [OURS, 1]
    expected = {
        "lgbmranker_s": 2.0,
        "lgbmranker_ndcg@10": 0.5,
        "share": 0.5,
        # The time of LGBMRanker is in the middle between those of the last two rounds.
        "difference": (0.49 + 0.6) / 2 - 0.5,
        "default_rounds": 3,
        "default_times_lgbmranker": 1.5,
        "default_difference": 0.06,
    }
    assert row[list(expected)].to_dict() == pytest.approx(expected)


def test_the_first_rounds_alone_say_nothing_about_later_times():
    results = results_of_set("A", [0.3, 0.4, 0.45, 0.48])
    for column in ("rounds", "fit_s", "ndcg@10"):
        results[1][column] = results[1][column][:3]
    row = table_by_set(results).loc["A"]
    assert row["reached"] == 0
    assert row[["share", "difference"]].isna().all()


def test_folds_count_by_their_queries_and_seconds_are_means():
    small = results_of_set("A", [0.1, 0.2, 0.3, 0.4])
    large = [
        {**result, "fold": 1, "queries": 3}
        for result in results_of_set("A", [0.5] * 4, seconds=6.0)
    ]
    row = table_by_set([*small, *large]).loc["A"]
    # After n rounds the mean is (n / 10 + 3 * 0.5) / 4.
    assert row[["lgbmranker_s", "lgbmranker_ndcg@10"]].tolist() == pytest.approx([4.0, 0.5])
    assert row["difference"] == pytest.approx((0.35 + 1.5) / 4 - 0.5)
    different = [
        *small,
        {**large[0]},
        {**large[1], "default": {**large[1]["default"], "rounds": 8}},
    ]
    assert table_by_set(different).loc["A", "default_rounds"] == 5.5


def test_means_and_medians_are_over_real_sets():
    later = results_of_set("B", [0.3, 0.4, 0.5, 0.6], seconds=1.0)
    never = results_of_set("C", [0.3, 0.4, 0.4, 0.4])
    synthetic = results_of_set("synthetic", [0.9, 0.9, 0.9, 0.9])
    table = table_by_set([*REACHED, *later, *synthetic])
    columns = ["share", "reached", "lgbmranker_s", "default_times_lgbmranker"]
    geometric = np.sqrt(0.5 * 0.75)
    assert table.loc["mean", columns].tolist() == pytest.approx([geometric, 2, np.sqrt(2.0), 1.5])
    assert table.loc["mean", "difference"] == pytest.approx((0.045 + 0.05) / 2)
    assert table.loc["median", "share"] == pytest.approx((0.5 + 0.75) / 2)
    table = table_by_set([*REACHED, *later, *never])
    assert np.isnan(table.loc["mean", "share"])
    assert table.loc["median", ["share", "reached"]].tolist() == [0.75, 2]


def test_lines_are_means_at_equal_relative_times():
    defaults = ttq.default_points(both := [*REACHED, *results_of_set("B", [0.2, 0.3, 0.5, 0.6])])
    curves = ttq.curves_of(both, defaults)[OURS]
    # B has no value at the first time of A.
    curves["B"] = curves["B"].iloc[1:]
    times, differences = ttq.mean_line(curves.values())
    assert times[[0, -1]] == pytest.approx([0.5, 1.25])
    assert differences[[0, -1]] == pytest.approx([(0.02 - 0.2) / 2, 0.1])
    assert np.interp(np.log(0.75), np.log(times), differences) == pytest.approx(-0.005, abs=1e-3)


def test_picture_has_a_point_at_each_default(tmp_path, monkeypatch):
    matplotlib.use("Agg")
    figures = []
    monkeypatch.setattr(ttq.plt, "close", figures.append)
    catboost = result_of(CATBOOST, [30.0, 60.0], [0.3, 0.4], default=(1, 1, 1))
    synthetic = results_of_set("synthetic", [0.9] * 4)
    synthetic[1]["default"]["ndcg@10"] = 0.9
    results = [*REACHED, *synthetic, {**catboost, "default": None}]
    ttq.plot(results, tmp_path / "picture.png")
    (ax,) = figures[0].axes
    points = [
        line.get_xydata()[0]
        for line in ax.lines
        if line.get_marker() == "o" and len(line.get_xdata())
    ]
    np.testing.assert_allclose(sorted(points, key=sum), [[1.0, 0.0], [1.5, 0.06]], atol=1e-12)
    texts = {text.get_text(): text.get_window_extent() for text in ax.texts}
    assert set(texts) == {LAMBDARANK, OURS, CATBOOST}
    frame = ax.get_window_extent()
    assert all(frame.contains(box.x1, box.y0) for box in texts.values())
    assert (tmp_path / "picture.png").stat().st_size > 0


def test_labels_do_not_cover_each_other(tmp_path, monkeypatch):
    matplotlib.use("Agg")
    figures = []
    monkeypatch.setattr(ttq.plt, "close", figures.append)
    baseline, ours = REACHED
    ttq.plot([baseline, ours, {**ours, "method": "XGBoostRanker"}], tmp_path / "picture.png")
    first, second = [
        text.get_window_extent()
        for text in figures[0].axes[0].texts
        if text.get_text() != LAMBDARANK
    ]
    assert not first.overlaps(second)


def test_lgbmranker_is_always_among_the_jobs(fold, tmp_path):
    rounds = {"rounds": 4, "our_rounds": 6, "catboost_rounds": 10}
    arguments = {"runs": tmp_path, "data": ["EAL/all.txt.gz"], "seeds": 2, "folds": None, **rounds}
    jobs = ttq.jobs_of(argparse.Namespace(**arguments, methods=[OURS]))
    assert {path.stem: job for path, job in jobs.items()} == {
        f"EAL-0-{seed}-{name}-{n}": ("EAL/all.txt.gz", name, 0, seed, n)
        for seed in (0, 1)
        for name, n in ((LAMBDARANK, 4), (OURS, 6))
    }
    everything = ttq.jobs_of(argparse.Namespace(**arguments, methods=None))
    assert {job[1]: job[4] for job in everything.values()} == {
        **dict.fromkeys((LAMBDARANK, "XGBRanker"), 4),
        **dict.fromkeys((OURS, "XGBoostRanker"), 6),
        CATBOOST: 10,
    }
