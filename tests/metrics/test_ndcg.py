"""NDCG as a score: conventions, weights, per-query values, scorers, bad input."""

import itertools

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.metrics import ndcg_score as sklearn_ndcg_score
from sklearn.model_selection import GridSearchCV, cross_validate

import boostrank as br


def slow_ndcg(y, scores, k, ties):
    """NDCG of one query from the definition, over every order of tied documents; None without relevance."""

    def dcg(order):
        return sum((2.0 ** y[i] - 1) / np.log2(r + 1) for r, i in enumerate(order, 1) if k is None or r <= k)

    documents = range(len(y))
    ideal = dcg(sorted(documents, key=lambda i: -y[i]))
    if ideal == 0:
        return None
    groups = [[i for i in documents if scores[i] == score] for score in sorted(set(scores), reverse=True)]
    if ties == "stable":
        return dcg([i for group in groups for i in group]) / ideal
    orders = itertools.product(*(itertools.permutations(group) for group in groups))
    values = [dcg([i for part in order for i in part]) for order in orders]
    return {"average": np.mean, "best": max, "worst": min}[ties](values) / ideal


@pytest.fixture
def ragged():
    random = np.random.default_rng(0)
    qid = random.integers(0, 40, 500)
    return random.integers(0, 4, 500) * (random.random(500) < 0.4), random.integers(0, 8, 500) / 4.0, qid


@pytest.mark.parametrize("k", [None, 1, 3, 10])
@pytest.mark.parametrize("ties", ["average", "stable", "best", "worst"])
def test_each_query_equals_the_definition(ragged, k, ties):
    y, scores, qid = (values[:150] for values in ragged)
    values = br.ndcg_score(y, scores, qid, k=k, ties=ties, empty="skip", per_query=True)
    for value, query in zip(values, pd.unique(qid), strict=True):
        mine = qid == query
        expected = slow_ndcg(y[mine], scores[mine], k, ties)
        assert np.isnan(value) if expected is None else value == pytest.approx(expected, abs=1e-12)


def test_ties_average_as_scikit_learn_does(ragged):
    y, scores, qid = ragged
    for query in range(40):
        mine = qid == query
        if mine.sum() > 1:
            expected = sklearn_ndcg_score([y[mine]], [scores[mine]], k=5)
            assert br.ndcg_score(y[mine], scores[mine], k=5, gain="linear") == pytest.approx(expected, abs=1e-12)


def test_empty_queries_count_as_told():
    y, scores, qid = [0, 0, 1, 0], [0.2, 0.1, 0.2, 0.1], ["a", "a", "b", "b"]
    assert [br.ndcg_score(y, scores, qid, empty=e) for e in ("zero", "one", "skip")] == [0.5, 1.0, 1.0]
    with pytest.raises(ValueError, match="'a' has no relevant document"):
        br.ndcg_score(y, scores, qid, empty="raise")
    with pytest.raises(ValueError, match="no query is left"):
        br.ndcg_score([0, 0], [1, 2], empty="skip")


def test_weights_are_of_queries_also_empty_ones():
    y, scores, qid = [0, 0, 1, 0], [0.2, 0.1, 0.2, 0.1], ["a", "a", "b", "b"]
    assert br.ndcg_score(y, scores, qid, sample_weight=[1, 3]) == 0.75
    assert br.ndcg_score(y, scores, qid, sample_weight=[1, 3], empty="skip") == 1.0
    assert br.ndcg_score(y, scores, ["a", "b", "b", "a"], sample_weight=[1, 3, 3, 1]) == pytest.approx(0.75)
    with pytest.raises(ValueError, match="differs within query"):
        br.ndcg_score(y, scores, qid, sample_weight=[1, 2, 3, 4])


def test_order_of_rows_does_not_matter(ragged):
    y, scores, qid = ragged
    order = np.random.default_rng(1).permutation(500)
    expected = br.ndcg_score(y, scores, qid)
    assert br.ndcg_score(y[order], scores[order], qid[order].astype(str)) == pytest.approx(expected, abs=1e-12)
    odd_index = pd.Series(y, index=np.arange(500)[::-1])
    assert br.ndcg_score(odd_index, pd.Series(scores), pd.Series(qid)) == expected


def test_kinds_of_scores_keep_their_order():
    y = [0, 1, 2, 3]
    assert br.ndcg_score(y, np.array([2**60, 2**60 + 1, 2**60 + 2, 2**60 + 3])) == 1.0
    assert br.ndcg_score(y, np.array([0, 1, 2, 3], dtype=np.uint8)) == 1.0
    assert br.ndcg_score(y, np.array([0, 1, 2, 3], dtype=np.float32)) == 1.0
    assert br.ndcg_score([1, 0], [0.0, -0.0], k=1) == 0.5
    assert br.ndcg_score([2], [0.3]) == 1.0


