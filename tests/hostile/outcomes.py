"""The expected outcome of a call: a value, or an error that names the argument."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

#: Errors that tell a user what is wrong; anything else is a defect of the library.
CLEAR_ERRORS = (ValueError, TypeError, OSError)
#: How error messages may name an argument.
NAMES = {
    "ids": r"\b(qid|groups)\b",
    "labels": r"\b(y|y_true|relevance|labels?|bayes)\b",
    "scores": r"\b(y_score|scores?|scores_a)\b",
    "weights": r"\b(sample_weight|weights?)\b",
    "features": r"\b(X|features?|columns?)\b",
}


@dataclass(frozen=True)
class Fault:
    """The input is invalid: an error whose message matches `pattern`, beside the name of the argument."""

    pattern: str = ""


def check_fault(call: Any, argument: str, pattern: str = "") -> None:
    """The call ends in a clear error whose message names the argument and matches the pattern."""
    try:
        returned = call()
    except CLEAR_ERRORS as error:
        message = str(error)
    else:
        pytest.fail(f"the fault was accepted, and the call returned {returned!r}"[:400])
    for expected in (argument, pattern):
        assert re.search(expected, message), f"{expected!r} is not in the message: {message[:400]}"


def check_value(value: Any, expected: Any) -> None:
    """The value equals the expected numbers, up to rounding; NaN equals NaN."""
    if isinstance(expected, (str, bool, tuple)):
        assert value == expected
    else:
        value, expected = np.asarray(value, np.float64), np.asarray(expected, np.float64)
        np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12)


def named(pairs: list[tuple[str, str]]) -> list[Any]:
    """Pairs of names as parameters of a test, whose id they make."""
    return [pytest.param(row, column, id=f"{row}-{column}") for row, column in pairs]


def rotated_table(rows: dict[str, Any], core: list[str], others: list[str], n_others: int) -> list[tuple[str, str]]:
    """Names of pairs: each row with all columns of the core, and with some of the others, which take turns.

    The others share their checks with the core, so that one row of each kind in them shows that they do.
    """
    pairs = []
    for number, name in enumerate(rows):
        turns = [others[(number * n_others + i) % len(others)] for i in range(n_others)]
        pairs += [(name, column) for column in [*core, *turns]]
    return pairs
