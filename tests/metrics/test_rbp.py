"""Rank-biased precision with graded relevance."""

import pytest
from measure_definitions import CHOOSE, FUNCTIONS, queries_of
from oracles import orders_by


def test_graded_rank_biased_precision(ragged):
    y, scores, qid = ragged
    table = [0.0, 0.25, 0.5, 1.0]
    for ties in ("average", "best"):
        values = FUNCTIONS["rbp"](y, scores, qid, p=0.5, k=3, gain=table, ties=ties, per_query=True)
        for value, (labels, by) in zip(values, queries_of(qid, y, scores), strict=True):
            orders = [sum(table[labels[i]] / 2**r for r, i in enumerate(o[:3], 1)) for o in orders_by(by)]
            assert value == pytest.approx(CHOOSE[ties](orders), abs=1e-13)
    assert FUNCTIONS["rbp"](y, scores, qid) == FUNCTIONS["rbp"](y, scores, qid, p=0.8, gain=[0, 1, 1, 1])
