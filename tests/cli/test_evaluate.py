"""The commands `fit`, `predict` and `evaluate`, one after the other, and `evaluate --explain`."""

import lightgbm as lgb
import numpy as np
import pytest

import boostrank as br


@pytest.mark.parametrize("backend", ["lightgbm", "xgboost"])
def test_fit_predict_evaluate(run, folder, tmp_path, data, backend):
    _, y, qid = data
    model, scores = tmp_path / f"{backend}.json", tmp_path / f"{backend}.scores"
    options = ["--backend", backend, "--objective", "softmax", "--k", 10, "--rounds", 15]
    run("fit", folder / "all.txt", model, *options, "--validation", folder / "Fold1" / "vali.txt")
    run("predict", model, folder / "all.txt", "--output", scores)
    values = np.loadtxt(scores)
    assert run("predict", model, folder / "all.txt").split() == scores.read_text().split()
    expected = br.ndcg_score(y, values, qid, k=10)
    assert f"{expected:.6f}" in run("evaluate", folder / "all.txt", scores)
    assert expected > 0.7
    if backend == "lightgbm":
        lgb.Booster(model_file=model)


def test_evaluate_explains_what_other_libraries_compute(run, folder, tmp_path, data):
    _, y, qid = data
    values = np.random.default_rng(0).integers(0, 4, len(y)) / 4
    np.savetxt(tmp_path / "scores", values)
    other = {"gain": "linear", "empty": "one", "ties": "worst"}
    chosen = ["--cutoffs", "3,10", *(part for name, value in other.items() for part in (f"--{name}", value))]
    for width, options, settings in ((80, [], {"k": 10}), (100, chosen, {"k": 3, **other})):
        found = br.reconcile(y, values, qid, **settings)
        out = run("evaluate", folder / "all.txt", tmp_path / "scores", "--explain", *options, width=width)
        lines = out.splitlines()
        assert max(map(len, lines)) <= width
        assert found.head in " ".join(out.split())
        assert "Each row shows the NDCG" in out
        for row in found.table.itertuples():
            at = next(i for i, line in enumerate(lines) if line.split()[:2] == [row.library, row.metric])
            parts = [part for part in row.because.split("; ") if part]
            assert lines[at].split()[2:4] == [f"{row.value:.4f}", f"{row.difference:+.4f}"]
            assert [line.rstrip()[-len(part) :] for line, part in zip(lines[at:], parts, strict=False)] == parts
    assert "Each row" not in run("evaluate", folder / "all.txt", tmp_path / "scores")
