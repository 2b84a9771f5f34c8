"""The command `export`: models of both libraries, names, the check, the template of the features, and bad input."""

import json

import numpy as np
import pandas as pd

import boostrank as br
from boostrank.serving import evaluate

NAMES = ["price", "bm25(title)", "closeness(field,embedding)", "f(g(a,b),c).x", *"abcdef"]
SETTINGS = {"n_estimators": 5, "n_jobs": 1, "random_state": 0}


def test_models_names_and_the_check(run, folder, data, tmp_path):
    X, y, qid = data
    file, frame = tmp_path / "shop.json", pd.DataFrame(X, columns=NAMES)
    (tmp_path / "names.txt").write_text("\n".join(NAMES) + "\n")
    frame.to_csv(tmp_path / "d.csv", index=False)
    plain, named = br.LightGBMRanker(**SETTINGS).fit(X, y, qid), br.XGBoostRanker(**SETTINGS).fit(frame, y, qid)
    for ranker, options in [
        (plain, ["--features", ",".join(NAMES), "--check", folder / "all.txt"]),
        (plain, ["--features", tmp_path / "names.txt", "--check", folder / "all.txt"]),
        (named, ["--check", tmp_path / "d.csv"]),
    ]:
        ranker.save_model(tmp_path / "model.json")
        files = ["--output", file, "--shift", "min", *options]
        out = run("export", tmp_path / "model.json", "--format", "opensearch", *files)
        assert out == f"model: {file}, with the scores of the model on {len(X):,} rows\n"
        found = evaluate("opensearch", file.read_text(), dict(zip(NAMES, X.T, strict=True)))
        assert found.min() >= 0
        difference = found - ranker.predict(X if ranker is plain else frame)
        np.testing.assert_allclose(difference, difference[0], atol=1e-5)
        assert json.loads(file.read_text())["model"]["name"] == "shop"


def test_solr_has_a_name_and_a_store(run, data, tmp_path):
    file, ranker = tmp_path / "m.json", br.LightGBMRanker(**SETTINGS).fit(*data)
    ranker.save_model(tmp_path / "model.txt")
    options = ["--features", ",".join(NAMES), "--store", "shoes", "--name", "first"]
    run("export", tmp_path / "model.txt", "--format", "solr", *options, "--output", file)
    document = json.loads(file.read_text())
    assert (document["name"], document["store"]) == ("first", "shoes")
    found = evaluate("solr", document, dict(zip(NAMES, data[0].T, strict=True)))
    np.testing.assert_allclose(found, ranker.predict(data[0]), atol=1e-5)
