"""Comparisons with several trainings at the same time, and the progress that they show."""

import io
import os
import re
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError
from rich.console import Console
from rich.text import Text
from sklearn.base import BaseEstimator

import boostrank as br
from boostrank.comparison import FinishedTraining, rankers
from boostrank.comparison.rankers import ProgressDisplay


@pytest.fixture(scope="module")
def folds():
    return br.query_folds(br.Dataset(*br.make_ranking(n_queries=30, random_state=0)), 3)


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
        return np.full(len(X), float(os.environ["OMP_NUM_THREADS"]) if self.task == "threads" else os.getpid())


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_jobs(folds, tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    file = tmp_path / "r.jsonl"
    rankers = {
        "lambdarank": br.LightGBMRanker("lambdarank", n_estimators=4, early_stopping_rounds=2),
        "softmax": br.XGBoostRanker("softmax", n_estimators=4, early_stopping_rounds=2),
        "sampled": br.LightGBMRanker("squared", n_estimators=5, subsample=0.5, subsample_freq=1, random_state=3),
    }
    alone = br.compare(rankers, folds, n_jobs=1)
    seen = []
    parallel = br.compare(rankers, folds, n_jobs=2, results=file, progress=seen.append)
    pd.testing.assert_frame_equal(parallel.per_query, alone.per_query, check_exact=True)
    pd.testing.assert_frame_equal(parallel.table, alone.table, check_exact=True)
    assert sorted((training.fold, training.ranker) for training in seen) == sorted(
        (fold.name, name) for fold in folds for name in rankers
    )
    assert [training.n_finished for training in seen] == list(range(1, 10))
    monkeypatch.setattr("boostrank.comparison.trainings.fit_with_validation", None)
    saved = br.compare(rankers, folds, results=file)
    pd.testing.assert_frame_equal(saved.table, alone.table, check_exact=True)

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
            extra_measures={"x": lambda fold, values: scores.setdefault(len(scores), values)[:10]},
        )
    assert len(caught) == 3
    values = {int(one[0]) for one in scores.values()}
    # Each process has its part of the processors for threads.
    assert max(1, (os.cpu_count() or 1) // 2) in values
    assert os.getpid() not in values
    assert all(fold.train.X[0, 0] != 0 for fold in wide)
    with pytest.raises(FloatingPointError, match="not finite") as failed:
        br.compare({"a": Reporting("fail")}, folds, n_jobs=2)
    assert failed.value.__notes__[0].startswith("while a was trained on Fold")


def test_a_process_that_ends_is_an_error_that_says_what_to_do(folds, monkeypatch):
    def ended(*_, **__):
        raise TerminatedWorkerError("killed")
        yield

    monkeypatch.setattr("boostrank.comparison.trainings.Parallel", lambda *_, **__: ended)
    with pytest.raises(ChildProcessError, match=r"ended unexpectedly.*fewer trainings run at the same time .*--jobs"):
        br.compare({"a": br.LightGBMRanker()}, folds, n_jobs=2)


@pytest.fixture
def shown(monkeypatch):
    """A function of trainings that returns what a display prints, with two rankers on two folds and a clock."""

    def show(trainings, **options):
        file, clock = io.StringIO(), iter(range(0, 40_000_000, 60_000))

        def console(*, stderr, **given):
            assert stderr
            return Console(file=file, **given, **{"width": 100, **options})

        monkeypatch.setattr(rankers, "Console", console)
        # Other threads of this process, such as those of Dask, must not advance the clock.
        monkeypatch.setattr(rankers, "time", SimpleNamespace(monotonic=lambda: next(clock) / 1000))
        with ProgressDisplay(2, 2) as display:
            for number, (fold, ranker, is_saved) in enumerate(trainings, 1):
                display(FinishedTraining(ranker, fold, 5.0, 1.0, is_saved, number, 4))
        return file.getvalue()

    return show


def test_a_line_for_each_fold_is_written_off_a_terminal(shown):
    trained = [("Fold1", "a", False), ("Fold2", "a", False), ("Fold2", "b", False), ("Fold1", "b", False)]
    assert shown(trained) == (
        "Fold2 is finished (1 of 2): 1 min 00 s since the start, about 20 s left\n"
        "Fold1 is finished (2 of 2): 2 min 00 s since the start\n"
    )
    saved = [("[b]x", "a", True), ("[b]x", "b", True), ("Fold2", "a", True), ("Fold2", "b", False)]
    assert shown(saved) == (
        "[b]x is finished (1 of 2): 1 min 00 s since the start\n"
        "Fold2 is finished (2 of 2): 2 min 00 s since the start\n"
    )


def test_a_bar_on_a_narrow_terminal_cuts_the_name_and_no_number(shown):
    name = "[bold] pairwise-exponential with many leaves"
    trained = [(fold, ranker, False) for fold in ("Fold1", "Fold2") for ranker in ("a", name)]
    text = Text.from_ansi(shown(trained, force_terminal=True, width=46)).plain
    last = [line.rstrip() for line in text.splitlines() if "4/4" in line][-1]
    assert re.search(r"^Fold2: \[bold\].*… ━+ 4/4 \d:\d\d:\d\d left 0:00:00$", last), last
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 46


def test_progress_is_shown_on_standard_error(folds, capsys):
    br.compare({"a": br.LightGBMRanker("softmax", n_estimators=1, n_jobs=1)}, folds, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert [line.split(":")[0] for line in lines] == [f"Fold{i} is finished ({i} of 3)" for i in (1, 2, 3)]
