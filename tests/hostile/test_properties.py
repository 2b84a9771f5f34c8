"""Every measure against brute force on any data, and query ids of any type."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import boostrank as br
from hostile import brute_force
from hostile.entry_points import FUNCTIONS, SETTINGS
from hostile.ids import DIFFERENT

EXTREMES = st.sampled_from([0.0, 5e-324, 1e308, 1.7e308, 1.0])
KS = [None, 1, 2, 5, 0.5]
TIES = ["average", "stable", "best", "worst"]
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
@pytest.mark.parametrize("name", SETTINGS)
@given(rows=ROWS, k=st.sampled_from(KS), ties=st.sampled_from(TIES), data=st.data())
@settings(max_examples=12)
def test_measures(name, rows, k, ties, data):
    labels, scores, codes = columns(rows)
    options = {**SETTINGS[name]}
    if name in brute_force.PAIRED:
        k, ties = None, "average" if name == "auc" else ties
    elif name in brute_force.WHOLE:
        k, ties = None, "worst" if name == "iprec" and ties == "average" else ties
    else:
        options["k"] = k
    if name not in ("auc", "kendall_tau"):
        options["ties"] = ties
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


IDS = st.one_of(
    st.integers(),
    st.text(max_size=3),
    # A list of texts and of bytes that are not ASCII is an error of NumPy, which qid names.
    st.binary(max_size=2).filter(bytes.isascii),
    st.booleans(),
    NUMBERS,
    st.fractions(),
    st.decimals(allow_nan=False),
    st.dates(),
    st.uuids(),
)


# A list of tuples is a matrix for NumPy, and so an error.
LISTS = [list(values) for values in DIFFERENT.values() if not any(isinstance(value, tuple) for value in values)]


@given(ids=st.lists(IDS, min_size=1, max_size=4) | st.sampled_from(LISTS), data=st.data())
@settings(max_examples=40)
def test_any_ids_mean_what_equality_says(ids, data):
    given_ids = data.draw(st.lists(st.sampled_from(ids), min_size=1, max_size=6))
    sizes = {id_: given_ids.count(id_) for id_ in given_ids}
    values = FUNCTIONS["precision"]([1] * len(given_ids), [0] * len(given_ids), given_ids, k=6, per_query=True)
    np.testing.assert_allclose(values, [size / 6 for size in sizes.values()])
