"""`save_model`, `load_model`, pickles and `to_onnx`: each keeps the whole model."""

import io
import itertools
import json
import pickle
import sys

import joblib
import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from rankers.small_rankers import small
from sklearn.base import clone

import boostrank as br
from boostrank.surrogates import Power

cloudpickle = pytest.importorskip("cloudpickle")
onnxruntime = pytest.importorskip("onnxruntime")

SUFFIXES = {br.LightGBMRanker: [".txt"], br.XGBoostRanker: [".json", ".ubj"]}
NATIVE = {
    br.LightGBMRanker: ["lambdarank", "rank_xendcg"],
    br.XGBoostRanker: ["rank:ndcg", "rank:pairwise"],
}
FILES = [
    (ranker_class, suffix) for ranker_class, suffixes in SUFFIXES.items() for suffix in suffixes
]
by_file = pytest.mark.parametrize(("ranker_class", "suffix"), FILES)


@pytest.mark.parametrize(
    "library", [pickle, cloudpickle, joblib], ids=lambda library: library.__name__
)
def test_pickles_are_the_ranker_without_its_data(ranker_class, library, data):
    X, y, qid = data
    secret = X, y, np.array([f"secret {i}" for i in qid])
    settings = {"k": 5, "n_estimators": 10, "early_stopping_rounds": 3, "validation_fraction": 0.3}
    ranker = ranker_class(br.surrogates.Cosine(epsilon=2.0), **settings).fit(*secret)
    buffer = io.BytesIO()
    library.dump(ranker, buffer)
    assert b"secret" not in buffer.getvalue()
    buffer.seek(0)
    again = library.load(buffer)
    np.testing.assert_array_equal(again.predict(X), ranker.predict(X))
    assert again.get_params() == ranker.get_params()
    assert (again.evals_result_, again.best_iteration_) == (
        ranker.evals_result_,
        ranker.best_iteration_,
    )
    assert again.score(*secret) == ranker.score(*secret)
    again.fit(*secret)


def test_pickles_of_bags_are_as_large_as_model_files(ranker_class, data, tmp_path):
    bag = br.BaggedRanker(
        ranker_class(n_estimators=100, n_jobs=1), n_estimators=2, random_state=0
    ).fit(*data)
    bag.save_model(tmp_path / "model")
    stored = pickle.dumps(bag)
    assert len(stored) < 1.2 * (tmp_path / "model").stat().st_size
    again = pickle.loads(stored)
    for model, expected in zip([again, *again.estimators_], [bag, *bag.estimators_], strict=True):
        np.testing.assert_array_equal(model.predict(data[0]), expected.predict(data[0]))


def native_scores(path, X):
    """Predictions of the library that wrote the file."""
    if path.suffix == ".txt":
        return lgb.Booster(model_file=str(path)).predict(X)
    return xgb.Booster(model_file=str(path)).predict(xgb.DMatrix(X))


@by_file
def test_saved_models_open_without_boostrank(
    ranker_class, suffix, fitted, data, tmp_path, monkeypatch
):
    X, path = data[0], tmp_path / f"model{suffix}"
    for objective in ("softmax", *NATIVE[ranker_class]):
        ranker = fitted(ranker_class, objective)
        ranker.save_model(path)
        with monkeypatch.context() as context:
            for name in [name for name in sys.modules if name.split(".")[0] == "boostrank"]:
                context.setitem(sys.modules, name, None)
            scores = native_scores(path, X)
        np.testing.assert_allclose(scores, ranker.predict(X), rtol=1e-6)
        loaded = br.load_model(path)
        assert type(loaded) is ranker_class
        np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
        assert loaded.n_features_in_ == X.shape[1]
        assert loaded.best_iteration_ == ranker.best_iteration_ < 30
        path.unlink()
    assert list(tmp_path.iterdir()) == []


@by_file
def test_files_keep_the_categories_of_several_columns(ranker_class, suffix, data, frame, tmp_path):
    _, y, qid = data
    grades, path = np.clip(y.astype(int), 0, 3), tmp_path / f"model{suffix}"
    names = ["utf-8''50%", "unused", "日本", "é", "%C3%A9"]
    # XGBoost stores the sequence of the categories of each column, which is not that of their
    # names.
    frame = frame.assign(
        kind=pd.Categorical.from_codes(np.array([3, 0, 4, 2])[grades], names),
        number=pd.Categorical(
            np.array([7, 3, 5])[(grades + np.arange(len(y)) % 2) % 3], categories=[5, 7, 3]
        ),
    )
    ranker = ranker_class("softmax", n_estimators=5, n_jobs=1, min_child_weight=1)
    plain = frame.assign(kind=frame["kind"].cat.rename_categories(list("abcde")))
    expected = clone(ranker).fit(plain, y, qid).predict(plain)
    loaded = ranker.fit(frame, y, qid)
    reordered = frame.assign(kind=frame["kind"].cat.reorder_categories(names[::-1]))
    for _ in range(2):
        loaded.save_model(path)
        loaded = ranker_class().load_model(path)
        assert list(loaded.feature_names_in_) == list(frame.columns)
        for model, features in itertools.product((ranker, loaded), (frame, reordered)):
            np.testing.assert_array_equal(model.predict(features), expected)


