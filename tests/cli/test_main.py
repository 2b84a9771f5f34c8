"""All commands: help, errors, interrupts, and `python -m boostrank`."""

import importlib
import io
import re
import sys
from importlib.metadata import version

import pytest
from rich.console import Console
from rich.progress import Progress

from boostrank.cli import _show_warning
from boostrank.cli.app import COMMANDS, load
from boostrank.comparison import versions


def test_version(run, tmp_path, monkeypatch):
    monkeypatch.setenv("BOOSTRANK_COMPILED", "0")
    # A package of XGBoost with another name.
    (tmp_path / "xgboost_cpu-9.9.dist-info").mkdir()
    (tmp_path / "xgboost_cpu-9.9.dist-info" / "METADATA").write_text(
        "Name: xgboost-cpu\nVersion: 9.9\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(versions, "versions", versions.versions.__wrapped__)
    shown = {
        f"{name} {version(name)}" for name in ("boostrank", "lightgbm", "xgboost-cpu", "numpy")
    }
    for arguments in (["--version"], ["--version", "fit"]):
        lines = run(*arguments).splitlines()
        assert shown <= set(lines)
        assert lines[-1].startswith("compiled library: not used (")


def test_help_names_the_commands(run):
    lines = run("--help").splitlines()
    # One line for each, in the sequence in which they are used.
    assert [line.split()[0] for line in lines[lines.index("Commands:") + 1 :]] == list(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_all_options_on_a_screen(run, command):
    text = run(command, "-h")
    assert run(command, "--help") == text
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 100
    options = [
        name
        for parameter in load(command).params
        for name in parameter.opts
        if name.startswith("--")
    ]
    assert all(re.search(rf"^  .*{name}\b", text, re.MULTILINE) for name in options)


@pytest.mark.parametrize(
    ("arguments", "line", "fault"),
    [
        (
            "fit DATA --model m",
            "boostrank fit DATA MODEL --qid COLUMN --label COLUMN [OPTIONS]",
            "No such option: --model; MODEL has no name, but its place in the line above\n",
        ),
        (
            "fit DATA",
            "boostrank fit DATA MODEL --qid COLUMN --label COLUMN [OPTIONS]",
            "Missing argument 'MODEL'",
        ),
        (
            "fit DATA m --rounds",
            "boostrank fit DATA MODEL --qid COLUMN --label COLUMN [OPTIONS]",
            "'--rounds' requires an argument",
        ),
        (
            "predict m",
            "boostrank predict MODEL DATA --output FILE [OPTIONS]",
            "Missing argument 'DATA'",
        ),
        (
            "export m",
            "boostrank export MODEL --format ENGINE --output FILE [OPTIONS]",
            "Missing option '--format'",
        ),
        (
            "evaluate DATA --scores s",
            "boostrank evaluate DATA SCORES --qid COLUMN --label COLUMN [OPTIONS]",
            "No such option: --scores",
        ),
        (
            "evaluate DATA",
            "boostrank evaluate DATA SCORES --qid COLUMN --label COLUMN [OPTIONS]",
            "give either DATA and SCORES, or --qrels and one --run or several",
        ),
        (
            "compare --data DATA",
            "boostrank compare PATH --qid COLUMN --label COLUMN [OPTIONS]",
            "No such option: --data",
        ),
        ("check --loss softmax", "boostrank check [SURROGATE] [OPTIONS]", "No such option: --loss"),
    ],
)
def test_a_wrong_line_is_answered_with_a_whole_one(run, folder, arguments, line, fault):
    words = arguments.replace("DATA", str(folder / "all.txt")).split()
    error = run(*words, code=2, width=100)
    assert line in error
    assert fault in error
    assert line in run(words[0], "-h", width=100)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("compare TMP/broken.txt", "line 2"),
        (
            "compare TMP/absent --objectives lambdamart",
            "got 'lambdamart' (did you mean 'lambdarank'?)",
        ),
        ("compare --objectives softmax/l3", "NORMALIZE of 'softmax/l3' must be one of dcg,"),
        ("compare --objectives lambdarank --backend xgboost", "none of the objectives"),
        ("compare --measures ndcg@0", "--measures: k must be None, an integer of at least 1"),
        (
            "evaluate DATA TMP/scores --measures auc@5",
            "--measures: the measure 'auc' has no setting 'k'",
        ),
        ("fit DATA TMP/m --eval-metric Judged@5", "--eval-metric: "),
        ("fit DATA TMP/m --eval-metric map", "--eval-metric needs --validation"),
        ("compare --output TMP/no/t.csv", "there is no folder"),
        ("compare --plot TMP/p.xls", "--plot must be a file that ends in .png,"),
        ("fit DATA TMP/m --patience 3", "--patience needs --validation"),
        ("fit DATA TMP/m --qid query", "--qid is for tables, whose names end in .csv"),
        ("compare TMP/one_query.txt", "5 folds need at least 5 queries; got 1"),
        (
            "compare FOLDER --folds 3",
            "--folds needs a file, or no path: a folder has its own folds",
        ),
        ("compare --rounds 3", "--rounds needs --objectives: it would have no effect"),
        (
            "compare --rankers LGBMranker",
            "a name of --rankers must be one of LGBMRanker, XGBRanker, ",
        ),
        ("export DATA --format solr --output TMP/o --index shop", "--index needs --requests"),
        (
            "export DATA --format solr --output TMP/o --requests TMP/o",
            "--requests must be another file than --output",
        ),
        ("predict TMP/broken.txt DATA", "is a model neither of LightGBM nor of XGBoost"),
        (
            "evaluate d[x][red]y[/].txt TMP/scores",
            "error: d[x][red]y[/].txt: No such file or directory",
        ),
        ("evaluate DATA TMP/one_score", "has 1 scores for the "),
        ("check softmx", "got 'softmx' (did you mean 'softmax'?)"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(run, folder, tmp_path, arguments, message):
    (tmp_path / "broken.txt").write_text("1 qid:1 1:0.5\nx qid:1 1:0.5\n")
    (tmp_path / "scores").write_text("0.5\nnan\n")
    (tmp_path / "one_score").write_text("0.5\n")
    (tmp_path / "one_query.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:0.2\n")
    names = {"FOLDER": folder, "TMP": tmp_path, "DATA": folder / "all.txt"}
    error = run(
        *re.sub("|".join(names), lambda found: str(names[found[0]]), arguments).split(), code=2
    )
    assert message in " ".join(error.split())


def test_a_fault_of_the_program_is_not_exit_code_1(run, monkeypatch):
    def fail(*arguments, **settings):
        raise KeyError("absent")

    monkeypatch.setattr("boostrank.theory.check_consistency", fail)
    error = run("check", "softmax", code=2)
    assert error.startswith("Traceback")
    assert error.endswith("error: KeyError: 'absent'\n")


def test_a_warning_is_printed_above_a_progress_bar(capsys):
    screen = io.StringIO()
    with Progress(
        console=Console(file=screen, force_terminal=True, width=60), auto_refresh=False
    ) as progress:
        progress.add_task("bar", total=3)
        _show_warning("[b]a short message[/b]", UserWarning, "a.py", 3)
    assert capsys.readouterr().err == ""
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue()).splitlines()
    assert "warning: [b]a short message[/b]" in [line.strip() for line in lines]
    _show_warning(UserWarning("a short message"), UserWarning, "a.py", 3)
    assert capsys.readouterr().err == "warning: a short message\n"


def test_a_stopped_command_prints_one_line_and_writes_no_file(run, folder, tmp_path, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(importlib.import_module("boostrank.cli.models"), "read_documents", stop)
    assert (
        run("fit", folder / "all.txt", tmp_path / "m", code=130)
        == "stopped: before the command ended\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_control_c_while_libraries_are_imported_is_no_traceback(run, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "boostrank.cli.app")
    monkeypatch.setattr("importlib._bootstrap_external.SourceFileLoader.exec_module", stopped)
    assert run("--help", code=130) == "stopped: before the command ended\n"
