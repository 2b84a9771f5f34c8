"""A trained ranker leaves the process whole: pickles, native files, explainers, compilers, ONNX."""

import io
import pickle
import subprocess
import sys

import cloudpickle
import joblib
import lightgbm as lgb
import numpy as np
import onnxruntime
import pandas as pd
import pytest
import shap
import treelite
import xgboost as xgb
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_html_repr

import boostrank as br

both = pytest.mark.parametrize("ranker_class", [br.LightGBMRanker, br.XGBoostRanker])
SUFFIXES = {br.LightGBMRanker: [".txt"], br.XGBoostRanker: [".json", ".ubj"]}
NATIVE = {br.LightGBMRanker: ["lambdarank", "rank_xendcg"], br.XGBoostRanker: ["rank:ndcg", "rank:pairwise"]}


@pytest.fixture(scope="module")
def data():
    X, y, qid = br.make_ranking(n_queries=50, random_state=3)
    return X.astype(np.float32), y, np.array([f"secret {i}" for i in qid])


def fitted(ranker_class, data, objective="softmax", **parameters):
    options = {"n_estimators": 30, "random_state": 0, "n_jobs": 1, "learning_rate": 0.3, **parameters}
    X, y, qid = data
    return ranker_class(objective, early_stopping_rounds=3, validation_fraction=0.3, **options).fit(X, y, qid)


@both
@pytest.mark.parametrize("library", [pickle, cloudpickle, joblib], ids=lambda library: library.__name__)
def test_pickles(ranker_class, library, data):
    ranker = fitted(ranker_class, data, br.surrogates.Cosine(epsilon=2.0), k=5)
    buffer = io.BytesIO()
    library.dump(ranker, buffer)
    assert b"secret" not in buffer.getvalue()
    buffer.seek(0)
    again = library.load(buffer)
    np.testing.assert_array_equal(again.predict(data[0]), ranker.predict(data[0]))
    assert again.get_params() == ranker.get_params()
    assert again.evals_result_ == ranker.evals_result_
    assert again.best_iteration_ == ranker.best_iteration_
    assert again.score(*data) == ranker.score(*data)
    again.fit(*data)


@both
def test_clone_and_display(ranker_class, data):
    ranker = fitted(ranker_class, data)
    with pytest.raises(NotFittedError):
        clone(ranker).predict(data[0])
    for shown in (ranker, clone(ranker)):
        assert ranker_class.__name__ in estimator_html_repr(shown)
        assert "validation_fraction=0.3" in repr(shown)


@both
def test_importances(ranker_class, data):
    X, y, qid = data
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    ranker = fitted(ranker_class, (frame, y, qid))
    series = ranker.get_feature_importances()
    assert series.is_monotonic_decreasing
    np.testing.assert_array_equal(series[frame.columns], ranker.feature_importances_)
    gain = ranker.get_feature_importances("gain")
    np.testing.assert_array_equal(gain[frame.columns], ranker.set_params(importance_type="gain").feature_importances_)
    assert list(fitted(ranker_class, data).get_feature_importances().index) != list(series.index)


@both
def test_saved_models_open_without_boostrank(ranker_class, data, tmp_path):
    for suffix in SUFFIXES[ranker_class]:
        for objective in ("softmax", *NATIVE[ranker_class]):
            ranker = fitted(ranker_class, data, objective)
            path = tmp_path / f"model{suffix}"
            ranker.save_model(path)
            np.save(tmp_path / "X.npy", data[0])
            library = "lightgbm" if ranker_class is br.LightGBMRanker else "xgboost"
            features = "X" if library == "lightgbm" else "native.DMatrix(X)"
            code = (
                f"import sys, numpy, {library} as native; sys.modules['boostrank'] = None;"
                f"X = numpy.load({str(tmp_path / 'X.npy')!r});"
                f"numpy.save({str(tmp_path / 'y.npy')!r}, native.Booster(model_file={str(path)!r}).predict({features}))"
            )
            subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
            np.testing.assert_allclose(np.load(tmp_path / "y.npy"), ranker.predict(data[0]), rtol=1e-6)
            loaded = ranker_class().load_model(path)
            np.testing.assert_array_equal(loaded.predict(data[0]), ranker.predict(data[0]))
            assert loaded.n_features_in_ == data[0].shape[1]
            assert loaded.best_iteration_ == ranker.best_iteration_ < 30
            path.unlink()
    assert {file.name for file in tmp_path.iterdir()} == {"X.npy", "y.npy"}


@both
def test_files_keep_names_and_categories(ranker_class, data, tmp_path):
    X, y, qid = data
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    frame["kind"] = pd.Categorical(np.array(["a", "b", "c"])[np.clip(y.astype(int), 0, 2)])
    ranker = fitted(ranker_class, (frame, y, qid))
    ranker.save_model(tmp_path / "model.json")
    loaded = ranker_class().load_model(tmp_path / "model.json")
    assert list(loaded.feature_names_in_) == list(frame.columns)
    recoded = frame.assign(kind=frame["kind"].cat.reorder_categories(["c", "a", "b"]))
    np.testing.assert_array_equal(loaded.predict(recoded), ranker.predict(frame))
    loaded.save_model(tmp_path / "again.json")
    np.testing.assert_array_equal(
        ranker_class().load_model(tmp_path / "again.json").predict(frame), ranker.predict(frame)
    )


