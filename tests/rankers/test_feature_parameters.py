"""Parameters that concern single features, by name and by index: their effect on the model, and their errors."""

import functools
import json

import numpy as np
import pandas as pd
import pytest
from cases import for_each
from scipy.sparse import csr_array

import boostrank as br

X, Y, QID = br.make_ranking(n_queries=40, random_state=3)
N_FEATURES = X.shape[1]
NAMES = ["price [EUR]", "clicks", *(f"x{i}" for i in range(2, N_FEATURES))]
#: The column of query ids is in front of all features, and does not count.
FRAME = pd.DataFrame(X, columns=NAMES)
FRAME.insert(0, "qid", QID)
CODES = ((Y * 3 + 1) % 5).astype(int)
SMALL = {"n_estimators": 5, "n_jobs": 1, "random_state": 0}
RANKERS = [br.LightGBMRanker, br.XGBoostRanker]
both = pytest.mark.parametrize("ranker_class", RANKERS)


def train(ranker_class, features=FRAME, **parameters):
    return ranker_class("softmax", **{**SMALL, **parameters}).fit(features, Y, QID)


def scores(ranker_class, features=FRAME, **parameters):
    return train(ranker_class, features, **parameters).predict(features)


def paths(ranker):
    """The set of the features on each path from the root of a tree to a leaf, by index."""
    if isinstance(ranker, br.LightGBMRanker):
        trees = [tree["tree_structure"] for tree in ranker.booster_.dump_model()["tree_info"]]
        return [path for tree in trees for path in walk(tree, "split_feature", ["left_child", "right_child"])]
    names = ranker.booster_.feature_names or [f"f{i}" for i in range(ranker.n_features_in_)]
    trees = [json.loads(tree) for tree in ranker.booster_.get_dump(dump_format="json")]
    return [{names.index(name) for name in path} for tree in trees for path in walk(tree, "split", ["children"])]


def walk(node, feature, children, path=()):
    if feature not in node:
        return [set(path)]
    path = (*path, node[feature])
    below = [node[name] for name in children]
    below = below[0] if children == ["children"] else below
    return [found for child in below for found in walk(child, feature, children, path)]


def used(ranker):
    return set().union(*paths(ranker))


def changes_along(ranker, feature):
    """Differences of the scores along one feature, with the others as in some rows."""
    rows = np.repeat(X[:25], 40, axis=0)
    rows[:, feature] = np.tile(np.linspace(-4, 4, 40), 25)
    return np.diff(ranker.predict(pd.DataFrame(rows, columns=NAMES)).reshape(25, 40), axis=1)


@pytest.mark.parametrize(
    ("ranker_class", "parameters"),
    [
        (br.LightGBMRanker, {"monotone_constraints_method": "advanced"}),
        (br.XGBoostRanker, {}),
        (br.XGBoostRanker, {"tree_method": "exact"}),
    ],
)
def test_scores_follow_monotone_constraints(ranker_class, parameters):
    # With the default penalties, and in few rounds, the second feature would not be split.
    parameters = {**parameters, "reg_lambda": 1.0, "min_child_weight": 1.0, "n_estimators": 20}
    free = train(ranker_class, **parameters)
    assert (changes_along(free, 0) < 0).any()
    assert (changes_along(free, 1) > 0).any()
    constrained = train(ranker_class, **parameters, monotone_constraints={"price [EUR]": 1, "clicks": -1})
    assert (changes_along(constrained, 0) >= 0).all()
    assert (changes_along(constrained, 1) <= 0).all()
    assert {0, 1} <= used(constrained)


DIRECTIONS = [1, -1] + [0] * (N_FEATURES - 2)


@functools.cache
def constrained_by_name(ranker_class):
    return scores(ranker_class, monotone_constraints={"price [EUR]": 1, "clicks": -1})


