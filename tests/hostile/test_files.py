"""Hostile files: CSV files of preferences, models, and paths with brackets on the command line."""

import functools
import json
import sys

import pytest
import typer.main

import boostrank as br
from boostrank.cli import main
from boostrank.preferences import read_preferences
from hostile.entry_points import RANKERS, tiny
from hostile.outcomes import Fault, check_fault


def put(folder, content, name="data.txt"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))
    return path


#: typer makes the commands anew from their signatures in every call, which takes longer than the commands do here.
cached_commands = functools.cache(typer.main.get_command)


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command in this process; returns its exit code, standard output and error."""
    monkeypatch.setattr(typer.main, "get_command", cached_commands)

    def run_command(*arguments):
        monkeypatch.setattr(sys, "argv", ["boostrank", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        return stopped.value.code, *capsys.readouterr()

    return run_command


@pytest.mark.parametrize(("content", "line"), [("1 qid:7 1:1\nhigh qid:7 1:1\n", "line 2"), ("", "no documents")])
def test_an_invalid_letor_file_is_named_on_the_command_line(content, line, run, tmp_path):
    data, scores = put(tmp_path, content, "d[x] [red]y.txt"), put(tmp_path, "1\n", "scores.txt")
    code, _, err = run("evaluate", data, scores)
    message = " ".join(err.split())
    assert code == 2
    assert "d[x] [red]y.txt" in message
    assert line in message


def test_brackets_in_the_paths_of_every_command(run, tmp_path):
    folder = tmp_path / "[bold]a [/x] [1]"
    folder.mkdir(parents=True)
    br.write_letor(folder / "d.txt", *br.make_ranking(n_queries=20, n_documents=10, random_state=0))
    for name in ("m.txt", "m.json"):
        backend = "lightgbm" if name.endswith("txt") else "xgboost"
        code, out, err = run("fit", folder / "d.txt", folder / name, "--rounds", 2, "--backend", backend)
        assert code == 0, err
        # A line of the terminal may be broken at a space of the path.
        assert "".join(str(folder / name).split()) in "".join(out.split())
        code, _, err = run("predict", folder / name, folder / "d.txt", "--output", folder / "s.txt")
        assert code == 0, err
    code, _, err = run(
        "evaluate", folder / "d.txt", folder / "s.txt", "--measures", f"ndcg@1,ndcg@{10**30}", "--explain"
    )
    assert code == 0, err
    code, _, err = run("predict", folder / "missing.txt", folder / "d.txt")
    assert code == 2
    assert "".join(str(folder / "missing.txt").split()) in "".join(err.split())


PREFERENCES = {
    "plain": ("winner,loser\n0,1\n2,1\n", [(0, 1, 1.0), (2, 1, 1.0)]),
    "spaces-after-commas": ("winner, loser\n0, 1\n", [(0, 1, 1.0)]),
    "weights": ("winner,loser,weight\n0,1,0.1\n", [(0, 1, 0.1)]),
    "byte-order-mark": ("\ufeffwinner,loser\n0,1\n", [(0, 1, 1.0)]),
    "windows-line-ends": ("winner,loser\r\n0,1\r\n", [(0, 1, 1.0)]),
    "other-columns": ("note,loser,winner\nx,1,0\n", [(0, 1, 1.0)]),
    "no-rows": ("winner,loser\n", []),
    "twice": ("winner,loser\n0,1\n0,1\n", [(0, 1, 1.0), (0, 1, 1.0)]),
    "empty": ("", Fault("")),
    "no-head": ("0,1\n2,1\n", Fault("winner")),
    "one-column": ("winner\n0\n", Fault("loser")),
    "itself": ("winner,loser\n1,1\n", Fault("itself")),
    "across-queries": ("winner,loser\n0,3\n", Fault("quer")),
    "beyond-the-rows": ("winner,loser\n0,4\n", Fault("loser")),
    "negative": ("winner,loser\n-1,0\n", Fault("winner")),
    "fraction": ("winner,loser\n0.5,1\n", Fault("winner")),
    "missing": ("winner,loser\n0,\n", Fault("loser")),
    "text": ("winner,loser\na,b\n", Fault("winner")),
    "negative-weight": ("winner,loser,weight\n0,1,-1\n", Fault("weight")),
    "missing-weight": ("winner,loser,weight\n0,1,\n", Fault("weight|pair 0")),
    "nan-weight": ("winner,loser,weight\n0,1,nan\n", Fault("weight")),
    "infinite-weight": ("winner,loser,weight\n0,1,inf\n", Fault("weight")),
    "text-weight": ("winner,loser,weight\n0,1,much\n", Fault("weight")),
    "long-line": ("winner,loser\n0,1,2,3\n", Fault("")),
    "two-winners": ("winner,winner,loser\n0,1,2\n", Fault("")),
    "beyond-int64": (f"winner,loser\n0,{2**64 + 1}\n", Fault("loser")),
    "open-quote": ('winner,loser\n0,"1\n', Fault("")),
    "nul": ("winner,loser\n0\0,1\n", Fault("")),
    "bytes-that-are-no-text": ("winner,loser\n\udce9,1\n", Fault("")),
}


@pytest.mark.parametrize(("content", "meaning"), PREFERENCES.values(), ids=PREFERENCES)
def test_preference_files(content, meaning, tmp_path):
    path, qid = put(tmp_path, content, "pairs.csv"), [1, 1, 1, 2]
    if isinstance(meaning, Fault):
        check_fault(lambda: read_preferences(path, qid), r"pairs\.csv", meaning.pattern)
        return
    graph = read_preferences(path, qid)
    assert list(zip(graph.winner.tolist(), graph.loser.tolist(), graph.weights.tolist(), strict=True)) == meaning


def native_text(name):
    """A model as the library itself writes it, without a checksum."""
    booster = tiny(RANKERS[name]).fit(*br.make_ranking(n_queries=6, n_documents=5, random_state=0)).booster_
    return booster.model_to_string() if name == "LightGBMRanker" else bytes(booster.save_raw("json")).decode()


#: Files that are no models, made from the text of a model; None stands for a model of the other library.
MODELS = {
    "empty": lambda text: "",
    "one-brace": lambda text: "{",
    "empty-object": lambda text: "{}",
    "cut-in-the-middle": lambda text: text[: len(text) // 2],
    "cut-at-the-end": lambda text: text[: -len(text) // 4],
    "no-model": lambda text: "0 qid:1 1:0.5\n" * 5,
    "only-the-head": lambda text: text[:12],
    "nul-bytes": lambda text: "\0" * 100,
    "html": lambda text: "<html><body>404</body></html>",
    "pickle": lambda text: "\x80\x04\x95",
    "another-library": None,
    "list": lambda text: "[1, 2]",
    "number": lambda text: "5",
    "other-object": lambda text: json.dumps({"tree": [1], "version": [3, 0, 0]}),
}


@pytest.mark.parametrize("damage", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("ranker", RANKERS)
def test_model_files_that_are_none(ranker, damage, tmp_path):
    other = next(name for name in RANKERS if name != ranker)
    content = native_text(other) if damage is None else damage(native_text(ranker))
    path = put(tmp_path, content, "model")
    check_fault(lambda: RANKERS[ranker]().load_model(path), "model")


@pytest.mark.parametrize("ranker", RANKERS)
def test_folders_and_missing_files(ranker, tmp_path):
    check_fault(lambda: RANKERS[ranker]().load_model(tmp_path / "none.txt"), r"none\.txt")
    check_fault(lambda: RANKERS[ranker]().load_model(tmp_path), str(tmp_path))
    check_fault(lambda: br.read_letor(tmp_path), str(tmp_path))
    check_fault(lambda: br.read_letor(tmp_path / "none.txt"), r"none\.txt")
    check_fault(lambda: read_preferences(tmp_path / "none.csv", [1, 1]), r"none\.csv")
