"""Rankers with `query_features`: they equal rankers on features that `QueryFeatures` has added, and
need the lists."""

import pickle
import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
import pytest
from rankers.small_rankers import small
from scipy import sparse as sp
from sklearn.base import clone

import boostrank as br
from boostrank.inputs import streams
from boostrank.rankers.explanations import explain
from boostrank.training import query_feature_stream

KINDS = ["standardize", "rank"]
STOPPING = {"n_estimators": 30, "early_stopping_rounds": 3, "learning_rate": 0.3}
SETTINGS = {
    # XGBoost draws other features when a model with one of its objectives is trained further.
    "native": {"colsample_bytree": 1.0, "colsample_bynode": 1.0},
    "held out": {**STOPPING, "validation_fraction": 0.3},
    "eval_set": STOPPING,
}


@pytest.fixture(scope="module")
def shuffled(data):
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


def of_equal_trees(ranker_class, **settings):
    """A small ranker whose trees draw features by shares of all, whether it adds features or
    not."""
    return small(ranker_class, **{"colsample_bytree": 0.7, "colsample_bynode": 0.8, **settings})


@pytest.mark.parametrize("block_rows", [2**22, 7])
@pytest.mark.parametrize("name", SETTINGS)
def test_the_model_is_that_of_expanded_features(
    ranker_class, lambdamart, shuffled, expanded, name, block_rows, monkeypatch
):
    X, y, qid = shuffled
    settings, sets = (
        {"objective": lambdamart if name == "native" else "softmax", **SETTINGS[name]},
        [None, None],
    )
    if name == "native" and ranker_class is br.LightGBMRanker:
        settings["extra_trees"] = True
    if name == "eval_set":
        X_new, *new = br.make_ranking(n_queries=20, random_state=7)
        added = br.QueryFeatures().fit(X, qid=qid).transform(X_new, new[1])
        sets = [
            [(values, *new), (of_rows, y, qid)]
            for values, of_rows in ((X_new, X), (added, expanded))
        ]
    other = of_equal_trees(ranker_class, **settings).fit(expanded, y, qid, eval_set=sets[1])
    monkeypatch.setattr(streams, "BLOCK_ELEMENTS", block_rows * expanded.shape[1])
    ranker = of_equal_trees(ranker_class, query_features=KINDS, **settings).fit(
        X, y, qid, eval_set=sets[0]
    )
    require_equal(ranker, X, other, expanded, qid)
    np.testing.assert_array_equal(ranker.feature_importances_, other.feature_importances_)
    np.testing.assert_array_equal(ranker.apply(X, qid=qid), other.apply(expanded))
    contributions = ranker.predict(X, qid=qid, pred_contrib=True)
    np.testing.assert_array_equal(contributions, other.predict(expanded, pred_contrib=True))
    stages = zip(ranker.staged_predict(X, qid=qid), other.staged_predict(expanded), strict=True)
    assert all(np.array_equal(ours, expected) for ours, expected in stages)
    assert (
        ranker.score(X, y, qid)
        == other.score(expanded, y, qid)
        == br.make_scorer("ndcg")(ranker, X, y, qid)
    )
    before = pickle.loads(pickle.dumps(ranker))
    ranker.fit(X, y, qid, eval_set=sets[0], init_model=before)
    require_equal(
        ranker, X, other.fit(expanded, y, qid, eval_set=sets[1], init_model=other), expanded, qid
    )


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
def test_features_are_never_in_memory_a_second_time(ranker_class, kind, monkeypatch):
    values, qid = (
        np.random.default_rng(0).random((20_000, 100), np.float32),
        np.arange(20_000) // 10,
    )
    X, y, ranker = (
        kind(values),
        values[:, 0].round(),
        small(ranker_class, query_features=br.QueryFeatures(columns=[*range(100)])),
    )
    ranker.fit(X[:500], y[:500], qid[:500])
    for module, name, value in (
        (query_feature_stream, "BLOCK_ROWS", 500),
        (streams, "BLOCK_ELEMENTS", 150_000),
    ):
        monkeypatch.setattr(module, name, value)
    tracemalloc.start()
    ranker.fit(X, y, qid, eval_set=[(X, y, qid)]).predict(X, qid=qid)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < values.nbytes


