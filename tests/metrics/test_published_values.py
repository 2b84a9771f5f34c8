"""Numbers that other libraries and papers publish, of labels and scores: examples, and what their tests expect.

Each case names its source. The tolerance is half a unit of the last published decimal, or a unit where the source
truncates.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
from cases import for_each

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


LINEAR = {"gain": "linear"}

ARRAYS = [
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
