"""Rankers with `query_features`: they equal rankers on features that `QueryFeatures` has added, and need the lists."""

import pickle

import numpy as np
import pandas as pd
import pytest
from rankers.small_rankers import small
from scipy import sparse as sp
from sklearn.base import clone

import boostrank as br
from boostrank.inputs import streams
from boostrank.rankers.explanations import explain

KINDS = ["standardize", "rank"]
STOPPING = {"n_estimators": 30, "early_stopping_rounds": 3, "learning_rate": 0.3}
SETTINGS = {
    "plain": {},
    "native": {"objective": "native"},
    "held out": {**STOPPING, "validation_fraction": 0.3},
    "eval_set": STOPPING,
}


@pytest.fixture(scope="module")
def shuffled(data):
    """Rows in a random sequence; their lists differ in length by less than that rankers warn of."""
    rows = np.random.default_rng(0).permutation(len(data[1]))
    return [values[rows] for values in data]


@pytest.fixture(scope="module")
def expanded(shuffled):
    return br.QueryFeatures().fit_transform(shuffled[0], qid=shuffled[2])


@pytest.fixture
def ranker(ranker_class, shuffled):
    return small(ranker_class, query_features=KINDS).fit(*shuffled)


def require_equal(ranker, X, other, F, qid):
    scores = ranker.predict(X, qid=qid)
    assert len(np.unique(scores)) > 20
    np.testing.assert_array_equal(scores, other.predict(F))
    assert ranker.evals_result_ == other.evals_result_


@pytest.mark.parametrize("block_rows", [2**22, 7])
@pytest.mark.parametrize("name", SETTINGS)
def test_the_model_is_that_of_expanded_features(ranker_class, shuffled, expanded, name, block_rows, monkeypatch):
    X, y, qid = shuffled
    settings, sets = dict(SETTINGS[name]), [None, None]
    if name == "native":
        settings["objective"] = "lambdarank" if ranker_class is br.LightGBMRanker else "rank:ndcg"
    if name == "eval_set":
        X_new, y_new, qid_new = br.make_ranking(n_queries=20, random_state=7)
        added = br.QueryFeatures().fit(X, qid=qid).transform(X_new, qid_new)
        sets = [[(values, y_new, qid_new), (of_rows, y, qid)] for values, of_rows in ((X_new, X), (added, expanded))]
    other = small(ranker_class, **settings).fit(expanded, y, qid, eval_set=sets[1])
    monkeypatch.setattr(streams, "BLOCK_ELEMENTS", block_rows * expanded.shape[1])
    ranker = small(ranker_class, query_features=KINDS, **settings).fit(X, y, qid, eval_set=sets[0])
    require_equal(ranker, X, other, expanded, qid)
    np.testing.assert_array_equal(ranker.feature_importances_, other.feature_importances_)
    for method in ("apply", lambda model, X, **lists: model.predict(X, pred_contrib=True, **lists)):
        call = method if callable(method) else getattr(ranker_class, method)
        np.testing.assert_array_equal(call(ranker, X, qid=qid), call(other, expanded))
    stages = zip(ranker.staged_predict(X, qid=qid), other.staged_predict(expanded), strict=True)
    assert all(np.array_equal(ours, expected) for ours, expected in stages)
    assert ranker.score(X, y, qid) == other.score(expanded, y, qid) == br.make_scorer("ndcg")(ranker, X, y, qid)
    more, continued = (
        small(ranker_class, **settings, query_features=kinds).fit(values, y, qid, eval_set=given, init_model=model)
        for kinds, values, given, model in ((KINDS, X, sets[0], ranker), (None, expanded, sets[1], other))
    )
    require_equal(more, X, continued, expanded, qid)


