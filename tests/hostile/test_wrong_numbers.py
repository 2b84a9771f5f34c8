"""Input and settings that gave a silent wrong number in some library or in an earlier version, each as one test."""

import warnings

import numpy as np
import pandas as pd
import pytest
from measure_definitions import FOR_ARRAYS
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import KFold

import boostrank as br
from boostrank import metrics, significance
from hostile.entry_points import RANKERS, tiny
from hostile.outcomes import check_fault, check_message

X, Y, QID = br.make_ranking(n_queries=30, n_documents=12, random_state=0)
ROWS = np.arange(12.0) % 5, np.sin(np.arange(12.0)), np.repeat([0, 1], 6)


def both(name):
    """A test on both backends."""
    return pytest.mark.parametrize(
        "ranker_class", [pytest.param(ranker_class, id=f"{name}-{key}") for key, ranker_class in RANKERS.items()]
    )


def with_zeros(X):
    """Features of which half are zero."""
    return np.where(X > 0, X, 0.0)


@both("sparse-and-dense")
@pytest.mark.parametrize("fit_on", ["dense", "sparse"])
def test_zeros_are_zeros_in_both_forms(ranker_class, fit_on):
    dense = with_zeros(X)
    forms = {"dense": dense, "sparse": csr_matrix(dense)}
    ranker = tiny(ranker_class, n_estimators=5)
    ranker.fit(forms[fit_on], Y, QID, eval_set=[(forms["dense"], Y, QID), (forms["sparse"], Y, QID)])
    plain = tiny(ranker_class, n_estimators=5).fit(dense, Y, QID)
    for form in forms.values():
        np.testing.assert_allclose(ranker.predict(form), plain.predict(dense), rtol=1e-6, atol=1e-7)
    first, second = ranker.evals_result_.values()
    assert first == second


NATIVE = [(br.LightGBMRanker, "lambdarank"), (br.LightGBMRanker, "rank_xendcg")]
NATIVE += [(br.XGBoostRanker, name) for name in ("rank:ndcg", "rank:pairwise", "rank:map")]


@pytest.mark.parametrize(
    ("ranker_class", "objective"), [pytest.param(*each, id=f"{each[1].replace(':', '-')}") for each in NATIVE]
)
def test_native_objectives_refuse_weights_that_differ_within_a_query(ranker_class, objective):
    weights = np.random.default_rng(0).random(len(Y))
    ranker, labels = tiny(ranker_class, objective=objective), Y > 1
    check_fault(lambda: ranker.fit(X, labels, QID, sample_weight=weights), "weight", "differ")


@both("dart-with-early-stopping")
def test_dart_with_early_stopping_returns_the_evaluated_model_or_is_refused(ranker_class):
    dart = {"boosting": "dart"} if ranker_class is br.LightGBMRanker else {"booster": "dart", "rate_drop": 0.5}
    ranker = tiny(ranker_class, n_estimators=30, early_stopping_rounds=5, k=10, learning_rate=0.5, **dart)
    held_out = br.make_ranking(n_queries=30, n_documents=12, random_state=1)
    try:
        ranker.fit(X, Y, QID, eval_set=[tuple(held_out)])
    except ValueError as error:
        check_message(error, "dart")
    else:
        assert ranker.score(*held_out) == pytest.approx(max(ranker.evals_result_["valid_0"]["ndcg@10"]), abs=1e-9)


def test_rank_xendcg_with_labels_above_31():
    ranker = tiny(br.LightGBMRanker, objective="rank_xendcg", n_estimators=10)
    check_fault(lambda: ranker.fit(X, np.where(Y > 2, 200, Y), QID), "label", "31|rank_xendcg")


@both("integer-column-names")
@pytest.mark.parametrize("place", ["predict", "eval_set"])
def test_reordered_integer_column_names_are_a_fault(ranker_class, place):
    frame = pd.DataFrame(X)
    turned = frame[frame.columns[::-1]]
    ranker = tiny(ranker_class)
    if place == "predict":
        ranker.fit(frame, Y, QID)
        check_fault(lambda: ranker.predict(turned), "(?i)feature|column")
    else:
        check_fault(lambda: ranker.fit(frame, Y, QID, eval_set=[(turned, Y, QID)]), "(?i)feature|column")


MASK = np.arange(len(Y)) == 3
MASKED = {
    "features": lambda: tiny(br.LightGBMRanker).fit(np.ma.masked_array(X, np.tile(MASK, (10, 1)).T), Y, QID),
    "written-features": lambda: br.write_letor("unused.txt", np.ma.masked_array(X, X > 1), Y, QID),
    "written-labels": lambda: br.write_letor("unused.txt", X, np.ma.masked_array(Y, MASK), QID),
    "written-ids": lambda: br.write_letor("unused.txt", X, Y, np.ma.masked_array(QID, MASK)),
    "permutation_test": lambda: br.permutation_test(np.ma.masked_array(Y, MASK), Y),
    "holm": lambda: significance.holm(np.ma.masked_array([0.1, 0.2], [True, False])),
}