@both
def test_natively_written_models_load(ranker_class, data, tmp_path):
    X, y, _ = data
    path = str(tmp_path / "model.json")
    if ranker_class is br.LightGBMRanker:
        booster = lgb.train({"verbosity": -1, "objective": "binary"}, lgb.Dataset(X, y > 1), 5)
        expected = booster.predict(X, raw_score=True)
    else:
        booster = xgb.train({"objective": "binary:logistic"}, xgb.DMatrix(X, y > 1), 5)
        expected = booster.predict(xgb.DMatrix(X), output_margin=True)
    booster.save_model(path)
    np.testing.assert_allclose(ranker_class().load_model(path).predict(X), expected, rtol=1e-6)


@both
def test_damaged_files_are_refused(ranker_class, data, tmp_path):
    X = data[0]
    ranker = fitted(ranker_class, data)
    before = ranker.predict(X)
    for suffix in SUFFIXES[ranker_class]:
        path = tmp_path / f"model{suffix}"
        ranker.save_model(path)
        whole = path.read_bytes()
        cut = [whole[:length] for length in np.linspace(0, len(whole) - 1, 40).astype(int)]
        places = range(7, len(whole), len(whole) // 40)
        edited = [whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :] for i in places]
        for content in (*cut, *edited, b"\x00garbage", b"tree\n", b"{}", whole + b" 1"):
            path.write_bytes(content)
            with pytest.raises(ValueError, match=rf"model\{suffix}"):
                ranker.load_model(path)
    with pytest.raises(FileNotFoundError):
        ranker.load_model(tmp_path / "absent")
    np.testing.assert_array_equal(ranker.predict(X), before)


@both
def test_foreign_models_are_refused(ranker_class, data, tmp_path):
    X, y, _ = data
    path = tmp_path / "model.json"
    other = br.XGBoostRanker if ranker_class is br.LightGBMRanker else br.LightGBMRanker
    fitted(other, data).save_model(path)
    with pytest.raises(ValueError, match=r"model\.json"):
        ranker_class().load_model(path)
    classes = np.minimum(y, 2)
    if ranker_class is br.LightGBMRanker:
        parameters = {"objective": "multiclass", "num_class": 3, "verbosity": -1}
        lgb.train(parameters, lgb.Dataset(X, classes), 2).save_model(path)
    else:
        parameters = {"objective": "multi:softprob", "num_class": 3}
        xgb.train(parameters, xgb.DMatrix(X, classes), 2).save_model(path)
    with pytest.raises(ValueError, match="no ranker: it gives 3 scores a row"):
        ranker_class().load_model(path)


@both
def test_a_failed_save_keeps_the_file_that_was_there(ranker_class, data, tmp_path, monkeypatch):
    ranker = fitted(ranker_class, data)
    path = tmp_path / "model.json"
    ranker.save_model(path)
    whole = path.read_bytes()

    def full_disk(*_):
        raise OSError("no space left")

    monkeypatch.setattr("os.replace", full_disk)
    with pytest.raises(OSError, match="no space left"):
        ranker.save_model(path)
    assert path.read_bytes() == whole
    assert list(tmp_path.iterdir()) == [path]


@both
def test_shap_values_sum_to_the_scores(ranker_class, data):
    X = data[0]
    for objective in ("softmax", "squared", NATIVE[ranker_class][0]):
        ranker = fitted(ranker_class, data, objective)
        explainer = shap.TreeExplainer(ranker.booster_)
        total = explainer.shap_values(X).sum(axis=1) + explainer.expected_value
        np.testing.assert_allclose(total, ranker.predict(X), atol=1e-5)


@both
def test_treelite_compiles_the_file(ranker_class, data, tmp_path):
    X = data[0]
    load = treelite.frontend.load_lightgbm_model
    for suffix in SUFFIXES[ranker_class]:
        ranker = fitted(ranker_class, data)
        ranker.save_model(tmp_path / f"model{suffix}")
        if ranker_class is br.XGBoostRanker:
            load = treelite.frontend.load_xgboost_model
        scores = treelite.gtil.predict(load(str(tmp_path / f"model{suffix}")), X).ravel()
        np.testing.assert_allclose(scores, ranker.predict(X), atol=1e-5)


@both
def test_onnx(ranker_class, data):
    X, y, qid = data
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    for objective in ("softmax", "logistic", *NATIVE[ranker_class]):
        for features in (X, frame):
            ranker = fitted(ranker_class, (features, y, qid), objective)
            before = ranker.predict(features)
            session = onnxruntime.InferenceSession(ranker.to_onnx().SerializeToString())
            (scores,) = session.run(None, {"X": X})
            np.testing.assert_allclose(scores.ravel(), before, atol=1e-5)
            # Converting changes nothing here.
            np.testing.assert_array_equal(ranker.predict(features), before)
    with pytest.raises(NotFittedError):
        ranker_class().to_onnx()


@both
def test_onnx_without_its_converter_says_what_to_install(ranker_class, data, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxmltools", None)
    with pytest.raises(ImportError, match="pip install onnxmltools"):
        fitted(ranker_class, data).to_onnx()
