"""The choice of the objective by cross-validation over the training queries.

The oracle trains each candidate on each fold by itself, for each number of rounds at which candidates are compared.
"""

import warnings

import numpy as np
import pandas as pd
import pytest

import boostrank as br
from boostrank.backends.objectives.losses import DEFAULT_LOSS
from boostrank.rankers import automatic, settings

# Small trees, by a parameter that both libraries have and that no candidate of LightGBM sets.
COMMON = {"n_jobs": 1, "random_state": 0, "learning_rate": 0.3, "max_depth": 4}
NATIVE = {br.LightGBMRanker: "lambdarank", br.XGBoostRanker: "rank:ndcg"}
#: Titles of the columns of the table that is printed.
TITLE = ["candidate", "map", "difference", "standard", "error", "rounds"]
# One of the candidates never splits a leaf.
NO_SPLITS = {"min_child_weight": 1e9}
TABLES = {
    "pairwise-exponential": ({}, NO_SPLITS, {"objective": "softmax"}, {"k": 2}),
    "softmax": ({}, {"objective": "pairwise-exponential"}, {"k": 2}, NO_SPLITS),
}


def settings_of(parameters):
    return {"objective": DEFAULT_LOSS, **COMMON, **parameters}


def rankers_on_folds(ranker_class, parameters, data, n_rounds, n_folds=3, **fit):
    """For each fold, a ranker that was trained without it, and the held-out rows."""
    X, y, qid = data
    for train, test in br.QueryKFold(n_folds, shuffle=True, random_state=0).split(X, groups=qid):
        part = {name: value[train] for name, value in fit.items()}
        ranker = ranker_class(**settings_of(parameters), n_estimators=n_rounds)
        yield ranker.fit(X[train], y[train], qid[train], **part), test


def values_on_folds(ranker_class, parameters, data, n_folds, n_rounds, k=10):
    """NDCG@k of each held-out query with a relevant document, after so many rounds, in the sequence of the queries."""
    X, y, qid = data
    values = pd.Series(index=np.unique(qid), dtype=float)
    for ranker, test in rankers_on_folds(ranker_class, parameters, data, n_rounds, n_folds):
        ids = np.unique(qid[test])
        values[ids] = br.ndcg_score(y[test], ranker.predict(X[test]), qid[test], k=k, per_query=True)
    relevant = pd.Series(y).groupby(qid).max() > 0
    return values[relevant[relevant].index].to_numpy()


def mean_and_error(difference):
    return difference.mean(), difference.std(ddof=1) / np.sqrt(len(difference))


