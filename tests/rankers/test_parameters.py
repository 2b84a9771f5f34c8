"""Parameters of the rankers: other names, native ones, refused ones, values without meaning, and
subclasses."""

import io
import json
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout

import lightgbm
import numpy as np
import pytest
from cases import for_each
from sklearn.base import clone

import boostrank as br
from boostrank.backends.lightgbm.parameters import EXPLICIT, canonical_names, refused_parameters

X, Y, QID = br.make_ranking(n_queries=20, random_state=3)
SMALL = {"n_estimators": 4, "random_state": 0, "n_jobs": 1}
HELD_OUT = {"validation_fraction": 0.3, "random_state": 0, "n_estimators": 30}


def scores(ranker_class, objective="softmax", **parameters):
    return ranker_class(objective, **{"n_jobs": 1, **parameters}).fit(X, Y, QID).predict(X)


@for_each(
    ("ranker_class", "native", "explicit"),
    [
        (br.LightGBMRanker, {"eta": 0.3}, {"learning_rate": 0.3}),
        (br.LightGBMRanker, {"num_iterations": 3}, {"n_estimators": 3}),
        (
            br.LightGBMRanker,
            {"bagging_fraction": 0.5, "bagging_freq": 1},
            {"subsample": 0.5, "subsample_freq": 1},
        ),
        (br.LightGBMRanker, {"verbose": -1, "min_hessian": 30.0}, {"min_child_weight": 30.0}),
        (
            br.LightGBMRanker,
            {**HELD_OUT, "early_stopping_round": 1},
            {**HELD_OUT, "early_stopping_rounds": 1},
        ),
        (br.XGBoostRanker, {"alpha": 0.5, "lambda": 2.0}, {"reg_alpha": 0.5, "reg_lambda": 2.0}),
        (br.XGBoostRanker, {"min_split_loss": 2.0, "nthread": 1}, {"gamma": 2.0}),
        (br.XGBoostRanker, {"seed": 5, "subsample": 0.5}, {"random_state": 5, "subsample": 0.5}),
    ],
)
def test_other_names_of_parameters_mean_the_same(ranker_class, native, explicit):
    small = {"max_depth": 3} if "n_estimators" in explicit else {"max_depth": 3, "n_estimators": 5}
    expected = scores(ranker_class, **{**small, **explicit})
    np.testing.assert_array_equal(scores(ranker_class, **{**small, **native}), expected)
    assert not np.array_equal(expected, scores(ranker_class, max_depth=3, n_estimators=5))


REFUSED = [
    (br.LightGBMRanker, {"loss": "binary"}, "objective"),
    (br.LightGBMRanker, {"task": "predict"}, "call fit or predict"),
    (br.LightGBMRanker, {"class_weight": "balanced"}, "sample_weight"),
    (br.LightGBMRanker, {"objective": "squared", "lambdarank_truncation_level": 5}, "k"),
    (br.LightGBMRanker, {"input_model": "model.txt"}, "load_model"),
    (br.LightGBMRanker, {"weight_column": "0"}, "sample_weight"),
    (br.XGBoostRanker, {"custom_metric": "auc"}, "eval_metric"),
    (
        br.XGBoostRanker,
        {"objective": "squared", "lambdarank_pair_method": "mean"},
        "its own objectives",
    ),
    (br.XGBoostRanker, {"rate_drop": 0.1}, "booster='dart'"),
    (br.XGBoostRanker, {"booster": "gblinear"}, "'gbtree' or 'dart'; got 'gblinear'"),
]


@for_each(("ranker_class", "native", "remedy"), REFUSED)
def test_parameters_without_a_meaning_are_errors_with_a_remedy(ranker_class, native, remedy):
    with pytest.raises(
        ValueError, match=f"(?s)(?={list(native)[-1]}|.*{list(native)[-1]}).*{remedy}"
    ):
        scores(ranker_class, **native)


@for_each(
    ("ranker_class", "parameters", "message"),
    [
        (
            br.LightGBMRanker,
            {"num_trees": 6, "num_iterations": 4},
            "num_trees=6 and num_iterations=4",
        ),
        (br.LightGBMRanker, {"mc": [1], "monotone_constraints": [0]}, "mc=.*monotone_constraints="),
        (br.XGBoostRanker, {"learning_rate": 0.2, "eta": 0.3}, "learning_rate=0.2 and eta=0.3"),
        (
            br.XGBoostRanker,
            {"objective": "softmx"},
            r"squared, .*; got 'softmx' \(did you mean 'softmax'\?\)$",
        ),
        (br.LightGBMRanker, {"objective": "lamdarank"}, "did you mean '(consistent-)?lambdarank'"),
        (br.LightGBMRanker, {"gain": "exp"}, "did you mean 'exp2'"),
        (br.XGBoostRanker, {"discount": "log"}, "did you mean 'log2'"),
        (br.XGBoostRanker, {"normalize": "softmx"}, "did you mean 'softmax'"),
        (br.LightGBMRanker, {"importance_type": "gian"}, "did you mean 'gain'"),
        (br.LightGBMRanker, {"num_leafs": 1}, "num_leafs.*did you mean 'num_leaves'"),
        (br.LightGBMRanker, {"label_gian": 1}, "label_gian.*did you mean 'gain'"),
        (
            br.XGBoostRanker,
            {"colsample_bynod": 1},
            "colsample_bynod.*did you mean 'colsample_bynode'",
        ),
        (br.XGBoostRanker, {"eval_metrics": 1}, "eval_metrics.*did you mean 'eval_metric'"),
    ],
)
def test_unknown_names_and_two_names_of_one_parameter_are_errors(ranker_class, parameters, message):
    with pytest.raises(ValueError, match=message):
        ranker_class(**parameters).fit(X, Y, QID)


