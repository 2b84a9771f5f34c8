"""Every entry point checks its labels, scores and query ids; which forms these may have, the other
files test."""

import numpy as np
import pandas as pd
import pytest
from cases import for_each

from hostile import entry_points
from hostile.entry_points import CODES, FEATURES, LABELS, METRICS, N_ROWS, SCORES, SPLITS, TRAINING
from hostile.outcomes import NAMES, check_fault, check_value

polars = pytest.importorskip("polars")

ENTRY_POINTS = {**METRICS, **TRAINING, **SPLITS}
NAN = float("nan")
#: The same labels, scores and queries, in forms that NumPy would read as others or not at all.
SAME = (
    pd.Series(LABELS, index=range(N_ROWS)[::-1], dtype="Float64"),
    polars.Series(SCORES),
    pd.Series([f"0{code}" for code in CODES], dtype="category").cat.reorder_categories(
        ["01", "00"]
    ),
)
FAULTS = {
    "missing-label": ("labels", [*LABELS[:4], NAN, *LABELS[5:]], {**METRICS, **TRAINING}),
    "too-few-labels": ("labels", LABELS[:-1], {**METRICS, **TRAINING}),
    "text-among-scores": ("scores", [*SCORES[:-1], "high"], METRICS),
    "too-many-scores": ("scores", [*SCORES, 1.0], METRICS),
    "missing-id": ("ids", pd.Series(["a", None] * (N_ROWS // 2)), ENTRY_POINTS),
    "two-columns-of-ids": ("ids", np.zeros((N_ROWS, 2), int), ENTRY_POINTS),
}
POSITIONS = {"labels": 0, "scores": 1, "ids": 2}


@for_each("name", [*TRAINING, "make_scorer", "QueryKFold", "predict"])
def test_query_ids_that_contradict_those_of_the_features(name, monkeypatch):
    monkeypatch.setattr(
        entry_points, "FEATURES", pd.DataFrame(FEATURES).add_prefix("x").assign(qid=CODES)
    )
    rows = LABELS, SCORES, np.arange(N_ROWS) // 4
    messages = "the column 'qid' of X", "contradict each other: row 1 is in"
    if name == "QueryKFold":
        # Beside query ids of X, its argument has groups of queries.
        messages = "groups must be equal for all rows of a query", "is in the groups '0' and '1'"
    check_fault(lambda: ENTRY_POINTS[name](*rows), *messages)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the ranker was trained on other documents")
@for_each("name", ENTRY_POINTS)
def test_the_same_rows_in_other_forms(name):
    plain = np.array(LABELS, float), np.array(SCORES), np.array(CODES)
    for ids in (SAME[2], [("q", code) for code in CODES], [chr(0xD800 + code) for code in CODES]):
        check_value(ENTRY_POINTS[name](*SAME[:2], ids), ENTRY_POINTS[name](*plain))


@for_each(
    ("fault", "name"), [(fault, name) for fault, (_, _, names) in FAULTS.items() for name in names]
)
def test_faults(fault, name):
    argument, value, _ = FAULTS[fault]
    rows = [np.array(LABELS), np.array(SCORES), np.array(CODES)]
    rows[POSITIONS[argument]] = value
    check_fault(lambda: ENTRY_POINTS[name](*rows), NAMES[argument])
