"""Callbacks of the boosting libraries, printed metrics, the progress bar, and functions as
objectives."""

import re

import lightgbm
import numpy as np
import pytest
import xgboost
from cases import for_each
from loss_defaults import PLAIN_TREES, XGBOOST_DEFAULTS
from rankers.small_rankers import small
from sklearn.base import clone

import boostrank as br

VALIDATION = br.make_ranking(n_queries=30, random_state=4)


def test_callbacks_may_change_the_learning_rate_and_be_parameters(ranker_class, data):
    (X, y, qid), rates = data, [0.3, 0.2, 0.1, 0.05]
    if ranker_class is br.LightGBMRanker:
        callback, model = lightgbm.reset_parameter(learning_rate=rates), None
        for rate in rates:
            one = small(ranker_class, n_estimators=1, learning_rate=rate, **PLAIN_TREES)
            model = one.fit(X, y, qid, init_model=model)
        expected = model.predict(X)
    else:
        callback, matrix = (
            xgboost.callback.LearningRateScheduler(rates),
            xgboost.QuantileDMatrix(X, y, qid=qid),
        )
        native = {
            **XGBOOST_DEFAULTS,
            "eta": 0.1,
            "nthread": 1,
            "base_score": 0,
            "disable_default_eval_metric": True,
        }
        objective = br.xgboost_objective("softmax")
        expected = xgboost.train(
            native, matrix, 4, obj=objective, callbacks=[callback]
        ).inplace_predict(X)
    ours = small(ranker_class, n_estimators=4, **PLAIN_TREES)
    for parameters, of_fit in (({}, {"callbacks": [callback]}), ({"callbacks": [callback]}, {})):
        scores = clone(ours).set_params(**parameters).fit(X, y, qid, **of_fit).predict(X)
        np.testing.assert_array_equal(scores, expected.astype(np.float64))


@pytest.mark.parametrize(
    "metric", ["ndcg@5", lambda y, s: ("mse", float(np.mean((y - s) ** 2)), False)]
)
def test_early_stopping_of_the_libraries_is_ours(ranker_class, data, metric):
    validation = {"eval_set": [VALIDATION], "eval_metric": metric}
    ours, theirs = (
        small(ranker_class, n_estimators=60, learning_rate=0.3, early_stopping_rounds=patience)
        for patience in (3, None)
    )
    ours.fit(*data, **validation)
    is_lightgbm = ranker_class is br.LightGBMRanker
    callback = (
        lightgbm.early_stopping(3, verbose=False)
        if is_lightgbm
        else xgboost.callback.EarlyStopping(rounds=3)
    )
    # The callback forgets its earlier training.
    for _ in range(2):
        theirs.fit(*data, **validation, callbacks=[callback])
        assert theirs.best_iteration_ == ours.best_iteration_ < 60
        np.testing.assert_array_equal(theirs.predict(data[0]), ours.predict(data[0]))


class Record(xgboost.callback.TrainingCallback):
    """Keeps set, metric and value of every round of XGBoost; its method `of_lightgbm` is a callback
    of LightGBM."""

    def __init__(self):
        self.rounds = []

    def of_lightgbm(self, environment):
        self.rounds.append([line[:3] for line in environment.evaluation_result_list])

    def after_iteration(self, model, epoch, evals_log):
        values = [(name, metric, of[metric][-1]) for name, of in evals_log.items() for metric in of]
        self.rounds.append(values)


