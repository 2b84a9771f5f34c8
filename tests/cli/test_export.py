"""The command `export`: models of both libraries, names, the check, the template of the features,
and bad input."""

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
    plain, named = (
        br.LightGBMRanker(**SETTINGS).fit(X, y, qid),
        br.XGBoostRanker(**SETTINGS).fit(frame, y, qid),
    )
    for ranker, options in [
        (plain, ["--features", ",".join(NAMES), "--check", folder / "all.txt"]),
        (plain, ["--features", tmp_path / "names.txt", "--check", folder / "all.txt"]),
        (named, ["--check", tmp_path / "d.csv"]),
    ]:
        ranker.save_model(tmp_path / "model.json")
        files = ["--output", file, "--shift", "min", "--version", "3.8", *options]
        out = run("export", tmp_path / "model.json", "--format", "opensearch", *files)
        size = f"{file.stat().st_size:,} bytes"
        scores = f"with the scores of the model at its splits and on {len(X):,} rows"
        assert out == f"model: {file}, {size}, {scores}\n"
        found = evaluate("opensearch", file.read_text(), dict(zip(NAMES, X.T, strict=True)))
        assert found.min() >= 0
        difference = found - ranker.predict(X if ranker is plain else frame)
        np.testing.assert_allclose(difference, difference[0], atol=1e-5)
        assert json.loads(file.read_text())["model"]["name"] == "shop"


def test_solr_has_a_name_and_a_store(run, data, tmp_path):
    X = np.where(data[0] > 1, np.nan, data[0])
    file, ranker = tmp_path / "m.json", br.LightGBMRanker(**SETTINGS).fit(X, *data[1:])
    ranker.save_model(tmp_path / "model.txt")
    options = [
        "--features",
        ",".join(NAMES),
        "--store",
        "shoes",
        "--name",
        "first",
        "--resource",
        "models/first.json",
    ]
    options += ["--requests", tmp_path / "requests.json", "--index", "shop", "--version", "9.2"]
    run("export", tmp_path / "model.txt", "--format", "solr", *options, "--output", file)
    made = json.loads((tmp_path / "requests.json").read_text())
    assert (made["upload"]["method"], made["upload"]["path"]) == (
        "PUT",
        "/solr/shop/schema/model-store",
    )
    assert {feature["params"]["defaultValue"] for feature in made["features"]["body"]} == {"NaN"}
    assert "store='shoes'" in made["log"]["body"]["fields"][1]
    assert "model='first'" in made["rank"]["body"]["params"]["rq"]
    document = json.loads(file.read_text())
    assert (document["name"], document["store"]) == ("first", "shoes")
    found = evaluate("solr", document, dict(zip(NAMES, X.T, strict=True)))
    np.testing.assert_allclose(found, ranker.predict(X), atol=1e-5)
    wrapper = json.loads((tmp_path / "m.wrapper.json").read_text())
    assert wrapper["class"] == "org.apache.solr.ltr.model.DefaultWrapperModel"
    assert (wrapper["name"], wrapper["store"], wrapper["params"]) == (
        "first",
        "shoes",
        {"resource": "models/first.json"},
    )


def test_elastic_has_the_queries_of_a_file(run, data, tmp_path):
    file, queries = tmp_path / "m.json", {name: {"term": {name: "{{user}}"}} for name in NAMES}
    (tmp_path / "queries.json").write_text(json.dumps(queries))
    br.XGBoostRanker(**SETTINGS).fit(*data).save_model(tmp_path / "model.json")
    options = [
        "--features",
        tmp_path / "queries.json",
        "--output",
        file,
        "--requests",
        tmp_path / "r.json",
    ]
    run("export", tmp_path / "model.json", "--format", "elastic", *options)
    log = json.loads((tmp_path / "r.json").read_text())["log"]["body"]
    assert log["params"] == {"keywords": "keywords", "user": "user"}
    extractors = json.loads(file.read_text())["inference_config"]["learning_to_rank"][
        "feature_extractors"
    ]
    written = {
        one["query_extractor"]["feature_name"]: one["query_extractor"]["query"]
        for one in extractors
    }
    assert written.items() <= queries.items()
