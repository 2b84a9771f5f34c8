"""Commands that are stopped: `compare` goes on with its results, and nothing is written in part."""

import importlib
import sys

import pandas as pd

from boostrank.comparison import trainings


def test_an_interrupted_comparison_goes_on(run, folder, tmp_path, monkeypatch):
    common = ["compare", folder, "--backend", "lightgbm", "--objectives", "lambdarank,softmax", "--rounds", 2]
    trained, train = [], trainings.fit_with_validation

    def stop(*arguments):
        if len(trained) == 3:
            raise KeyboardInterrupt
        trained.append(arguments)
        return train(*arguments)

    run(*common, "--output", tmp_path / "expected.csv")
    monkeypatch.setattr(trainings, "fit_with_validation", stop)
    lines = run(*common, "--results", tmp_path / "results", code=130).splitlines()
    assert lines == ["stopped: before the command ended"]
    # The same command trains only what is missing.
    trained[:] = trained[:2]
    run(*common, "--results", tmp_path / "results", "--output", tmp_path / "t.csv")
    assert len(trained) == 3
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "t.csv"), pd.read_csv(tmp_path / "expected.csv"))


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
