"""Labels, scores and weights: forms of the same numbers, faults, and labels and scores at the ends
of float64."""

import decimal
import fractions
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from cases import for_each

import boostrank as br
from boostrank.metrics.labels import check_scores
from boostrank.ndcg.gains import check_relevance
from boostrank.queries.queries import Queries
from boostrank.queries.weights import document_weights
from hostile import brute_force
from hostile.entry_points import CODES, FEATURES, LABELS, N_ROWS, RANKERS, SCORES, tiny
from hostile.outcomes import NAMES, Fault, check_fault, check_value, with_faults

polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

NAN, INF = float("nan"), float("inf")
CHECKS = {
    "labels": check_relevance,
    "scores": lambda scores: check_scores(scores, "y_score"),
    "weights": lambda weights: document_weights(
        weights, Queries.from_sizes([N_ROWS]), may_differ=True
    ),
}
NUMBERS = [2, 0, 1, 0, 3, 1, 0, 2]


def with_value(value):
    """A list with another value in one row."""
    return [*NUMBERS[:4], value, *NUMBERS[5:]]


FORMS = {
    "big-endian": np.array(NUMBERS, ">f8"),
    "int8": np.array(NUMBERS, np.int8),
    "half-precision": np.array(NUMBERS, np.float16),
    "column-of-a-matrix": np.array(NUMBERS)[:, None],
    "strided": np.repeat(np.array(NUMBERS), 2)[::2],
    "masked-array-without-mask": np.ma.masked_array(NUMBERS, mask=[False] * N_ROWS),
    "series-with-reversed-index": pd.Series(NUMBERS, index=range(N_ROWS)[::-1]),
    "nullable": pd.Series(NUMBERS, dtype="Float64"),
    "frame-of-one-column": pd.DataFrame({"value": NUMBERS}),
    "polars": polars.Series(np.array(NUMBERS, float)),
    "arrow": pyarrow.array(np.array(NUMBERS, float)),
    "decimals": [decimal.Decimal(number) for number in NUMBERS],
    "fractions": [fractions.Fraction(number) for number in NUMBERS],
}
FAULTY = {
    "nan": (with_value(NAN), "nan|finite|missing"),
    "infinity": (with_value(INF), "inf|finite"),
    "none": (with_value(None), ""),
    "null-of-polars": (polars.Series([1.0, None]), ""),
    "null-of-a-dictionary": (
        pyarrow.chunked_array([pyarrow.array(with_value(None)).dictionary_encode()]),
        "nan|finite",
    ),
    "text": (with_value("high"), ""),
    "complex": (np.array(NUMBERS) + 0j, "real|complex"),
    "dates": (np.arange(N_ROWS).astype("datetime64[D]"), "date|real|dtype"),
    "masked": (np.ma.masked_array(NUMBERS, mask=[i == 4 for i in range(N_ROWS)]), "mask"),
    "two-columns": (np.array([NUMBERS, NUMBERS]).T, "one-dimensional|shape"),
    "a-number": (1.0, ""),
    "nothing": (None, ""),
    "ragged": ([[1.0], *NUMBERS[1:]], ""),
    "beyond-float64": (with_value(10**400), ""),
}
NUMBERS_BY_FORM = with_faults({name: (form, NUMBERS) for name, form in FORMS.items()}, FAULTY)


@for_each(
    ("argument", "form"), [(argument, form) for argument in CHECKS for form in NUMBERS_BY_FORM]
)
def test_forms(argument, form):
    given, meaning = NUMBERS_BY_FORM[form]
    if isinstance(meaning, Fault):
        check_fault(lambda: CHECKS[argument](given), NAMES[argument], meaning.pattern)
    else:
        check_value(CHECKS[argument](given), meaning)


@for_each("value", [-1, -1e-300])
def test_negative_labels(value):
    check_fault(lambda: check_relevance(with_value(value)), NAMES["labels"], "negative")


