"""`check_scores`: scores become float64; errors name the argument."""

from fractions import Fraction

import numpy as np
import pytest

from boostrank.metrics.labels import check_scores


@pytest.mark.parametrize(
    "scores",
    [
        np.array([0.5, 2.0, -7.0]),
        np.array([0.5, 2.0, -7.0], dtype=np.float32),
        np.array([5, 2, -7], dtype=np.int32),
        np.array([0.5, 2, Fraction(-7)], dtype=object),
        np.array([True, False]),
    ],
    ids=["float64", "float32", "int32", "object", "bool"],
)
def test_scores_become_float64(scores):
    checked = check_scores(scores)
    assert checked.tolist() == scores.tolist()
    assert checked.dtype == np.float64


def test_strings_of_numbers_are_numbers():
    assert check_scores(np.array(["10", "9"], dtype=object)).tolist() == [10.0, 9.0]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([[1.0, 2.0]], "must be one-dimensional"),
        ([1.0, np.inf], r"must be finite; given\[1\] is inf"),
        (["a", "b"], "must be numbers"),
        (np.ma.array([1.0, 2.0], mask=[False, True]), r"must not be masked, but given\[1\] is"),
    ],
    ids=["matrix", "infinite", "text", "masked"],
)
def test_errors_name_the_argument(scores, message):
    with pytest.raises(ValueError, match=f"^given {message}"):
        check_scores(scores, "given")
    with pytest.raises(ValueError, match=r"^scores must"):
        check_scores(scores)
