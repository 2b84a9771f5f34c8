"""Folds in time: by definition, by scikit-learn's TimeSeriesSplit, in searches, and errors."""

import datetime

import numpy as np
import pandas as pd
import pytest
import sklearn
from cases import for_each
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit

import boostrank as br

RANKER = br.LightGBMRanker(n_estimators=3, learning_rate=0.1, n_jobs=1, gain="rank")


def as_lists(folds):
    return [(train.tolist(), test.tolist()) for train, test in folds]


@pytest.fixture(scope="module")
def days():
    """Features, returns, names of lists and days; a day has up to 3 lists, and weekends have none.

    Rows are in no sequence.
    """
    random = np.random.default_rng(0)
    dates = pd.bdate_range("2024-01-01", periods=60)
    day = np.repeat(np.arange(60), random.integers(1, 4, 60))
    qid = np.repeat([f"list {i}" for i in random.permutation(len(day))], 4)
    time = dates[np.repeat(day, 4)]
    order = random.permutation(len(qid))
    X = random.normal(size=(len(qid), 3))
    y = X[:, 0] + random.normal(size=len(qid))
    return X[order], y[order], qid[order], time[order]


@for_each("n_splits", [1, 2, 5])
@for_each("test_size", [None, 1, 3])
@for_each("gap", [0, 2])
@for_each("max_train_size", [None, 4])
def test_lists_of_one_row_are_the_samples_of_scikit_learn(n_splits, test_size, gap, max_train_size):
    settings = {"test_size": test_size, "gap": gap, "max_train_size": max_train_size}
    X = np.zeros((23, 1))
    found = as_lists(br.QueryTimeSplit(n_splits, **settings).split(X, groups=np.arange(23)))
    if n_splits == 1:
        # scikit-learn wants two folds: the last one of them is ours.
        settings["test_size"] = test_size or 23 // 2
        expected = as_lists(TimeSeriesSplit(2, **settings).split(X)) if test_size else None
        assert expected is None or found == expected[-1:]
    else:
        assert found == as_lists(TimeSeriesSplit(n_splits, **settings).split(X))


@for_each("gap", [0, 1, 5])
@for_each("max_train_size", [None, 7])
def test_numbers_count_different_times(days, gap, max_train_size):
    X, _, qid, time = days
    splitter = br.QueryTimeSplit(4, time=time, test_size=5, gap=gap, max_train_size=max_train_size)
    dates = np.unique(time)
    for i, (train, test) in enumerate(splitter.split(X, groups=qid)):
        first = 60 - 5 * (4 - i)
        lowest = 0 if max_train_size is None else first - gap - max_train_size
        assert test.tolist() == np.flatnonzero(np.isin(time, dates[first : first + 5])).tolist()
        trained = np.isin(time, dates[max(lowest, 0) : first - gap])
        assert train.tolist() == np.flatnonzero(trained).tolist()


@for_each(
    "span",
    [
        "7D",
        pd.Timedelta(days=7),
        datetime.timedelta(days=7),
        np.timedelta64(7, "D"),
        pd.offsets.Week(),
    ],
)
def test_spans_are_lengths_of_time(days, span):
    X, _, qid, time = days
    week = pd.Timedelta(days=7)
    settings = {"test_size": span, "gap": span, "max_train_size": span}
    folds = list(br.QueryTimeSplit(3, time=time, **settings).split(X, groups=qid))
    end = time.max() - 3 * week
    for train, test in folds:
        assert set(time[test]) == set(time[(time > end) & (time <= end + week)])
        before = time[time < time[test].min() - week]
        assert set(time[train]) == set(before[before > before.max() - week])
        end += week


def test_offsets_are_those_of_the_calendar(days):
    X, _, qid, time = days
    folds = br.QueryTimeSplit(2, time=time, test_size=pd.offsets.MonthEnd()).split(X, groups=qid)
    assert [sorted(set(time[test].month)) for _, test in folds] == [[2], [3]]


