"""Results of trainings in a file: what identifies a training, damaged files, and comparisons that go on."""

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
from boostrank.comparison.trainings import TrainingResult, data_hash, read_result, settings_hash, write_result
from boostrank.surrogates import SURROGATES


@pytest.fixture
def rankers():
    return {name: br.LightGBMRanker(name, n_estimators=3, n_jobs=1) for name in ("lambdarank", "softmax")}


@pytest.fixture
def fits(monkeypatch):
    """Names of the classes of the rankers that are trained."""
    seen, train = [], trainings.fit_with_validation

    def remember(ranker, *data):
        seen.append(type(ranker).__name__)
        return train(ranker, *data)

    monkeypatch.setattr(trainings, "fit_with_validation", remember)
    return seen


def import_source(path, source):
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("written_by_a_test", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def _forget_module():
    yield
    sys.modules.pop("written_by_a_test", None)


@pytest.mark.parametrize("kind", [br.LightGBMRanker, br.XGBoostRanker])
def test_settings_of_a_ranker_count_but_not_those_of_speed_and_output(kind):
    plain = settings_hash(kind())
    for changed in ({"n_estimators": 7}, {"gain": "linear"}, {"max_bin": 63}):
        assert settings_hash(kind(**changed)) != plain
    assert settings_hash(kind(n_jobs=3)) == plain
    assert settings_hash(kind(verbosity=2)) == settings_hash(kind(verbosity=-1))
    pipelines = [make_pipeline(StandardScaler(), kind(n_jobs=n)) for n in (1, 2)]
    assert settings_hash(pipelines[0]) == settings_hash(pipelines[1])


def test_losses_pipelines_and_other_estimators_are_told_apart():
    rankers = [br.LightGBMRanker(surrogate) for surrogate in SURROGATES.values()]
    rankers += [br.LightGBMRanker(name) for name in SURROGATES]
    rankers += [br.LightGBMRanker(br.surrogates.Power(a)) for a in (0.25, 0.75)]
    rankers += [br.XGBoostRanker("softmax"), br.BaggedRanker(br.LightGBMRanker("softmax"), random_state=0)]
    rankers += [Ridge(), Ridge(2.0), make_pipeline(StandardScaler(), Ridge()), make_pipeline(Ridge())]
    rankers += [br.LightGBMRanker(gain=np.log1p), br.LightGBMRanker(gain=np.sqrt), br.LightGBMRanker(gain=[0, 1, 3])]
    # Pickled objects that hold functions are told apart by these.
    parts = [functools.partial(np.power, 2), functools.partial(np.power, 3), functools.partial(np.add, 2)]
    rankers += [br.LightGBMRanker(gain=part) for part in parts]
    rankers += [br.LightGBMRanker(random_state=np.random.RandomState(seed)) for seed in (0, 1)]
    assert len({settings_hash(ranker) for ranker in rankers}) == len(rankers)


def test_code_of_a_user_is_identified_by_its_file(tmp_path, monkeypatch):
    source = "from sklearn.linear_model import Ridge\ndef gain(y): return y\nclass Mine(Ridge): pass\n"
    module = import_source(tmp_path / "own.py", source)
    before = settings_hash(br.LightGBMRanker(gain=module.gain)), settings_hash(module.Mine())
    module = import_source(tmp_path / "own.py", source.replace("return y", "return y + 1"))
    after = settings_hash(br.LightGBMRanker(gain=module.gain)), settings_hash(module.Mine())
    assert before[0] != after[0]
    assert before[1] != after[1]
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    monkeypatch.setattr(module.Mine, "__module__", "__main__")
    with pytest.raises(pickle.PicklingError, match="interactive session"):
        settings_hash(module.Mine())


def test_data_are_identified_by_their_content(folds):
    fold = folds[0]
    same = fold._replace(train=br.Dataset(*(part.copy() for part in fold.train)))
    assert data_hash(same) == data_hash(fold)
    hashes = {data_hash(fold), data_hash(fold._replace(validation=None)), data_hash(folds[1])}
    for part in ("train", "validation", "test"):
        for i in range(3):
            arrays = [array.copy() for array in getattr(fold, part)]
            arrays[i].ravel()[-1] += 1
            hashes.add(data_hash(fold._replace(**{part: br.Dataset(*arrays)})))
    assert len(hashes) == 12
    # A sparse matrix and a DataFrame: the same content has the same hash, also after they have been used.
    for make in (sparse.csr_matrix, pd.DataFrame):
        first, second = (fold._replace(train=fold.train._replace(X=make(fold.train.X))) for _ in range(2))
        br.LightGBMRanker(n_estimators=1).fit(*second.train)
        assert data_hash(first) == data_hash(second) != data_hash(fold)
        other = fold.train.X.copy()
        other[0, 0] += 1
        assert data_hash(fold._replace(train=fold.train._replace(X=make(other)))) != data_hash(first)
        assert data_hash(first._replace(train=first.train._replace(y=fold.train.y + 1))) != data_hash(first)
        assert data_hash(first._replace(train=first.train._replace(qid=fold.train.qid + 1))) != data_hash(first)


def n_trainings(folder):
    return len(list(folder.iterdir()))


def test_results_are_read_as_they_were_written(tmp_path):
    path, scores = tmp_path / "a.json", 3 * np.random.default_rng(0).normal(size=9)
    write_result(path, TrainingResult(scores, float("nan"), {"map": [0.1, 0.7]}))
    result = read_result(path)
    np.testing.assert_array_equal(result.scores, scores)
    assert np.isnan(result.rounds)
    assert result.curve == {"map": [0.1, 0.7]}
    path.write_text(path.read_text()[:-9])
    with pytest.raises(ValueError, match=r"json' is damaged: delete it, and its training will be run again"):
        read_result(path)


def test_a_comparison_goes_on_where_it_stopped(folds, rankers, tmp_path, fits, ended):
    folder = tmp_path / "results"
    expected = br.compare(rankers, folds, measures=["ndcg@5"])
    ended.clear()

    def stop(y, scores, qid, per_query=True):
        if len(ended) == 4:
            raise KeyboardInterrupt
        return np.zeros(len(set(qid)))

    with pytest.raises(KeyboardInterrupt):
        br.compare(rankers, folds, measures={"map": "map", "x": stop}, results=folder)
    assert n_trainings(folder) == 4
    fits.clear()
    ended.clear()
    result = br.compare(rankers, folds, measures=["ndcg@5"], results=folder)
    assert len(fits) == 2
    assert [is_saved for *_, is_saved in ended] == [True] * 4 + [False] * 2
    pd.testing.assert_frame_equal(result.per_query, expected.per_query, check_exact=True)
    pd.testing.assert_frame_equal(result.table, expected.table, check_exact=True)
    # All are saved now. Other measures, another baseline and other threads need no training.
    fits.clear()
    for ranker in rankers.values():
        ranker.set_params(n_jobs=2)
    table = br.compare(rankers, folds[::-1], measures=["map"], baseline="softmax", results=folder).table
    assert (fits, list(table["metric"])) == ([], ["map"] * 2)


def test_other_settings_data_and_versions_are_trained(folds, rankers, tmp_path, fits, monkeypatch):
    folder = tmp_path / "results"
    one = {"softmax": rankers["softmax"]}
    br.compare(one, folds, results=folder)

    def count(rankers, folds):
        fits.clear()
        message = r"results has 3 of these trainings with other data, settings or versions: they are not used"
        with pytest.warns(UserWarning, match=message):
            result = br.compare(rankers, folds, results=folder)
        fresh = br.compare(rankers, folds)
        pd.testing.assert_frame_equal(result.table, fresh.table, check_exact=True)
        return len(fits)

    assert count({"softmax": br.LightGBMRanker("softmax", n_estimators=4)}, folds) == 6
    changed = [fold._replace(train=fold.train._replace(y=fold.train.y + 1)) for fold in folds]
    assert count(one, changed) == 6
    monkeypatch.setattr(trainings, "versions", lambda: "lightgbm 0")
    assert count(one, folds) == 6
    monkeypatch.undo()
    # The folder has kept the first ones. Other names are other trainings.
    fits.clear()
    br.compare(one, folds, results=folder)
    assert fits == []
    before = n_trainings(folder)
    br.compare({"other": one["softmax"]}, folds, results=folder)
    assert n_trainings(folder) == before + 3 == 15


class Constant(BaseEstimator):
    """Predicts a function of the first feature."""

    def __init__(self, function=None):
        self.function = function

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.function(X[:, 0])


def test_a_ranker_without_identity_is_trained_every_time(folds, rankers, tmp_path, fits):
    folder = tmp_path / "results"
    for _ in range(2):
        fits.clear()
        br.compare({**rankers, "own": Constant(lambda x: -x)}, folds, results=folder)
    assert fits == ["Constant"] * 3
    assert n_trainings(folder) == 6


def test_invalid_scores_are_not_saved(folds, tmp_path):
    folder = tmp_path / "results"
    faults = {
        np.log: "finite",
        np.unique: r"predict returned 1 scores for \d+ documents",
    }
    constant = [fold._replace(test=fold.test._replace(X=0 * fold.test.X - 1)) for fold in folds]
    for function, message in faults.items():
        with pytest.raises(ValueError, match=message) as caught, np.errstate(invalid="ignore"):
            br.compare({"own": Constant(function)}, constant, results=folder)
        assert caught.value.__notes__ == ["while own was trained on Fold1"]
    assert n_trainings(folder) == 0
