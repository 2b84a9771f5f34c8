"""The format of LETOR files, and the options with which they are read."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from boostrank.inputs.checks import check_flag, is_count

Array = npt.NDArray[Any]
PathLike = str | os.PathLike[str]
Sparse = bool | Literal["auto"]

MAX_INDEX = 2**31 - 1  # LightGBM, XGBoost and scipy store column numbers as int32.
NUMBER = rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|(?i:nan|inf|infinity))"
LINE_FORM = "a line must have the form 'label qid:ID index:value ... # comment'"


@dataclass(frozen=True)
class ReadOptions:
    """Checked options of :func:`~boostrank.datasets.read_letor`.

    Attributes
    ----------
    n_features : int or None
        Number of columns; None for as many as the largest index needs.
    sparse : {"auto", True, False}
        Whether X is a CSR matrix; "auto" decides by the number of values in the file.
    zero_based : bool
        Whether the first feature has index 0 rather than 1.
    dtype : numpy.dtype
        Type of the features, float32 or float64.
    comments : bool
        Whether to keep the comments.
    """

    n_features: int | None
    sparse: Sparse
    zero_based: bool
    dtype: np.dtype[Any]
    comments: bool = False

    @property
    def max_index(self) -> int:
        """Largest index that a feature may have in the file."""
        return (self.n_features or MAX_INDEX) - self.zero_based


def check_options(n_features: Any, sparse: Any, dtype: Any, zero_based: Any, comments: Any = False) -> ReadOptions:
    """Check the options of a reading function; raise ValueError for an invalid one."""
    if n_features is not None and not (is_count(n_features) and 1 <= n_features <= MAX_INDEX):
        raise ValueError(f"n_features must be None or an integer from 1 to {MAX_INDEX}; got {n_features!r}")
    if not (isinstance(sparse, (bool, np.bool)) or (isinstance(sparse, str) and sparse == "auto")):
        raise ValueError(f"sparse must be 'auto', True or False; got {sparse!r}")
    check_flag("zero_based", zero_based)
    check_flag("comments", comments)
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be numpy.float64 or numpy.float32; got {dtype!r}")
    width = None if n_features is None else int(n_features)
    kind: Sparse = "auto" if isinstance(sparse, str) else bool(sparse)
    return ReadOptions(width, kind, bool(zero_based), np.dtype(dtype), bool(comments))


def quote(text: bytes, max_length: int) -> str:
    """Put text of a file in quotes for an error message, shortened to `max_length` characters."""
    shown = text[: max_length + 1].decode(errors="backslashreplace")
    return repr(shown if len(shown) <= max_length else shown[: max_length - 3] + "...")


def is_int64(text: bytes) -> bool:
    """Whether a qid is an integer of int64 in its usual form: other forms of the same number are other qids."""
    return bool(re.fullmatch(rb"0|-?[1-9]\d{0,18}", text)) and -(2**63) <= int(text) < 2**63
