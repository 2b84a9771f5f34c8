"""Settings: values without a meaning are errors that name the setting, wherever it is set; huge
cutoffs have one."""

import fractions
from dataclasses import fields
from functools import partial

import numpy as np
import pytest
from cases import for_each

import boostrank as br
from boostrank import datasets, metrics, model_selection, preferences, significance, theory
from boostrank.inputs import checks
from boostrank.inputs.checks import as_random_state
from boostrank.ndcg.dcg import DCG, check_cutoff
from hostile.entry_points import RANKERS, tiny
from hostile.outcomes import check_fault

ROWS = [2, 0, 1, 0], [0.1, 0.4, 0.3, 0.2], [1, 1, 2, 2]
X, Y, QID = br.make_ranking(n_queries=6, n_documents=5, random_state=0)
FOLD = datasets.Fold("Fold1", train=None, validation=datasets.Dataset(X, Y, QID), test=None)
RANKED = theory.RankedData(ROWS[0], ROWS[1], ROWS[1], ROWS[2])
NAN, INF = float("nan"), float("inf")


def wrong_function(ranks):
    return np.ones(3)


#: The checks that settings share, each with values without a meaning.
SHARED = {
    "count": (
        partial(checks.check_count, "count"),
        [0, -3, 2.5, NAN, "a", "3", None, True, [1], 1j],
    ),
    "number": (
        partial(checks.check_number, "number", smallest=-1, below=1),
        [-1.5, 1, NAN, INF, "a", None, True, [0.5], 1j],
    ),
    "choice": (
        partial(checks.check_choice, "choice", choices=("zero",)),
        ["", "mean", None, 5, True, ["zero"], NAN],
    ),
    "flag": (partial(checks.check_flag, "flag"), ["no", 1, None]),
    "random_state": (as_random_state, ["a", -1, 1.5, [1.5], True, 1j]),
    "k": (
        partial(check_cutoff, "k"),
        [
            0,
            -1,
            1.5,
            -0.5,
            0.0,
            NAN,
            INF,
            "10",
            True,
            False,
            [1],
            1j,
            fractions.Fraction(1, 2),
            np.array([1, 2]),
        ],
    ),
    "gain": (
        lambda gain: DCG(gain=gain).gains([0.0, 1.0, 2.0, 1.0]),
        [
            *(
                "exp3",
                "",
                5,
                None,
                [],
                [[0, 1]],
                [0, NAN],
                [0, INF],
                [3, 1],
                [-1, 0, 1],
                ["a"],
                {"a": 1},
                [0, 1j],
            ),
            *(
                True,
                wrong_function,
                lambda labels: labels[:1],
                lambda labels: labels - 5,
                lambda labels: labels * NAN,
            ),
        ],
    ),
    "discount": (
        lambda discount: DCG(discount=discount),
        [
            *(
                "log",
                "",
                5,
                None,
                [],
                ("power", -1),
                ("power", 0),
                ("power", NAN),
                ("power", "b"),
                ("power", True),
            ),
            *(
                ("exponential", 1),
                ("exponential", 0.5),
                ("exponential", INF),
                ("linear", 1),
                ("power",),
            ),
            *(
                wrong_function,
                lambda ranks: ranks,
                lambda ranks: -1.0 / ranks,
                lambda ranks: ranks * NAN,
            ),
        ],
    ),
}
SHARED_CASES = [(name, call, value) for name, (call, values) in SHARED.items() for value in values]


@for_each(("name", "call", "value"), SHARED_CASES, ids=lambda case: f"{case[0]}-{case[2]!r}")
def test_checks(name, call, value):
    check_fault(lambda: call(value), rf"\b{name}\b")


#: A value without a meaning for each setting of measures.
OF_MEASURES = {
    "k": 1.5,
    "gain": "exp3",
    "discount": "log",
    "ties": "mean",
    "empty": "mean",
    "threshold": 0,
    "recall": 1.1,
    "multiple": 0,
    "beta": -1,
    "denominator": "mean",
    "p": 1,
    "max_grade": 0,
    "ranks": 1,
}
MEASURES = [
    (name, field.name)
    for name, measure in metrics.MEASURES.items()
    for field in fields(measure)
    if field.init
]


@for_each(("name", "setting"), MEASURES)
def test_settings_of_measures(name, setting):
    check_fault(lambda: br.get_measure(name, **{setting: OF_MEASURES[setting]}), rf"\b{setting}\b")


