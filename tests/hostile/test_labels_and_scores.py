"""Hostile labels and scores at every entry point that takes them."""

import functools
import math

import numpy as np
import pytest
from cases import for_each

from hostile.entry_points import CODES, LABELS, METRICS, NATIVE, PREFERENCES, SCORES, TRAINING
from hostile.numbers_per_row import LABELS_BY_NAME, SCORES_BY_NAME
from hostile.outcomes import NAMES, Fault, check_fault, check_value, named, rotated_table

WITH_LABELS = {**METRICS, **TRAINING, **PREFERENCES}
WITH_SCORES = METRICS
LABELS_CORE = ["ndcg", "linear-ndcg", "expected_ndcg", "XGBoostRanker.fit"]
SCORES_CORE = ["ndcg", "make_scorer", "kendall_tau"]
#: Sums of these gains do not fit into float64; the library need not tell DCG that is not normalized.
SUMS_OF_GAINS = ("linear-dcg", "expected_ndcg")
MAX_EXP2_LABEL, MAX_GRADE = 1000, 6


def is_apart(labels, entry_point):
    """Whether the entry point makes other demands on labels, which its own tests check."""
    meaning = LABELS_BY_NAME[labels][1]
    if isinstance(meaning, Fault):
        # Expected gains may be of any size, and scikit-learn reports on `y` of cross-validation in its own words.
        return entry_point == "expected_ndcg" and labels.startswith("negative")
    whole = all(float(label).is_integer() for label in meaning)
    if any(name.replace(":", "-") in entry_point for name in NATIVE.values()):
        return not whole or max(meaning) > 30
    if entry_point == "err":
        return max(meaning) > MAX_GRADE
    if labels == "subnormal-in-a-query":
        # Gains 2^y - 1 of such labels are rounded to multiples of the smallest float.
        return WITH_LABELS[entry_point].gains
    return entry_point in SUMS_OF_GAINS and max(meaning) > 1e300


def pairs(entries, core, entry_points):
    others = [name for name in entry_points if name not in core]
    return rotated_table(entries, core, others, 2)


LABEL_PAIRS = [pair for pair in pairs(LABELS_BY_NAME, LABELS_CORE, WITH_LABELS) if not is_apart(*pair)]
SCORE_PAIRS = pairs(SCORES_BY_NAME, SCORES_CORE, WITH_SCORES)


@functools.cache
def expected(entry_point, labels, scores):
    return WITH_LABELS[entry_point].expected(list(labels), list(scores), CODES)


@pytest.mark.filterwarnings("ignore:no tree has a split.* all labels are")
@for_each(("labels", "entry_point"), named(LABEL_PAIRS))
def test_labels(labels, entry_point):
    given, meaning = LABELS_BY_NAME[labels]

    def call():
        return WITH_LABELS[entry_point].call(given, np.array(SCORES), np.array(CODES))

    if isinstance(meaning, Fault):
        check_fault(call, NAMES["labels"], meaning.pattern)
    elif WITH_LABELS[entry_point].gains and max(meaning) > MAX_EXP2_LABEL:
        check_fault(call, NAMES["labels"], "overflow|gain")
    else:
        numbers = expected(entry_point, tuple(meaning), tuple(SCORES))
        if np.ndim(numbers) and not isinstance(numbers, tuple) and all(map(math.isnan, np.ravel(numbers))):
            check_fault(call, "query", "undefined|no query")
        else:
            check_value(call(), numbers)


@for_each(("scores", "entry_point"), named(SCORE_PAIRS))
def test_scores(scores, entry_point):
    given, meaning = SCORES_BY_NAME[scores]

    def call():
        return WITH_SCORES[entry_point].call(np.array(LABELS), given, np.array(CODES))

    if isinstance(meaning, Fault):
        check_fault(call, NAMES["scores"], meaning.pattern)
    elif scores == "signed-zeros" and entry_point == "kendall_tau":
        check_fault(call, "query", "undefined|no query")
    else:
        check_value(call(), expected(entry_point, tuple(LABELS), tuple(meaning)))
