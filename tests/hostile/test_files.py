"""Hostile CSV files of preferences, and files that do not exist."""

import pytest
from cases import for_each

import boostrank as br
from boostrank import cli
from boostrank.preferences import read_preferences
from hostile.entry_points import RANKERS
from hostile.outcomes import Fault, check_fault

PREFERENCES = {
    "spaces-after-commas": ("winner, loser\n0, 1\n", [(0, 1, 1.0)]),
    "byte-order-mark": ("\ufeffwinner,loser\n0,1\n", [(0, 1, 1.0)]),
    "windows-line-ends": ("winner,loser\r\n0,1\r\n", [(0, 1, 1.0)]),
    "other-columns": ("note,loser,winner\nx,1,0\n", [(0, 1, 1.0)]),
    "no-rows": ("winner,loser\n", []),
    "itself": ("winner,loser\n1,1\n", Fault("itself")),
    "across-queries": ("winner,loser\n0,3\n", Fault("quer")),
    "fraction": ("winner,loser\n0.5,1\n", Fault("winner")),
    "missing": ("winner,loser\n0,\n", Fault("loser")),
    "nan-weight": ("winner,loser,weight\n0,1,nan\n", Fault("weight")),
    "two-winners": ("winner,winner,loser\n0,1,2\n", Fault("")),
    "beyond-int64": (f"winner,loser\n0,{2**64 + 1}\n", Fault("loser")),
    "open-quote": ('winner,loser\n0,"1\n', Fault("")),
    "nul": ("winner,loser\n0\0,1\n", Fault("")),
    "bytes-that-are-no-text": ("winner,loser\n\udce9,1\n", Fault("")),
}


@for_each(("content", "meaning"), PREFERENCES.values(), ids=PREFERENCES)
def test_preference_files(content, meaning, tmp_path):
    path, qid = tmp_path / "pairs.csv", [1, 1, 1, 2]
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    if isinstance(meaning, Fault):
        check_fault(lambda: read_preferences(path, qid), r"pairs\.csv", meaning.pattern)
        return
    graph = read_preferences(path, qid)
    assert list(zip(graph.winner.tolist(), graph.loser.tolist(), graph.weights.tolist(), strict=True)) == meaning


@pytest.mark.parametrize("ranker", RANKERS)
def test_folders_and_missing_files(ranker, tmp_path):
    check_fault(lambda: RANKERS[ranker]().load_model(tmp_path / "none.txt"), r"none\.txt")
    check_fault(lambda: RANKERS[ranker]().load_model(tmp_path), str(tmp_path))
    check_fault(lambda: br.read_letor(tmp_path), str(tmp_path))
    check_fault(lambda: br.read_letor(tmp_path / "none.txt"), r"none\.txt")
    check_fault(lambda: read_preferences(tmp_path / "none.csv", [1, 1]), r"none\.csv")


def test_brackets_in_paths_are_printed_by_the_command_line(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("sys.argv", ["boostrank", "evaluate", f"{tmp_path}/d[x] [red]y[/].txt", "scores.txt"])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    assert "d[x][red]y[/].txt" in "".join(capsys.readouterr().err.split())
