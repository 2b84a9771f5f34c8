"""Hostile settings at every entry point that takes them: each is an error that names the setting."""

import fractions
from dataclasses import fields

import numpy as np
from cases import for_each
from measure_definitions import FOR_ARRAYS

import boostrank as br
from boostrank import datasets, metrics, model_selection, preferences, significance, theory
from hostile.entry_points import RANKERS, tiny
from hostile.outcomes import check_fault, named

ROWS = [2, 0, 1, 0], [0.1, 0.4, 0.3, 0.2], [1, 1, 2, 2]
X, Y, QID = br.make_ranking(n_queries=6, n_documents=5, random_state=0)
FOLD = datasets.Fold("Fold1", train=None, validation=datasets.Dataset(X, Y, QID), test=None)
RANKED = theory.RankedData(ROWS[0], ROWS[1], ROWS[1], ROWS[2])
NAN, INF = float("nan"), float("inf")


def wrong_function(ranks):
    return np.ones(3)


#: Values without a meaning, by the setting.
CUTOFFS = [0, -1, 1.5, -0.5, 0.0, NAN, INF, "10", True, False, [1], 1j, fractions.Fraction(1, 2), np.array([1, 2])]
GAINS = ["exp3", "", 5, None, [], [[0, 1]], [0, NAN], [0, INF], [3, 1], [-1, 0, 1], ["a"], wrong_function, {"a": 1}]
GAINS += [lambda labels: labels - 5, lambda labels: labels * NAN, [0, 1j], True]
DISCOUNTS = ["log", "", 5, None, ("power", -1), ("power", 0), ("power", NAN), ("power", "b"), ("exponential", 1)]
DISCOUNTS += [("exponential", 0.5), ("linear", 1), ("power",), wrong_function, lambda ranks: ranks, ("power", "a")]
DISCOUNTS += [lambda ranks: -1.0 / ranks, lambda ranks: ranks * NAN, ("power", True), ("exponential", INF), []]
NAMES = ["", "mean", None, 5, True, ["zero"], NAN]
NO_FLAGS, NO_SEEDS = ["no", 1, None], ["a", -1, 1.5, True]
METRIC_SETTINGS = {
    "k": (CUTOFFS, [name for name in FOR_ARRAYS if "k" in {field.name for field in fields(metrics.MEASURES[name])}]),
    "gain": (GAINS, ["ndcg", "dcg"]),
    "discount": (DISCOUNTS, ["ndcg", "dcg"]),
    "ties": (NAMES, [name for name in FOR_ARRAYS if name not in ("auc", "kendall_tau", "spearman")]),
    "empty": (NAMES, FOR_ARRAYS),
    "threshold": (
        [0, -1, NAN, INF, "1", None, 1j, True, [1]],
        ["precision", "recall", "f", "map", "mrr", "auc", "rbp", "success", "rprec", "iprec", "bpref"],
    ),
    "recall": ([-0.1, 1.1, NAN, INF, "a", True, 1j, [0.5]], ["iprec"]),
    "multiple": ([0, -0.5, NAN, INF, "a", True, 1j], ["rprec"]),
    "beta": ([-1, NAN, INF, "a", None, True], ["f"]),
    "denominator": (NAMES, ["map"]),
    "p": ([0, 1, -0.5, 1.5, NAN, "a", None, True, 1j], ["rbp"]),
    "max_grade": ([0, -1, NAN, INF, 1, "4", True, 1j, [4]], ["err"]),
}


def metric_cases():
    """Each value meets one measure, in turn, and each measure one value at least."""
    cases = {}
    for setting, (values, names) in METRIC_SETTINGS.items():
        for number in range(max(len(values), len(names))):
            value, name = values[number % len(values)], names[number % len(names)]
            cases[f"{name}-{setting}-{number}"] = (name, setting, value)
    return cases


@for_each(("name", "setting", "value"), metric_cases().values(), ids=metric_cases())
def test_settings_of_measures(name, setting, value):
    for call in (
        lambda: br.get_measure(name, **{setting: value})(*ROWS),
        lambda: br.make_scorer(name, **{setting: value}).measure(*ROWS),
    ):
        check_fault(call, rf"\b{setting}\b")