def test_sparse_features_and_frames(ranker_class, shuffled):
    X, y, qid = shuffled
    matrix, frame = sp.csr_array(np.where(X > 0, X, 0)), pd.DataFrame(X).add_prefix("f")
    frame["kind"] = pd.Categorical(np.where(X[:, 0] > 0, "high", "low"))
    for values, transformer in ((matrix, br.QueryFeatures(columns=[3, 0])), (frame, br.QueryFeatures("rank"))):
        ranker = small(ranker_class, query_features=transformer).fit(values, y, qid)
        assert not hasattr(transformer, "features_")
        added = clone(transformer).fit_transform(values, qid=qid)
        require_equal(ranker, values, small(ranker_class).fit(added, y, qid), added, qid)
    assert list(ranker.get_feature_importances().index.sort_values()) == sorted(added.columns)


def test_lists_are_those_of_any_argument_and_may_be_alone(ranker, shuffled):
    X, y, qid = shuffled
    scores, frame = ranker.predict(X, qid=qid), pd.DataFrame(X).add_prefix("f").assign(session=qid)
    rows = np.argsort(qid, kind="stable")
    np.testing.assert_array_equal(ranker.predict(X[rows], qid=qid[rows]), scores[rows])
    np.testing.assert_array_equal(ranker.predict(X[rows], group=np.bincount(qid)), scores[rows])
    for query in (3, 11):
        for ids in (0, np.int64(5), "a" * (qid == query).sum()):
            ids = list(ids) if isinstance(ids, str) else ids
            np.testing.assert_array_equal(ranker.predict(X[qid == query], qid=ids), scores[qid == query])
    for column, other in (("session", "qid"), ("qid", "session")):
        named = frame.rename(columns={"session": column})
        model = clone(ranker).fit(named, y, column)
        for values, lists in (
            (named, {}),
            (named, {"qid": column}),
            (frame.rename(columns={"session": other}), {"qid": other}),
            (frame.drop(columns="session"), {"qid": qid.astype(str)}),
        ):
            np.testing.assert_array_equal(model.predict(values, **lists), scores)
    np.testing.assert_array_equal(model.predict(named.set_index("qid")), scores)
    message = "has query_features, which are relative to the list of a query: give qid= or group="
    for call in (ranker.predict, ranker.staged_predict, ranker.apply):
        with pytest.raises(ValueError, match=message):
            call(X)
    with pytest.raises(ValueError, match=r"qid has \d+ values for the \d+ rows of X"):
        ranker.predict(X, qid=qid[1:])


def test_members_of_a_bag_have_the_features_of_the_bag(ranker_class, shuffled, expanded, tmp_path):
    X, y, qid = shuffled
    bags = [
        br.BaggedRanker(small(ranker_class, query_features=kinds), 3, random_state=0).fit(values, y, qid)
        for kinds, values in ((KINDS, X), (None, expanded))
    ]
    require_equal(bags[0], X, bags[1], expanded, qid)
    np.testing.assert_array_equal(bags[0].oob_scores_, bags[1].oob_scores_)
    for member, other in zip(*(bag.estimators_ for bag in bags), strict=True):
        require_equal(member, X, other, expanded, qid)
    bags[0].save_model(tmp_path / "m.json")
    loaded = br.BaggedRanker(ranker_class()).load_model(tmp_path / "m.json")
    np.testing.assert_array_equal(loaded.predict(X, qid=qid), bags[0].predict(X, qid=qid))


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_files_keep_the_features(ranker_class, shuffled, kind, tmp_path, monkeypatch):
    X, y, qid = shuffled
    if kind == "frame":
        X = pd.DataFrame(X).add_prefix("f[").assign(kind=pd.Categorical(np.where(X[:, 0] > 0, "high", "low")))
    ranker, path, again = (
        small(ranker_class, query_features=KINDS).fit(X, y, qid),
        tmp_path / "m.json",
        tmp_path / "n.json",
    )
    ranker.save_model(path)
    loaded = ranker_class().load_model(path)
    loaded.save_model(again)
    assert again.read_bytes() == path.read_bytes()
    for same in (loaded, pickle.loads(pickle.dumps(ranker))):
        np.testing.assert_array_equal(same.predict(X, qid=qid), ranker.predict(X, qid=qid))
        assert same.query_features_.features_ == ranker.query_features_.features_
        assert hasattr(same, "feature_names_in_") == (kind == "frame")
        pd.testing.assert_series_equal(same.get_feature_importances(), ranker.get_feature_importances())
    scores, note = loaded.predict(X, qid=qid), loaded.query_features_.note()
    n = X.shape[1]
    for wrong in (
        "{}",
        "[",
        "3",
        note.replace('"rank"', '"gap"'),
        note.replace(f'_columns": {n}', f'_columns": {n + 1}'),
    ):
        monkeypatch.setattr(br.QueryFeatures, "note", lambda self, text=wrong: text)
        ranker.save_model(path)
        with pytest.raises(ValueError, match="the model file has query features that do not fit its model"):
            loaded.load_model(path)
    np.testing.assert_array_equal(loaded.predict(X, qid=qid), scores)


