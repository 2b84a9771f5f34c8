"""`boostrank compare` that is stopped, or that fails, keeps its results."""

import importlib
import sys

import pandas as pd
import pytest

from boostrank.comparison import trainings

OWN = """
import os
from sklearn.linear_model import Ridge

COUNT = 0


class Stopping(Ridge):
    def fit(self, X, y):
        global COUNT
        COUNT += 1
        if COUNT == 2 and os.environ.get("STOP") == "interrupt":
            raise KeyboardInterrupt
        if COUNT == 2 and os.environ.get("STOP") == "error":
            raise ValueError("a short message")
        return super().fit(X, y)
"""


@pytest.fixture
def compare(folder, tmp_path, run, monkeypatch):
    """Run `compare` with an own estimator after "lambdarank" on two folds."""
    (tmp_path / "own.py").write_text(OWN)
    common = ["compare", folder, "--backend", "lightgbm", "--objectives", "lambdarank", "--rounds", 2]
    common += ["--ranker", f"{tmp_path / 'own.py'}:Stopping"]

    def compare_folds(*arguments, stop="", **expected):
        monkeypatch.setenv("STOP", stop)
        return run(*common, *arguments, **expected)

    return compare_folds


def test_an_interrupted_run_goes_on(compare, tmp_path, monkeypatch):
    folder = tmp_path / "results"
    compare("--output", tmp_path / "expected.csv")
    lines = compare("--results", folder, stop="interrupt", code=130).splitlines()
    assert lines == ["stopped: before the command ended"]
    # The same command trains only what is missing.
    count, train = [], trainings.fit_with_validation
    monkeypatch.setattr(trainings, "fit_with_validation", lambda *args: count.append(args) or train(*args))
    compare("--results", folder, "--output", tmp_path / "t.csv")
    assert len(count) == 1
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "t.csv"), pd.read_csv(tmp_path / "expected.csv"))


def test_an_error_names_the_training(compare, tmp_path):
    lines = compare(stop="error", code=2).splitlines()
    message = "line 15: ValueError: a short message (while Stopping was trained on Fold2)"
    assert lines == [f"error: {tmp_path / 'own.py'}, {message}"]


def test_a_stopped_command_prints_one_line_and_writes_no_file(run, folder, tmp_path, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(importlib.import_module("boostrank.cli.models"), "read_documents", stop)
    assert run("fit", folder / "all.txt", tmp_path / "m", code=130) == "stopped: before the command ended\n"
    assert list(tmp_path.iterdir()) == []


def test_control_c_while_libraries_are_imported_is_no_traceback(run, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "boostrank.cli.app")
    monkeypatch.setattr("importlib._bootstrap_external.SourceFileLoader.exec_module", stopped)
    assert run("--help", code=130) == "stopped: before the command ended\n"
