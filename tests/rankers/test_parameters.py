"""Parameters of the rankers: other names, native ones, refused ones, values without meaning, and subclasses."""

import io
import sys
import threading
import warnings
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

import boostrank as br
from boostrank.backends.lightgbm.parameters import known_parameters

RANKERS = [br.LightGBMRanker, br.XGBoostRanker]
both = pytest.mark.parametrize("ranker_class", RANKERS)
X, Y, QID = br.make_ranking(n_queries=20, random_state=3)
SMALL = {"n_estimators": 4, "random_state": 0, "n_jobs": 1}
HELD_OUT = {"validation_fraction": 0.3, "random_state": 0, "n_estimators": 30}


def scores(ranker_class, **parameters):
    return ranker_class("softmax", **{"n_jobs": 1, **parameters}).fit(X, Y, QID).predict(X)


@pytest.mark.parametrize(
    ("ranker_class", "native", "explicit"),
    [
        (br.LightGBMRanker, {"eta": 0.3}, {"learning_rate": 0.3}),
        (br.LightGBMRanker, {"num_iterations": 3}, {"n_estimators": 3}),
        (br.LightGBMRanker, {"lambda_l1": 0.5, "lambda_l2": 0.2}, {"reg_alpha": 0.5, "reg_lambda": 0.2}),
        (br.LightGBMRanker, {"bagging_fraction": 0.5, "bagging_freq": 1}, {"subsample": 0.5, "subsample_freq": 1}),
        (br.LightGBMRanker, {"verbose": -1, "min_hessian": 30.0}, {"min_child_weight": 30.0}),
        (br.LightGBMRanker, {**HELD_OUT, "early_stopping_round": 1}, {**HELD_OUT, "early_stopping_rounds": 1}),
        (br.XGBoostRanker, {"num_boost_round": 3}, {"n_estimators": 3}),
        (br.XGBoostRanker, {"alpha": 0.5, "lambda": 2.0}, {"reg_alpha": 0.5, "reg_lambda": 2.0}),
        (br.XGBoostRanker, {"min_split_loss": 2.0, "nthread": 1}, {"gamma": 2.0}),
        (br.XGBoostRanker, {"seed": 5, "subsample": 0.5}, {"random_state": 5, "subsample": 0.5}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else value.__name__,
)
def test_other_names_of_parameters_mean_the_same(ranker_class, native, explicit):
    small = {"max_depth": 3} if "n_estimators" in explicit else {"max_depth": 3, "n_estimators": 5}
    expected = scores(ranker_class, **{**small, **explicit})
    np.testing.assert_array_equal(scores(ranker_class, **{**small, **native}), expected)
    np.testing.assert_array_equal(
        clone(ranker_class("softmax", **{"n_jobs": 1, **small, **native})).fit(X, Y, QID).predict(X), expected
    )
    assert not np.array_equal(expected, scores(ranker_class, max_depth=3, n_estimators=5))


@pytest.mark.parametrize(
    ("ranker_class", "parameters", "message"),
    [
        (br.LightGBMRanker, {"num_trees": 6, "num_iterations": 4}, "num_trees=6 and num_iterations=4"),
        (br.LightGBMRanker, {"mc": [1], "monotone_constraints": [0]}, "mc=.*monotone_constraints="),
        (br.XGBoostRanker, {"learning_rate": 0.2, "eta": 0.3}, "learning_rate=0.2 and eta=0.3"),
    ],
)
def test_two_names_of_one_parameter_with_different_values_are_an_error(ranker_class, parameters, message):
    with pytest.raises(ValueError, match=message):
        scores(ranker_class, **parameters)


REFUSED = [
    (br.LightGBMRanker, {"loss": "binary"}, "objective"),
    (br.LightGBMRanker, {"task": "predict"}, "call fit or predict"),
    (br.LightGBMRanker, {"class_weight": "balanced"}, "sample_weight"),
    (br.LightGBMRanker, {"lambdarank_truncation_level": 5}, "k"),
    (br.LightGBMRanker, {"input_model": "model.txt"}, "load_model"),
    (br.LightGBMRanker, {"weight_column": "0"}, "sample_weight"),
    (br.XGBoostRanker, {"custom_metric": "auc"}, "eval_metric"),
    (br.XGBoostRanker, {"enable_categorical": False}, "always categorical features"),
    (br.XGBoostRanker, {"lambdarank_pair_method": "mean"}, "its own objectives"),
    (br.XGBoostRanker, {"rate_drop": 0.1}, "booster='dart'"),
    (br.XGBoostRanker, {"booster": "gblinear"}, "'gbtree' or 'dart'; got 'gblinear'"),
]


@pytest.mark.parametrize(("ranker_class", "native", "remedy"), REFUSED, ids=lambda value: str(value)[:40])
def test_parameters_without_a_meaning_are_errors_with_a_remedy(ranker_class, native, remedy):
    with pytest.raises(ValueError, match=f"(?s)(?={list(native)[-1]}|.*{list(native)[-1]}).*{remedy}"):
        scores(ranker_class, **native)


@pytest.mark.parametrize(
    ("ranker_class", "objective", "parameters"),
    [
        (br.LightGBMRanker, "lambdarank", {"lambdarank_truncation_level": 1}),
        (br.LightGBMRanker, "rank_xendcg", {"objective_seed": 77}),
        (br.XGBoostRanker, "rank:ndcg", {"lambdarank_num_pair_per_sample": 1, "lambdarank_pair_method": "topk"}),
        (br.XGBoostRanker, "softmax", {"tree_method": "exact", "colsample_bylevel": 0.3}),
        (br.LightGBMRanker, "softmax", {"categorical_feature": [0], "min_data_per_group": 1}),
    ],
)
def test_native_parameters_have_their_effect(ranker_class, objective, parameters):
    features = np.column_stack([(Y * 3 + 1) % 5, X])
    models = [ranker_class(objective, **SMALL, **given).fit(features, Y, QID) for given in ({}, parameters)]
    assert not np.array_equal(*(model.predict(features) for model in models))


@pytest.mark.parametrize(
    ("ranker_class", "wrong", "nearest"),
    [
        (br.LightGBMRanker, "num_leafs", "num_leaves"),
        (br.LightGBMRanker, "monotone_constrains", "monotone_constraints"),
        (br.XGBoostRanker, "learn_rate", "learning_rate"),
        (br.XGBoostRanker, "colsample_bynod", "colsample_bynode"),
        (br.LightGBMRanker, "label_gian", "gain"),
        (br.XGBoostRanker, "eval_metrics", "eval_metric"),
    ],
)
def test_unknown_parameters_are_errors_with_the_nearest_name(ranker_class, wrong, nearest):
    with pytest.raises(ValueError, match=f"{wrong}.*did you mean '{nearest}'"):
        scores(ranker_class, **{wrong: 1})


@both
def test_parameters_survive_clone_and_reach_the_backend(ranker_class):
    native = {"extra_trees": True} if ranker_class is br.LightGBMRanker else {"colsample_bynode": 0.3}
    # With the default penalty, LightGBM may find no split.
    settings = {**SMALL, "k": 5, "reg_lambda": 1.0}
    ranker = ranker_class(br.surrogates.Cosine(epsilon=2.0), **settings, **native)
    assert clone(ranker).get_params() == ranker.get_params()
    assert native.items() <= ranker.get_params().items()
    plain = ranker_class(br.surrogates.Cosine(epsilon=2.0), **settings)
    assert not np.array_equal(ranker.fit(X, Y, QID).predict(X), plain.fit(X, Y, QID).predict(X))
    assert ranker.set_params(n_estimators=3).fit(X, Y, QID).best_iteration_ == 3
    with pytest.raises(ValueError, match="num_leafs"):
        ranker.set_params(num_leafs=3).fit(X, Y, QID)


def test_all_reasons_to_refuse_belong_to_parameters_of_lightgbm():
    known = known_parameters({}, None)
    of_estimators = {"callbacks", "class_weight"}
    assert set(known.refused) - of_estimators | set(known.explicit) <= set(known.canonical.values())
    assert not set(known.refused) & set(known.explicit)


@both
def test_none_leaves_the_choice_to_the_boosting_library(ranker_class):
    for name in ranker_class._backend.PARAMETERS:
        assert np.ptp(scores(ranker_class, **{"n_estimators": 2, name: None})) > 0


@both
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
    # The default is that of the subclass, so that another name of the parameter does not contradict it.
    assert Own(num_boost_round=2).fit(X, Y, QID).best_iteration_ == 2


@both
def test_subclasses_may_take_few_parameters(ranker_class):
    native = {"extra_trees": True} if ranker_class is br.LightGBMRanker else {"max_delta_step": 1.0}

    class Own(ranker_class):
        def __init__(self, n_estimators=7):
            super().__init__("softmax", k=3, n_estimators=n_estimators, reg_lambda=1.0, n_jobs=1, **native)

    settings = {"k": 3, "reg_lambda": 1.0, "n_jobs": 1, **native}
    expected = ranker_class("softmax", n_estimators=5, **settings).fit(X, Y, QID).predict(X)
    ranker = clone(Own(5))
    assert ranker.get_params() == {"n_estimators": 5}
    np.testing.assert_array_equal(ranker.fit(X, Y, QID).predict(X), expected)
    assert ranker.objective_ == "softmax"
    # Parameters that only the base class takes can be set.
    settings = {**settings, "reg_lambda": 3.0, "max_depth": 2}
    expected = ranker_class("softmax", n_estimators=5, **settings).fit(X, Y, QID).predict(X)
    np.testing.assert_array_equal(ranker.set_params(reg_lambda=3.0, max_depth=2).fit(X, Y, QID).predict(X), expected)


@both
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"objective": "softmx"}, r"SURROGATES or .*EDGE_LOSSES; got 'softmx' \(did you mean 'softmax'\?\)$"),
        ({"objective": "lamdarank"}, "did you mean 'consistent-lambdarank|did you mean 'lambdarank'"),
        ({"gain": "exp"}, "did you mean 'exp2'"),
        ({"discount": "log"}, "did you mean 'log2'"),
        ({"normalize": "softmx"}, "did you mean 'softmax'"),
        ({"importance_type": "gian"}, "did you mean 'gain'"),
    ],
)
def test_values_that_are_nearly_names_are_errors_with_the_nearest_one(ranker_class, parameters, message):
    with pytest.raises(ValueError, match=message) as raised:
        ranker_class(**parameters).fit(X, Y, QID)
    assert len(str(raised.value)) < 300