@both
@pytest.mark.parametrize(
    "value", [DIRECTIONS, np.array(DIRECTIONS, dtype=float), {0: 1, np.int64(1): -1}], ids=lambda v: type(v).__name__
)
def test_all_forms_of_values_per_feature_mean_the_same(ranker_class, value):
    expected = constrained_by_name(ranker_class)
    np.testing.assert_array_equal(scores(ranker_class, monotone_constraints=value), expected)
    np.testing.assert_array_equal(scores(ranker_class, X, monotone_constraints=value), expected)


@both
def test_no_path_has_features_of_two_groups(ranker_class):
    groups = [[0, 2], [1, 3], list(range(4, N_FEATURES))]
    assert any(not any(path <= set(group) for group in groups) for path in paths(train(ranker_class)))
    by_name = [[NAMES[i] for i in group] for group in groups]
    ranker = train(ranker_class, interaction_constraints=by_name)
    assert max(len(path) for path in paths(ranker)) > 1
    assert all(any(path <= set(group) for group in groups) for path in paths(ranker))
    np.testing.assert_array_equal(scores(ranker_class, interaction_constraints=groups), ranker.predict(FRAME))


def test_features_in_no_group_are_not_used_by_lightgbm_and_are_alone_in_xgboost():
    constraints = {"interaction_constraints": [[0, 1]], "n_estimators": 30}
    assert used(train(br.LightGBMRanker, **constraints)) == {0, 1}
    with_others = [path for path in paths(train(br.XGBoostRanker, **constraints)) if path - {0, 1}]
    assert with_others
    assert all(len(path) == 1 for path in with_others)


def test_contribution_and_penalties_of_0_features_of_lightgbm():
    assert 0 in used(train(br.LightGBMRanker))
    assert 0 not in used(train(br.LightGBMRanker, feature_contri={"price [EUR]": 0}))
    assert 0 not in used(train(br.LightGBMRanker, fc=[0.0] + [1.0] * (N_FEATURES - 1)))
    for name in ("cegb_penalty_feature_lazy", "cegb_penalty_feature_coupled"):
        assert used(train(br.LightGBMRanker, **{name: {0: 1e6, "clicks": 1e6}})).isdisjoint({0, 1})


def n_thresholds(ranker):
    trees = ranker.booster_.trees_to_dataframe().dropna(subset="threshold")
    return trees.groupby("split_feature")["threshold"].nunique()


def test_bins_by_feature():
    bins = {"price [EUR]": 2, "clicks": 4}
    # LightGBM counts a bin for missing values.
    few = n_thresholds(train(br.LightGBMRanker, max_bin_by_feature=bins))
    assert few["price%20%5BEUR%5D"] == 1
    assert few["clicks"] <= 3
    assert few["x3"] > 4
    np.testing.assert_array_equal(
        scores(br.LightGBMRanker, max_bin_by_feature=bins, max_bin=7),
        scores(br.LightGBMRanker, max_bin_by_feature=[2, 4] + [7] * (N_FEATURES - 2)),
    )


def with_codes(categorical=False):
    """The features with a column of codes of categories, and with the column of query ids in front of it."""
    return FRAME.assign(colour=pd.Categorical(CODES, categories=range(5)) if categorical else CODES)


LAST = N_FEATURES
ARRAY = np.column_stack([X, CODES])


@pytest.mark.parametrize("value", [["colour"], [LAST], np.array([LAST])], ids=str)
def test_categories_of_lightgbm_by_name_and_index(value):
    expected = scores(br.LightGBMRanker, with_codes(categorical=True), min_data_per_group=1)
    numbers = scores(br.LightGBMRanker, with_codes(), min_data_per_group=1)
    assert not np.array_equal(expected, numbers)
    # The categories are exactly those given.
    none = scores(br.LightGBMRanker, with_codes(categorical=True), min_data_per_group=1, categorical_feature=[])
    np.testing.assert_array_equal(none, numbers)
    ranker = train(br.LightGBMRanker, with_codes(), min_data_per_group=1, categorical_feature=value)
    np.testing.assert_array_equal(ranker.predict(with_codes()), expected)
    if "colour" not in str(value):
        for features in (ARRAY, csr_array(ARRAY)):
            np.testing.assert_array_equal(
                scores(br.LightGBMRanker, features, min_data_per_group=1, categorical_feature=value), expected
            )


