"""Completion in shells: the table is that of the commands, and completing imports none of them."""

import json
import subprocess
import sys

import pytest

from boostrank.cli import COMPLETE, completion, main


@pytest.fixture
def complete(monkeypatch, capsys):
    """The completions that bash gets for a line, the last word of which is completed."""

    def words(line):
        monkeypatch.setenv(COMPLETE, "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == 0
        return capsys.readouterr().out.split()

    return words


def test_the_table_is_that_of_the_commands():
    written = json.loads(completion.TABLE.read_text(encoding="utf-8"))
    now = json.loads(json.dumps(completion.completion_table()))
    assert written == now, "write it again: python -m boostrank.cli.completion"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("boostrank ", ["fit", "predict", "evaluate", "compare", "explain", "check"]),
        ("boostrank e", ["evaluate", "explain"]),
        ("boostrank explain m.txt d.txt --doc", ["--documents"]),
        ("boostrank check squ", ["squared"]),
        ("boostrank check softmax --normalize ", ["dcg", "none", "l2", "sum", "softmax"]),
        ("boostrank fit t m --objective lambda", ["lambdarank"]),
        ("boostrank fit t m --backend ", ["lightgbm", "xgboost"]),
        ("boostrank compare --backend b", ["both"]),
        ("boostrank compare --objectives softmax,rank_", ["softmax,rank_xendcg"]),
        ("boostrank evaluate d s --measures map,ndcg@1", ["map,ndcg@1", "map,ndcg@10"]),
        ("boostrank explain ", []),
    ],
)
def test_completions(complete, line, expected):
    assert complete(line) == expected


@pytest.mark.slow
def test_completing_imports_no_library_that_takes_long():
    code = (
        "import os, sys\n"
        f"os.environ.update({COMPLETE}='complete_bash', COMP_WORDS='boostrank fit --', COMP_CWORD='2')\n"
        "from boostrank.cli import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit:\n"
        "    print([name for name in ('numpy', 'pandas', 'sklearn', 'lightgbm', 'xgboost') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "--objective" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"
