"""Callbacks of the boosting libraries, printed metrics, the progress bar, and functions as objectives."""

import re

import lightgbm
import numpy as np
import pytest
import xgboost
from loss_defaults import LIGHTGBM_DEFAULTS, PLAIN_TREES, XGBOOST_DEFAULTS

import boostrank as br

VALIDATION = br.make_ranking(n_queries=30, random_state=4)


def small(ranker_class, objective="softmax", **parameters):
    return ranker_class(objective, **{"n_estimators": 8, "random_state": 0, "n_jobs": 1, **parameters})


def test_lightgbm_records_the_values_of_evals_result(data):
    recorded = {}
    ranker = small(br.LightGBMRanker).fit(
        *data,
        eval_set={"train": (data[0], data[1]), "test": VALIDATION},
        eval_metric=["ndcg@5", "map"],
        callbacks=[lightgbm.record_evaluation(recorded)],
    )
    assert {name: dict(values) for name, values in recorded.items()} == ranker.evals_result_


def test_callbacks_may_change_the_learning_rate(data):
    X, y, qid = data
    rates = [0.3, 0.2, 0.1, 0.05]
    ours = small(br.LightGBMRanker, n_estimators=4, **PLAIN_TREES)
    ours.fit(X, y, qid, callbacks=[lightgbm.reset_parameter(learning_rate=rates)])
    ranker = None
    for rate in rates:
        one = small(br.LightGBMRanker, n_estimators=1, learning_rate=rate, **PLAIN_TREES)
        ranker = one.fit(X, y, qid, init_model=ranker)
    np.testing.assert_array_equal(ours.predict(X), ranker.predict(X))
    ours = small(br.XGBoostRanker, n_estimators=4, **PLAIN_TREES)
    ours.fit(X, y, qid, callbacks=[xgboost.callback.LearningRateScheduler(rates)])
    theirs = xgboost.train(
        {**XGBOOST_DEFAULTS, "eta": 0.1, "nthread": 1, "base_score": 0.0, "disable_default_eval_metric": True},
        xgboost.QuantileDMatrix(X, y, qid=qid),
        4,
        obj=br.xgboost_objective("softmax"),
        callbacks=[xgboost.callback.LearningRateScheduler(rates)],
    )
    np.testing.assert_array_equal(ours.predict(X), theirs.inplace_predict(X).astype(np.float64))
    assert not np.array_equal(ours.predict(X), ours.fit(X, y, qid).predict(X))


@pytest.mark.parametrize("metric", ["ndcg@5", "mse"])
def test_early_stopping_of_the_libraries_is_ours(ranker_class, data, metric):
    def error(y, scores):
        return "mse", float(np.mean((y - scores) ** 2)), False

    metrics = error if metric == "mse" else metric
    settings = {"n_estimators": 60, "learning_rate": 0.3}
    ours = small(ranker_class, **settings, early_stopping_rounds=3).fit(
        *data, eval_set=[VALIDATION], eval_metric=metrics
    )
    is_lightgbm = ranker_class is br.LightGBMRanker
    callback = lightgbm.early_stopping(3, verbose=False) if is_lightgbm else xgboost.callback.EarlyStopping(rounds=3)
    theirs = small(ranker_class, **settings)
    theirs.fit(*data, eval_set=[VALIDATION], eval_metric=metrics, callbacks=[callback])
    assert theirs.best_iteration_ == ours.best_iteration_ < 60
    np.testing.assert_array_equal(theirs.predict(data[0]), ours.predict(data[0]))
    # The callback forgets its earlier training.
    again = theirs.fit(*data, eval_set=[VALIDATION], eval_metric=metrics, callbacks=[callback])
    assert again.best_iteration_ == ours.best_iteration_


def test_callbacks_that_need_validation_sets_are_not_called_in_the_refit(ranker_class, data):
    stopping = {"early_stopping_rounds": 3, "validation_fraction": 0.3, "refit": True, "learning_rate": 0.3}
    ranker = small(ranker_class, n_estimators=30, **stopping)
    is_lightgbm = ranker_class is br.LightGBMRanker
    callback = lightgbm.early_stopping(5, verbose=False) if is_lightgbm else xgboost.callback.EarlyStopping(rounds=5)
    expected = ranker.fit(*data).predict(data[0])
    np.testing.assert_array_equal(ranker.fit(*data, callbacks=[callback]).predict(data[0]), expected)