@pytest.mark.filterwarnings("ignore::lightgbm.basic.LGBMDeprecationWarning")
@pytest.mark.parametrize(
    ("objective", "parameters"),
    [
        ("lambdarank", {}),
        ("rank_xendcg", {}),
        ("rank:ndcg", {}),
        ("rank:pairwise", {"lambdarank_pair_method": "mean"}),
        ("rank:map", {"lambdarank_num_pair_per_sample": 7}),
        ("rank:ndcg", {"eval_metric": ["pre@3", "ndcg@5-", "map"]}),
    ],
)
def test_callbacks_see_and_do_what_they_do_with_the_rankers_of_the_libraries(
    data, objective, parameters
):
    (X, y, qid), is_lightgbm = data, ":" not in objective
    settings = {
        "objective": objective,
        "n_estimators": 60,
        "learning_rate": 0.3,
        "n_jobs": 1,
        **parameters,
    }
    sets = {"eval_set": [(X, y > 1), (VALIDATION[0], VALIDATION[1] > 1)]}
    sets["eval_group"] = [np.bincount(qid), np.bincount(VALIDATION[2])]
    records = []
    for ours in (False, True):
        records.append(Record())
        if is_lightgbm:
            ranker = (br.LightGBMRanker if ours else lightgbm.LGBMRanker)(
                **settings, random_state=0
            )
            callbacks = [records[-1].of_lightgbm, lightgbm.early_stopping(5, verbose=False)]
            ranker.fit(X, y > 1, group=np.bincount(qid), **sets, callbacks=callbacks)
        else:
            callbacks = [records[-1], xgboost.callback.EarlyStopping(rounds=5)]
            ranker = br.XGBoostRanker if ours else xgboost.XGBRanker
            ranker = ranker(**settings, base_score=0.0, callbacks=callbacks)
            ranker.fit(X, y > 1, group=np.bincount(qid), **sets, verbose=False)
    theirs, ours = ([[line[:2] for line in lines] for lines in record.rounds] for record in records)
    if "eval_metric" in parameters:  # They are measures of boostrank, which average over ties.
        assert ours[0] == theirs[0]
        return
    assert ours == theirs
    assert 5 < len(ours) < 60
    values = [[line[2] for lines in record.rounds for line in lines] for record in records]
    np.testing.assert_allclose(*values, atol=1e-6)


def test_a_stopping_callback_is_an_error_where_rounds_change_the_whole_model(data):
    stopping = {"eval_set": [VALIDATION], "callbacks": [xgboost.callback.EarlyStopping(rounds=3)]}
    with pytest.raises(
        ValueError, match=r"booster='dart'.*set early_stopping_rounds of the ranker"
    ):
        small(br.XGBoostRanker, booster="dart").fit(*data, **stopping)


@pytest.mark.parametrize("error", [RuntimeError("pruned"), KeyboardInterrupt("pruned")])
def test_an_error_in_a_callback_leaves_the_ranker_as_it_was(ranker_class, data, error):
    def fail(*_):
        raise error

    class Fail(xgboost.callback.TrainingCallback):
        after_iteration = fail

    ranker = small(ranker_class).fit(*data)
    before, state = ranker.predict(data[0]), dict(vars(ranker))
    with pytest.raises(type(error), match="pruned"):
        ranker.fit(
            data[0][:, :4],
            *data[1:],
            callbacks=[fail if ranker_class is br.LightGBMRanker else Fail()],
        )
    assert vars(ranker) == state
    np.testing.assert_array_equal(ranker.predict(data[0]), before)


@pytest.mark.parametrize(
    ("ranker_class", "verbose", "rounds"),
    [
        (br.LightGBMRanker, 0, []),
        (br.LightGBMRanker, True, [1, 2, 3, 4, 5, 6]),
        (br.LightGBMRanker, 3, [3, 6]),
        (br.XGBoostRanker, False, []),
        # XGBoost prints the first and the last round too, and counts from 0.
        (br.XGBoostRanker, 3, [0, 3, 5]),
    ],
)
def test_verbose_prints_the_metrics_of_some_rounds(ranker_class, verbose, rounds, data, capsys):
    small(ranker_class).fit(
        *data, eval_set={"test": VALIDATION}, eval_metric="ndcg@5", verbose=verbose
    )
    # LightGBM prints "[3]\ttest's ndcg@5: 0.8176", and XGBoost "[2]\ttest-ndcg@5:0.8176".
    printed = re.findall(r"\[(\d+)\]\ttest(?:'s |-)ndcg@5: ?(0\.\d+)", capsys.readouterr().out)
    assert [int(number) for number, _ in printed] == rounds


@pytest.fixture
def shown(capsys, monkeypatch):
    """A function for what a terminal has shown since the last call, without control codes."""
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "150"}.items():
        monkeypatch.setenv(name, value)
    return lambda: re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", "".join(capsys.readouterr()))