#: Labels in the queries 0 and 1, of which the numbers are unusual.
LABELS_BY_NAME = {
    "signed-zeros": [label or -0.0 for label in LABELS],
    "tiny-beside-grades": [label * 1e-17 or 1.0 for label in LABELS],
    "largest-of-the-gain": [label * 300 for label in LABELS],
    "above-the-gain": with_value(1001),
    "beyond-all-gains": [1.7e308 if label > 2 else label for label in LABELS],
    "no-relevance-in-a-query": [label * code for label, code in zip(LABELS, CODES, strict=True)],
    "all-alike": [1] * N_ROWS,
}
SCORES_BY_NAME = {
    "signed-zeros": [(-1) ** row * 0.0 for row in range(N_ROWS)],
    "ends-of-float64": [(-1) ** row * 1.7e308 * (1 - row * 1e-15) for row in range(N_ROWS)],
    "neighbouring-floats": [1 + row // 2 * 2.0**-52 for row in range(N_ROWS)],
    "half-precision": np.arange(2048, 2056).astype(np.float16).tolist(),
}


@for_each(
    ("gain", "name"), [(gain, name) for gain in ("linear", "exp2") for name in LABELS_BY_NAME]
)
def test_unusual_labels(gain, name):
    labels = LABELS_BY_NAME[name]

    def call():
        return br.ndcg_score(labels, SCORES, CODES, gain=gain, per_query=True, k=3)

    if gain == "exp2" and max(labels) > 1000:
        check_fault(call, NAMES["labels"], "overflow|gain")
    else:
        measure = "linear ndcg" if gain == "linear" else "ndcg"
        check_value(call(), np.nan_to_num(brute_force.per_query(measure, labels, SCORES, CODES, 3)))


@for_each("scores", SCORES_BY_NAME.values(), ids=SCORES_BY_NAME)
def test_scores_at_the_ends_of_float64(scores):
    values = br.ndcg_score(LABELS, scores, CODES, per_query=True)
    check_value(values, brute_force.per_query("ndcg", LABELS, scores, CODES))


@pytest.mark.filterwarnings("ignore:no tree has a split.* all labels are")
@pytest.mark.filterwarnings("ignore:the largest label is")
@for_each(("ranker", "name"), [(ranker, name) for ranker in RANKERS for name in LABELS_BY_NAME])
def test_rankers_learn_from_unusual_labels(ranker, name):
    labels = LABELS_BY_NAME[name]

    def call():
        return tiny(RANKERS[ranker]).fit(FEATURES, labels, CODES).predict(FEATURES)

    if max(labels) > 1000:
        check_fault(call, NAMES["labels"], "overflow|gain")
    else:
        assert np.isfinite(call()).all()


@for_each(
    ("scores", "expected"),
    [
        (np.array([0.5, 2.0, -7.0], dtype=np.float32), [0.5, 2.0, -7.0]),
        (np.array([0.5, 2, Fraction(-7)], dtype=object), [0.5, 2.0, -7.0]),
        (np.array([True, False]), [1.0, 0.0]),
        (np.array(["10", "9"], dtype=object), [10.0, 9.0]),
        # As float64, all of these were equal.
        (np.array([2**60 + 1, 2**60, 2**60 + 1]), [1.0, 0.0, 1.0]),
        (np.array([2**63 + 1, 2**63, 2**63 + 1], dtype=np.uint64), [1.0, 0.0, 1.0]),
        (np.array([2**70 + 1, 2**70, 2**70 + 1], dtype=object), [1.0, 0.0, 1.0]),
        (np.array([Fraction(1, 3) + Fraction(n, 10**30) for n in (1, 0, 1)]), [1.0, 0.0, 1.0]),
        (
            np.array([Decimal("0.1"), Decimal("0.1") - Decimal("1e-25"), Decimal("0.1")]),
            [1.0, 0.0, 1.0],
        ),
        (np.array([2**60 + 1, 2**60, 2**60 + 1], dtype=np.longdouble), [1.0, 0.0, 1.0]),
    ],
)
def test_scores_stay_as_they_are_or_are_numbered_in_their_order(scores, expected):
    checked = check_scores(scores)
    assert (checked.tolist(), checked.dtype) == (expected, np.float64)
