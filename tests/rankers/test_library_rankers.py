"""What code finds that was written for the rankers of the libraries: their parameters as
attributes, and a fitted ranker of their class."""

import copy
import pickle

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.base import clone

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