@by_file
def test_damaged_files_are_refused(ranker_class, suffix, data, tmp_path):
    ranker = ranker_class("softmax", n_estimators=3, n_jobs=1).fit(*data)
    before, path = ranker.predict(data[0]), tmp_path / f"model{suffix}"
    ranker.save_model(path)
    whole = path.read_bytes()
    cut = [whole[:length] for length in np.linspace(0, len(whole) - 1, 15).astype(int)]
    edited = [
        whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :]
        for i in range(7, len(whole), len(whole) // 15)
    ]
    for content in (*cut, *edited, b"\x00garbage", b"tree\n", b"{}", whole + b" 1"):
        path.write_bytes(content)
        for load in (ranker.load_model, br.load_model):
            with pytest.raises(ValueError, match=rf"model\{suffix}"):
                load(path)
    for load in (ranker.load_model, br.load_model):
        with pytest.raises(FileNotFoundError):
            load(tmp_path / "absent")
    np.testing.assert_array_equal(ranker.predict(data[0]), before)


def test_models_of_another_library_and_of_several_classes_are_refused(
    ranker_class, fitted, data, tmp_path
):
    path, parameters = tmp_path / "model.json", {"num_class": 3, "verbosity": 0}
    fitted(br.XGBoostRanker if ranker_class is br.LightGBMRanker else br.LightGBMRanker).save_model(
        path
    )
    with pytest.raises(ValueError, match=r"model\.json"):
        ranker_class().load_model(path)
    X, classes = data[0], np.minimum(data[1], 2)
    if ranker_class is br.LightGBMRanker:
        lgb.train({**parameters, "objective": "multiclass"}, lgb.Dataset(X, classes), 2).save_model(
            path
        )
    else:
        xgb.train(
            {**parameters, "objective": "multi:softprob"}, xgb.DMatrix(X, classes), 2
        ).save_model(path)
    with pytest.raises(ValueError, match="no ranker: it gives 3 scores a row"):
        ranker_class().load_model(path)


