"""DCG and NDCG against brute force on any data."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measure_definitions import FUNCTIONS

import boostrank as br
from hostile import brute_force

EXTREMES = st.sampled_from([0.0, 5e-324, 1e308, 1.7e308, 1.0])
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
#: Rows of a label, a score and the number of a query; few different ones, so that there are ties and empty queries.
ROWS = st.lists(
    st.tuples(st.sampled_from([0, 1, 2, 3, 0.5]), st.sampled_from([0.0, 1.0, -1.0, 1e300, 5e-324]), st.integers(0, 2)),
    min_size=1,
    max_size=5,
)


def columns(rows):
    return [list(column) for column in zip(*rows, strict=True)]


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize("name", brute_force.MEASURES)
@given(
    rows=ROWS,
    k=st.sampled_from([None, 1, 2, 5, 0.5]),
    ties=st.sampled_from(["average", "stable", "best", "worst"]),
    data=st.data(),
)
@settings(max_examples=12)
def test_dcg_and_ndcg(name, rows, k, ties, data):
    labels, scores, codes = columns(rows)
    options = {"k": k, "ties": ties, **({"gain": "linear"} if name.startswith("linear") else {})}
    expected = brute_force.per_query(name, labels, scores, codes, k, ties)
    function = FUNCTIONS[name.removeprefix("linear ")]
    if all(map(math.isnan, expected)):
        with pytest.raises(ValueError, match="no query is left"):
            function(labels, scores, codes, empty="skip", **options)
        return
    values = function(labels, scores, codes, empty="skip", per_query=True, **options)
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12)
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(expected), max_size=len(expected)))
    for empty in ("skip", "zero"):
        mean = function(labels, scores, codes, empty=empty, sample_weight=weights, **options)
        assert mean == pytest.approx(brute_force.mean(expected, weights, empty), rel=1e-9, abs=1e-12)


@given(
    rows=st.lists(st.tuples(EXTREMES | NUMBERS.map(abs), EXTREMES | NUMBERS, st.integers(0, 1)), min_size=1, max_size=4)
)
@settings(max_examples=40)
def test_linear_ndcg_of_any_floats(rows):
    labels, scores, codes = columns(rows)
    values = br.ndcg_score(labels, scores, codes, gain="linear", per_query=True, empty="zero")
    expected = np.nan_to_num(brute_force.per_query("linear ndcg", labels, scores, codes))
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12)