@pytest.mark.parametrize("call", MASKED.values(), ids=MASKED)
def test_masks_are_not_dropped(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_fault(call, "mask")
    assert not list(tmp_path.iterdir())


def test_bagging_by_query_with_a_surrogate_learns_or_is_refused():
    ranker = tiny(br.LightGBMRanker, subsample=0.5, subsample_freq=1, bagging_by_query=True, n_estimators=5)
    try:
        ranker.fit(X, Y, QID)
    except ValueError as error:
        check_message(error, "bagging_by_query")
    else:
        assert np.ptp(ranker.predict(X)) > 0


def test_bagging_by_query_with_a_native_objective_warns_or_learns():
    import lightgbm

    data = lightgbm.Dataset(X, label=Y, group=np.full(30, 12), params={"verbosity": -1})
    parameters = {"objective": br.lightgbm_objective("softmax"), "bagging_by_query": True, "bagging_fraction": 0.5}
    parameters |= {"bagging_freq": 1, "verbosity": -1, "metric": "None", "num_threads": 1}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            booster = lightgbm.train(parameters, data, 5)
        except ValueError as error:
            check_message(error, "bagging_by_query")
            return
    assert np.ptp(booster.predict(X)) > 0 or any("bagging_by_query" in str(warning.message) for warning in caught)


def test_agreement_with_extreme_weights_of_edges():
    for weight in (1e308, 5e-324):
        graph = br.PreferenceGraph([0, 0, 0], [0, 1, 2], [1, 2, 0], [weight] * 3)
        assert metrics.agreement_score(graph, [3, 2, 1]) == pytest.approx(2 / 3)


@both("weights-are-relative")
@pytest.mark.parametrize("factor", [1 / 360, 1e-30, 1e30, 7.0])
def test_equal_weights_train_the_model_without_weights(ranker_class, factor):
    plain, weighted = (tiny(ranker_class, n_estimators=3, min_child_weight=1.0) for _ in range(2))
    plain.fit(X, Y, QID)
    weighted.fit(X, Y, QID, sample_weight=np.full(30, factor))
    np.testing.assert_allclose(weighted.predict(X), plain.predict(X), rtol=1e-4, atol=1e-6)
    assert np.ptp(plain.predict(X)) > 0


@both("a-model-that-cannot-split-warns")
def test_a_model_that_cannot_split_warns(ranker_class):
    with pytest.warns(UserWarning, match="split|same score"):
        tiny(ranker_class).fit(np.ones_like(X), Y, QID)
    with pytest.warns(UserWarning, match="split|same score"):
        tiny(ranker_class, min_child_weight=1e9).fit(X, Y, QID)


ACCEPTED = {
    "early_stopping_rounds=2.5": {"early_stopping_rounds": 2.5, "validation_fraction": 0.3},
    "early_stopping_rounds=True": {"early_stopping_rounds": True, "validation_fraction": 0.3},
    "n_estimators=True": {"n_estimators": True},
    "subsample=0": {"subsample": 0},
}


@pytest.mark.parametrize("parameters", [pytest.param(p, id=f"{name}") for name, p in ACCEPTED.items()])
@pytest.mark.parametrize("ranker_class", RANKERS.values(), ids=RANKERS)
def test_settings_without_meaning_are_refused(ranker_class, parameters):
    check_fault(lambda: tiny(ranker_class, **parameters).fit(X, Y, QID), next(iter(parameters)))


@both("infinite-features-of-a-frame")
def test_infinite_features_of_a_frame_are_refused(ranker_class):
    frame = pd.DataFrame(np.where(X > 2, np.inf, X)).add_prefix("x")
    check_fault(lambda: tiny(ranker_class).fit(frame, Y, QID), r"\bX\b|feature|column", "inf")


def test_a_threshold_that_is_no_number_is_refused():
    check_fault(lambda: metrics.precision_score(*ROWS, threshold=float("nan")), "threshold")
    check_fault(lambda: br.PreferenceGraph.from_grades(ROWS[0], ROWS[2], threshold=float("nan")), "threshold")


@both("a-gradient-of-shape-1")
def test_a_surrogate_whose_gradient_has_another_shape_is_refused(ranker_class):
    class Wrong(type(br.surrogates.get_surrogate("softmax"))):
        def gradient_hessian(self, scores, targets, queries):
            return np.zeros(1), np.ones(1)

    check_fault(lambda: tiny(ranker_class, objective=Wrong()).fit(X, Y, QID), "gradient|shape")


@both("subclass-with-kwargs")
def test_a_subclass_with_kwargs_keeps_its_parameters(ranker_class):
    class Own(ranker_class):
        def __init__(self, other=3, **kwargs):
            super().__init__(**kwargs)
            self.other = other

    ranker = Own(other=5, n_estimators=7, learning_rate=0.3)
    for made in (ranker, clone(ranker)):
        parameters = made.get_params()
        assert (parameters["other"], parameters["n_estimators"], parameters["learning_rate"]) == (5, 7, 0.3)
    assert clone(ranker).set_params(n_estimators=3, other=1).fit(X, Y, QID).best_iteration_ == 3


def test_shuffled_kfold_with_the_default_score_warns():
    ranker, frame = tiny(br.LightGBMRanker), pd.DataFrame(X).add_prefix("x").set_index(pd.Index(QID, name="qid"))
    train, test = next(KFold(3, shuffle=True, random_state=0).split(X))
    ranker.fit(frame.iloc[train], Y[train])
    with pytest.warns(UserWarning, match="quer"):
        ranker.score(frame.iloc[test], Y[test])


@pytest.mark.parametrize("name", [pytest.param(name, id=f"{name}") for name in FOR_ARRAYS])
def test_measures_without_query_ids(name):
    check_fault(lambda: br.get_measure(name)(*ROWS[:2]), "qid", "numpy.zeros")