FUNCTIONS = {
    "reconcile-k": (lambda k: br.reconcile(*ROWS, k=k), CUTOFFS),
    "expected_ndcg-k": (lambda k: br.expected_ndcg(*ROWS, k=k), CUTOFFS),
    "dcg_breakdown-k": (lambda k: metrics.dcg_breakdown(*ROWS, k=k), CUTOFFS),
    "tie_range-k": (lambda k: metrics.tie_range(*ROWS, k=k), CUTOFFS),
    "ndcg_curve-ks": (
        lambda k: metrics.ndcg_curve(*ROWS, ks=k),
        [5, [], [0], [1.5], [True], ["1"], None, [NAN], [None]],
    ),
    "lightgbm_objective-k": (lambda k: br.lightgbm_objective(k=k), CUTOFFS),
    "xgboost_objective-k": (lambda k: br.xgboost_objective(k=k), CUTOFFS),
    "reconcile-gain": (lambda gain: br.reconcile(*ROWS, gain=gain), GAINS[:9]),
    "dcg_breakdown-discount": (lambda discount: metrics.dcg_breakdown(*ROWS, discount=discount), DISCOUNTS[:9]),
    "tie_range-empty": (lambda empty: metrics.tie_range(*ROWS, empty=empty), NAMES),
    "ndcg_curve-ties": (lambda ties: metrics.ndcg_curve(*ROWS, ties=ties), NAMES),
    "split_queries-fraction": (lambda f: br.split_queries(ROWS[2], f), [0, 1, -1, 2, NAN, "a", None, True, 1j]),
    "query_folds-n_splits": (lambda n: br.query_folds(br.Dataset(X, Y, QID), n), [0, 2, -1, 3.5, "3", None, True, NAN]),
    "permutation_test-n_permutations": (
        lambda n: br.permutation_test([1.0, 2], [1, 1], n_permutations=n),
        [0, -1, 1.5, True, "10", None, NAN],
    ),
    "confidence_interval-level": (
        lambda level: significance.confidence_interval([1.0, 2], [1, 1], level=level),
        [0, 1, -1, 2, NAN, "a", None, True],
    ),
    "required_queries-power": (
        lambda power: significance.required_queries(0.1, power=power),
        [0, 1, NAN, "a", None, 2],
    ),
    "required_queries-effect": (lambda effect: significance.required_queries(effect), ["a", 1j]),
    "make_ranking-n_queries": (lambda n: br.make_ranking(n_queries=n), [0, -1, 1.5, True, "3", None, NAN]),
    "make_ranking-n_documents": (
        lambda n: br.make_ranking(3, n_documents=n),
        [0, -1, 1.5, True, "3", None, (3, 2), (1,)],
    ),
    "make_ranking-n_features": (lambda n: br.make_ranking(3, n_features=n), [4]),
    "make_ranking-noise": (lambda noise: br.make_ranking(3, noise=noise), [1, -0.1, NAN, "a", None]),
    "make_ranking-return_bayes": (lambda flag: br.make_ranking(2, return_bayes=flag), NO_FLAGS),
    "make_ranking-random_state": (lambda seed: br.make_ranking(3, random_state=seed), NO_SEEDS),
    "with_validation-fraction": (lambda f: model_selection.with_validation(FOLD, fraction=f), [5]),
    "distinguishability-n": (lambda n: theory.distinguishability(RANKED, n), [[10, 2.5], 0]),
    "distinguishability-n_lists": (lambda n: theory.distinguishability(RANKED, n_lists=n), [1]),
    "from_pairs-pairs": (lambda pairs: preferences.from_pairs(pairs, ROWS[2]), [[(0, 1)]]),
    "ndcg_score-per_query": (lambda flag: br.ndcg_score(*ROWS, per_query=flag), NO_FLAGS),
    "evaluate-per_query": (lambda flag: br.evaluate(*ROWS, per_query=flag), NO_FLAGS),
    "QueryKFold-stratify": (lambda flag: list(br.QueryKFold(2, stratify=flag).split(X, Y, QID)), NO_FLAGS),
    "QueryKFold-random_state": (
        lambda seed: list(br.QueryKFold(2, shuffle=True, stratify=True, random_state=seed).split(X, Y, QID)),
        NO_SEEDS,
    ),
    "split_queries-random_state": (lambda seed: br.split_queries(QID, 0.5, random_state=seed), NO_SEEDS),
    "permutation_test-random_state": (
        lambda seed: br.permutation_test(np.arange(20.0), np.zeros(20), random_state=seed),
        NO_SEEDS,
    ),
    "simulate_clicks-random_state": (lambda seed: br.simulate_clicks(*ROWS, random_state=seed), NO_SEEDS),
    "LabelDistribution-random_state": (lambda seed: theory.LabelDistribution.random(2, random_state=seed), NO_SEEDS),
    "BaggedRanker-random_state": (
        lambda seed: br.BaggedRanker(tiny(br.LightGBMRanker), random_state=seed).fit(X, Y, QID),
        NO_SEEDS,
    ),
    "write_letor-zero_based": (lambda flag: br.write_letor("unused.txt", X, Y, QID, zero_based=flag), NO_FLAGS),
}
FUNCTION_CASES = {
    f"{name}-{number}": (call, name.rpartition("-")[2], value)
    for name, (call, values) in FUNCTIONS.items()
    for number, value in enumerate(values)
}