def test_lists_are_those_of_any_argument_and_may_be_alone(ranker, shuffled):
    X, y, qid = shuffled
    scores, rows, few = ranker.predict(X, qid=qid), np.argsort(qid, kind="stable"), qid == 11
    np.testing.assert_array_equal(ranker.predict(X[rows], qid=qid[rows]), scores[rows])
    np.testing.assert_array_equal(ranker.predict(X[rows], group=np.bincount(qid)), scores[rows])
    for ids in (0, np.int64(5), ["a"] * few.sum()):
        np.testing.assert_array_equal(ranker.predict(X[few], qid=ids), scores[few])
    frame = pd.DataFrame(X).add_prefix("f")
    for name, other in (("session", "qid"), ("qid", "session")):
        named = frame.assign(**{name: qid})
        model = clone(ranker).fit(named, y, name)
        for values, lists in (
            (named, {}),
            (frame.assign(**{other: qid}), {"qid": other}),
            (frame, {"qid": qid}),
        ):
            np.testing.assert_array_equal(model.predict(values, **lists), scores)
    np.testing.assert_array_equal(model.predict(named.set_index("qid")), scores)
    found, names = (
        explain(model, frame, qid, query=11),
        model.query_features_.get_feature_names_out(),
    )
    assert found.scores == pytest.approx(scores[list(found.rows)], abs=1e-5)
    values = model.query_features_.transform(frame, qid).iloc[list(found.rows)].T
    np.testing.assert_array_equal(
        found.table.set_index("feature").loc[names, ["value_a", "value_b"]], values
    )
    assert explain(ranker, X[few], 0).ranking.equals(explain(ranker, X[few], qid[few]).ranking)
    for call in (ranker.predict, ranker.staged_predict, ranker.apply, partial(explain, ranker)):
        with pytest.raises(
            ValueError, match="relative to the list of a query: give qid= or group="
        ):
            call(X)


def test_members_of_a_bag_have_the_features_of_the_bag(
    ranker_class, shuffled, tmp_path, monkeypatch
):
    # Python cannot ignore warnings in one of several threads.
    monkeypatch.setattr("lightgbm.basic._log_warning", pytest.fail)
    X, y, qid = shuffled
    # The last column varies in a query that not all members have.
    X = np.column_stack([X, np.arange(len(y)) == 0])
    expanded = br.QueryFeatures(columns=list(range(11))).fit_transform(X, qid=qid)
    rankers = of_equal_trees(ranker_class, query_features=KINDS), of_equal_trees(ranker_class)
    bag, other = (br.BaggedRanker(ranker, 3, random_state=0) for ranker in rankers)
    require_equal(bag.fit(X, y, qid), X, other.fit(expanded, y, qid), expanded, qid)
    np.testing.assert_array_equal(bag.oob_scores_, other.oob_scores_)
    require_equal(bag.estimators_[2], X, other.estimators_[2], expanded, qid)
    bag.save_model(tmp_path / "m.json")
    require_equal(
        clone(bag).load_model(tmp_path / "m.json"),
        X,
        clone(other).fit(expanded, y, qid),
        expanded,
        qid,
    )
    bag.set_params(ranker__query_features=br.QueryFeatures(), ranker__query_features__kind="rank")
    assert bag.ranker.query_features.kind == "rank"


def test_kinds_of_features_and_model_files(ranker_class, shuffled, tmp_path):
    X, y, qid = (values[np.argsort(shuffled[2], kind="stable")] for values in shuffled)
    path, again = tmp_path / "m.json", tmp_path / "again.json"
    np.save(tmp_path / "x.npy", X)
    frame = (
        pd.DataFrame(X)
        .add_prefix("f[")
        .assign(kind=pd.Categorical(np.where(X[:, 0] > 0, "high", "low")))
    )
    kinds = sp.csr_array(np.where(X > 0, X, 0)), br.FeatureFiles(tmp_path / "x.npy"), X, frame
    for values, columns in zip(kinds, ([3, 0], None, None, None), strict=True):
        transformer = br.QueryFeatures(columns=columns)
        ranker = of_equal_trees(ranker_class, query_features=transformer).fit(values, y, qid)
        assert not hasattr(transformer, "features_")
        added = clone(transformer).fit_transform(values, qid=qid)
        other = of_equal_trees(ranker_class).fit(added, y, qid)
        ranker.save_model(path)
        loaded = ranker_class().load_model(path)
        loaded.save_model(again)
        assert again.read_bytes() == path.read_bytes()
        for same in (ranker, loaded, pickle.loads(pickle.dumps(ranker))):
            require_equal(same, values, other, added, qid)
            assert hasattr(same, "feature_names_in_") == (values is frame)
            pd.testing.assert_series_equal(
                same.get_feature_importances(), ranker.get_feature_importances()
            )
    assert sorted(loaded.get_feature_importances().index) == sorted(added.columns)
    before, name, after = (
        path.read_text()
        .replace("boostrank_sha256", "no_sha256")
        .partition("boostrank_query_features")
    )
    for old, new in (
        ("features", "others"),
        ("rank", "ranks"),
        (", 8]", ", 88]"),
        (", 8]", ", 7]"),
        ("[[", "[<"),
    ):
        path.write_text(before + name + after.replace(old, new, 1))
        with pytest.raises(
            ValueError, match=r"m.json': the field boostrank_query_features was damaged or edited"
        ):
            loaded.load_model(path)
    require_equal(loaded, frame, other, added, qid)


