"""Results of trainings in a folder: what identifies a training, damaged files, and comparisons that
go on."""

import functools
import importlib.util
import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import boostrank as br
from boostrank.comparison import trainings
from boostrank.comparison.trainings import (
    TrainingResult,
    data_hash,
    read_result,
    settings_hash,
    write_result,
)


@pytest.fixture
def rankers():
    return {
        name: br.LightGBMRanker(name, n_estimators=3, n_jobs=1)
        for name in ("lambdarank", "softmax")
    }


def import_source(path, source):
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("written_by_a_test", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_settings_are_told_apart_but_not_those_of_speed_and_output():
    rankers = [
        br.LightGBMRanker(loss)
        for loss in ("softmax", *(br.surrogates.Power(a) for a in (0.25, 0.75)))
    ]
    rankers += [
        br.XGBoostRanker("softmax"),
        br.BaggedRanker(br.LightGBMRanker("softmax"), random_state=0),
    ]
    rankers += [
        Ridge(),
        Ridge(2.0),
        make_pipeline(StandardScaler(), Ridge()),
        make_pipeline(Ridge()),
    ]
    # Pickled objects that hold functions are told apart by these.
    gains = [
        np.log1p,
        np.sqrt,
        [0, 1, 3],
        functools.partial(np.power, 2),
        functools.partial(np.power, 3),
    ]
    rankers += [br.LightGBMRanker(gain=gain) for gain in gains]
    rankers += [br.LightGBMRanker(random_state=np.random.RandomState(seed)) for seed in (0, 1)]
    assert len({settings_hash(ranker) for ranker in rankers}) == len(rankers)
    for kind in (br.LightGBMRanker, br.XGBoostRanker):
        plain, other = kind(n_jobs=1, verbosity=-1), kind(n_jobs=3, verbosity=2)
        assert settings_hash(plain) == settings_hash(other) != settings_hash(kind(max_bin=63))
        pipelines = [make_pipeline(StandardScaler(), kind(n_jobs=n)) for n in (1, 2)]
        assert settings_hash(pipelines[0]) == settings_hash(pipelines[1])


def test_code_of_a_user_is_identified_by_its_file(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "written_by_a_test", None)
    source = (
        "from sklearn.linear_model import Ridge\ndef gain(y): return y\nclass Mine(Ridge): pass\n"
    )
    hashes = []
    for text in (source, source.replace("return y", "return y + 1")):
        module = import_source(tmp_path / "own.py", text)
        hashes += [settings_hash(br.LightGBMRanker(gain=module.gain)), settings_hash(module.Mine())]
    assert len(set(hashes)) == 4
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    monkeypatch.setattr(module.Mine, "__module__", "__main__")
    with pytest.raises(pickle.PicklingError, match="interactive session"):
        settings_hash(module.Mine())


def test_data_are_identified_by_their_content(folds):
    fold = folds[0]
    same = fold._replace(train=br.Dataset(*(array.copy() for array in fold.train)))
    assert data_hash(same) == data_hash(fold)
    hashes = {data_hash(fold), data_hash(fold._replace(validation=None)), data_hash(folds[1])}
    for name in ("train", "validation", "test"):
        for i in range(3):
            arrays = [array.copy() for array in getattr(fold, name)]
            arrays[i].ravel()[-1] += 1
            hashes.add(data_hash(fold._replace(**{name: br.Dataset(*arrays)})))
    assert len(hashes) == 12
    # A sparse matrix and a DataFrame: the same content has the same hash, also after they have been
    # used.
    for make in (sparse.csr_matrix, pd.DataFrame):
        first, second = (
            fold._replace(train=fold.train._replace(X=make(fold.train.X))) for _ in range(2)
        )
        br.LightGBMRanker(n_estimators=1).fit(*second.train)
        assert data_hash(first) == data_hash(second) != data_hash(fold)
        other = fold.train.X.copy()
        other[0, 0] += 1
        assert data_hash(fold._replace(train=fold.train._replace(X=make(other)))) != data_hash(
            first
        )


def test_results_are_read_as_they_were_written(tmp_path):
    path, scores = tmp_path / "a.json", 3 * np.random.default_rng(0).normal(size=9)
    write_result(path, TrainingResult(scores, float("nan"), 0.5))
    read, *others = read_result(path)
    np.testing.assert_array_equal(read, scores)
    np.testing.assert_equal(others, [float("nan"), 0.5])


def test_a_comparison_goes_on_where_it_stopped(folds, rankers, tmp_path, ended):
    folder = tmp_path / "results"
    expected = br.compare(rankers, folds, measures=["ndcg@5"])
    ended.clear()

    def stop(y, scores, qid, per_query=True):
        if len(ended) == 4:
            raise KeyboardInterrupt
        return np.zeros(len(set(qid)))

    with pytest.raises(KeyboardInterrupt):
        br.compare(rankers, folds, measures={"map": "map", "x": stop}, results=folder)
    assert len(list(folder.iterdir())) == 4
    ended.clear()
    result = br.compare(rankers, folds, measures=["ndcg@5"], results=folder)
    assert [is_saved for *_, is_saved in ended] == [True] * 4 + [False] * 2
    pd.testing.assert_frame_equal(result.per_query, expected.per_query, check_exact=True)
    pd.testing.assert_frame_equal(result.table, expected.table, check_exact=True)
    # All are saved now. Other measures, another baseline and other threads need no training.
    ended.clear()
    for ranker in rankers.values():
        ranker.set_params(n_jobs=2)
    table = br.compare(
        rankers, folds[::-1], measures=["map"], baseline="softmax", results=folder
    ).table
    assert all(is_saved for *_, is_saved in ended)
    assert list(table["metric"]) == ["map"] * 2


def test_other_settings_data_and_versions_are_trained(folds, rankers, tmp_path, ended, monkeypatch):
    folder, softmax = tmp_path / "results", {"softmax": rankers["softmax"]}
    br.compare(softmax, folds, results=folder)
    changed = [fold._replace(train=fold.train._replace(y=fold.train.y + 1)) for fold in folds]
    more = {"softmax": br.LightGBMRanker("softmax", n_estimators=4)}
    for number, (compared, data) in enumerate(
        [(more, folds), (softmax, changed), (softmax, folds)]
    ):
        if number == 2:
            monkeypatch.setattr(trainings, "versions", lambda: "lightgbm 0")
        ended.clear()
        result = br.compare(compared, data, results=folder)
        assert not any(is_saved for *_, is_saved in ended)
        pd.testing.assert_frame_equal(
            result.table, br.compare(compared, data).table, check_exact=True
        )
    # The folder has kept the first ones. Other names are other trainings.
    monkeypatch.undo()
    assert len(list(folder.iterdir())) == 12
    br.compare({"other": softmax["softmax"]}, folds, results=folder)
    assert len(list(folder.iterdir())) == 15


class Constant(BaseEstimator):
    """Predicts a function of the first feature."""

    def __init__(self, function=None):
        self.function = function

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.function(X[:, 0])


def test_a_ranker_without_identity_is_trained_every_time(folds, rankers, tmp_path, ended):
    for _ in range(2):
        ended.clear()
        br.compare({**rankers, "own": Constant(lambda x: -x)}, folds, results=tmp_path / "results")
    assert [name for name, *_, is_saved in ended if not is_saved] == ["own"] * 3


def test_invalid_scores_are_not_saved(folds, tmp_path):
    constant = [fold._replace(test=fold.test._replace(X=0 * fold.test.X - 1)) for fold in folds]
    with pytest.raises(ValueError, match="finite") as caught, np.errstate(invalid="ignore"):
        br.compare({"own": Constant(np.log)}, constant, results=tmp_path / "results")
    assert caught.value.__notes__ == ["while own was trained on Fold1"]
    assert list((tmp_path / "results").iterdir()) == []
