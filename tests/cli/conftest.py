"""The command line in the process of the tests, and a folder of LETOR files for it."""

import sys

import pytest
from letor_oracle import write_letor

import boostrank as br
from boostrank.cli import main


@pytest.fixture(autouse=True)
def _short_search(monkeypatch):
    """`check` searches neighbours of the worst distributions once, and not five times."""
    monkeypatch.setattr("boostrank.theory.search.N_CLIMBS", 1)


@pytest.fixture(autouse=True)
def _one_job(monkeypatch):
    """`compare` trains in the process of the test by default; processes of its own take seconds to
    start."""
    monkeypatch.setattr("joblib.cpu_count", lambda **_: 1)


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command; returns standard output, or standard error, as where an error or an interrupt
    is expected."""

    def run_command(*arguments, code=0, width=80, errors=False):
        monkeypatch.setattr(sys, "argv", ["boostrank", *map(str, arguments)])
        monkeypatch.setattr(sys.modules["__main__"], "__package__", None)
        monkeypatch.setenv("COLUMNS", str(width))
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsys.readouterr()
        assert stopped.value.code == code, err
        return err if errors or code in (2, 130) else out

    return run_command


@pytest.fixture(scope="session")
def data():
    return br.make_ranking(n_queries=60, random_state=0)


@pytest.fixture(scope="session")
def folder(tmp_path_factory, data):
    """LETOR folds, one of them without a validation part, and a file of all queries."""
    path = tmp_path_factory.mktemp("letor")
    X, y, qid = data
    for i in (1, 2):
        (path / f"Fold{i}").mkdir()
        for j, part in enumerate(("train", "vali", "test")):
            rows = (qid + i) % 3 == j
            if (i, part) != (2, "vali"):
                write_letor(path / f"Fold{i}" / f"{part}.txt", X[rows], y[rows], qid[rows])
    write_letor(path / "all.txt", X, y, qid)
    return path
