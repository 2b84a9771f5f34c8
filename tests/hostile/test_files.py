"""Files that do not exist, and names with brackets."""

import pytest

import boostrank as br
from boostrank import cli
from hostile.entry_points import RANKERS
from hostile.outcomes import check_fault


@pytest.mark.parametrize("ranker", RANKERS)
def test_folders_and_missing_files(ranker, tmp_path):
    check_fault(lambda: RANKERS[ranker]().load_model(tmp_path / "none.txt"), r"none\.txt")
    check_fault(lambda: RANKERS[ranker]().load_model(tmp_path), str(tmp_path))
    check_fault(lambda: br.read_letor(tmp_path), str(tmp_path))
    check_fault(lambda: br.read_letor(tmp_path / "none.txt"), r"none\.txt")


def test_brackets_in_paths_are_printed_by_the_command_line(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("sys.argv", ["boostrank", "evaluate", f"{tmp_path}/d[x] [red]y[/].txt", "scores.txt"])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    assert "d[x][red]y[/].txt" in "".join(capsys.readouterr().err.split())
