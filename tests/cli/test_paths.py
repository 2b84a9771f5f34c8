"""Paths with brackets, special files as output, and cutoffs beyond every list."""

import os
import sys
import threading

import numpy as np
import pytest

import boostrank as br
from boostrank.cli import main


@pytest.fixture(scope="module")
def model(folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.txt"
    data = br.read_letor(folder / "all.txt")
    br.LightGBMRanker(n_estimators=3, n_jobs=1).fit(*data).save_model(path)
    return path


@pytest.mark.parametrize("name", ["[bold]x[/bold]", "a[/red]", "[/]", ":smile:"])
def test_paths_are_printed_as_they_are(run, folder, tmp_path, name):
    place = tmp_path / name.replace("/", "")
    error = run("evaluate", f"{tmp_path}/{name}", f"{tmp_path}/{name}", code=2)
    assert f"{tmp_path}/{name}" in error.replace("\n", "")
    out = run("fit", folder / "all.txt", place, "--rounds", 2, width=500)
    assert out.startswith(f"{place}: 2 rounds")


def test_scores_go_to_standard_output_by_its_name(folder, model, monkeypatch, capfd):
    printed = []
    for options in ([], ["--output", "/dev/stdout"]):
        monkeypatch.setattr(sys, "argv", ["boostrank", "predict", str(model), str(folder / "all.txt"), *options])
        with pytest.raises(SystemExit, match="0"):
            main()
        printed.append(capfd.readouterr().out.splitlines())
    assert printed[0] == printed[1]
    assert len(printed[0]) == len(br.read_letor(folder / "all.txt").y)


def test_a_pipe_gets_scores_models_tables_and_plots(run, folder, model, tmp_path):
    def received(name, *arguments):
        path, content = tmp_path / name, []
        os.mkfifo(path)
        reader = threading.Thread(target=lambda: content.append(path.read_bytes()))
        reader.start()
        run(*arguments, path) if arguments[0] != "fit" else run(*arguments[:2], path, *arguments[2:])
        reader.join(20)
        assert path.is_fifo()
        return content[0]

    data = folder / "all.txt"
    scores = br.LightGBMRanker().load_model(model).predict(br.read_letor(data).X)
    assert np.array_equal(np.array(received("scores", "predict", model, data, "--output").split(), float), scores)
    assert received("m", "fit", data, "--rounds", 2).startswith(b"tree\n")
    compare = ["compare", data, "--rounds", 1, "--folds", 3, "--objectives", "softmax", "--backend", "lightgbm"]
    assert received("t.csv", *compare, "--output").startswith(b"ranker,metric")
    assert received("plot.png", *compare, "--plot").startswith(b"\x89PNG")


def test_cutoffs_beyond_every_list_count_all_ranks(run, folder, tmp_path):
    y, qid = br.read_letor(folder / "all.txt")[1:]
    scores = np.random.default_rng(0).normal(size=len(y))
    np.savetxt(tmp_path / "scores", scores)
    out = run("evaluate", folder / "all.txt", tmp_path / "scores", "--measures", f"ndcg@{10**30},ndcg")
    assert out.count(f"{br.ndcg_score(y, scores, qid):.6f}") == 2
    for k in (2**63, 10**30, np.uint64(2**64 - 1)):
        assert br.ndcg_score(y, scores, qid, k=k) == br.ndcg_score(y, scores, qid)
        assert br.metrics.precision_score(y, scores, qid, k=k) == pytest.approx(0, abs=1e-17)
