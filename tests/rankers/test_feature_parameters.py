"""Parameters that concern single features, by name and by index: their effect on the model, and
their errors."""

import pickle

import numpy as np
import pandas as pd
import pytest
import xgboost
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
SMALL = {"n_estimators": 5, "learning_rate": 0.1, "n_jobs": 1, "random_state": 0}
RANKERS = [br.LightGBMRanker, br.XGBoostRanker]


def train(ranker_class, features=FRAME, **parameters):
    return ranker_class("softmax", **{**SMALL, **parameters}).fit(features, Y, QID)


def scores(ranker_class, features=FRAME, **parameters):
    return train(ranker_class, features, **parameters).predict(features)


def used(ranker):
    """The features of splits, by index."""
    if isinstance(ranker, br.LightGBMRanker):
        return set(np.flatnonzero(ranker.booster_.feature_importance("split")).tolist())
    names = ranker.booster_.feature_names or [f"f{i}" for i in range(N_FEATURES)]
    return {names.index(name) for name in ranker.booster_.get_score(importance_type="weight")}


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
    constrained = train(
        ranker_class, **parameters, monotone_constraints={"price [EUR]": 1, "clicks": -1}
    )
    assert (changes_along(constrained, 0) >= 0).all()
    assert (changes_along(constrained, 1) <= 0).all()
    assert {0, 1} <= used(constrained)


def test_all_forms_of_values_per_feature_mean_the_same(ranker_class):
    expected = scores(ranker_class, monotone_constraints={"price [EUR]": 1, "clicks": -1})
    directions = [1, -1] + [0] * (N_FEATURES - 2)
    for value in (directions, np.array(directions, dtype=float), {0: 1, np.int64(1): -1}):
        for features in (FRAME, X):
            np.testing.assert_array_equal(
                scores(ranker_class, features, monotone_constraints=value), expected
            )


def test_groups_of_features_by_name_and_index(ranker_class):
    groups = [[0, 2], [1, 3], list(range(4, N_FEATURES))]
    by_name = [[NAMES[i] for i in group] for group in groups]
    expected = scores(ranker_class, X, interaction_constraints=groups)
    for value in (groups, by_name):
        np.testing.assert_array_equal(scores(ranker_class, interaction_constraints=value), expected)
    assert not np.array_equal(scores(ranker_class), expected)
    if ranker_class is br.LightGBMRanker:
        assert used(train(ranker_class, interaction_constraints=[["clicks", 2]])) == {1, 2}


def test_contribution_and_penalties_of_features_of_lightgbm():
    assert 0 in used(train(br.LightGBMRanker))
    for native in (
        {"feature_contri": {"price [EUR]": 0}},
        {"fc": [0.0] + [1.0] * (N_FEATURES - 1)},
        {"cegb_penalty_feature_lazy": {0: 1e6}},
        {"cegb_penalty_feature_coupled": {"price [EUR]": 1e6}},
    ):
        assert 0 not in used(train(br.LightGBMRanker, **native))


def test_bins_by_feature():
    bins = {"price [EUR]": 2, "clicks": 4}
    trees = (
        train(br.LightGBMRanker, max_bin_by_feature=bins)
        .booster_.trees_to_dataframe()
        .dropna(subset="threshold")
    )
    thresholds = trees.groupby("split_feature")["threshold"].nunique()
    # LightGBM counts a bin for missing values.
    assert thresholds["price%20%5BEUR%5D"] == 1
    assert thresholds["clicks"] <= 3 < 4 < thresholds["x3"]
    given = (bins, [2, 4] + [7] * (N_FEATURES - 2))
    np.testing.assert_array_equal(
        *(scores(br.LightGBMRanker, max_bin_by_feature=one, max_bin=7) for one in given)
    )


@for_each("objective", ["softmax", "lambdarank"])
@for_each("query_features", [None, "rank"])
def test_bins_of_a_file(objective, query_features, tmp_path):
    (tmp_path / "bins.json").write_text('[{"feature": 0, "bin_upper_bound": [0.123]}]')
    settings = {
        "forcedbins_filename": str(tmp_path / "bins.json"),
        "max_bin": 4,
        "query_features": query_features,
    }
    ranker = br.LightGBMRanker(objective, **SMALL, **settings).fit(
        X, Y, QID, eval_set=[(X, Y, QID), (X + 0, Y, QID)]
    )
    trees = ranker.booster_.trees_to_dataframe()
    # Not in the bins of features of lists, which LightGBM gets after those of X.
    assert set(trees["split_feature"][trees["threshold"] == 0.123]) == {
        "x0" if query_features else "Column_0"
    }


def with_codes(categorical=False):
    """The features with a column of codes of categories, and with the column of query ids in front
    of it."""
    return FRAME.assign(colour=pd.Categorical(CODES, categories=range(5)) if categorical else CODES)


LAST = N_FEATURES
ARRAY = np.column_stack([X, CODES])


