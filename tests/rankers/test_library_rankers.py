"""What code finds that was written for the rankers of the libraries: their parameters as
attributes, and a fitted ranker of their class."""

import copy
import pickle
import shutil

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import boostrank as br

THEIRS = {br.LightGBMRanker: lightgbm.LGBMRanker, br.XGBoostRanker: xgboost.XGBRanker}


def test_parameters_of_the_library_are_attributes_with_its_default(ranker_class):
    ranker = ranker_class()
    theirs = THEIRS[ranker_class]()
    missing = [name for name in theirs.get_params() if not hasattr(ranker, name)]
    assert missing == []
    own = set(ranker.get_params())
    for name, value in theirs.get_params().items():
        if name not in own:
            np.testing.assert_equal(getattr(ranker, name), value)
        assert name in dir(ranker)
    assert not hasattr(ranker, "subsample_frequency")


def test_attributes_of_the_library_change_nothing(ranker_class, data):
    ranker = ranker_class(n_estimators=3, n_jobs=1)
    before = ranker.get_params(), repr(ranker), dict(vars(ranker))
    name = "subsample_freq" if ranker_class is br.LightGBMRanker else "max_delta_step"
    value = getattr(ranker, name)
    for copied in (clone(ranker), copy.copy(ranker), pickle.loads(pickle.dumps(ranker))):
        assert (copied.get_params(), repr(copied), vars(copied)) == before
        assert getattr(copied, name) == value
    assert name not in ranker.get_params()
    for read in ("predict_proba", "transform", "classes_", "_more"):
        assert not hasattr(ranker, read)


def test_a_parameter_that_was_given_is_the_attribute_by_all_its_names():
    assert br.LightGBMRanker(bagging_freq=3).subsample_freq == 3
    assert br.LightGBMRanker(boosting="dart").boosting_type == "dart"
    assert br.LightGBMRanker(subsample_freq=2).subsample_freq == 2
    assert br.XGBoostRanker(verbose=2).verbosity == 2
    ranker = br.XGBoostRanker().set_params(device="cpu")
    assert (ranker.device, br.XGBoostRanker().device) == ("cpu", xgboost.XGBRanker().device)


def test_a_parameter_of_the_ranker_is_never_that_of_the_library():
    class Few(br.LightGBMRanker):
        def __init__(self, learning_rate=0.2):
            super().__init__(learning_rate=learning_rate)

    ranker = Few()
    del ranker.num_leaves
    with pytest.raises(AttributeError, match="num_leaves"):
        ranker.num_leaves  # noqa: B018


# Models that were trained elsewhere


def raw_models(ranker, file_format):
    """The content of a model file, as the library gives it."""
    booster = ranker.booster_
    if file_format == "text":
        return booster.model_to_string().encode()
    return booster.save_raw(file_format)


@pytest.mark.parametrize(
    ("ranker_class", "file_format"),
    [(br.LightGBMRanker, "text"), (br.XGBoostRanker, "json"), (br.XGBoostRanker, "ubj")],
)
def test_a_model_is_loaded_from_bytes(ranker_class, file_format, data, tmp_path):
    X, y, qid = data
    ranker = ranker_class(n_estimators=3, n_jobs=1, query_features="rank").fit(X, y, qid)
    ranker.save_model(tmp_path / "model")
    plain = ranker_class(n_estimators=3, n_jobs=1).fit(X, y, qid)
    content = raw_models(plain, file_format)
    for load in (br.load_model, ranker_class().load_model):
        saved = load((tmp_path / "model").read_bytes())
        np.testing.assert_array_equal(saved.predict(X, qid=qid), ranker.predict(X, qid=qid))
        for given in (bytes(content), bytearray(content)):
            np.testing.assert_array_equal(load(given).predict(X), plain.predict(X))
        with pytest.raises(ValueError, match=r"^the model (in memory )?(cannot|is)"):
            load(bytes(content)[:-40])
    more = ranker_class(n_estimators=2, n_jobs=1).fit(X, y, qid, init_model=bytearray(content))
    assert more.best_iteration_ == plain.best_iteration_ + 2


def test_a_booster_is_set_as_in_the_rankers_of_the_libraries(ranker_class, data, frame):
    X, y, qid = data
    trained = ranker_class(n_estimators=3, n_jobs=1).fit(frame, y, qid)
    ranker = ranker_class()
    assert not hasattr(ranker, "_Booster")
    ranker._Booster = trained.booster_
    if ranker_class is br.LightGBMRanker:
        ranker.fitted_ = True
    np.testing.assert_array_equal(ranker.predict(frame), trained.predict(frame))
    assert ranker._Booster is ranker.booster_ is trained.booster_
    assert ranker.n_features_in_ == X.shape[1]
    copied = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(copied.predict(frame), trained.predict(frame))
    with pytest.raises(TypeError, match="model of"):
        ranker._Booster = "model.txt"


def test_a_booster_that_is_set_takes_the_missing_value_of_the_ranker(data):
    X, y, qid = data
    theirs = xgboost.XGBRanker(n_estimators=3, n_jobs=1, missing=-1.0)
    with_missing = np.where(X > 0, X, -1.0)
    theirs.fit(with_missing, y, qid=qid)
    ours = br.XGBoostRanker(missing=-1.0)
    ours._Booster = theirs.get_booster().copy()
    np.testing.assert_array_equal(ours.predict(with_missing), theirs.predict(with_missing))


