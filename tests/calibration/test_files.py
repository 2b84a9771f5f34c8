"""Saving, loading and exporting calibrated rankers."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import boostrank as br

PLAIN = {"n_estimators": 15, "learning_rate": 0.1, "random_state": 0, "n_jobs": 1}
LIBRARIES = {"model.txt": br.LightGBMRanker, "model.json": br.XGBoostRanker}
DATA = br.make_ranking(n_queries=60, random_state=0)


@pytest.fixture(scope="module", params=LIBRARIES)
def fitted(request):
    ranker = br.CalibratedRanker(LIBRARIES[request.param](**PLAIN), cv=2)
    return ranker.fit(*DATA), request.param


def test_one_file_has_the_ranker_and_the_temperature(fitted, tmp_path):
    ranker, name = fitted
    path = tmp_path / name
    ranker.save_model(path)
    loaded = br.CalibratedRanker.load_model(path)
    assert loaded.temperature_ == ranker.temperature_
    X, _, qid = DATA
    expected = ranker.predict_proba(X, qid=qid)
    assert loaded.predict_proba(X, qid=qid).tolist() == expected.tolist()
    assert loaded.get_params()["method"] == "temperature"
    # From the content of the file too, and again.
    again = br.CalibratedRanker.load_model(path.read_bytes())
    again.save_model(path)
    assert br.CalibratedRanker.load_model(path).temperature_ == ranker.temperature_
    alone = br.load_model(path)
    assert alone.predict(X).tolist() == ranker.ranker_.predict(X).tolist()
    alone.save_model(path)
    with pytest.raises(ValueError, match=f"{name}' has no calibration"):
        br.CalibratedRanker.load_model(path)


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("target", ["first", "relevance"])
def test_what_is_not_a_temperature_is_saved_too(name, target, tmp_path):
    X, y, qid = DATA
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    base = LIBRARIES[name](**PLAIN, query_features=["rank"])
    if target == "relevance":
        base = LIBRARIES[name](**PLAIN)
        # A category with the sign that separates the fields of LightGBM's files.
        frame["shop"] = pd.Categorical(np.where(qid % 2 == 0, "a=1", "b"))
        frame["shop"] = frame["shop"].cat.rename_categories({"b": "="})
        base.set_params(enable_categorical=True) if name == "model.json" else None
    ranker = br.CalibratedRanker(base, target, method="isotonic", cv=2).fit(frame, y, qid)
    ranker.save_model(tmp_path / name)
    loaded = br.CalibratedRanker.load_model(tmp_path / name)
    assert loaded.target == target
    assert loaded.method == "isotonic"
    expected = ranker.predict_proba(frame, qid=qid)
    assert loaded.predict_proba(frame, qid=qid).tolist() == expected.tolist()


def test_the_temperature_is_folded_into_the_leaves(fitted, tmp_path):
    ranker, _ = fitted
    X, _, qid = DATA
    folded = ranker.to_ranker()
    assert type(folded) is type(ranker.ranker_)
    assert folded.predict(X) == pytest.approx(ranker.predict(X), abs=1e-5)
    queries = br.Queries.from_qid(qid)
    expected = ranker.predict_proba(X, qid=qid)
    assert queries.softmax(folded.predict(X)) == pytest.approx(expected, abs=1e-5)
    path = tmp_path / "shop.json"
    names = [f"f{i}" for i in range(X.shape[1])]
    rows = X[:50].astype(np.float32)
    ranker.export(path, "elasticsearch", features=names, check=rows)
    values = dict(zip(names, rows.T, strict=True))
    engine = br.serving.evaluate("elasticsearch", path.read_text(), values)
    assert engine == pytest.approx(ranker.predict(rows), abs=1e-5)
    assert "model" in json.loads(path.read_text())


def test_a_bag_is_one_model():
    X = DATA.X
    bag = br.BaggedRanker(br.LightGBMRanker(**PLAIN), 2, random_state=0)
    ranker = br.CalibratedRanker(bag, cv=2).fit(*DATA)
    assert ranker.to_ranker().predict(X) == pytest.approx(ranker.predict(X))


def test_what_has_no_file_is_an_error(tmp_path):
    several = br.CalibratedRanker(br.LightGBMRanker(**PLAIN), cv=2, ensemble=True).fit(*DATA)
    with pytest.raises(ValueError, match="save_model needs one ranker"):
        several.save_model(tmp_path / "model.txt")
    other = br.CalibratedRanker(LinearRegression(), cv=2).fit(*DATA)
    with pytest.raises(ValueError, match="can be saved; got LinearRegression"):
        other.save_model(tmp_path / "model.txt")
    relevance = br.CalibratedRanker(br.LightGBMRanker(**PLAIN), "relevance", cv=2).fit(*DATA)
    with pytest.raises(ValueError, match="has no temperature"):
        relevance.export(tmp_path / "model.json", "elasticsearch")