def test_a_stopping_callback_is_an_error_where_rounds_change_the_whole_model(data):
    ranker = small(br.XGBoostRanker, booster="dart")
    with pytest.raises(ValueError, match=r"booster='dart'.*set early_stopping_rounds of the ranker"):
        ranker.fit(*data, eval_set=[VALIDATION], callbacks=[xgboost.callback.EarlyStopping(rounds=3)])


@pytest.mark.parametrize("error", [RuntimeError("pruned"), KeyboardInterrupt("pruned")])
def test_an_error_in_a_callback_leaves_the_ranker_as_it_was(ranker_class, data, error):
    class Fail(xgboost.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            raise error

    def fail(environment):
        raise error

    ranker = small(ranker_class).fit(*data)
    before, state = ranker.predict(data[0]), dict(vars(ranker))
    with pytest.raises(type(error), match="pruned"):
        ranker.fit(data[0][:, :4], *data[1:], callbacks=[fail if ranker_class is br.LightGBMRanker else Fail()])
    assert vars(ranker) == state
    np.testing.assert_array_equal(ranker.predict(data[0]), before)


@pytest.mark.parametrize(
    ("ranker_class", "verbose", "rounds"),
    [
        (br.LightGBMRanker, 0, []),
        (br.LightGBMRanker, True, [1, 2, 3, 4, 5, 6, 7, 8]),
        (br.LightGBMRanker, 3, [3, 6]),
        (br.XGBoostRanker, False, []),
        # XGBoost prints the first and the last round too.
        (br.XGBoostRanker, 3, [1, 4, 7, 8]),
    ],
)
def test_verbose_prints_the_metrics_of_some_rounds(ranker_class, verbose, rounds, data, capsys):
    ranker = small(ranker_class)
    ranker.fit(*data, eval_set={"test": VALIDATION}, eval_metric="ndcg@5", verbose=verbose)
    # LightGBM prints "[3]\ttest's ndcg@5: 0.8176", and XGBoost, which counts from 0, "[2]\ttest-ndcg@5:0.8176".
    printed = re.findall(r"\[(\d+)\]\ttest(?:'s |-)ndcg@5: ?(\S+)", capsys.readouterr().out)
    first = 1 if ranker_class is br.LightGBMRanker else 0
    assert [int(number) - first + 1 for number, _ in printed] == rounds
    values = ranker.evals_result_["test"]["ndcg@5"]
    assert [float(value) for _, value in printed] == pytest.approx([values[i - 1] for i in rounds], abs=1e-4)


@pytest.fixture
def shown(capsys, monkeypatch):
    """A function for what a terminal has shown since the last call, without control codes."""
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "150"}.items():
        monkeypatch.setenv(name, value)
    return lambda: re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", "".join(capsys.readouterr()))


def test_the_bar_shows_rounds_and_metric(ranker_class, data, shown):
    ranker = small(ranker_class)
    ranker.fit(*data, eval_set=[VALIDATION], eval_metric=["map", "ndcg@5"], verbose="bar")
    out = shown()
    assert "8/8" in out
    assert f"map {ranker.evals_result_['valid_0']['map'][-1]:.4f}" in out
    ranker.fit(*data, verbose="bar")
    assert "8/8" in shown()


@pytest.mark.parametrize("objective", ["softmax", "auto"])
def test_trainings_on_folds_show_their_progress(ranker_class, data, shown, objective):
    rounds = {"n_estimators": 4} if objective == "auto" else {"n_estimators": "auto", "early_stopping_rounds": 3}
    ranker = small(ranker_class, objective=objective, cv=2, **rounds)
    ranker.fit(*data, eval_metric="ndcg@5", verbose="bar")
    out, table = shown(), ranker.cv_results_
    assert re.search(rf"rounds on folds .* {table['rounds_trained'][0]}/", out)
    assert f"ndcg@5 {table['mean_curve'][0][-1]:.4f}" in out
    assert ("candidates" in out) == (objective == "auto")
    ranker.fit(*data, eval_metric="ndcg@5")
    assert shown() == ""


# Functions as objectives