def test_a_failed_save_keeps_the_file_that_was_there(ranker_class, fitted, tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    fitted(ranker_class).save_model(path)
    whole = path.read_bytes()

    def full_disk(*_):
        raise OSError("no space left")

    monkeypatch.setattr("os.replace", full_disk)
    with pytest.raises(OSError, match="no space left"):
        fitted(ranker_class, NATIVE[ranker_class][0]).save_model(path)
    assert path.read_bytes() == whole
    assert list(tmp_path.iterdir()) == [path]


# ONNX


@pytest.mark.parametrize(
    ("objective", "named"),
    [("softmax", False), ("softmax", True), ("logistic", False), (None, False)],
)
def test_scores_are_those_of_the_ranker(
    ranker_class, lambdamart, objective, named, fitted, data, frame
):
    ranker, X = fitted(ranker_class, objective or lambdamart, named), frame if named else data[0]
    before = ranker.predict(X)
    session = onnxruntime.InferenceSession(ranker.to_onnx().SerializeToString())
    (scores,) = session.run(None, {"X": data[0].astype(np.float32)})
    np.testing.assert_allclose(scores.ravel(), before, atol=1e-5)
    # The conversion does not change the ranker.
    np.testing.assert_array_equal(ranker.predict(X), before)


def test_a_missing_converter_is_an_error_that_says_what_to_install(
    ranker_class, fitted, monkeypatch
):
    monkeypatch.setitem(sys.modules, "onnxmltools", None)
    with pytest.raises(ImportError, match="pip install onnxmltools"):
        fitted(ranker_class).to_onnx()


@pytest.mark.parametrize(
    ("ranker_class", "native", "message"),
    [
        (br.LightGBMRanker, {"linear_tree": True}, "linear_tree"),
        (
            br.XGBoostRanker,
            {"booster": "dart", "rate_drop": 0.5},
            "booster='gbtree'.*booster='dart'",
        ),
        (br.XGBoostRanker, {"missing": -1}, "takes -1 as a missing value"),
    ],
)
def test_models_of_which_a_part_would_be_lost_are_errors(ranker_class, native, message, data):
    ranker = ranker_class("softmax", n_estimators=2, n_jobs=1, **native).fit(*data)
    with pytest.raises(ValueError, match=message):
        ranker.to_onnx()


@pytest.mark.parametrize("kind", ["array", "frame", "lists", "loss", "bag"])
def test_trusted_types_are_those_of_a_stored_ranker(ranker_class, data, frame, kind):
    """skops asks for trust in the types that a pickle names, except those of scikit-learn, NumPy
    and Python."""
    X, y, qid = (
        frame.assign(kind=pd.Categorical(np.where(data[1] > 1, "a", "b")))
        if kind in ("frame", "bag")
        else data[0],
        *data[1:],
    )
    ranker = small(ranker_class, Power(1) if kind == "loss" else "softmax")
    ranker.set_params(query_features="rank" if kind == "lists" else None)
    ranker = br.BaggedRanker(ranker, n_estimators=2, random_state=0) if kind == "bag" else ranker

    found = set()

    class Unpickler(pickle.Unpickler):
        def find_class(self, module, name):
            value = super().find_class(module, name)
            if isinstance(value, type) and module.partition(".")[0] in (
                "boostrank",
                "lightgbm",
                "xgboost",
            ):
                found.add(f"{module}.{name}")
            return value

    loaded = Unpickler(io.BytesIO(pickle.dumps(ranker.fit(X, y, qid)))).load()
    np.testing.assert_array_equal(loaded.predict(X, qid=qid), ranker.predict(X, qid=qid))
    others = {"boostrank.surrogates.power_family.Power"} if kind == "loss" else set()
    assert found - others <= set(br.serving.TRUSTED_TYPES)
    assert len(found - others) >= (1 if kind in ("array", "loss") else 2)


@pytest.mark.parametrize("ranker_class", [br.LightGBMRanker, br.XGBoostRanker])
def test_load_model_is_a_method_of_the_class_too(ranker_class, tmp_path, data):
    X = data[0]
    path = tmp_path / "model.json"
    ranker = ranker_class(n_estimators=3).fit(*data)
    ranker.save_model(path)

    class Mine(ranker_class):
        pass

    for make in (ranker_class, Mine):
        loaded = make.load_model(path)
        assert type(loaded) is make
        assert (loaded.predict(X) == ranker.predict(X)).all()
    again = ranker_class(n_estimators=7)
    # As a subclass calls the method of its base class.
    assert ranker_class.load_model(again, path) is again
    assert again.load_model(path=path) is again
    assert ranker_class.load_model(path=path).best_iteration_ == 3
    assert again.n_estimators == 7
    with pytest.raises(TypeError, match=r"BaggedRanker\(\.\.\.\)\.load_model"):
        br.BaggedRanker.load_model(path)


@by_file
@pytest.mark.parametrize("make", ["ranker", "lists", "bag", "calibrated"])
def test_files_know_the_columns_of_ids(ranker_class, suffix, make, data, frame, tmp_path):
    _, y, qid = data
    path = tmp_path / f"model{suffix}"
    names = {"qid": ["week=1", "Größe"], "groups": "user"}
    frame = frame.assign(**{"week=1": qid, "Größe": 1, "user": qid // 2})
    features = ["standardize"] if make == "lists" else None
    ranker = ranker_class(n_estimators=3, query_features=features)
    if make == "bag":
        ranker = br.BaggedRanker(ranker, n_estimators=2)
    if make == "calibrated":
        ranker = br.CalibratedRanker(ranker, ensemble=False)
    ranker.fit(frame, y, **names)
    ranker.save_model(path)
    models = [br.load_model(path)]
    if make == "calibrated":
        models = [br.CalibratedRanker.load_model(path)]
        loaded = br.load_model(path)
        assert loaded.predict(frame).argsort().tolist() == ranker.predict(frame).argsort().tolist()
    # A loaded model is saved as it was, and so is a second copy.
    models[0].save_model(path)
    models.append(type(models[0]).load_model(path))
    for model in models:
        np.testing.assert_array_equal(model.predict(frame), ranker.predict(frame))
        assert model.score(frame, y) == ranker.score(frame, y)


def test_edited_names_of_ids_are_an_error(data, frame, tmp_path):
    path = tmp_path / "model.txt"
    frame = frame.assign(query=data[2])
    br.LightGBMRanker(n_estimators=1).fit(frame, data[1], qid="query").save_model(path)
    text = path.read_text()
    start = text.index("boostrank_sha256")
    text = text[:start] + text[text.index("\n", start) + 1 :]
    path.write_text(text.replace('"query"', '"query'))
    with pytest.raises(
        ValueError, match=r"model\.txt.*columns of query ids in the file were edited"
    ):
        br.load_model(path)


def test_a_loaded_model_of_xgboost_predicts_with_the_threads_of_its_ranker(tmp_path, data):
    br.XGBoostRanker(n_estimators=2).fit(*data).save_model(tmp_path / "model.json")
    for n_jobs in (None, 3):
        ranker = br.XGBoostRanker(n_jobs=n_jobs).load_model(tmp_path / "model.json")
        settings = json.loads(ranker.booster_.save_config())["learner"]["generic_param"]
        assert int(settings["nthread"]) == (n_jobs or 0)