@pytest.mark.filterwarnings("error", "ignore:no tree has a split")
def test_columns_that_are_constant_or_categorical_get_no_features(ranker_class, shuffled):
    X, y, qid = shuffled
    model = small(ranker_class, query_features="rank").fit(qid[:, None], y, qid)
    assert (model.query_features_.features_, model.predict(qid[:, None], qid=qid).shape) == (
        [],
        y.shape,
    )
    X = np.column_stack([X[:, :2], np.digitize(X[:, 2], [-1, 0, 1])])
    types = (
        {"feature_types": ["q", "q", "c"]}
        if ranker_class is br.XGBoostRanker
        else {"categorical_feature": [2]}
    )
    model = small(ranker_class, query_features="rank", **types).fit(X, y, qid)
    assert pickle.loads(pickle.dumps(model)).query_features_.columns_ == [0, 1]
    with pytest.raises(ValueError, match="the column 2 of X has categories"):
        clone(model).set_params(query_features=br.QueryFeatures("rank", columns=[0, 2])).fit(
            X, y, qid
        )


def test_features_have_the_parameters_of_their_columns(ranker_class, shuffled):
    X, y, qid = shuffled
    model, X = partial(small, ranker_class, query_features=KINDS), X[:, :3]
    plain = model().fit(X, y, qid).predict(X, qid=qid)
    cases = [
        ("monotone_constraints", [1, 0, -1], [1, 0, -1] * 3),
        ("monotone_constraints", {0: 1, 2: -1, 8: 0}, [1, 0, -1, 1, 0, -1, 1, 0, 0]),
        ("interaction_constraints", [[0, 1], [2]], [[0, 1, 3, 4, 6, 7], [2, 5, 8]]),
    ]
    if ranker_class is br.LightGBMRanker:
        cases += [("max_bin_by_feature", [3, 5, 9], [3, 5, 9] * 3)]
    for name, of_columns, of_all in cases:
        scores, expected = (
            model(**{name: value}).fit(X, y, qid).predict(X, qid=qid)
            for value in (of_columns, of_all)
        )
        np.testing.assert_array_equal(scores, expected)
        assert not np.array_equal(scores, plain)


def test_a_training_goes_on_with_the_features_of_the_model(
    ranker_class, ranker, shuffled, tmp_path
):
    X, y, qid = shuffled
    ranker.save_model(tmp_path / "m.json")
    constant = np.column_stack([np.zeros(len(y)), X[:, 1:]])
    for model in (ranker, tmp_path / "m.json"):
        again = clone(ranker).fit(constant, y, qid, init_model=model)
        assert again.query_features_.features_ == ranker.query_features_.features_


def test_settings_that_do_not_fit_are_errors(ranker_class, ranker, shuffled, tmp_path):
    is_xgboost = ranker_class is br.XGBoostRanker
    name, *values = ("missing", np.nan, -1, 0) if is_xgboost else ("zero_as_missing", False, True)
    small(ranker_class, query_features="rank", **{name: values[0]}).fit(*shuffled)
    for value in values[1:]:
        with pytest.raises(
            ValueError, match=r"query_features take only NaN for a missing value, so that \w+="
        ):
            ranker_class(query_features="rank", **{name: value}).fit(*shuffled)
    for export in (ranker.export, partial(br.serving.export, ranker)):
        with pytest.raises(
            ValueError,
            match="query_features cannot be exported to vespa: its features are relative",
        ):
            export(tmp_path / "m.json", "vespa", features=[f"f{i}" for i in range(30)])
    with pytest.raises(
        ValueError, match=r"on 30 features, and X has 20; .* 10 on: \['x0 \(stand.* \['x0 \(rank"
    ):
        small(ranker_class, query_features="rank").fit(*shuffled, init_model=ranker)


def test_lists_unlike_those_of_the_training_are_warned_of(ranker, shuffled, tmp_path):
    X, y, qid = shuffled
    ranker.save_model(tmp_path / "m.json")
    few = pd.Series(qid).groupby(qid).cumcount().to_numpy() < 3
    for model in (ranker, clone(ranker).load_model(tmp_path / "m.json")):
        model.predict(X[: int(1.5 * np.bincount(qid).max())], qid=0)
        model.predict(X * ([3] * 2 + [1] * 8), qid=qid)
        for values, lists, message in (
            (
                X[few],
                qid[few],
                "the median length of the lists to score is 3, and 90% of the lists of the "
                "training",
            ),
            (X, 0, "the median length of the lists to score is 777, and 90% "),
            (X * 3, qid, "10 of 10 columns, such as 'x0', have a standard deviation within lists"),
        ):
            for call in (model.predict, model.query_features_.transform):
                with pytest.warns(UserWarning, match=message):
                    call(values, qid=lists)
    with pytest.warns(UserWarning, match="the median length of the lists to score is 3"):
        ranker.fit(*shuffled, eval_set=[(X[few], y[few], qid[few])])
