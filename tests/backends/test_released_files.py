"""Model files of released versions load, and give the scores of the ranker that wrote them.

The folder released/0.1.0 has files of the format of version 0.1.0, which LightGBM 4.7 and XGBoost
3.2 wrote, with twelve documents of one query, and their scores. Files are never written again: a
version that changes the format adds a folder.
"""

import json
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost

import boostrank as br

FOLDERS = sorted((Path(__file__).parent / "released").iterdir())
FILES = [path for folder in FOLDERS for path in sorted(folder.iterdir())]
MODELS = [path for path in FILES if path.stem not in ("documents", "scores")]


def read(path):
    """The documents as the ranker takes them, its arguments, and the scores."""
    documents = pd.DataFrame(json.loads((path.parent / "documents.json").read_text("utf-8")))
    documents["colour"] = documents["colour"].astype("category")
    X = documents if path.stem == "categories" else documents.drop(columns="colour")
    X = X.to_numpy() if path.stem == "array" else X
    lists = {"qid": 0} if path.stem == "query_features" else {}
    scores = json.loads((path.parent / "scores.json").read_text("utf-8"))
    return X, lists, scores


def test_all_kinds_of_files_are_there():
    kinds = {"array", "bag", "calibrated", "categories", "query_features"}
    assert {path.name for path in MODELS if path.parent.name == "0.1.0"} == {
        f"{kind}{suffix}" for kind in kinds for suffix in (".json", ".txt")
    }


@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_scores_are_those_of_the_ranker_that_was_saved(path, tmp_path):
    X, lists, scores = read(path)
    reader = br.CalibratedRanker if path.stem == "calibrated" else br
    ranker = reader.load_model(path)
    tolerance = 0 if path.suffix == ".txt" else 1e-6
    values = ranker.predict(X, **lists)
    np.testing.assert_allclose(values, scores[path.name], rtol=tolerance)
    assert len(set(scores[path.name])) > 3
    if path.stem == "calibrated":
        probabilities = ranker.predict_proba(X, qid=np.zeros(len(X)))
        np.testing.assert_allclose(probabilities, scores[f"{path.name} probabilities"], rtol=1e-6)
    # It can be saved again.
    ranker.save_model(tmp_path / path.name)
    again = reader.load_model(tmp_path / path.name)
    np.testing.assert_array_equal(again.predict(X, **lists), values)


# Scores of a calibrated ranker are divided by its temperature, and XGBoost itself does not know
# names of categories with other characters than ASCII, which boostrank encodes.
OF_LIBRARIES = [
    path for path in MODELS if path.stem != "calibrated" and path.name != "categories.json"
]


@pytest.mark.parametrize("path", OF_LIBRARIES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_the_libraries_read_the_files_without_boostrank(path):
    X, _, scores = read(path)
    if path.stem == "query_features":
        X = br.load_model(path).query_features_.transform(X, np.zeros(len(X)))
    if path.suffix == ".txt":
        values = lightgbm.Booster(model_file=path).predict(X)
    else:
        ranker = xgboost.XGBRanker(enable_categorical=True)
        ranker.load_model(path)
        values = ranker.predict(X)
    np.testing.assert_allclose(values, scores[path.name], rtol=1e-6)