TYPES = ["q"] * N_FEATURES + ["c"]


@pytest.mark.parametrize(
    ("parameters", "value"), [({"tree_method": "approx"}, TYPES), ({}, {"colour": "c"}), ({}, {LAST: "c"})], ids=str
)
def test_types_of_xgboost_by_name_and_index(parameters, value):
    categorical = with_codes(categorical=True)
    expected = scores(br.XGBoostRanker, categorical, **parameters)
    assert not np.array_equal(expected, scores(br.XGBoostRanker, with_codes(), **parameters))
    np.testing.assert_array_equal(scores(br.XGBoostRanker, categorical, **parameters, feature_types=value), expected)
    np.testing.assert_array_equal(scores(br.XGBoostRanker, with_codes(), **parameters, feature_types=value), expected)
    if "colour" not in value:
        for features in (ARRAY, csr_array(ARRAY)):
            given = scores(br.XGBoostRanker, features, **parameters, feature_types=value)
            np.testing.assert_array_equal(given, expected)


def test_types_of_xgboost_in_validation_data_and_in_the_model_of_the_best_round(tmp_path):
    held_out = br.make_ranking(n_queries=20, random_state=1)
    other = np.column_stack([held_out.X, held_out.y * 3 % 5])
    ranker = br.XGBoostRanker("softmax", k=10, **{**SMALL, "n_estimators": 30}, feature_types=TYPES, learning_rate=0.5)
    ranker.set_params(early_stopping_rounds=3).fit(ARRAY, Y, QID, eval_set=[(other, held_out.y, held_out.qid)])
    value = br.ndcg_score(held_out.y, ranker.predict(other), held_out.qid, k=10)
    assert value == pytest.approx(max(ranker.evals_result_["valid_0"]["ndcg@10"]), abs=1e-9)
    ranker.save_model(tmp_path / "model.json")
    again = br.XGBoostRanker().load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(other), ranker.predict(other))


@pytest.mark.parametrize("tree_method", ["hist", "exact"])
def test_xgboost_does_not_sample_features_of_weight_0(tree_method):
    # 4 of 10 features are sampled, and 5 have a weight above 0.
    sampling = {"colsample_bytree": 0.4, "tree_method": tree_method, "n_estimators": 20}
    assert used(train(br.XGBoostRanker, **sampling)) == set(range(N_FEATURES))
    even = {0, 2, 4, 6, 8}
    by_name = {name: 0 for i, name in enumerate(NAMES) if i not in even}
    assert used(train(br.XGBoostRanker, **sampling, feature_weights=by_name)) == even
    for features in (X, csr_array(X)):
        assert used(train(br.XGBoostRanker, features, **sampling, feature_weights=[1, 0] * 5)) == even


@pytest.mark.parametrize(
    ("ranker_class", "native"),
    [(br.LightGBMRanker, {"categorical_feature": [1]}), (br.XGBoostRanker, {"feature_types": {1: "c"}})],
)
@pytest.mark.parametrize("convert", [pd.DataFrame, np.asarray, csr_array])
def test_a_categorical_feature_with_fractions_is_an_error(ranker_class, native, convert):
    features = convert(np.column_stack([CODES, X]))
    with pytest.raises(ValueError, match=f"{next(iter(native))} says that the feature 1 is categorical.*got -?[0-9]"):
        scores(ranker_class, features, **native)


