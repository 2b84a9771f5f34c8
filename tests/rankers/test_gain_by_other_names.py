"""A gain has one effect under each of its names, in training, score, metrics and bags."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score

import boostrank as br

#: The linear gain by the names of the ranker and of the libraries.
LINEAR = {
    "LightGBMRanker": [{"gain": "linear"}, {"label_gain": list(range(30))}],
    "XGBoostRanker": [{"gain": "linear"}, {"ndcg_exp_gain": False}],
}


@pytest.fixture(scope="module")
def ranks():
    """Lists of thirty documents whose label is the rank of a noisy value, from 0 to 29."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 30, 4))
    value = X[:, :, 0] + rng.normal(size=(40, 30))
    y = value.argsort(axis=1).argsort(axis=1)
    return X.reshape(-1, 4), y.ravel(), np.repeat(np.arange(40), 30)


@pytest.mark.parametrize("ranker", LINEAR)
@pytest.mark.parametrize("objective", ["softmax", None])
def test_score_and_metrics(ranks, ranker, objective):
    X, y, qid = ranks
    found = []
    for gain in LINEAR[ranker]:
        fitted = getattr(br, ranker)(objective, n_estimators=5, random_state=0, k=10, **gain)
        metrics = ["ndcg@10", "dcg@5", "ndcg"]
        fitted.fit(X, y, qid, eval_set=[(X, y, qid)], eval_metric=metrics)
        scores = fitted.predict(X)
        expected = br.ndcg_score(y, scores, qid, k=10, gain="linear")
        assert fitted.score(X, y, qid) == pytest.approx(expected)
        curves = fitted.evals_result_["training"]
        assert curves["ndcg@10"][-1] == pytest.approx(expected)
        assert curves["ndcg"][-1] == pytest.approx(br.ndcg_score(y, scores, qid, gain="linear"))
        dcg = br.get_measure("dcg@5", gain="linear")(y, scores, qid)
        assert curves["dcg@5"][-1] == pytest.approx(dcg)
        found.append(scores)
    assert (found[0] == found[1]).all()


@pytest.mark.parametrize("ranker", LINEAR)
def test_default_metric_bags_and_cross_validation(ranks, ranker):
    X, y, qid = ranks
    folds = list(br.QueryKFold(3).split(X, y, qid))
    frame = pd.DataFrame(X, columns=list("abcd")).assign(qid=qid)
    found = []
    for gain in LINEAR[ranker]:
        one = getattr(br, ranker)(
            n_estimators=5, random_state=0, early_stopping_rounds=3, validation_fraction=0.2, **gain
        ).fit(X, y, qid)
        ranker_ = getattr(br, ranker)(n_estimators=5, random_state=0, **gain)
        bag = br.BaggedRanker(ranker_, n_estimators=3, max_samples=0.5, random_state=0)
        bag.fit(X, y, qid)
        scores = cross_val_score(ranker_, frame, y, cv=folds)
        curves = one.evals_result_["valid_0"]
        found.append([*scores, *next(iter(curves.values())), bag.oob_score_, bag.score(X, y, qid)])
    assert found[0] == found[1]


def test_names_and_measures_with_a_gain_keep_it(ranks):
    X, y, qid = ranks
    ranker = br.LightGBMRanker(gain="linear", n_estimators=3)
    measure = br.get_measure("ndcg@5", gain="exp2")
    metrics = ["ndcg(gain=exp2)@10", measure]
    ranker.fit(X, y, qid, eval_set={"all": (X, y, qid)}, eval_metric=metrics)
    scores = ranker.predict(X)
    for values, k in zip(ranker.evals_result_["all"].values(), (10, 5), strict=True):
        assert values[-1] == pytest.approx(br.ndcg_score(y, scores, qid, k=k))


@pytest.mark.parametrize("k", [None, [10]])
def test_one_name_has_one_value(ranks, k):
    X, y, qid = ranks
    curves = []
    for metric, cutoffs in (("ndcg@10", None), ("ndcg", [10])):
        ranker = br.XGBoostRanker(gain="linear", discount="zipf", n_estimators=3, random_state=0)
        ranker.fit(X, y, qid, eval_set=[(X, y, qid)], eval_metric=metric, eval_at=cutoffs)
        curves.append(ranker.evals_result_["training"]["ndcg@10"])
    assert curves[0] == curves[1]


@pytest.mark.parametrize("ranker", [br.LightGBMRanker, br.XGBoostRanker])
@pytest.mark.parametrize("objective", ["softmax", None])
def test_a_stray_large_label_is_a_warning(ranker, objective):
    X, y, qid = br.make_ranking(20, random_state=0)
    stray = y.astype(float)
    stray[7] = 31
    message = r"the largest label is 31.* 1 of 4\d\d documents have 100.0%.*gain='log'"
    with pytest.warns(UserWarning, match=message):
        ranker(objective, n_estimators=2).fit(X, stray, qid)
    stray[7] = 900
    with pytest.warns(UserWarning, match="the largest label is 900.* have 100.0% of the gain"):
        ranker(n_estimators=2).fit(X, stray, qid)
    with pytest.warns(UserWarning, match=r" 14 of 475 documents have 49.9% of the gain"):
        ranker(n_estimators=2).fit(X, np.arange(len(y)) % 32, qid)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("ranker", [br.LightGBMRanker, br.XGBoostRanker])
@pytest.mark.parametrize("gain", ["linear", "log", np.sqrt])
def test_numbers_as_labels_with_a_gain_for_them(ranker, gain):
    X, y, qid = br.make_ranking(20, random_state=0)
    ranker(gain=gain, n_estimators=2).fit(X, 100.0 * y, qid)
    ranker(n_estimators=2).fit(X, np.minimum(10 * y, 30), qid)


def test_the_gain_log_by_the_libraries_own_objectives():
    X, y, qid = br.make_ranking(20, random_state=0)
    table = np.log2(1.0 + np.arange(6)).tolist()
    first = br.LightGBMRanker("lambdarank", gain="log", n_estimators=5).fit(X, y, qid)
    second = br.LightGBMRanker("lambdarank", gain=table, n_estimators=5).fit(X, y, qid)
    np.testing.assert_array_equal(first.predict(X), second.predict(X))
    with pytest.raises(ValueError, match="rank:ndcg knows only the gains 'exp2' and 'linear'"):
        br.XGBoostRanker("rank:ndcg", gain="log", n_estimators=5).fit(X, y, qid)