@pytest.mark.parametrize("value", [["colour"], np.array([LAST])], ids=str)
def test_categories_of_lightgbm_by_name_and_index(value):
    def of(features, **native):
        return scores(br.LightGBMRanker, features, min_data_per_group=1, **native)

    expected, numbers = of(with_codes(categorical=True)), of(with_codes())
    assert not np.array_equal(expected, numbers)
    # The categories are exactly those given.
    np.testing.assert_array_equal(of(with_codes(categorical=True), categorical_feature=[]), numbers)
    for features in (with_codes(), *([] if "colour" in value else [ARRAY, csr_array(ARRAY)])):
        np.testing.assert_array_equal(of(features, categorical_feature=value), expected)


TYPES = ["q"] * N_FEATURES + ["c"]


@pytest.mark.parametrize(
    ("parameters", "value"), [({"tree_method": "approx"}, TYPES), ({}, {"colour": "c"})], ids=str
)
def test_types_of_xgboost_by_name_and_index(parameters, value):
    categorical = with_codes(categorical=True)
    expected = scores(br.XGBoostRanker, categorical, **parameters)
    assert not np.array_equal(expected, scores(br.XGBoostRanker, with_codes(), **parameters))
    for features in (
        categorical,
        with_codes(),
        *([] if "colour" in value else [ARRAY, csr_array(ARRAY)]),
    ):
        found = scores(br.XGBoostRanker, features, **parameters, feature_types=value)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("tree_method", ["hist", "exact"])
def test_xgboost_does_not_sample_features_of_weight_0(tree_method):
    # 4 of 10 features are sampled, and 5 have a weight above 0.
    sampling = {"colsample_bytree": 0.4, "tree_method": tree_method, "n_estimators": 20}
    assert used(train(br.XGBoostRanker, **sampling)) == set(range(N_FEATURES))
    by_name = dict.fromkeys(NAMES[1::2], 0)
    for features, weights in ((FRAME, by_name), (csr_array(X), [1, 0] * 5)):
        assert used(train(br.XGBoostRanker, features, **sampling, feature_weights=weights)) == {
            0,
            2,
            4,
            6,
            8,
        }


@for_each(
    ("ranker_class", "native"),
    [
        (br.LightGBMRanker, {"categorical_feature": [1]}),
        (br.XGBoostRanker, {"feature_types": {1: "c"}}),
    ],
)
@for_each("convert", [pd.DataFrame, np.asarray, csr_array])
def test_a_categorical_feature_with_fractions_is_an_error(ranker_class, native, convert):
    features = convert(np.column_stack([CODES, X]))
    with pytest.raises(
        ValueError,
        match=f"{next(iter(native))} says that the feature 1 is categorical.*got -?[0-9]",
    ):
        scores(ranker_class, features, **native)


def test_negative_codes_are_missing_values_of_lightgbm_and_an_error_of_xgboost():
    given, nan = (np.column_stack([X, np.where(CODES == 2, code, CODES)]) for code in (-7, np.nan))
    lightgbm, xgboost = (
        {"categorical_feature": [LAST], "min_data_per_group": 1},
        {"feature_types": TYPES},
    )
    for ranker_class, native, missing in (
        (br.LightGBMRanker, lightgbm, {}),
        (br.XGBoostRanker, xgboost, {"missing": -7}),
    ):
        found, expected = (
            scores(ranker_class, given, **native, **missing),
            scores(ranker_class, nan, **native),
        )
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="integers of at least 0; got -7"):
        scores(br.XGBoostRanker, given, **xgboost)


NUMBERED = pd.DataFrame(X, columns=range(1, N_FEATURES + 1))
WRONG = [
    (RANKERS, X, {"monotone_constraints": [1]}, r"one value per feature \(10.*got 1 values$"),
    (
        RANKERS,
        FRAME,
        {"monotone_constraints": [0] * (N_FEATURES + 1)},
        r"one value per feature \(10; .*'qid'.*got 11",
    ),
    (
        RANKERS,
        FRAME,
        {"monotone_constraints": {"colour": 1}},
        "'colour', which is no feature: .*'price .EUR.'",
    ),
    (
        RANKERS,
        X,
        {"monotone_constraints": {"clicks": 1}},
        "'clicks', .* the features have no names",
    ),
    (RANKERS, X, {"monotone_constraints": {10: 1}}, "an index from 0 to 9 .*got 10$"),
    (RANKERS, X, {"monotone_constraints": {1.5: 1}}, "a name, a string, or an index .*got 1.5"),
    (
        RANKERS,
        X,
        {"monotone_constraints": [2] * N_FEATURES},
        "each value of monotone_constraints must be 1 .*got 2",
    ),
    (RANKERS, X, {"monotone_constraints": 1}, "sequence .*got 1$"),
    (
        RANKERS,
        NUMBERED,
        {"monotone_constraints": {1: 1}},
        "column '1' or the column with this index, '2'",
    ),
    (RANKERS, X, {"interaction_constraints": [[0, 1], [2, 33]]}, "an index from 0 to 9 .*got 33$"),
    (RANKERS, X, {"interaction_constraints": [0, 1]}, r"list of lists .*got 0"),
    (RANKERS[:1], X, {"feature_contri": [float("nan")] * N_FEATURES}, "finite number"),
    (RANKERS[:1], X, {"max_bin_by_feature": [1] * N_FEATURES}, "an integer of at least 2; got 1"),
    (RANKERS[:1], FRAME, {"categorical_feature": ["colour"]}, "'colour', which is no feature"),
    (
        RANKERS[:1],
        FRAME,
        {"categorical_feature": "clicks"},
        "'auto' or a list of features .*got 'clicks'",
    ),
    (RANKERS[1:], X, {"feature_weights": {0: -1}}, "at least 0; got -1"),
    (RANKERS[1:], X, {"feature_types": ["z"] * N_FEATURES}, "one of q, c, int, float, i; got 'z'"),
    (
        RANKERS[1:],
        with_codes(True),
        {"missing": -1},
        "missing=-1 is not for columns with categories",
    ),
    (RANKERS[1:], X, {"missing": "-1"}, "missing must be a number or NaN; got '-1'"),
]