def test_the_bar_shows_rounds_and_metric(ranker_class, data, shown):
    ranker = small(ranker_class).fit(
        *data, eval_set=[VALIDATION], eval_metric=["map", "ndcg@5"], verbose="bar"
    )
    out = shown()
    assert "6/6" in out
    assert f"map {ranker.evals_result_['valid_0']['map'][-1]:.4f}" in out
    # Where left-out queries choose the number of rounds, it is not known before.
    ranker = small(ranker_class, n_estimators=None).fit(*data, verbose="bar")
    assert f"{ranker.best_iteration_}/{ranker.best_iteration_}" in shown()


def test_a_function_is_an_objective(ranker_class, data):
    X, y, qid = data

    def half_squares(y, scores):
        return scores - y, np.ones(len(y))

    ranker = small(ranker_class, half_squares, min_child_weight=0.0, reg_lambda=0.0).fit(X, y, qid)
    if ranker_class is br.LightGBMRanker:
        fixed = {
            "deterministic": True,
            "force_col_wise": True,
            "verbosity": -1,
            "min_child_weight": 1e-10,
        }
        peer = lightgbm.LGBMRegressor(n_estimators=6, objective=half_squares, n_jobs=1, **fixed)
    else:
        fixed = {"learning_rate": 0.1, "min_child_weight": 0, "reg_lambda": 0, "base_score": 0.0}
        peer = xgboost.XGBRegressor(n_estimators=6, n_jobs=1, **fixed)
    np.testing.assert_allclose(ranker.predict(X), peer.fit(X, y).predict(X), atol=1e-6)


def test_functions_get_grouped_arrays_which_they_may_change(ranker_class, data):
    X, y, qid = data
    rows, seen = np.random.default_rng(0).permutation(len(y)), []
    weights, labels = np.random.default_rng(1).uniform(1, 2, len(y)), y[rows].astype(float)

    def objective(y, scores, weight, group):
        seen.append([array.copy() for array in (y, weight, group)])
        gradient = (scores - y) * weight
        y[:], scores[:], weight[:], group[:] = 0, 0, 0, 0
        return gradient, np.ones_like(gradient)

    def metric(y, scores):
        y[:], scores[:] = 0, 0
        return "nothing", 0.0, True

    sets = {"eval_set": [VALIDATION], "eval_metric": [metric, "ndcg"]}
    ranker = small(ranker_class, objective).fit(
        X[rows], labels, qid[rows], sample_weight=weights[rows], **sets
    )
    names, first = np.unique(qid[rows], return_index=True)
    by_query = rows[np.argsort(first[qid[rows]], kind="stable")]
    expected = y[by_query], weights[by_query], np.bincount(qid)[names[np.argsort(first)]]
    for arrays in seen:
        for array, values in zip(arrays, expected, strict=True):
            np.testing.assert_allclose(array, values)
    np.testing.assert_array_equal(labels, y[rows])
    assert ranker.best_score_["valid_0"]["ndcg"] == pytest.approx(
        ranker.score(*VALIDATION), abs=1e-6
    )


@for_each(
    ("function", "error", "message"),
    [
        (
            lambda y: y,
            ValueError,
            r"must be a function \(y, scores\),.* -> \(gradient, hessian\), without other",
        ),
        (lambda y, s, *, k: y, ValueError, "without other arguments"),
        (max, ValueError, "objective=max must be a function"),
        (lambda y, s: y, ValueError, "must return gradient and Hessian"),
        (lambda y, s: (y[:-1], s[:-1]), ValueError, "Hessian of shape"),
        (lambda y, s: (y * np.nan, s), FloatingPointError, "not finite"),
    ],
)
def test_functions_that_are_no_objectives_are_errors(ranker_class, data, function, error, message):
    with pytest.raises(error, match=message):
        small(ranker_class, function).fit(*data)


@pytest.mark.parametrize("validation", [{}, {"eval_set": [VALIDATION]}])
def test_a_callback_without_an_order_may_end_the_training(data, validation):
    def end(environment):
        if environment.iteration == 2:
            results = environment.evaluation_result_list
            raise lightgbm.callback.EarlyStopException(environment.iteration, results)

    ranker = small(br.LightGBMRanker, n_estimators=9).fit(*data, callbacks=[end], **validation)
    assert ranker.best_iteration_ == ranker.booster_.num_trees() == 3