def test_dcg_is_the_mean_of_the_unnormalized(ragged):
    y, scores, qid = ragged
    for gain, discount in itertools.product(["exp2", "linear"], ["log2", "zipf"]):
        dcg = br.metrics.dcg_score(y, scores, qid, k=4, gain=gain, discount=discount, per_query=True)
        ideal = br.metrics.dcg_score(y, y, qid, k=4, gain=gain, discount=discount, per_query=True)
        ndcg = br.ndcg_score(y, scores, qid, k=4, gain=gain, discount=discount, per_query=True)
        np.testing.assert_allclose(dcg, ideal * ndcg, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_score": [0.1, np.nan]}, r"scores\[1\] is nan"),
        ({"y_score": [0.1, np.inf]}, r"scores\[1\] is inf"),
        ({"y_score": [0.1]}, "y_score has 1 values"),
        ({"y_score": ["a", "b"]}, "must be numbers"),
        ({"y_true": [0, -1]}, r"relevance\[1\] = -1"),
        ({"y_true": [], "y_score": []}, "y_true is empty"),
        ({"qid": [1]}, "qid has 1 values"),
        ({"qid": [1, None]}, "qid must not be missing"),
        ({"k": 0}, "k must be"),
        ({"k": 1.5}, "k must be"),
        ({"ties": "random"}, "ties must be"),
        ({"empty": "nan"}, "empty must be"),
    ],
)
def test_bad_input_is_an_error_that_names_it(change, message):
    with pytest.raises(ValueError, match=message):
        br.ndcg_score(**{"y_true": [0, 1], "y_score": [0.1, 0.2], **change})


@pytest.fixture
def search():
    X, y, qid = br.make_ranking(n_queries=40, random_state=1)
    order = np.random.default_rng(0).permutation(len(y))
    ranker = br.LightGBMRanker(n_estimators=5, random_state=0, n_jobs=1)
    return ranker, X[order], y[order], np.array([f"q{i}" for i in qid[order]])


def hand_written_loop(ranker, X, y, qid):
    scores = []
    for train, test in br.QueryKFold(4).split(X, y, qid):
        fitted = clone(ranker).fit(X[train], y[train], qid[train])
        scores.append(br.ndcg_score(y[test], fitted.predict(X[test]), qid[test], k=10))
    return scores


def test_scorer_and_folds_with_metadata_routing(search):
    ranker, X, y, qid = search
    grid = {"objective": ["softmax", "lambdarank", br.surrogates.Cosine()], "k": [None, 10]}
    with sklearn.config_context(enable_metadata_routing=True):
        found = GridSearchCV(ranker, grid, cv=br.QueryKFold(4), scoring=br.make_ndcg_scorer(k=10)).fit(X, y, qid=qid)
    assert len(found.cv_results_["params"]) == 6
    best = clone(ranker).set_params(**found.best_params_)
    assert found.best_score_ == pytest.approx(np.mean(hand_written_loop(best, X, y, qid)), abs=1e-12)


def test_several_metrics_at_once(search):
    ranker, X, y, qid = search
    metrics = {f"ndcg@{k}": br.make_ndcg_scorer(k=k) for k in (1, 10)}
    with sklearn.config_context(enable_metadata_routing=True):
        seen = cross_validate(ranker, X, y, cv=br.QueryKFold(4), scoring=metrics, params={"qid": qid}, n_jobs=2)
    np.testing.assert_allclose(seen["test_ndcg@10"], hand_written_loop(ranker, X, y, qid), atol=1e-12)
    assert not np.allclose(seen["test_ndcg@1"], seen["test_ndcg@10"])


def test_scorer_without_routing_finds_the_column_or_raises(search):
    ranker, X, y, qid = search
    frame = pd.DataFrame(X).rename(columns=str).assign(qid=qid)
    splits = list(br.QueryKFold(4).split(X, y, qid))
    seen = cross_validate(ranker, frame, y, cv=splits, scoring=br.make_ndcg_scorer(k=10))["test_score"]
    np.testing.assert_allclose(seen, hand_written_loop(ranker, X, y, qid), atol=1e-12)
    with pytest.raises(ValueError, match="got no qid"):
        cross_validate(ranker, X, y, cv=splits, error_score="raise")
    with pytest.raises(ValueError, match="got no qid"):
        br.make_ndcg_scorer()(ranker.fit(X, y, qid), X, y)


def test_splits_keep_queries_whole(search):
    _, X, _, qid = search
    for shuffle in (False, True):
        folds = list(br.QueryKFold(4, shuffle=shuffle, random_state=0 if shuffle else None).split(X, groups=qid))
        assert sorted(np.concatenate([test for _, test in folds])) == list(range(len(qid)))
        assert all(not set(qid[train]) & set(qid[test]) for train, test in folds)
    keep, hold_out = br.split_queries(qid, 0.25, random_state=0)
    assert len(set(qid[hold_out])) == 10
    assert not set(qid[keep]) & set(qid[hold_out])
    for wrong in (0, 1, -0.5):
        with pytest.raises(ValueError, match="fraction"):
            br.split_queries(qid, wrong)
    with pytest.raises(ValueError, match="at least two"):
        br.split_queries([1, 1], 0.5)
