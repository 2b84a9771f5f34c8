"""`boostrank compare` that is stopped, or that fails, keeps its results."""

import importlib
import os
import signal
import subprocess
import sys
import time

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


def test_results_must_be_a_folder(compare, tmp_path):
    (tmp_path / "own.txt").write_text("1 qid:1 1:0.5\n")
    lines = compare("--results", tmp_path / "own.txt", code=2).splitlines()
    assert lines == [f"error: {tmp_path}/own.txt: File exists"]


def test_a_stopped_command_prints_one_line_and_writes_no_file(run, folder, tmp_path, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(importlib.import_module("boostrank.cli.models"), "read_documents", stop)
    assert run("fit", folder / "all.txt", tmp_path / "m", code=130) == "stopped: before the command ended\n"
    assert list(tmp_path.iterdir()) == []


# A shell that starts the tests in the background makes its processes ignore SIGINT.
CODE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from boostrank.cli import main
main()
"""


# The second training waits to be interrupted, as long as there is a file.
SLOW = """
import os
import time
from pathlib import Path
from sklearn.linear_model import Ridge

first, wait = Path(os.environ["WAIT"] + ".first"), Path(os.environ["WAIT"])


class Slow(Ridge):
    def fit(self, X, y):
        if wait.exists() and first.exists():
            time.sleep(300)
        first.touch()
        return super().fit(X, y)
"""


def group_exists(number):
    """Whether there are processes of a group."""
    try:
        os.killpg(number, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_control_c_ends_all_processes_and_their_results_are_used(folder, tmp_path, run, monkeypatch):
    results, own = tmp_path / "results", tmp_path / "own.py"
    own.write_text(SLOW)
    wait = tmp_path / "wait"
    wait.touch()
    arguments = ["compare", str(folder), "--backend", "lightgbm", "--objectives", "softmax", "--rounds", "2"]
    arguments += ["--ranker", f"{own}:Slow", "--results", str(results), "--jobs"]
    # Ctrl-C on a terminal goes to all processes of the group.
    running = subprocess.Popen(
        [sys.executable, "-c", CODE, *arguments, "2"],
        env={**os.environ, "WAIT": str(wait)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while len(list(results.glob("*.json"))) < 3:
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (130, "")
    # If the signal comes while a process deletes an object, Python itself prints that it ignores the exception.
    assert "Traceback" not in err.partition("Exception ignored in")[0]
    assert err.splitlines()[-1] == "stopped: before the command ended"
    while group_exists(running.pid):
        time.sleep(0.05)
    wait.unlink()
    # Another number of jobs is no other setting.
    monkeypatch.setenv("WAIT", str(wait))
    run(*arguments, "1")
    assert len(list(results.glob("*.json"))) == 4


def test_control_c_while_libraries_are_imported_is_no_traceback(run, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "boostrank.cli.app")
    monkeypatch.setattr("importlib._bootstrap_external.SourceFileLoader.exec_module", stopped)
    assert run("--help", code=130) == "stopped: before the command ended\n"
