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
    "features": (
        r"\bX\b|[Ff]eature|[Cc]olumn|[Aa]rray|[Rr]eshape|\b[bc]\b|Complex data|"
        r"convert string to float"
    ),
}


@dataclass(frozen=True)
class Fault:
    """The input is invalid: an error whose message matches `pattern`, beside the name of the
    argument."""

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
    value, expected = np.asarray(value, np.float64), np.asarray(expected, np.float64)
    np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12)


def with_faults(forms: dict[str, Any], faults: dict[str, Any]) -> dict[str, Any]:
    """Entries by name: what is given, and what it means or the fault that it has."""
    return {**forms, **{name: (given, Fault(pattern)) for name, (given, pattern) in faults.items()}}