@both
def test_fits_in_eight_threads_leave_the_process_as_it_was(ranker_class):
    native = {"min_data_in_bin": 1} if ranker_class is br.LightGBMRanker else {"max_delta_step": 1.0}
    expected, filters, errors = scores(ranker_class, **SMALL, **native), list(warnings.filters), []
    stream = io.StringIO()

    def fit():
        try:
            np.testing.assert_array_equal(scores(ranker_class, **SMALL, **native), expected)
        except BaseException as error:
            errors.append(error)

    with redirect_stdout(stream), redirect_stderr(stream):
        threads = [threading.Thread(target=fit) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sys.stdout is sys.stderr is stream
    assert errors == []
    assert stream.getvalue() == ""
    assert warnings.filters == filters


DART = {br.LightGBMRanker: {"boosting": "dart"}, br.XGBoostRanker: {"booster": "dart", "rate_drop": 0.5}}


@pytest.mark.parametrize(("ranker_class", "native"), DART.items())
def test_early_stopping_returns_the_evaluated_model_if_later_rounds_change_earlier_ones(ranker_class, native):
    held_out = br.make_ranking(n_queries=15, random_state=1)
    ranker = ranker_class("softmax", k=10, **{**SMALL, "learning_rate": 0.5, **native, "n_estimators": 40})
    ranker.set_params(early_stopping_rounds=5).fit(X, Y, QID, eval_set=[tuple(held_out)])
    history = ranker.evals_result_["valid_0"]["ndcg@10"]
    assert ranker.best_iteration_ == int(np.argmax(history)) + 1 == ranker._backend.n_rounds(ranker.booster_)
    assert len(history) > ranker.best_iteration_
    assert br.ndcg_score(held_out.y, ranker.predict(held_out.X), held_out.qid, k=10) == pytest.approx(
        max(history), abs=1e-9
    )


@both
@pytest.mark.parametrize("dart", [False, True])
def test_the_first_of_equally_good_rounds_is_kept(ranker_class, dart):
    # All documents of the validation set are relevant, so that NDCG is 1 in all rounds.
    native = DART[ranker_class] if dart else {}
    eval_set = [(X[:30], np.ones(30), np.zeros(30))]
    # Without it, the rate would be smaller with early stopping.
    native = {**native, "learning_rate": 0.1}
    ranker = ranker_class("softmax", **{**SMALL, "n_estimators": 9}, early_stopping_rounds=3, **native)
    ranker.fit(X, Y, QID, eval_set=eval_set)
    assert ranker.evals_result_["valid_0"]["ndcg"] == [1.0] * 4
    assert ranker.best_iteration_ == 1
    first = ranker_class("softmax", **{**SMALL, "n_estimators": 1}, **native).fit(X, Y, QID)
    np.testing.assert_array_equal(ranker.predict(X), first.predict(X))


@both
def test_the_default_score_warns_of_folds_that_cut_queries(ranker_class):
    train, test = next(KFold(3, shuffle=True, random_state=0).split(X))
    ranker = ranker_class(**SMALL).fit(X[train], Y[train], QID[train])
    with pytest.warns(UserWarning, match="cut queries apart"):
        ranker.score(X[test], Y[test], QID[test])
    keep, hold_out = br.split_queries(QID, 0.3, random_state=0)
    ranker.fit(X[keep], Y[keep], QID[keep])
    for rows in (keep, hold_out):
        ranker.score(X[rows], Y[rows], QID[rows])