def test_negative_codes_are_missing_values_of_lightgbm_and_an_error_of_xgboost():
    given, nan = (np.column_stack([X, np.where(CODES == 2, code, CODES)]) for code in (-7, np.nan))
    lightgbm = {"categorical_feature": [LAST], "min_data_per_group": 1}
    np.testing.assert_array_equal(
        scores(br.LightGBMRanker, given, **lightgbm), scores(br.LightGBMRanker, nan, **lightgbm)
    )
    with pytest.raises(ValueError, match="integers of at least 0; got -7"):
        scores(br.XGBoostRanker, given, feature_types=TYPES)
    np.testing.assert_array_equal(
        scores(br.XGBoostRanker, given, feature_types=TYPES, missing=-7),
        scores(br.XGBoostRanker, nan, feature_types=TYPES),
    )


NUMBERED = pd.DataFrame(X, columns=range(1, N_FEATURES + 1))
WRONG = [
    (RANKERS, X, {"monotone_constraints": [1]}, r"one value per feature \(10.*got 1$"),
    (RANKERS, FRAME, {"monotone_constraints": [0] * (N_FEATURES + 1)}, r"one value per feature \(10; .*'qid'.*got 11"),
    (RANKERS, FRAME, {"monotone_constraints": {"colour": 1}}, "'colour', which is no feature; .* 'price .EUR.'"),
    (RANKERS, X, {"monotone_constraints": {"clicks": 1}}, "'clicks', but the features have no names"),
    (RANKERS, X, {"monotone_constraints": {10: 1}}, "index 10.* 0 to 9"),
    (RANKERS, X, {"monotone_constraints": {1.5: 1}}, "by name .* or by index .*got 1.5"),
    (RANKERS, X, {"monotone_constraints": [2] * N_FEATURES}, "each value of monotone_constraints must be 1 .*got 2"),
    (RANKERS, X, {"monotone_constraints": 1}, "sequence .*got 1$"),
    (RANKERS, NUMBERED, {"monotone_constraints": {1: 1}}, "column '1' or the column with this index, '2'"),
    (RANKERS, X, {"interaction_constraints": [[0, 1], [2, 33]]}, "index 33"),
    (RANKERS, X, {"interaction_constraints": [0, 1]}, r"list of lists .*got 0"),
    (RANKERS[:1], X, {"feature_contri": [float("nan")] * N_FEATURES}, "finite number"),
    (RANKERS[:1], X, {"max_bin_by_feature": [1] * N_FEATURES}, "an integer of at least 2; got 1"),
    (RANKERS[:1], FRAME, {"categorical_feature": ["colour"]}, "'colour', which is no feature"),
    (RANKERS[:1], FRAME, {"categorical_feature": "clicks"}, "'auto' or a list of features .*got 'clicks'"),
    (RANKERS[1:], X, {"feature_weights": {0: -1}}, "at least 0; got -1"),
    (RANKERS[1:], X, {"feature_types": ["z"] * N_FEATURES}, "one of q, c, int, float, i; got 'z'"),
    (RANKERS[1:], with_codes(True), {"missing": -1}, "missing=-1 is not for columns with categories"),
    (RANKERS[1:], X, {"missing": "-1"}, "missing must be a number or NaN; got '-1'"),
    (RANKERS[1:], X, {"enable_categorical": False}, "always categorical features"),
]
WRONG = [(ranker_class, *rest) for ranker_classes, *rest in WRONG for ranker_class in ranker_classes]


@for_each(
    ("ranker_class", "features", "native", "message"),
    WRONG,
    ids=[f"{ranker_class.__name__}-{str(native)[1:40]}" for ranker_class, _, native, _ in WRONG],
)
def test_values_that_do_not_fit_the_features_are_errors_before_training(ranker_class, features, native, message):
    ranker = ranker_class("softmax", **SMALL, **native)
    with pytest.raises(ValueError, match=message):
        ranker.fit(features, Y, QID)
    assert not hasattr(ranker, "booster_")
