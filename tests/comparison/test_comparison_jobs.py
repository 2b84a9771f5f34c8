"""Comparisons with several trainings at the same time, and the progress that they show."""

import os
import warnings
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

import boostrank as br
from boostrank.backends import progress


class Reporting(BaseEstimator):
    """Warns, fails, or predicts the number of threads of its process."""

    def __init__(self, task):
        self.task = task

    def fit(self, X, y):
        if self.task == "warn":
            warnings.warn("a short message", RuntimeWarning, stacklevel=1)
        if self.task == "fail":
            raise FloatingPointError("not finite")
        # The data of other processes may be written to.
        X[0, 0] = 0.0
        return self

    def predict(self, X):
        # LightGBM's own ranker takes this number of threads.
        return np.full(
            len(X), float(joblib.cpu_count(True)) if self.task == "threads" else os.getpid()
        )


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_jobs(folds, tmp_path, monkeypatch, ended):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    folder = tmp_path / "results"
    rankers = {
        "lambdarank": br.LightGBMRanker("lambdarank", n_estimators=4, early_stopping_rounds=2),
        "softmax": br.XGBoostRanker("softmax", n_estimators=4, early_stopping_rounds=2),
        "sampled": br.LightGBMRanker(
            "squared", n_estimators=5, subsample=0.5, subsample_freq=1, random_state=3
        ),
    }
    alone = br.compare(rankers, folds, n_jobs=1)
    ended.clear()
    parallel = br.compare(rankers, folds, n_jobs=2, results=folder)
    for given, expected in ((parallel.per_query, alone.per_query), (parallel.table, alone.table)):
        assert (given["seconds"] > 0).all()
        pd.testing.assert_frame_equal(given.assign(seconds=1.0), expected, check_exact=True)
    assert sorted(training[:2] for training in ended) == sorted(
        (name, fold.name) for fold in folds for name in rankers
    )
    monkeypatch.setattr("boostrank.comparison.trainings.fit_with_validation", None)
    saved = br.compare(rankers, folds, results=folder)
    pd.testing.assert_frame_equal(saved.table, parallel.table, check_exact=True)

    # joblib gives processes the same memory of arrays above one megabyte.
    def widened(data):
        return data._replace(X=np.tile(data.X, (1, 75)))

    wide = [br.datasets.Fold(fold.name, *map(widened, fold[1:])) for fold in folds]
    assert wide[0].train.X.nbytes > 2**20
    scores = {}
    with pytest.warns(RuntimeWarning, match="a short message") as caught:
        br.compare(
            {task: Reporting(task) for task in ("warn", "threads")},
            wide,
            n_jobs=2,
            measures={
                "x": lambda y, values, qid, per_query=True: scores.setdefault(len(scores), values)[
                    :10
                ]
            },
        )
    assert len(caught) == 3
    values = {int(of_fold[0]) for of_fold in scores.values()}
    # Each process has its part of the processors for threads.
    assert max(1, (os.cpu_count() or 1) // 2) in values
    assert os.getpid() not in values
    assert all(fold.train.X[0, 0] != 0 for fold in wide)
    with pytest.raises(FloatingPointError, match="not finite") as failed:
        br.compare({"a": Reporting("fail")}, folds, n_jobs=2)
    assert failed.value.__notes__[0].startswith("while a was trained on Fold")


@pytest.fixture
def clock(monkeypatch):
    """A minute passes with each look at the clock, which only the progress looks at."""
    clock = iter(range(0, 60_000, 60))
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(clock)))


def test_progress_is_shown_on_standard_error(folds, capsys, clock, tmp_path):
    ranker = br.LightGBMRanker("softmax", n_estimators=1, n_jobs=1)
    br.compare({"a": ranker}, folds[:1], results=tmp_path / "results")
    capsys.readouterr()
    br.compare({"a": ranker, "[b]": ranker}, folds, progress=True, results=tmp_path / "results")
    out, err = capsys.readouterr()
    assert out == ""
    # Trainings whose results are saved do not count.
    assert err.rstrip().splitlines() == [
        "trainings: 1 of 5, Fold1: [b]",
        "trainings: 2 of 5, Fold2: a",
        "trainings: 3 of 5, Fold2: [b]",
        "trainings: 4 of 5, Fold3: a",
        "trainings: 5 of 5, Fold3: [b]",
    ]