@for_each(("call", "setting", "value"), FUNCTION_CASES.values(), ids=FUNCTION_CASES)
def test_settings_of_functions(call, setting, value):
    check_fault(lambda: call(value), rf"\b{setting}\b")


INTEGERS = [0, -3, 2.5, NAN, "a", True, [1], 1j]
SHARES = [-0.5, 1.5, NAN, "a", [1], 1j]
NOT_NEGATIVE = [-1.0, NAN, "a", [1], 1j]
BOTH = {
    "n_estimators": INTEGERS,
    "early_stopping_rounds": INTEGERS,
    "learning_rate": [-0.1, NAN, INF, "a", [1], 1j],
    "subsample": [0, *SHARES],
    "subsample_queries": [0, *SHARES],
    "colsample_bytree": [0, *SHARES],
    "colsample_bynode": [0, *SHARES],
    "reg_alpha": NOT_NEGATIVE,
    "reg_lambda": NOT_NEGATIVE,
    "min_child_weight": NOT_NEGATIVE,
    "max_depth": [2.5, "a", NAN, [1], 1j],
    "validation_fraction": [0, 1, -0.5, 1.5, NAN, "a", True, 1j],
    "k": CUTOFFS,
    "gain": GAINS,
    "discount": DISCOUNTS,
    "normalize": ["dgc", None, 5, True],
    "objective": ["softmaks", True, 5, "", ["softmax"]],
    "random_state": ["a", -1, 2.5, [1.5], 1j],
    "n_jobs": ["a", 2.5, 1j],
    "importance_type": ["foo", 5, ""],
    "refit": ["yes"],
}
RANKER_SETTINGS = {
    "LightGBMRanker": {
        **BOTH,
        "num_leaves": [0, 1, -3, 2.5, "a", NAN, 1j],
        "min_child_samples": [-1, 2.5, "a", NAN, 1j],
        "not_a_parameter": [1],
    },
    "XGBoostRanker": {
        **BOTH,
        "gamma": NOT_NEGATIVE,
        "max_leaves": [-3, 2.5, "a", NAN, 1j],
        "max_bin": [0, 1, -3, 2.5, "a", NAN, 1j],
        "tree_method": ["best", 5],
        "grow_policy": ["best", 5],
        "not_a_parameter": [1],
    },
}
RANKER_PAIRS = [
    (name, f"{setting}-{number}")
    for name, values in RANKER_SETTINGS.items()
    for setting in values
    for number in range(len(values[setting]))
]


@for_each(("name", "setting"), named(RANKER_PAIRS))
def test_settings_of_rankers(name, setting):
    setting, _, number = setting.rpartition("-")
    value = RANKER_SETTINGS[name][setting][int(number)]
    others = {"validation_fraction": 0.5} if setting in ("early_stopping_rounds", "refit") else {}
    others |= {"early_stopping_rounds": 2} if setting == "refit" else {}
    ranker = tiny(RANKERS[name], **{**others, setting: value})

    def call():
        ranker.fit(X, Y, QID)
        if setting == "importance_type":
            return ranker.feature_importances_
        return ranker

    check_fault(call, rf"\b{setting}\b")
