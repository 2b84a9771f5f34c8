"""Hostile query ids at every entry point that takes them."""

import functools

import numpy as np
import pytest
from cases import for_each

from hostile.entry_points import LABELS, METRICS, PREFERENCES, SCORES, SPLITS, TRAINING
from hostile.ids import IDS
from hostile.outcomes import NAMES, Fault, check_fault, check_value, named, rotated_table

ENTRY_POINTS = {**METRICS, **TRAINING, **PREFERENCES, **SPLITS}
CORE = ["ndcg", "PreferenceGraph.from_grades", "QueryKFold"]
OTHERS = [name for name in ENTRY_POINTS if name not in CORE]
WRONG_LENGTH = ("too-short", "too-long")
#: These take ids alone, so that any number of them is right.
ANY_LENGTH = ("split_queries", "PreferenceGraph")
PAIRS = [
    (ids, entry_point)
    for ids, entry_point in rotated_table(IDS, CORE, OTHERS, 4)
    if not (ids in WRONG_LENGTH and entry_point in ANY_LENGTH)
]


@functools.cache
def expected(entry_point, codes):
    return ENTRY_POINTS[entry_point].expected(LABELS, SCORES, list(codes))


# The rows that are scored are not those of the training.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the ranker was trained on other documents")
@for_each(("ids", "entry_point"), named(PAIRS))
def test_query_ids(ids, entry_point):
    given, meaning = IDS[ids]

    def call():
        return ENTRY_POINTS[entry_point].call(np.array(LABELS), np.array(SCORES), given)

    if isinstance(meaning, Fault):
        check_fault(call, NAMES["ids"], meaning.pattern)
    else:
        check_value(call(), expected(entry_point, tuple(meaning)))