@for_each(
    ("ranker_class", "features", "native", "message"),
    [(ranker_class, *rest) for ranker_classes, *rest in WRONG for ranker_class in ranker_classes],
)
def test_values_that_do_not_fit_the_features_are_errors_before_training(
    ranker_class, features, native, message
):
    ranker = ranker_class("softmax", **SMALL, **native)
    with pytest.raises(ValueError, match=message):
        ranker.fit(features, Y, QID)
    assert not hasattr(ranker, "booster_")


# `missing` of XGBoost


def holes(features, number):
    return np.where(X > 1, number, features)


@pytest.mark.parametrize(
    ("convert", "tree_method"),
    [(np.asarray, "hist"), (np.float32, "approx"), (pd.DataFrame, "hist"), (csr_array, "exact")],
)
def test_a_number_that_means_missing_equals_nan(convert, tree_method):
    given, expected = (convert(holes(X, number)) for number in (-999.25, np.nan))
    ranker = train(br.XGBoostRanker, given, missing=-999.25, tree_method=tree_method)
    of_nan = scores(br.XGBoostRanker, expected, tree_method=tree_method)
    for features in (given, expected):
        np.testing.assert_array_equal(ranker.predict(features), of_nan)
    assert not np.array_equal(of_nan, scores(br.XGBoostRanker, given, tree_method=tree_method))


def test_missing_0_means_missing_also_where_a_sparse_matrix_stores_nothing():
    zeros = np.where(X > 1, 0, X)
    expected = scores(br.XGBoostRanker, np.where(X > 1, np.nan, X))
    for features in (zeros, csr_array(zeros)):
        np.testing.assert_array_equal(scores(br.XGBoostRanker, features, missing=0), expected)


def test_missing_is_a_property_of_the_model(tmp_path):
    held_out = br.make_ranking(n_queries=20, random_state=1)
    given, nan = (np.where(held_out.X > 1, number, held_out.X) for number in (-1.0, np.nan))
    ranker, expected = (
        br.XGBoostRanker("softmax", **SMALL, missing=number).fit(
            holes(X, number), Y, QID, eval_set=[(features, held_out.y, held_out.qid)]
        )
        for number, features in ((-1.0, given), (np.nan, nan))
    )
    assert ranker.evals_result_ == expected.evals_result_
    ranker.save_model(tmp_path / "model.ubj")
    copies = [
        ranker,
        br.XGBoostRanker().load_model(tmp_path / "model.ubj"),
        pickle.loads(pickle.dumps(ranker)),
    ]
    for one in copies:
        one.set_params(missing=-5)
        np.testing.assert_array_equal(one.predict(given), expected.predict(nan))
        np.testing.assert_array_equal(one.apply(given), expected.apply(nan))
        contributions = one.predict(csr_array(given), pred_contrib=True).toarray()
        np.testing.assert_array_equal(
            contributions, expected.predict(csr_array(nan), pred_contrib=True).toarray()
        )


def test_missing_of_a_model_of_xgboost_itself(tmp_path):
    features = holes(X, -1.0)
    native = xgboost.XGBRanker(n_estimators=3, missing=-1.0, n_jobs=1).fit(features, Y, qid=QID)
    native.save_model(tmp_path / "model.json")
    ranker = br.XGBoostRanker(missing=-1.0).load_model(tmp_path / "model.json")
    np.testing.assert_allclose(ranker.predict(features), native.predict(features), rtol=1e-6)
    with pytest.raises(ValueError, match="missing must be a number"):
        ranker.set_params(missing="x").load_model(tmp_path / "model.json")