@for_each(
    "convert",
    [
        lambda time: time.to_period("D"),
        lambda time: pd.Series(time).dt.date,
        lambda time: time.to_numpy(),
        lambda time: time.tz_localize("Europe/Zurich"),
        lambda time: list(time),
        lambda time: (time - time.min()).days,
        lambda time: np.asarray((time - time.min()).days) / 4,
        lambda time: pd.Categorical(time, ordered=True),
    ],
)
def test_times_may_have_any_type_with_a_sequence(days, convert):
    X, _, qid, time = days
    expected = as_lists(br.QueryTimeSplit(3, time=time, gap=2).split(X, groups=qid))
    splitter = br.QueryTimeSplit(3, gap=2)
    assert as_lists(splitter.split(X, groups=qid, time=convert(time))) == expected


def test_floats_are_spans_of_numbers(days):
    X, _, qid, time = days
    number = np.asarray((time - time.min()).days)
    in_days = br.QueryTimeSplit(3, time=time, test_size="7D", gap="3D").split(X, groups=qid)
    splitter = br.QueryTimeSplit(3, time=number, test_size=7.0, gap=3.0)
    assert as_lists(splitter.split(X, groups=qid)) == as_lists(in_days)


def test_without_times_lists_have_the_sequence_of_their_first_rows():
    qid = ["c", "a", "c", "b", "a", "d"]
    folds = br.QueryTimeSplit(3).split(np.zeros((6, 1)), groups=qid)
    assert as_lists(folds) == [([0, 2], [1, 4]), ([0, 1, 2, 4], [3]), ([0, 1, 2, 3, 4], [5])]


@for_each("place", ["column", "index"])
def test_functions_of_boostrank_take_the_splitter(days, place):
    X, y, qid, time = days
    frame = pd.DataFrame(X).add_prefix("x").assign(date=time)
    if place == "index":
        frame = frame.set_index("date")
    splitter = br.QueryTimeSplit(3, time="date", gap="5D")
    options = {"cv": splitter, "scoring": "spearman"}
    result = br.cross_validate(RANKER, frame, y, qid, return_estimator=True, **options)
    expected = []
    for train, test in br.QueryTimeSplit(3, time=time, gap="5D").split(X, groups=qid):
        fitted = sklearn.clone(RANKER).fit(X[train], y[train], qid[train])
        expected.append(br.evaluate(y[test], fitted.predict(X[test]), qid[test], "spearman"))
    np.testing.assert_allclose(result["test_score"], [one["spearman"] for one in expected])
    assert [fitted.n_features_in_ for fitted in result["estimator"]] == [3, 3, 3]
    search = br.grid_search(RANKER, {"num_leaves": [4, 20]}, frame, y, qid, **options)
    assert search.best_estimator_.n_features_in_ == 3
    curve = br.model_selection.learning_curve(RANKER, frame, y, qid, train_sizes=[1.0], **options)
    np.testing.assert_allclose(curve["test_score"], result["test_score"])
    comparison = br.compare(
        {"a": RANKER, "b": sklearn.clone(RANKER).set_params(num_leaves=4)},
        frame,
        y,
        qid,
        cv=splitter,
        measures=["spearman"],
    )
    of_ranker = comparison.per_query.query("ranker == 'a'").groupby("fold")["spearman"].mean()
    np.testing.assert_allclose(of_ranker, result["test_score"])


def test_searches_of_scikit_learn_pass_times_by_metadata_routing(days):
    X, y, qid, time = days
    grid = {"num_leaves": [4, 20]}
    scorer = br.make_scorer("spearman")
    expected = br.grid_search(
        RANKER, grid, X, y, qid, cv=br.QueryTimeSplit(3, time=time), scoring="spearman"
    )
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(RANKER, grid, cv=br.QueryTimeSplit(3), scoring=scorer)
        search.fit(X, y, qid=qid, time=time)
    frame = pd.DataFrame(X, index=pd.MultiIndex.from_arrays([qid, time], names=["qid", "date"]))
    without = GridSearchCV(RANKER, grid, cv=br.QueryTimeSplit(3, time="date"), scoring=scorer)
    without.fit(frame, y)
    for fitted in (search, without):
        np.testing.assert_allclose(
            fitted.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
        )
    assert sklearn.base.clone(RANKER).fit(frame, y).n_features_in_ == 3