FUNCTIONS = {
    "make_scorer-k": lambda: br.make_scorer("ndcg", k=0).measure(*ROWS),
    "reconcile-k": lambda: br.reconcile(*ROWS, k=0),
    "expected_ndcg-k": lambda: br.expected_ndcg(*ROWS, k=0),
    "lightgbm_objective-k": lambda: br.lightgbm_objective(k=0),
    "xgboost_objective-k": lambda: br.xgboost_objective(k=0),
    "reconcile-gain": lambda: br.reconcile(*ROWS, gain="exp3"),
    "split_queries-fraction": lambda: br.split_queries(ROWS[2], 1),
    "query_folds-n_splits": lambda: br.query_folds(br.Dataset(X, Y, QID), 2),
    "permutation_test-n_permutations": lambda: br.permutation_test(
        [1.0, 2], [1, 1], n_permutations=0
    ),
    "confidence_interval-level": lambda: significance.confidence_interval(
        [1.0, 2], [1, 1], level=1
    ),
    "required_queries-power": lambda: significance.required_queries(0.1, power=1),
    "required_queries-effect": lambda: significance.required_queries("a"),
    "make_ranking-n_queries": lambda: br.make_ranking(n_queries=0),
    "make_ranking-n_documents": lambda: br.make_ranking(3, n_documents=(3, 2)),
    "make_ranking-n_documents (one)": lambda: br.make_ranking(3, n_documents=(1,)),
    "make_ranking-n_features": lambda: br.make_ranking(3, n_features=4),
    "make_ranking-noise": lambda: br.make_ranking(3, noise=1),
    "make_ranking-return_bayes": lambda: br.make_ranking(2, return_bayes=1),
    "make_ranking-random_state": lambda: br.make_ranking(3, random_state=-1),
    "with_validation-fraction": lambda: model_selection.with_validation(FOLD, fraction=5),
    "distinguishability-n": lambda: theory.distinguishability(RANKED, [10, 2.5]),
    "distinguishability-n_lists": lambda: theory.distinguishability(RANKED, n_lists=1),
    "from_pairs-pairs": lambda: preferences.from_pairs([(0, 1)], ROWS[2]),
    "ndcg_score-per_query": lambda: br.ndcg_score(*ROWS, per_query=1),
    "evaluate-per_query": lambda: br.evaluate(*ROWS, per_query=1),
    "QueryKFold-random_state": lambda: list(
        br.QueryKFold(2, shuffle=True, random_state=-1).split(X, Y, QID)
    ),
    "split_queries-random_state": lambda: br.split_queries(QID, 0.5, random_state=-1),
    "permutation_test-random_state": lambda: br.permutation_test(
        np.arange(20.0), np.zeros(20), random_state=-1
    ),
    "simulate_clicks-random_state": lambda: br.simulate_clicks(*ROWS, random_state=-1),
    "LabelDistribution-random_state": lambda: theory.LabelDistribution.random(2, random_state=-1),
    "BaggedRanker-random_state": lambda: br.BaggedRanker(
        tiny(br.LightGBMRanker), random_state=-1
    ).fit(X, Y, QID),
}


@for_each("name", FUNCTIONS)
def test_settings_of_functions(name):
    check_fault(FUNCTIONS[name], rf"\b{name.partition('-')[2].split()[0]}\b")


#: Values without a meaning for each setting of rankers.
OF_RANKERS = {
    "n_estimators": [0, "a"],
    "early_stopping_rounds": [0],
    "learning_rate": [-0.1],
    "max_depth": [2.5],
    "k": [0],
    **{
        name: [0, 1.5]
        for name in ("subsample", "subsample_queries", "colsample_bytree", "colsample_bynode")
    },
    **{name: [-1.0] for name in ("reg_alpha", "reg_lambda", "min_child_weight")},
    "validation_fraction": [0, 1],
    "gain": ["exp3", wrong_function],
    "discount": ["log", wrong_function],
    "normalize": ["dgc"],
    "objective": ["softmaks", True, ["softmax"]],
    "random_state": [-1],
    "n_jobs": [2.5],
    "importance_type": ["foo"],
    "not_a_parameter": [1],
}
OF_LIBRARY = {
    "LightGBMRanker": {"num_leaves": [1, 2.5], "min_child_samples": [-1, 2.5]},
    "XGBoostRanker": {
        "gamma": [-1.0],
        "max_leaves": [-3],
        "max_bin": [1],
        "tree_method": [5],
        "grow_policy": ["best"],
    },
}
RANKER_CASES = [
    (name, setting, value)
    for name, of_library in OF_LIBRARY.items()
    for setting, values in {**OF_RANKERS, **of_library}.items()
    for value in values
]


@for_each(("name", "setting", "value"), RANKER_CASES)
def test_settings_of_rankers(name, setting, value):
    others = {"validation_fraction": 0.5} if setting == "early_stopping_rounds" else {}
    ranker = tiny(RANKERS[name], **{**others, setting: value})
    check_fault(lambda: ranker.fit(X, Y, QID).feature_importances_, rf"\b{setting}\b")


@for_each("ranker_class", RANKERS.values(), ids=RANKERS)
def test_cutoffs_beyond_int64_count_all_ranks(ranker_class):
    rows, huge = (Y, X[:, 0], QID), 10**30
    assert br.get_measure("precision", k=huge)([1, 0], [1, 0], [0, 0]) == pytest.approx(1e-30)
    assert br.ndcg_score(*rows, k=huge) == pytest.approx(br.ndcg_score(*rows))
    np.testing.assert_array_equal(br.expected_ndcg(*rows, k=huge), br.expected_ndcg(*rows))
    scores = [tiny(ranker_class, k=k).fit(X, Y, QID).predict(X) for k in (huge, None)]
    np.testing.assert_array_equal(*scores)
