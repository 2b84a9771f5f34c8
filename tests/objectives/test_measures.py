"""Measures in several objectives, and their weighted mean."""

import pickle

import numpy as np
import pytest

import boostrank as br


@pytest.fixture
def data():
    """Labels of three objectives, of which two are missing for some queries; scores, query ids."""
    random = np.random.default_rng(0)
    qid = np.repeat(np.arange(12), 5)
    order = random.permutation(60)
    qid = qid[order]
    labels = {name: random.integers(0, 4, 60).astype(float) for name in "abc"}
    labels["b"][qid < 3] = np.nan
    labels["c"][(qid > 1) & (qid < 9)] = np.nan
    return labels, random.normal(size=60), qid


def of_rows(labels, scores, qid, name, **settings):
    """NDCG of the queries that have labels of an objective."""
    rows = ~np.isnan(labels[name])
    return br.ndcg_score(labels[name][rows], scores[rows], qid[rows], **settings)


def test_a_measure_is_its_weighted_mean_over_the_objectives(data):
    labels, scores, qid = data
    several = br.MultipleLabels(labels, (2, 1, 1))
    parts = [of_rows(labels, scores, qid, name, k=3) for name in "abc"]
    mean = np.dot([0.5, 0.25, 0.25], parts)
    measure = br.get_measure("ndcg@3")
    assert measure(several, scores, qid) == pytest.approx(mean)
    values = br.evaluate(several, scores, qid, "ndcg@3")
    assert list(values) == [*(f"ndcg(objective={name})@3" for name in "abc"), "ndcg@3"]
    assert list(values.values()) == pytest.approx([*parts, mean])
    table = br.evaluate(several, scores, qid, "ndcg@3", per_query=True)
    assert table.mean().tolist() == pytest.approx([*parts, mean])
    assert table.isna().sum().tolist() == [0, 3, 7, 0]
    groups = br.evaluate(several, scores, qid, "ndcg@3", by={i: i % 2 for i in range(12)})
    assert groups[groups["group"] == "all queries"]["queries"].tolist() == [12, 9, 5, 12]
    # Objectives of weight 0 are shown, and do not count.
    one = several.with_weights((0, 1, 0))
    values = br.evaluate(one, scores, qid, "ndcg@3")
    assert list(values.values()) == pytest.approx([*parts, parts[1]])
    of_queries = measure(one, scores, qid, per_query=True)
    ids = br.Queries.from_qid(qid).ids
    np.testing.assert_array_equal(np.isnan(of_queries), ids < 3)


@pytest.mark.parametrize("empty", ["zero", "skip"])
def test_terms_of_queries_have_the_measure_as_weighted_mean(data, empty):
    labels, scores, qid = data
    labels["a"][qid == 7] = 0.0
    several = br.MultipleLabels(labels)
    weights = np.random.default_rng(1).uniform(size=12)
    ids = br.Queries.from_qid(qid).ids
    weight_of = dict(zip(ids.tolist(), weights, strict=True))
    measure = br.get_measure("ndcg", empty=empty)
    mean = measure(several, scores, qid, sample_weight=weights)
    parts = []
    for name in "abc":
        has = ~np.isnan(labels[name])
        of_queries = [weight_of[i] for i in br.Queries.from_qid(qid[has]).ids.tolist()]
        settings = {"empty": empty, "sample_weight": of_queries}
        parts.append(of_rows(labels, scores, qid, name, **settings))
    assert mean == pytest.approx(np.mean(parts))
    terms = measure(several, scores, qid, per_query=True, sample_weight=weights)
    assert weights @ terms / weights.sum() == pytest.approx(mean)
    bound = measure.bind(several.group(br.Queries.from_qid(qid)), br.Queries.from_qid(qid))
    grouped = br.Queries.from_qid(qid).group(scores)
    assert bound.mean(grouped) == pytest.approx(measure(several, scores, qid))


