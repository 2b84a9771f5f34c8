"""The command `check`: its exit code and its report."""

import numpy as np
from broken_surrogates import Descent

import boostrank as br
from boostrank.ndcg.dcg import DCG
from boostrank.surrogates.registry import _MAKERS


def test_the_exit_code_says_whether_a_loss_is_consistent(run, monkeypatch):
    out = run(
        "check",
        "squared/dcg",
        "-k",
        2,
        "--gain",
        "linear",
        "--discount",
        "zipf",
        "--distributions",
        50,
    )
    assert "no counterexample to consistency with NDCG(gain=linear)@2" in out
    out = run("check", "softmax/softmax", "-k", 3, "--seed", 7, "--distributions", 100, code=1)
    assert max(map(len, out.splitlines())) <= 80
    report = br.theory.check_consistency(
        "softmax", "softmax", DCG(k=3), n_distributions=100, random_state=7
    )
    regrets = br.theory.class_regrets("softmax", "softmax", DCG(k=3), random_state=7)
    assert out == f"{report!r}\n{regrets!r}\n"
    monkeypatch.setitem(_MAKERS, "descent", ("separable", lambda module: Descent()))
    error = run("check", "descent", "--distributions", 100, code=2)
    assert error.splitlines()[1] == "no statement on consistency with NDCG: too few examined"
    assert "103 of these left out, because no minimum was found" in error


def test_a_click_log_is_examined(run, tmp_path):
    data, path = ([1, 0, 0] * 30, np.arange(90), np.repeat(np.arange(30), 3)), tmp_path / "log.csv"
    log = br.simulate_clicks(*data, random_state=0, noise=0.1).log
    log.to_frame().rename(columns={"row": "document"}).to_csv(path, index=False)
    out = run("check", "--clicks", path, code=1)
    assert "positions compared with position 1 bad 0.000" in " ".join(out.split())
    assert "Use 1.0: the effect of positions is not known: swap documents at random" in out
    swapped = br.simulate_clicks(*data, random_state=0, noise=0.1, policy=("swap", 0.5)).log
    swapped.to_frame().assign(document=lambda table: table["row"]).to_csv(path, index=False)
    assert "Use harvest_propensities(log): documents were shown" in run("check", "--clicks", path)
    assert "--surrogate needs a loss" in run("check", "softmax", "--clicks", path, code=2)
    assert "give the name of a SURROGATE" in run("check", code=2)
    # Ids are texts, so that these are four documents of four queries.
    path.write_text("qid,document,position,click\n007,1,1,1\n7,1,1,0\n1e1,3,1,0\n10,3,1,0\n")
    assert "n_documents=4, n_queries=4" in run("check", "--clicks", path, code=1)
    assert "cannot be read as a table" in run("check", "--clicks", __file__, code=2)


def test_a_click_log_with_other_values_than_numbers_is_named(run, tmp_path):
    path = tmp_path / "log.csv"
    head = "qid,document,position,click,session\n7,a,1,0,s\n"
    path.write_text(f"{head}7,b,2nd,1,s\n")
    error = run("check", "--clicks", path, code=2)
    assert f"{path}: the column 'position' must have numbers, and some rows have texts" in error
    assert "'position' ('2nd' in 1; the first in row 2)" in error
    path.write_text(f"{head}7,b,2,,s\n")
    error = run("check", "--clicks", path, code=2)
    assert error == f"error: {path}: the column 'click' has no value in row 2\n"