def expected_choice(ranker_class, table, data, n_rounds, n_folds=3, k=10):
    """Index of the chosen candidate; for each, difference, standard error, rounds, and whether it was dropped."""
    rows = [{"difference": 0.0, "standard_error": 0.0, "rounds_trained": n_rounds, "dropped": False} for _ in table]
    alive = list(range(len(table)))
    for stage in (-(-n_rounds // 4), -(-n_rounds // 2), n_rounds):
        values = {i: values_on_folds(ranker_class, table[i], data, n_folds, stage, k) for i in alive}
        best = max(values.values(), key=np.mean)
        for i in list(alive):
            rows[i]["difference"], rows[i]["standard_error"] = mean_and_error(values[i] - values[0])
            loss, error = mean_and_error(best - values[i])
            if stage < n_rounds and i > 0 and loss > 2 * error:
                rows[i].update(dropped=True, rounds_trained=stage)
                alive.remove(i)
    better = [i for i in alive if rows[i]["difference"] > rows[i]["standard_error"]]
    return max(better, key=lambda i: rows[i]["difference"], default=0), rows


@pytest.fixture
def table(ranker_class, monkeypatch):
    """A function that sets the table of candidates."""
    return lambda *candidates: monkeypatch.setattr(ranker_class, "_candidates", candidates)


@pytest.fixture
def auto(ranker_class):
    return lambda **settings: ranker_class("auto", **{**COMMON, **settings})


@pytest.fixture(scope="module")
def noisy():
    """Data on which softmax is better than the default, some queries of which have no relevant document."""
    X, y, qid = br.make_ranking(n_queries=30, random_state=5)
    return X, np.where(qid % 9 == 0, 0, y), qid


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no tree has a split")
@pytest.mark.parametrize(("default", "k"), zip(TABLES, [None, 3], strict=True))
def test_the_choice_is_that_of_separate_trainings(ranker_class, table, noisy, monkeypatch, default, k):
    X, y, qid = noisy
    monkeypatch.setattr("boostrank.rankers.automatic.DEFAULT_LOSS", default)
    candidates, own = TABLES[default], {} if k is None else {"k": k}
    table(*candidates)
    ranker = ranker_class("auto", n_estimators=9, **COMMON, **own).fit(X, y, qid)
    # The user's k takes the place of that of a candidate, which then is the default.
    complete = [{"objective": default, **one, **own} for one in candidates if k is None or "k" not in one]
    chosen, rows = expected_choice(ranker_class, complete, noisy, 9, k=k or 10)
    results = pd.DataFrame(ranker.cv_results_)
    for name in ("difference", "standard_error"):
        np.testing.assert_allclose(results[name], [row[name] for row in rows], atol=1e-6)
    for name in ("rounds_trained", "dropped"):
        assert results[name].tolist() == [row[name] for row in rows]
    assert results["chosen"].to_numpy().nonzero()[0].tolist() == [chosen]
    assert set(results["dropped"]) == {False, True}
    assert ranker.objective_ == complete[chosen]["objective"]
    again = ranker_class(**settings_of(complete[chosen]), n_estimators=9).fit(X, y, qid)
    np.testing.assert_array_equal(ranker.predict(X), again.predict(X))


@pytest.mark.slow
def test_rounds_and_objective_come_from_the_same_trainings(ranker_class, auto, table, noisy):
    X, y, qid = noisy
    table({}, {"objective": "softmax"})
    ranker = auto(n_estimators="auto", early_stopping_rounds=3).fit(X, y, qid)
    results = pd.DataFrame(ranker.cv_results_)
    for i, row in results.iterrows():
        parameters = {"objective": DEFAULT_LOSS, **row["params"]}
        curves = []
        for train, test in br.QueryKFold(3, shuffle=True, random_state=0).split(X, groups=qid):
            one = ranker_class(**settings_of(parameters), n_estimators=row["rounds_trained"])
            one.fit(X[train], y[train], qid[train], eval_set=[(X[test], y[test], qid[test])], eval_metric="ndcg@10")
            curves.append(one.evals_result_["valid_0"]["ndcg@10"])
        curve = np.mean(curves, axis=0)
        best = np.argmax(curve) + 1
        np.testing.assert_array_equal(row["mean_curve"], curve)
        assert row["n_rounds"] == best
        assert row["dropped"] or row["rounds_trained"] == best + 3
        if not row["dropped"]:
            values = values_on_folds(ranker_class, parameters, noisy, 3, best)
            default = values_on_folds(ranker_class, {}, noisy, 3, results["n_rounds"][0])
            expected = mean_and_error(values - default)
            np.testing.assert_allclose(results.loc[i, ["difference", "standard_error"]].astype(float), expected)
    chosen = results[results["chosen"]].iloc[0]
    again = ranker_class(**settings_of(chosen["params"]), n_estimators=chosen["n_rounds"]).fit(X, y, qid)
    np.testing.assert_array_equal(ranker.predict(X), again.predict(X))
    assert list(ranker.evals_result_) == ["fold_0", "fold_1", "fold_2"]
    assert ranker.best_iteration_ == chosen["n_rounds"]


def test_the_training_has_the_rounds_of_the_chosen_candidate(ranker_class, auto, table, noisy, monkeypatch):
    X, y, qid = noisy
    # Any other candidate is chosen in place of the default, and this one needs other rounds.
    monkeypatch.setattr(automatic, "ERRORS_TO_REPLACE", -1e9)
    monkeypatch.setattr(automatic, "ERRORS_TO_DROP", 1e9)
    table({}, {"reg_lambda": 2000.0})
    stopping = {"n_estimators": "auto", "early_stopping_rounds": 3}
    ranker = auto(**stopping).fit(X, y, qid)
    default, chosen = ranker.cv_results_["n_rounds"].tolist()
    assert ranker.best_params_ == {"reg_lambda": 2000.0}
    assert default != chosen
    again = ranker_class(**settings_of(ranker.best_params_), n_estimators=chosen)
    assert ranker.best_iteration_ == chosen
    np.testing.assert_array_equal(ranker.predict(X), again.fit(X, y, qid).predict(X))


@pytest.mark.parametrize("given", [{}, {"learning_rate": 0.3, "subsample": 0.7}, {"n_estimators": "auto"}], ids=str)
def test_a_chosen_native_objective_is_that_of_a_ranker_with_its_parameters(
    ranker_class, table, noisy, monkeypatch, given
):
    X, y, qid = noisy
    native = ranker_class._candidates[-1]
    assert native["objective"] == NATIVE[ranker_class]
    for name, value in (("ERRORS_TO_REPLACE", -1e9), ("ERRORS_TO_DROP", 1e9)):
        monkeypatch.setattr(automatic, name, value)
    monkeypatch.setattr(settings, "LOSS_ROUNDS", 12)
    monkeypatch.setattr(settings, "DEFAULT_PATIENCE", 3)
    table({}, native)
    given = {"random_state": 0, "n_jobs": 1, **given}
    ranker = ranker_class("auto", **given).fit(X, y, qid)
    own = {"n_estimators", "learning_rate", "colsample_bytree", "colsample_bynode", "subsample_queries"} - set(given)
    assert own <= set(ranker.best_params_)
    assert not set(ranker.best_params_) & set(given)
    rounds = {"n_estimators": ranker.best_iteration_} if "n_estimators" in given else {}
    again = ranker_class(**{**given, **ranker.best_params_, **rounds}).fit(X, y, qid)
    np.testing.assert_array_equal(ranker.predict(X), again.predict(X))
    assert not np.array_equal(again.set_params(colsample_bynode=None).fit(X, y, qid).predict(X), ranker.predict(X))


@pytest.mark.filterwarnings("ignore:no tree has a split")
@pytest.mark.parametrize("verbose", [2, "bar"])
def test_the_table_says_why_a_candidate_was_chosen(ranker_class, auto, table, noisy, capsys, verbose):
    native = ranker_class._candidates[-1]
    table({}, NO_SPLITS, {"objective": "softmax", "k": 3}, native)
    ranker = auto(n_estimators=8).fit(*noisy, eval_metric="map", verbose=verbose)
    lines, results = capsys.readouterr().out.splitlines(), ranker.cv_results_
    first = next(i for i, line in enumerate(lines) if line.split() == TITLE)
    names = [f"default ({DEFAULT_LOSS})", "min_child_weight=1000000000.0", "softmax, k=3", NATIVE[ranker_class]]
    assert results["name"].tolist() == names
    assert results["dropped"].any()
    for i, name in enumerate(names):
        cells = [f"{results['mean_test_score'][i]:.4f}"]
        cells += [f"{results['difference'][i]:+.4f}", f"{results['standard_error'][i]:.4f}"] if i else []
        cells += [str(results["n_rounds"][i]), *(["chosen"] if results["chosen"][i] else [])]
        cells += f"dropped after {results['rounds_trained'][i]} rounds".split() if results["dropped"][i] else []
        assert lines[first + 2 + i].split() == [*name.split(), *cells]
    auto(n_estimators=8).fit(*noisy)
    assert capsys.readouterr().out == ""


def test_the_metric_of_fit_decides(ranker_class, auto, table, noisy):
    X, y, qid = noisy
    table({}, {"objective": "softmax"})

    def first(y, scores):
        return "first", 1.0, True

    ranker = auto(n_estimators=8).fit(X, y, qid, eval_metric=[first, "map"], early_stopping_metric="map")
    values = {name: [] for name in (DEFAULT_LOSS, "softmax")}
    for name, found in values.items():
        for one, test in rankers_on_folds(ranker_class, {"objective": name}, noisy, 8):
            part = br.get_measure("map")(y[test], one.predict(X[test]), qid[test], per_query=True)
            found.append(part[np.unique(qid[test]) % 9 > 0])
    expected = mean_and_error(np.concatenate(values["softmax"]) - np.concatenate(values[DEFAULT_LOSS]))
    results = ranker.cv_results_
    np.testing.assert_allclose([results["difference"][1], results["standard_error"][1]], expected, atol=1e-6)
    assert results["metric"].tolist() == ["map", "map"]
    with pytest.raises(ValueError, match="the function 'first' of eval_metric does not have"):
        auto(n_estimators=8).fit(X, y, qid, eval_metric=first)


@pytest.mark.slow
def test_early_stopping_on_a_validation_set_follows_the_choice(ranker_class, auto, table, noisy):
    X, y, qid = noisy
    table({}, {"objective": "softmax"})
    test = br.make_ranking(n_queries=20, random_state=9)
    stopping = {"n_estimators": 30, "early_stopping_rounds": 3}
    ranker = auto(**stopping).fit(X, y, qid, eval_set=[test])
    one = settings_of({"objective": ranker.objective_, **ranker.best_params_})
    again = ranker_class(**one, **stopping).fit(X, y, qid, eval_set=[test], eval_metric="ndcg")
    np.testing.assert_array_equal(ranker.predict(X), again.predict(X))
    assert ranker.evals_result_ == again.evals_result_
    assert ranker.best_iteration_ == again.best_iteration_ < 30


def test_queries_that_are_held_out_for_early_stopping_take_no_part_in_the_choice(ranker_class, auto, table, noisy):
    X, y, qid = noisy
    table({}, {"objective": "softmax"})
    ranker = auto(n_estimators=8, early_stopping_rounds=3, validation_fraction=0.4).fit(X, y, qid)
    # The seed draws the queries that are held out, and then the folds.
    state = np.random.RandomState(0)
    kept = np.sort(br.split_queries(qid, 0.4, state)[0])
    X, y, qid = X[kept], y[kept], qid[kept]
    one, scores = ranker_class(**settings_of({}), n_estimators=ranker.cv_results_["n_rounds"][0]), []
    for train, test in br.QueryKFold(3, shuffle=True, random_state=state).split(X, groups=qid):
        one.fit(X[train], y[train], qid[train])
        scores.append(br.ndcg_score(y[test], one.predict(X[test]), qid[test], k=10))
    assert ranker.cv_results_["mean_test_score"][0] == pytest.approx(np.mean(scores), abs=1e-6)


def test_err_has_one_scale_on_all_folds(ranker_class, auto, table, noisy):
    X, y, qid = noisy
    # Only one query has the largest label.
    y = np.where(qid == 1, np.minimum(y, 1) * 4, np.minimum(y, 2))
    table({}, {"objective": "softmax"})
    ranker = auto(n_estimators=4).fit(X, y, qid, eval_metric="err@5")
    err = br.get_measure("err@5", max_grade=4)
    folds = rankers_on_folds(ranker_class, {}, (X, y, qid), 4)
    found = [err(y[test], one.predict(X[test]), qid[test]) for one, test in folds]
    assert ranker.cv_results_["metric"][0] == "err@5"
    assert ranker.cv_results_["mean_test_score"][0] == pytest.approx(np.mean(found), abs=1e-6)


@pytest.mark.parametrize(("n_candidates", "cv", "n_dropped"), [(9, None, 6), (4, 4, 2)])
def test_the_cost_is_at_most_ten_times_that_of_one_training(
    ranker_class, auto, table, noisy, monkeypatch, n_candidates, cv, n_dropped
):
    monkeypatch.setattr(automatic, "ERRORS_TO_DROP", 1e9)
    table({}, *({"k": 20 + i} for i in range(n_candidates - 1)))
    results = auto(n_estimators=8, cv=cv).fit(*noisy).cv_results_
    assert results["dropped"].sum() == n_dropped
    assert not results["dropped"][0]
    assert 4 < ((cv or 3) - 1) * results["rounds_trained"].sum() / 8 + 1 <= 10


def test_candidates_of_the_tables_share_the_binned_data_of_a_fold(ranker_class, auto, noisy, monkeypatch):
    backend, binned = ranker_class._backend, []
    start = backend.start

    def recording_start(training, shared):
        binned.append(shared)
        return start(training, shared)

    monkeypatch.setattr(backend, "start", recording_start)
    auto(n_estimators=2).fit(*noisy, sample_weight=np.where(noisy[2] % 2, 1.0, 2.0))
    n_candidates = len(ranker_class._candidates)
    assert len(binned) == 3 * n_candidates
    folds = [binned[i : i + n_candidates] for i in range(0, len(binned), n_candidates)]
    assert len({id(fold[0]) for fold in folds}) == 3
    for fold in folds:
        assert all(shared is fold[0] for shared in fold)
        # One data set has weights, for the objective of the library, and one has none.
        assert len(fold[0]) == 2


def test_a_dropped_candidate_is_not_chosen(auto, table, noisy, monkeypatch):
    table({}, {"objective": "softmax"}, {"k": 2})
    differences = {"softmax": (0.2, 0.1, False), DEFAULT_LOSS: (0.9, 0.1, True)}

    def train_all(candidates, relevant, n_folds):
        for one in candidates:
            one.trainings.next_round()
        for one in candidates[1:]:
            one.difference, one.standard_error, one.dropped = differences[one.objective]

    monkeypatch.setattr(automatic, "_train_all", train_all)
    assert auto(n_estimators=2).fit(*noisy).best_params_ == {"objective": "softmax"}
    # At the limit of one standard error, the default stays.
    differences["softmax"] = (0.1, 0.1, False)
    assert auto(n_estimators=2).fit(*noisy).best_params_ == {}


def test_what_the_user_set_stays(ranker_class, auto, table, noisy):
    X, y, qid = noisy
    table({}, {"k": 10}, {"colsample_bytree": 0.5, "k": 10}, {"min_child_weight": 5.0})
    ranker = auto(n_estimators=3).fit(X, y, qid)
    assert ranker.cv_results_["params"].tolist() == [
        {},
        {"k": 10},
        {"colsample_bytree": 0.5, "k": 10},
        {"min_child_weight": 5.0},
    ]
    # With the user's k, the second candidate is the default.
    ranker = auto(n_estimators=3, k=5, min_child_weight=3.0).fit(X, y, qid)
    assert ranker.cv_results_["params"].tolist() == [{}, {"colsample_bytree": 0.5}]
    assert ranker.cv_results_["metric"].tolist() == ["ndcg@5", "ndcg@5"]
    chosen = settings_of({**ranker.best_params_, "k": 5, "min_child_weight": 3.0})
    np.testing.assert_array_equal(ranker.predict(X), ranker_class(**chosen, n_estimators=3).fit(X, y, qid).predict(X))


def test_candidates_that_cannot_be_trained_are_left_out(ranker_class, auto, noisy):
    X, y, qid = noisy
    native = NATIVE[ranker_class]
    with pytest.warns(UserWarning, match=f"objective='auto' leaves out the candidate .*{native}.*label"):
        ranker = auto(n_estimators=3).fit(X, y / 2, qid)
    assert native not in ranker.cv_results_["objective"]
    assert len(ranker.cv_results_["objective"]) == len(ranker_class._candidates) - 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        auto(n_estimators=3).fit(X, y, qid)


def test_weights_and_initial_scores_reach_all_trainings(ranker_class, auto, table, noisy):
    X, y, qid = noisy
    table({}, {"objective": "softmax"})
    random = np.random.default_rng(0)
    fit = {"sample_weight": random.uniform(0.1, 9, 30)[qid], "init_score": random.normal(size=len(y))}
    ranker = auto(n_estimators=5).fit(X, y, qid, **fit)
    values = []
    for one, test in rankers_on_folds(ranker_class, {}, noisy, 5, **fit):
        scores = one.predict(X[test]) + fit["init_score"][test]
        values.append(br.ndcg_score(y[test], scores, qid[test], k=10))
    assert ranker.cv_results_["mean_test_score"][0] == pytest.approx(np.mean(values))
    again = ranker_class(ranker.objective_, n_estimators=5, **COMMON).fit(X, y, qid, **fit)
    np.testing.assert_array_equal(ranker.predict(X), again.predict(X))


def test_candidates_get_the_same_seed_and_fits_get_others(auto, table, noisy):
    # The second candidate is the default under another name.
    table({}, {"k": 10**6})
    ranker = auto(n_estimators=3, colsample_bytree=0.3, random_state=np.random.RandomState(4))
    first, second = (ranker.fit(*noisy).cv_results_ for _ in range(2))
    assert first["difference"].tolist() == first["standard_error"].tolist() == [0.0, 0.0]
    assert (first["mean_test_score"] != second["mean_test_score"]).all()


def test_preferences_and_missing_queries_are_refused(auto, data):
    X, y, qid = data
    with pytest.raises(ValueError, match="'auto' needs relevance labels; for preferences use one of edge-logistic"):
        auto().fit(X, br.PreferenceGraph.from_grades(y, qid))
    few = qid < 2
    with pytest.raises(ValueError, match="cv=3 folds need at least 3 training queries; got 2"):
        auto().fit(X[few], y[few], qid[few])
    with pytest.raises(ValueError, match="early_stopping_rounds needs validation queries"):
        auto(early_stopping_rounds=5).fit(X, y, qid)


def test_queries_without_relevant_documents_leave_the_default(auto, table, data):
    X, y, qid = data
    table({}, {"objective": "softmax"})
    with pytest.warns(UserWarning, match="every document gets the same score. The cause is that all labels are 0"):
        ranker = auto(n_estimators=4).fit(X, np.zeros(len(y)), qid)
    assert ranker.best_params_ == {}
    assert np.isnan(ranker.cv_results_["difference"]).all()
