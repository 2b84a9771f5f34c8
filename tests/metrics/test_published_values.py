"""Numbers that other libraries and papers publish, of labels and scores: examples, and what their tests expect.

Each case names its source. The tolerance is half a unit of the last published decimal, or a unit where the source
truncates.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
from cases import for_each
from measure_definitions import FUNCTIONS

from boostrank import evaluate, get_measure

EXACT = 1e-12


class Arrays(NamedTuple):
    """Published values of labels and scores; the values are means over queries."""

    source: str
    labels: list[Any]
    scores: list[Any]
    values: dict[Any, float]
    tolerance: float
    qid: list[int] | None = None


JARVELIN_GAINS = [3, 2, 3, 0, 0, 1, 2, 2, 3, 0]
LINEAR = {"gain": "linear"}

ARRAYS = [
    # torchmetrics 1.9.0, "Example" of the classes in torchmetrics.retrieval.
    Arrays(
        "torchmetrics RetrievalMAP, RetrievalNormalizedDCG, RetrievalRecall, RetrievalRPrecision, RetrievalPrecision, "
        "RetrievalMRR",
        [0, 0, 1, 0, 1, 0, 1],
        [0.2, 0.3, 0.5, 0.1, 0.3, 0.5, 0.2],
        {
            "map": 0.7917,
            get_measure("ndcg", **LINEAR): 0.8467,
            "recall@2": 0.75,
            "rprec": 0.75,
            "precision@2": 0.5,
            "mrr": 0.75,
        },
        5e-5,
        [0, 0, 0, 1, 1, 1, 1],
    ),
    # rax 0.4.0, docstring of the module rax._src.metrics.
    Arrays(
        "rax ndcg_metric, batch",
        [2, 0, 1, 0, 0, 1],
        [2, 1, 3, 1, 0.5, 1.5],
        {"ndcg": 0.8983538},
        5e-8,
        [0, 0, 0, 1, 1, 1],
    ),
    # rax 0.4.0, rax._src.metrics_test: test_computes_metric_value_on_batch_with_vmap.
    Arrays(
        "rax metrics_test, first list",
        [0, 0, 1, 1],
        [0, 3, 1, 2],
        {
            "mrr": 1 / 2,
            "recall@3": 1.0,
            "precision": 0.5,
            "precision@3": 2 / 3,
            "map": (0.5 + 2 / 3) / 2,
            "dcg": 1 / np.log2(3) + 1 / np.log2(4),
            "ndcg": (1 / np.log2(3) + 1 / np.log2(4)) / (1 + 1 / np.log2(3)),
            "agreement": 2 / 4,
        },
        EXACT,
    ),
    # scikit-learn 1.9, "Examples" of dcg_score, ndcg_score and label_ranking_average_precision_score.
    Arrays(
        "sklearn dcg_score, ndcg_score",
        [10, 0, 0, 1, 5],
        [0.1, 0.2, 0.3, 4, 70],
        {get_measure("dcg", **LINEAR): 9.49, get_measure("dcg@2", **LINEAR): 5.63, get_measure("ndcg", **LINEAR): 0.69},
        1e-2,
    ),
    Arrays(
        "sklearn ndcg_score, other scores",
        [10, 0, 0, 1, 5],
        [0.05, 1.1, 1.0, 0.5, 0.0],
        {get_measure("ndcg", **LINEAR): 0.49, get_measure("ndcg@4", **LINEAR): 0.35},
        1e-2,
    ),
    Arrays(
        "sklearn label_ranking_average_precision_score",
        [1, 0, 0, 0, 0, 1],
        [0.75, 0.5, 1, 1, 0.2, 0.1],
        {"map": 0.416},
        1e-3,
        [0, 0, 0, 1, 1, 1],
    ),
    # Elasticsearch, ExpectedReciprocalRankTests.testERRAt and testERRMissingRatings.
    Arrays(
        "Elasticsearch testERRAt",
        [3, 2, 0, 1],
        [4, 3, 2, 1],
        {get_measure("err@3", max_grade=3): 0.8984375, get_measure("err@4", max_grade=3): 0.8984375 + 0.00244140625},
        EXACT,
    ),
]


@for_each("case", ARRAYS, ids=lambda case: case.source)
def test_values_of_arrays(case):
    qid = [0] * len(case.labels) if case.qid is None else case.qid
    measures = {str(i): each for i, each in enumerate(case.values)}
    found = evaluate(np.asarray(case.labels, dtype=float), np.asarray(case.scores, dtype=float), qid, measures)
    for number, value in zip(found, case.values.values(), strict=True):
        assert found[number] == pytest.approx(value, abs=case.tolerance), str(measures[number])


def test_cumulated_gains_of_jarvelin_and_kekalainen():
    """Järvelin and Kekäläinen, TOIS 2002, Section 2: cumulated gains of their vector G', without and with discount.

    With the logarithm of base 2 they do not discount ranks 1 and 2.
    """
    scores, qid = -np.arange(10.0), [0] * 10
    discounts = {
        "none": (lambda ranks: np.ones_like(ranks, dtype=float), [3, 5, 8, 8, 8, 9, 11, 13, 16, 16]),
        "log2": (
            lambda ranks: 1 / np.maximum(1.0, np.log2(ranks)),
            [3, 5, 6.89, 6.89, 6.89, 7.28, 7.99, 8.66, 9.61, 9.61],
        ),
    }
    for discount, expected in discounts.values():
        settings = {"gain": "linear", "discount": discount}
        found = [FUNCTIONS["dcg"](JARVELIN_GAINS, scores, qid, k=k, **settings) for k in range(1, 11)]
        np.testing.assert_allclose(found, expected, rtol=0, atol=5.1e-3)
