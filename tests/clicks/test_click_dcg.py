"""The measure of clicks: against `evaluate` and a sum by loops, values of queries, weights, support
and errors."""

import numpy as np
import pytest
from clicks.test_labels import QID, TRUST, simulated

import boostrank as br
from boostrank.clicks import Cascade, ClickDCG, ClickLog, evaluate
from boostrank.ndcg.labels import as_labels

SCORES = np.array([1.0, 3.0, 2.0, 1.0, 2.0, 5.0, 4.0, 0.0])
SILENT = ClickLog([1, 1], row=[0, 1], position=[1, 2], clicks=[0, 0])
MODELS = {"positions": (1.0, 0.8, 0.6, 0.5), "trust": TRUST, "cascade": Cascade(0.5)}


@pytest.mark.parametrize("average", ["sessions", "queries"])
@pytest.mark.parametrize("k", [None, 2])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_it_is_the_estimate_of_evaluate(model, k, average):
    log = simulated(model=model)
    labels = br.ClickLabels(log, model, clip=0.55, average=average)
    expected = evaluate(log, SCORES, model, k=k, clip=0.55, average=average).value
    measure = ClickDCG(k)
    assert measure(labels, SCORES) == pytest.approx(expected, rel=1e-12)
    assert measure(labels, SCORES, QID) == measure(labels, SCORES)
    grouped = as_labels(labels).group(labels.queries)
    bound = measure.bind(grouped.values, labels.queries)
    assert bound.mean(labels.queries.group(SCORES)) == pytest.approx(expected, rel=1e-12)
    assert bound.results(labels.queries.group(SCORES))[0][0] == str(measure)
    zipf = evaluate(log, SCORES, model, k=None, discount="zipf", clip=0.55, average=average).value
    assert ClickDCG(discount="zipf")(labels, SCORES) == pytest.approx(zipf, rel=1e-12)


def test_values_of_queries_by_loops():
    labels, scores = (
        br.ClickLabels(simulated(), (1.0, 0.8, 0.6, 0.5)),
        np.array([1, 3, 2, 0, 5, 1, 4, 0.0]),
    )
    estimates, weights = labels.estimates.relevance, np.array([3.0, 0.5, 0.0, 2.0])
    above, below = [], []
    for query, share in zip("bacd", labels.query_weights, strict=True):
        ranked = sorted(np.flatnonzero(query == QID), key=lambda row: -scores[row])
        above.append(
            share * sum(estimates[row] / np.log2(2 + i) for i, row in enumerate(ranked[:2]))
        )
        below.append(share * estimates[ranked].sum())
    expected = np.dot(weights, above) / np.dot(weights, below)
    measure = ClickDCG(2)
    assert measure(labels, scores, sample_weight=weights) == pytest.approx(expected)
    values = measure(labels, scores, sample_weight=weights, per_query=True)
    assert np.average(values, weights=weights) == pytest.approx(expected)
    assert values[3] == 0  # Query "d" has no sessions.
    values = measure(labels, scores, per_query=True)
    np.testing.assert_allclose(values, 4 * np.array(above) / sum(below))
    assert values.mean() == pytest.approx(measure(labels, scores))


def test_only_ranks_that_count_need_support():
    qid = ["a", "a", "a", "b", "b"]
    log = ClickLog(
        qid, row=[0, 1, 0, 1], position=[1, 2, 1, 2], clicks=[1, 0, 1, 0], session=[0, 0, 1, 1]
    )
    labels = br.ClickLabels(log, [1.0, 0.5])
    scores = np.array([3.0, 2.0, 1.0, 1.0, 0.0])
    assert (
        ClickDCG(2)(labels, scores) == 1.0
    )  # The query "b" has no sessions, and needs no support.
    with pytest.raises(
        ValueError, match=r"1 of 5 rows have no support: .* row 2 of query 'a'.*Its rank counts"
    ):
        ClickDCG(3)(labels, scores)
    with pytest.raises(ValueError, match="row 2 of query 'a'"):
        ClickDCG(1)(labels, -scores)
    assert ClickDCG(3)(
        br.ClickLabels(log, [1.0, 0.5], not_shown="irrelevant"), -scores
    ) == pytest.approx(1 / 2)


def test_support_is_found_in_shuffled_rows_of_queries_with_a_weight():
    log = ClickLog(
        ["b", "a", "b", "a"], row=[0, 3, 1], position=[1, 1, 2], clicks=[1, 1, 0], session=[0, 1, 1]
    )
    labels = br.ClickLabels(log, 1.0)
    with pytest.raises(ValueError, match="row 2 of query 'b'"):
        ClickDCG()(labels, [2.0, 1.0, 1.0, 2.0])
    assert ClickDCG(1)(labels, [2.0, 2.0, 1.0, 1.0]) == 0.5
    assert ClickDCG(1)(labels, [1.0, 2.0, 2.0, 1.0], sample_weight=[0.0, 1.0]) == 0.0


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (
            lambda labels: ClickDCG(5)(np.arange(8.0), SCORES, QID),
            "click-dcg@5 needs ClickLabels; got ndarray",
        ),
        (
            lambda labels: ClickDCG().bind(labels.log, labels.queries),
            "click-dcg needs ClickLabels; got ClickLog",
        ),
        (lambda labels: ClickDCG()(labels, SCORES, QID[::-1]), "qid differs"),
        (lambda labels: ClickDCG()(labels, SCORES[:7]), "y_score has 7 values"),
        (
            lambda labels: ClickDCG().bind(labels, labels[[1, 2, 4]].queries),
            "labels has 8 values for the 3 rows",
        ),
        (
            lambda labels: ClickDCG()(br.ClickLabels(SILENT, 1.0), [0.0, 1.0]),
            "number of relevant documents is 0",
        ),
    ],
)
def test_errors(use, message):
    with pytest.raises(ValueError, match=message):
        use(br.ClickLabels(simulated(), (1.0, 0.8, 0.6, 0.5)))


def test_names_and_use_as_a_measure():
    labels = br.ClickLabels(simulated(), (1.0, 0.8, 0.6, 0.5))
    measure = ClickDCG(2, discount=("power", 0.5))
    assert br.get_measure(measure) is measure
    assert eval(repr(measure), {"get_measure": br.get_measure}) == measure
    assert br.get_measure("click-dcg@2", discount=("power", 0.5)) == measure
    assert hash(measure) == hash(ClickDCG(2, discount=("power", 0.5)))
    table = br.evaluate(labels, SCORES, measures={"dcg": ClickDCG(2)}, per_query=True)
    assert table.index.tolist() == ["b", "a", "c", "d"]
    assert table["dcg"].mean() == pytest.approx(ClickDCG(2)(labels, SCORES))