def test_explanations_have_the_added_features(ranker, shuffled):
    X, _, qid = shuffled
    scores, found = ranker.predict(X, qid=qid), explain(ranker, X, qid, query=3)
    first, second = scores[list(found.rows)]
    assert found.difference == pytest.approx(first - second, abs=1e-5)
    added = ranker.query_features_.transform(X, qid)
    table = found.table.set_index("feature").loc[ranker.query_features_.get_feature_names_out()]
    np.testing.assert_array_equal(table[["value_a", "value_b"]].T, added[list(found.rows)])


def test_parameters_of_the_transformer_are_set_by_the_ranker(ranker_class):
    ranker = ranker_class(query_features=br.QueryFeatures("rank"))
    changed = clone(br.BaggedRanker(ranker)).set_params(ranker__query_features__columns=[1]).ranker
    assert changed.get_params() == {
        **ranker.get_params(),
        **changed.get_params(deep=False),
        "query_features__columns": [1],
    }
    assert (changed.query_features.kind, ranker.query_features.columns) == ("rank", None)


def test_settings_that_do_not_fit_are_errors(ranker_class, ranker, shuffled, tmp_path):
    X, y, qid = shuffled
    name, values = ("zero_as_missing", [True]) if ranker_class is br.LightGBMRanker else ("missing", [-1, 0, 0.0])
    for value in values:
        with pytest.raises(ValueError, match=rf"query_features take only NaN for a missing value, so that {name}="):
            ranker_class(query_features="rank", **{name: value}).fit(X, y, qid)
    small(ranker_class, query_features="rank", **{name: np.nan if name == "missing" else False}).fit(X, y, qid)
    with pytest.raises(
        ValueError, match="query_features cannot be exported to vespa: its features are relative to all"
    ):
        ranker.export(tmp_path / "m.json", "vespa")
    with pytest.raises(ValueError, match="init_model was trained on 30 features"):
        small(ranker_class, query_features="rank").fit(X, y, qid, init_model=ranker)
    with pytest.raises(ValueError, match="each kind of query features must be one of"):
        ranker_class(query_features=True).fit(X, y, qid)


def test_lists_unlike_those_of_the_training_are_warned_of(ranker, shuffled, tmp_path):
    X, _, qid = shuffled
    ranker.save_model(tmp_path / "m.json")
    few = pd.Series(qid).groupby(qid).cumcount().to_numpy() < 3
    for model in (ranker, type(ranker)().load_model(tmp_path / "m.json")):
        with pytest.warns(UserWarning, match=r"a list to score has 3 documents \(the median\), and 90% of those"):
            model.predict(X[few], qid=qid[few])
        with pytest.warns(UserWarning, match="a list to score has 777 documents"):
            model.predict(X, qid=0)
        with pytest.warns(UserWarning, match=r"10 of 10 columns, such as 'x0', have a standard deviation within lists"):
            model.predict(X * 3, qid=qid)