def test_parameters_survive_clone_and_reach_the_backend(ranker_class):
    native = {"extra_trees": True} if ranker_class is br.LightGBMRanker else {"max_delta_step": 0.1}
    # With the default penalty, LightGBM may find no split.
    plain = ranker_class(br.surrogates.Cosine(epsilon=2.0), **SMALL, k=5, reg_lambda=1.0)
    ranker = clone(plain).set_params(**native)
    assert clone(ranker).get_params() == ranker.get_params() == {**plain.get_params(), **native}
    assert not np.array_equal(ranker.fit(X, Y, QID).predict(X), plain.fit(X, Y, QID).predict(X))
    assert ranker.set_params(n_estimators=3).fit(X, Y, QID).best_iteration_ == 3
    with pytest.raises(ValueError, match="num_leafs"):
        ranker.set_params(num_leafs=3).fit(X, Y, QID)


def test_all_parameters_of_lightgbm_are_known_and_reasons_to_refuse_belong_to_them():
    table = lightgbm.basic._ConfigAliases._get_all_param_aliases()
    expected = {alias: name for name, aliases in table.items() for alias in (name, *aliases)}
    assert canonical_names() == {**expected, "eval_metric": "metric", "callbacks": "callbacks"}
    refused, of_estimators = set(refused_parameters({}, None)), {"callbacks", "class_weight"}
    assert refused - of_estimators | set(EXPLICIT) <= set(canonical_names().values())
    assert not refused & set(EXPLICIT)


def test_subclasses_with_keywords_keep_the_parameters_of_the_base_class(ranker_class):
    class Own(ranker_class):
        def __init__(self, other=3, n_estimators=50, **kwargs):
            super().__init__(n_estimators=n_estimators, **kwargs)
            self.other = other

    assert {**ranker_class().get_params(), "other": 3, "n_estimators": 50} == Own().get_params()
    ranker = Own(other=5, extra="native")
    expected = {**ranker_class().get_params(), "other": 5, "n_estimators": 50, "extra": "native"}
    assert ranker.get_params() == clone(ranker).get_params() == expected
    assert clone(Own(eta=0.3)).set_params(n_estimators=3).fit(X, Y, QID).best_iteration_ == 3
    # The default is that of the subclass, so that another name of the parameter does not contradict
    # it.
    assert Own(num_boost_round=2).fit(X, Y, QID).best_iteration_ == 2


def test_subclasses_may_take_few_parameters(ranker_class):
    native = {"extra_trees": True} if ranker_class is br.LightGBMRanker else {"max_delta_step": 1.0}

    class Own(ranker_class):
        def __init__(self, n_estimators=7):
            super().__init__(
                "softmax", k=3, n_estimators=n_estimators, reg_lambda=1.0, n_jobs=1, **native
            )

    ranker, settings = clone(Own(5)), {"n_estimators": 5, "k": 3, **native}
    assert ranker.get_params() == {"n_estimators": 5}
    np.testing.assert_array_equal(
        ranker.fit(X, Y, QID).predict(X), scores(ranker_class, reg_lambda=1.0, **settings)
    )
    # Parameters that only the base class takes can be set.
    changed = {"reg_lambda": 3.0, "max_depth": 2}
    found = ranker.set_params(**changed).fit(X, Y, QID).predict(X)
    np.testing.assert_array_equal(found, scores(ranker_class, **settings, **changed))


def test_fits_in_four_threads_leave_the_process_as_it_was(ranker_class):
    native = (
        {"min_data_in_bin": 1} if ranker_class is br.LightGBMRanker else {"max_delta_step": 1.0}
    )
    expected, filters, stream = (
        scores(ranker_class, **SMALL, **native),
        list(warnings.filters),
        io.StringIO(),
    )
    with redirect_stdout(stream), redirect_stderr(stream):
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _: scores(ranker_class, **SMALL, **native), range(4)))
        assert sys.stdout is sys.stderr is stream
    np.testing.assert_array_equal(found, [expected] * 4)
    assert stream.getvalue() == ""
    assert warnings.filters == filters