@for_each(
    ("settings", "message"),
    [
        ({"n_splits": 0}, "n_splits must be an integer of at least 1"),
        ({"n_splits": 60}, r"n_splits=60 folds that test 1 times each.*need more than 60.*got 60"),
        ({"n_splits": 2, "test_size": 30}, r"need more than 60 different times; got 60"),
        ({"test_size": 0}, "test_size must be an integer of at least 1"),
        ({"gap": -1}, "gap must be an integer of at least 0"),
        ({"gap": 50}, r"nothing is left to train on before 2024-01-15.*smaller test_size or gap"),
        ({"gap": "1000D"}, "nothing is left to train on"),
        ({"gap": "soon"}, r"gap must be an integer.*a span of time such as '30D'"),
        ({"gap": "-3D"}, "gap must be .*not negative"),
        ({"gap": 2.5}, r"gap must be an integer.*a span of time"),
        ({"max_train_size": 0}, "max_train_size must be an integer of at least 1"),
        ({"test_size": "1D", "n_splits": 20}, "leaves a fold without a time to test on"),
        ({"time": "date"}, "time must be the name of a column of X"),
        ({"time": [1, 2]}, "time has 2"),
    ],
)
def test_settings_without_a_meaning_are_errors(days, settings, message):
    X, _, qid, time = days
    with pytest.raises(ValueError, match=message):
        list(br.QueryTimeSplit(**{"time": time, **settings}).split(X, groups=qid))


def test_times_that_are_none_are_errors(days):
    X, _, qid, time = days
    splitter = br.QueryTimeSplit(3)
    wrong = time.to_series().reset_index(drop=True)
    wrong[5] = wrong[5] + pd.Timedelta(days=1)
    with pytest.raises(ValueError, match=rf"time differs within the list of query '{qid[5]}'"):
        list(splitter.split(X, groups=qid, time=wrong))
    wrong[5] = pd.NaT
    with pytest.raises(ValueError, match=r"time\[5\] is missing"):
        list(splitter.split(X, groups=qid, time=wrong))
    with pytest.raises(ValueError, match=r"Texts have no sequence.*pandas.to_datetime"):
        list(splitter.split(X, groups=qid, time=time.strftime("%d.%m.%Y")))
    with pytest.raises(ValueError, match="got no qid"):
        list(splitter.split(X))
    assert repr(splitter).startswith("QueryTimeSplit(gap=0, max_train_size=None, n_splits=3")
    assert splitter.get_n_splits() == 3


def test_a_picture_shows_the_folds_over_time(days):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    X, _, qid, time = days
    splitter = br.QueryTimeSplit(3, time=time, test_size=5, gap=2)
    display = br.displays.FoldsDisplay.from_cv(splitter, X, qid=qid)
    dates = np.unique(time)
    for i, (trained, tested) in enumerate(zip(display.trained, display.tested, strict=True)):
        first = 45 + 5 * i
        assert sorted(trained) == list(dates[: first - 2])
        assert sorted(tested) == list(dates[first : first + 5])
    lines = display.ax_.collections
    assert [len(one.get_segments()) for one in lines] == [43, 48, 53, 5, 5, 5]
    assert display.ax_.get_legend_handles_labels()[1] == ["train", "test"]
    in_lists = br.displays.FoldsDisplay.from_cv(br.QueryKFold(2), X, qid=qid)
    assert sorted([*in_lists.tested[0], *in_lists.tested[1]]) == list(range(len(set(qid))))
    periods = br.QueryTimeSplit(3, time=time.to_period("D"))
    assert len(br.displays.FoldsDisplay.from_cv(periods, X, qid=qid).ax_.collections) == 6
    pyplot.close("all")