def test_gains_and_cutoffs_of_objectives_count(data):
    labels, scores, qid = data
    several = br.MultipleLabels(labels, gain={"a": "linear", "b": [0, 1, 1, 5]}, k={"a": 2})
    values = br.evaluate(several, scores, qid, ["ndcg@4", "weighted-ndcg@4"])
    table = [0, 1, 1, 5]
    expected = [
        of_rows(labels, scores, qid, "a", gain="linear", k=4),
        of_rows(labels, scores, qid, "b", gain=table, k=4),
        of_rows(labels, scores, qid, "c", k=4),
    ]
    assert list(values.values())[:3] == pytest.approx(expected)
    # A measure has the cutoff of its name; the measure of rankers has those of the training.
    expected[0] = of_rows(labels, scores, qid, "a", gain="linear", k=2)
    assert list(values.values())[4:7] == pytest.approx(expected)
    assert values["weighted-ndcg@4"] == pytest.approx(np.mean(expected))
    ranked = br.evaluate(several, scores, qid, ["map"])
    assert len(ranked) == 4


def test_names_and_settings_of_a_measure_in_one_objective(data):
    labels, scores, qid = data
    several = br.MultipleLabels(labels)
    measure = br.get_measure("ndcg@3", objective="b")
    assert repr(measure) == "get_measure('ndcg@3', objective='b')"
    assert measure == br.get_measure(str(measure)) == eval(repr(measure), {**vars(br)})
    assert len({measure, pickle.loads(pickle.dumps(measure))}) == 1
    assert measure(several, scores, qid) == of_rows(labels, scores, qid, "b", k=3)
    changed = br.get_measure(measure, k=1, objective="c")
    assert changed == br.get_measure("ndcg(objective=c)@1")
    assert str(br.get_measure("ndcg(gain=linear,objective=c)@1")) == (
        "ndcg(gain=linear,objective=c)@1"
    )
    assert changed(several, scores, qid) == of_rows(labels, scores, qid, "c", k=1)
    scorer = br.make_scorer("ndcg@3", objective="b")
    assert repr(scorer) == "make_scorer('ndcg@3', objective='b')"
    weighted = br.get_measure("weighted-ndcg@3", objective="b")
    assert weighted(several, scores, qid) == measure(several, scores, qid)
    # It says that of one objective there is no list of all.
    assert list(br.evaluate(several, scores, qid, {"mine": measure})) == ["mine"]
    named = br.evaluate(several, scores, qid, {"mine": "ndcg@3"})
    assert list(named) == ["mine (a)", "mine (b)", "mine (c)", "mine"]


def test_what_is_not_defined_is_an_error(data):
    labels, scores, qid = data
    several = br.MultipleLabels(labels)
    measure = br.get_measure("ndcg@3", objective="d")
    with pytest.raises(ValueError, match="objective must be one of 'a', 'b', 'c'; got 'd'"):
        measure(several, scores, qid)
    with pytest.raises(ValueError, match=r"labels of ndcg.* must be MultipleLabels; got ndarray"):
        measure(np.zeros(60), scores, qid)
    with pytest.raises(ValueError, match="objective must be the name of an objective; got 3"):
        br.get_measure("ndcg", objective=3)
    with pytest.raises(TypeError, match="no setting 'objectives'"):
        br.get_measure("ndcg", objectives="a")
    with pytest.raises(TypeError, match="no setting 'threshold'"):
        br.get_measure(br.get_measure("ndcg", objective="a"), threshold=1)
    rows = qid < 3
    with pytest.raises(ValueError, match="no query has labels of the objective 'b'"):
        br.get_measure("ndcg")(several[rows], scores[rows], qid[rows])
    with pytest.raises(ValueError, match="pass qid"):
        br.get_measure("ndcg")(several, scores)
    zeros = br.MultipleLabels({"a": np.zeros(60), "b": np.ones(60)})
    with pytest.raises(ValueError, match="the objective 'a': no query is left to average"):
        br.get_measure("ndcg", empty="skip")(zeros, scores, qid)


def test_a_function_gets_the_labels_themselves(data):
    labels, scores, qid = data
    several = br.MultipleLabels(labels)

    def largest(y, scores, qid):
        return float(np.nanmax(y.find("a").labels.values))

    assert br.evaluate(several, scores, qid, largest) == {"largest": np.nanmax(labels["a"])}


def test_scorers_take_an_objective():
    X, clicks, qid = br.make_ranking(30, random_state=0)
    margin = np.maximum(X[:, 0], 0.0)
    labels = br.MultipleLabels({"click": clicks, "margin": margin})
    ranker = br.LightGBMRanker(n_estimators=5, n_jobs=1).fit(X, labels, qid)
    value = br.make_scorer("ndcg@5", objective="margin")(ranker, X, labels, qid)
    assert value == pytest.approx(br.ndcg_score(margin, ranker.predict(X), qid, k=5))
