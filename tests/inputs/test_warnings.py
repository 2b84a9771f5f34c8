"""Warnings name the line of the user, however many functions lie between it and the warning."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import xgboost as xgb

import boostrank as br
from boostrank.inputs.warnings import warn

X, Y, QID = np.arange(8.0)[:, None], np.tile([1.0, 0.0], 4), np.repeat(np.arange(4), 2)
SAME = np.ones(8)
RANKER = br.LightGBMRanker(n_estimators=1, n_jobs=1)
LOG = br.ClickLog(QID, np.arange(8), np.tile([1, 2], 4), np.tile([90, 80], 4), np.full(8, 100))


CALLS = {
    "fit": lambda: RANKER.fit(X, SAME, QID),
    "bag": lambda: br.BaggedRanker(RANKER, n_estimators=2).fit(X, SAME, QID),
    "cross_validate": lambda: br.cross_validate(RANKER, X, SAME, QID, cv=2),
    "grid_search": lambda: br.grid_search(RANKER, {"num_leaves": [3]}, X, SAME, QID, cv=2),
    "XGBoost's objective": lambda: br.xgboost_objective("poisson")(
        np.full(8, 0.5, np.float32), xgb.DMatrix(X, Y, group=[2] * 4)
    ),
    "targets": lambda: br.ClickLabels(LOG, [0.5, 0.25]).targets(),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_place_of_a_warning_is_the_line_of_the_user(name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CALLS[name]()
    assert caught
    assert {warning.filename for warning in caught} == {__file__}


def test_a_warning_is_shown_once_for_each_line():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            warn("the same")
        warn("the same")
    assert [str(warning.message) for warning in caught] == ["the same", "the same"]
    assert caught[1].lineno == caught[0].lineno + 1


def test_all_warnings_are_given_by_one_function():
    home = Path(br.__file__).parent
    files = [
        path.relative_to(home) for path in home.rglob("*.py") if "warnings.warn" in path.read_text()
    ]
    assert files == [Path("inputs/warnings.py")]