DART = {
    br.LightGBMRanker: {"boosting": "dart"},
    br.XGBoostRanker: {"booster": "dart", "rate_drop": 0.5},
}


@pytest.mark.parametrize(("ranker_class", "native"), DART.items())
def test_early_stopping_returns_the_evaluated_model_if_later_rounds_change_earlier_ones(
    ranker_class, native
):
    held_out = br.make_ranking(n_queries=15, random_state=1)
    settings = {**SMALL, "learning_rate": 0.5, "n_estimators": 40, "early_stopping_rounds": 5}
    ranker = ranker_class("softmax", **settings, **native).fit(
        X, Y, QID, eval_set=[tuple(held_out)]
    )
    history = ranker.evals_result_["valid_0"]["ndcg"]
    assert (
        ranker.best_iteration_
        == int(np.argmax(history)) + 1
        == ranker.apply(X).shape[1]
        < len(history)
    )
    assert ranker.score(*held_out) == pytest.approx(max(history), abs=1e-9)


@pytest.mark.parametrize("dart", [False, True])
def test_the_first_of_equally_good_rounds_is_kept(ranker_class, dart):
    settings = {**SMALL, **(DART[ranker_class] if dart else {})}
    # All documents of the validation set are relevant, so that NDCG is 1 in all rounds.
    ranker = ranker_class("softmax", **settings, early_stopping_rounds=3)
    ranker.fit(X, Y, QID, eval_set=[(X[:30], np.ones(30), np.zeros(30))])
    assert ranker.evals_result_["valid_0"]["ndcg"] == [1.0] * 4
    assert ranker.best_iteration_ == 1
    first = ranker_class("softmax", **{**settings, "n_estimators": 1}).fit(X, Y, QID)
    np.testing.assert_array_equal(ranker.predict(X), first.predict(X))


@pytest.mark.parametrize(
    ("objective", "of_lightgbm", "of_xgboost"),
    [
        ("rank:ndcg", "lambdarank", None),
        ("rank:pairwise", "pairwise-logistic", None),
        ("rank:map", "lambdarank", None),
        ("rank:ndgc", "lambdarank", "rank:ndcg"),
        ("lambdarank", None, "rank:ndcg"),
        ("rank_xendcg", None, "softmax"),
        ("xendcg", None, "softmax"),
        ("YetiRank", "softmax", "softmax"),
        ("YetiRankPairwise", "softmax", "softmax"),
        ("QuerySoftMax", "softmax", "softmax"),
        ("PairLogit", "pairwise-logistic", "pairwise-logistic"),
        ("QueryRMSE", "pairwise-squared", "pairwise-squared"),
        ("LambdaMart", "lambdarank", "rank:ndcg"),
    ],
)
def test_an_objective_of_another_library_is_told_its_counterpart(
    objective, of_lightgbm, of_xgboost
):
    X, y, qid = br.make_ranking(n_queries=9, random_state=0)
    for ranker_class, name in ((br.LightGBMRanker, of_lightgbm), (br.XGBoostRanker, of_xgboost)):
        ranker = ranker_class(objective, n_estimators=1, n_jobs=1)
        if name is None:
            ranker.set_params(objective=objective)
            labels = (y > 0).astype(float) if objective == "rank:map" else y
            ranker.fit(X, labels, qid)
            continue
        with pytest.raises(ValueError, match=rf"did you mean '{name}'"):
            ranker.fit(X, y, qid)


def test_numbers_of_numpy_are_numbers(ranker_class, tmp_path):
    """XGBoost writes some parameters as JSON, which has no numbers of NumPy."""
    X, y, qid = br.make_ranking(n_queries=20, random_state=0)
    plain = {
        "n_estimators": 3,
        "learning_rate": 0.25,
        "max_depth": 3,
        "max_bin": 31,
        "n_jobs": 1,
        "min_child_weight": 2.0,
        "random_state": 1,
        "reg_lambda": 0.5,
        "colsample_bytree": 0.5,
        "k": 5,
    }
    if ranker_class is br.XGBoostRanker:
        plain |= {"max_leaves": 7, "max_delta_step": 0.5, "num_parallel_tree": 2}
    of_numpy = {name: np.asarray(value)[()] for name, value in plain.items()}
    assert isinstance(of_numpy["max_bin"], np.integer)
    expected = ranker_class(**plain).fit(X, y, qid)
    ranker = clone(ranker_class().set_params(**of_numpy)).fit(X, y, qid)
    np.testing.assert_array_equal(ranker.predict(X), expected.predict(X))
    ranker.save_model(tmp_path / "model.json")
    loaded = ranker_class(**of_numpy).load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(X), expected.predict(X))
    # scikit-learn's clone needs the objects that were given.
    assert all(ranker.get_params()[name] is value for name, value in of_numpy.items())
    if ranker_class is br.XGBoostRanker:
        json.dumps(ranker.get_xgb_params())
