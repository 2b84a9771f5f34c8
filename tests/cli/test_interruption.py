"""Commands that are stopped: they print one line, and nothing is written in part."""

import importlib
import sys


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