# The library's own fitted ranker

NATIVE = {br.LightGBMRanker: "lambdarank", br.XGBoostRanker: "rank:ndcg"}


def squares(labels, scores):
    return scores - labels, np.ones_like(scores)


def of_library(model):
    """The library's own ranker with a model of ours."""
    is_lightgbm = hasattr(model.booster_, "model_to_string")
    return model.to_lightgbm() if is_lightgbm else model.to_xgboost()


@pytest.mark.parametrize("objective", ["softmax", squares, "native"])
@pytest.mark.parametrize("named", [True, False])
def test_the_ranker_of_the_library_predicts_the_same(ranker_class, objective, named, data, frame):
    X, y, qid = data
    features = frame if named else X
    objective = NATIVE[ranker_class] if objective == "native" else objective
    valid = {"eval_set": {"held_out": (features, y, qid)}, "eval_metric": ["ndcg@5", "map"]}
    settings = {"learning_rate": 0.3, "early_stopping_rounds": 3, "n_estimators": 30, "n_jobs": 1}
    ours = ranker_class(objective, **settings, random_state=0).fit(features, y, qid, **valid)
    theirs = of_library(ours)
    assert type(theirs) is THEIRS[ranker_class]
    np.testing.assert_array_equal(ours.predict(features), theirs.predict(features))
    assert np.ptp(theirs.predict(features)) > 0
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-6)
    assert theirs.n_features_in_ == X.shape[1]
    if named:
        assert theirs.feature_names_in_.tolist() == list(frame)
    results = theirs.evals_result_ if ranker_class is br.LightGBMRanker else theirs.evals_result()
    assert results["held_out"] == ours.evals_result_["held_out"]
    if ranker_class is br.LightGBMRanker:
        assert theirs.best_score_ == ours.best_score_
        assert theirs.best_iteration_ == ours.best_iteration_
    for copied in (pickle.loads(pickle.dumps(theirs)), copy.deepcopy(theirs)):
        np.testing.assert_array_equal(copied.predict(features), ours.predict(features))


def test_the_ranker_of_the_library_knows_categories_missing_values_and_added_features(
    ranker_class, data, frame
):
    _, y, qid = data
    mixed = frame.assign(kind=np.where(frame["x0"] > 0, "new", "old"))
    mixed["kind"] = mixed["kind"].astype("category")
    ours = ranker_class(n_estimators=5, n_jobs=1).fit(mixed, y, qid)
    np.testing.assert_array_equal(of_library(ours).predict(mixed), ours.predict(mixed))
    if ranker_class is br.XGBoostRanker:
        ours = br.XGBoostRanker(n_estimators=5, n_jobs=1, missing=-1.0)
        with_missing = frame.where(frame > 0, -1.0)
        ours.fit(with_missing, y, qid)
        np.testing.assert_array_equal(
            of_library(ours).predict(with_missing), ours.predict(with_missing)
        )
    ours = ranker_class(n_estimators=5, n_jobs=1, query_features="rank").fit(frame, y, qid)
    added = ours.query_features_.transform(frame, qid)
    theirs = of_library(ours)
    np.testing.assert_array_equal(theirs.predict(added), ours.predict(frame, qid=qid))
    assert theirs.n_features_in_ == added.shape[1] > frame.shape[1]


def test_bags_have_the_ranker_of_the_library_and_others_are_errors(ranker_class, data):
    X, y, qid = data
    ranker = ranker_class(n_estimators=4, n_jobs=1)
    bag = br.BaggedRanker(ranker, n_estimators=2, random_state=0).fit(X, y, qid)
    np.testing.assert_array_equal(of_library(bag).predict(X), bag.predict(X))
    for unfitted in (ranker, clone(bag)):
        with pytest.raises(NotFittedError):
            unfitted.to_lightgbm()
    is_lightgbm = ranker_class is br.LightGBMRanker
    other, name = ("to_xgboost", "to_lightgbm") if is_lightgbm else ("to_lightgbm", "to_xgboost")
    with pytest.raises(ValueError, match=f"call {name}"):
        getattr(bag, other)()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_tools_that_ask_for_the_class_take_the_ranker_of_the_library(ranker_class, data, frame):
    plots = pytest.importorskip("matplotlib.pyplot")
    pytest.importorskip("graphviz")
    _, y, qid = data
    ours = ranker_class(n_estimators=4, n_jobs=1).fit(frame, y, qid)
    theirs = of_library(ours)
    library = lightgbm if ranker_class is br.LightGBMRanker else xgboost
    labels = [text.get_text() for text in library.plot_importance(theirs).get_yticklabels()]
    assert labels
    assert set(labels) <= set(frame)
    if ranker_class is br.LightGBMRanker:
        source = lightgbm.create_tree_digraph(theirs).source
    else:
        source = xgboost.to_graphviz(theirs).source
    assert any(name in source for name in frame)
    if shutil.which("dot"):
        library.plot_tree(theirs)
    plots.close("all")


def test_shap_explains_the_ranker_of_the_library(ranker_class, data):
    shap = pytest.importorskip("shap")
    X, y, qid = data
    ours = ranker_class(n_estimators=4, n_jobs=1).fit(X, y, qid)
    explainer = shap.TreeExplainer(of_library(ours))
    values = explainer.shap_values(X[:20])
    scores = values.sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(scores, ours.predict(X[:20]), atol=1e-5)