def half_squares(y, scores, weight=None):
    factor = np.ones_like(y) if weight is None else weight
    return factor * (scores - y), factor


def test_a_function_is_an_objective(ranker_class, data):
    X, y, qid = data
    settings = {"min_child_weight": 0.0, "reg_lambda": 0.0}
    ranker = small(ranker_class, half_squares, **settings).fit(X, y, qid)
    if ranker_class is br.LightGBMRanker:
        fixed = {"deterministic": True, "force_col_wise": True, "verbosity": -1, "min_child_weight": 1e-10}
        peer = lightgbm.LGBMRegressor(n_estimators=8, objective=half_squares, n_jobs=1, **fixed)
    else:
        peer = xgboost.XGBRegressor(
            n_estimators=8, learning_rate=0.1, n_jobs=1, min_child_weight=0, reg_lambda=0, base_score=0.0
        )
    np.testing.assert_allclose(ranker.predict(X), peer.fit(X, y).predict(X), atol=1e-6)


def test_a_function_gets_grouped_labels_weights_and_sizes(ranker_class, data):
    X, y, qid = data
    rows, seen = np.random.default_rng(0).permutation(len(y)), []

    def objective(labels, scores, weight, group):
        seen.append((labels.copy(), weight.copy(), group.copy(), scores.dtype))
        return scores - labels, np.ones_like(scores)

    weights = np.random.default_rng(1).uniform(1, 2, len(y))
    small(ranker_class, objective, n_estimators=2).fit(X[rows], y[rows], qid[rows], sample_weight=weights)
    by_query = np.argsort([list(dict.fromkeys(qid[rows])).index(query) for query in qid[rows]], kind="stable")
    assert len(seen) == 2
    for labels, weight, group, dtype in seen:
        np.testing.assert_array_equal(labels, y[rows][by_query])
        np.testing.assert_allclose(weight, weights[by_query])
        assert group.tolist() == [np.sum(qid == query) for query in dict.fromkeys(qid[rows])]
        assert dtype == np.float64


def test_a_loss_is_equal_to_its_function_for_lightgbm(ranker_class, data):
    own = small(ranker_class, "pairwise-exponential", k=5, **PLAIN_TREES).fit(*data).predict(data[0])
    function = br.lightgbm_objective("pairwise-exponential", k=5)
    # Without these, the function would have the defaults of the boosting library.
    defaults = XGBOOST_DEFAULTS if ranker_class is br.XGBoostRanker else LIGHTGBM_DEFAULTS
    np.testing.assert_array_equal(small(ranker_class, function, **defaults).fit(*data).predict(data[0]), own)


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (
            lambda y: y,
            ValueError,
            r"must be a function \(y, scores\),.* -> \(gradient, hessian\), without other arguments",
        ),
        (lambda y, s, *, k: y, ValueError, "without other arguments"),
        (max, ValueError, "objective=max must be a function"),
        (lambda y, s: y, ValueError, "must return gradient and Hessian"),
        (lambda y, s: (y[:-1], s[:-1]), ValueError, "each of shape"),
        (lambda y, s: (y * np.nan, s), FloatingPointError, "not finite"),
    ],
)
def test_functions_that_are_no_objectives_are_errors(ranker_class, data, function, error, message):
    with pytest.raises(error, match=message):
        small(ranker_class, function).fit(*data)


def test_functions_may_change_the_arrays_that_they_get(ranker_class, data):
    X, y, qid = data
    labels = y.astype(np.float64)

    def objective(y, scores, weight, group):
        gradient = scores - y
        y[:], scores[:], group[:] = 0, 0, 0
        return gradient, np.ones_like(gradient)

    def metric(y, scores):
        y[:], scores[:] = 0, 0
        return "nothing", 0.0, True

    changing = small(ranker_class, objective)
    changing.fit(X, labels, qid, eval_set=[(X, labels, qid)], eval_metric=[metric, "ndcg"])
    expected = small(ranker_class, lambda y, s: (s - y, np.ones_like(s))).fit(*data, eval_set=[data])
    np.testing.assert_array_equal(changing.predict(X), expected.predict(X))
    assert changing.evals_result_["training"]["ndcg"] == expected.evals_result_["training"]["ndcg"]
    np.testing.assert_array_equal(labels, y)
