"""Write LETOR files."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from boostrank.datasets.letor_parser import PathLike
from boostrank.inputs.arrays import as_array, as_floats
from boostrank.inputs.checks import check_flag, is_count, refuse
from boostrank.inputs.files import write_lines


def write_letor(
    path: PathLike,
    X: Any,
    y: npt.ArrayLike,
    qid: npt.ArrayLike,
    *,
    zero_based: bool = False,
) -> None:
    r"""Write one LETOR / SVMlight file that :func:`boostrank.read_letor` reads back to the same numbers.

    All values of a dense X are written, zeros too, as is usual in LETOR files; of a sparse X the stored values are
    written, sorted by index. Each number is the shortest text that is read back as the same float64. The text goes to
    a temporary file first, which replaces `path` at the end. If writing fails, `path` is unchanged.

    Parameters
    ----------
    path : str or os.PathLike
        File to write or replace; it is compressed with gzip if the name ends in ``.gz``.
    X : array, DataFrame or scipy.sparse matrix, shape (n_documents, n_features)
        Features. If the last columns of a sparse X are empty, pass ``n_features`` to read the file back.
    y : array of float, shape (n_documents,)
        Labels.
    qid : array of int or str, shape (n_documents,)
        Query of each document. Str that all spell integers are read back as integers.
    zero_based : bool, default False
        Whether the first feature gets index 0 rather than 1.

    Raises
    ------
    ValueError
        If lengths differ, if there is nothing to write, if X or y is not numeric or has masked values, or if a qid
        cannot be read back from the file.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.txt")
    ...     write_letor(path, [[0.1, 0], [2, 3]], [1, 0], [7, 7])
    ...     print(path.read_text(), end="")
    1 qid:7 1:0.1 2:0
    0 qid:7 1:2 2:3
    """
    check_flag("zero_based", zero_based)
    n_rows, features = _feature_texts(X, 0 if zero_based else 1)
    labels, qids = as_floats(y, "y"), _qid_texts(qid)
    if labels.shape != (n_rows,) or np.shape(qid) != (n_rows,):
        raise ValueError(
            f"X has {n_rows} rows, so y and qid must be one-dimensional of length {n_rows}; y has shape "
            f"{labels.shape}, and qid has shape {np.shape(qid)}"
        )
    rows = zip(labels.tolist(), qids, features, strict=True)
    lines = (f"{_number_text(label)} qid:{text} {listed}".rstrip(" ") + "\n" for label, text, listed in rows)
    write_lines(path, lines)


def _number_text(value: float) -> str:
    return repr(value).removesuffix(".0")  # -0.0 becomes -0, which is read back as -0.0.


def _feature_texts(X: Any, first_index: int) -> tuple[int, Iterator[str]]:
    """Return the number of rows, and an iterator over the text ``index:value index:value ...`` of each row."""
    matrix = X.tocsr(copy=True) if hasattr(X, "tocsr") else as_floats(X, "X", keep_shape=True)
    if matrix.ndim != 2 or min(matrix.shape) < 1:
        expected = "a two-dimensional array with at least one row and one column"
        refuse("X", X, expected, got=f"shape {matrix.shape}")
    keys = [f"{column}:" for column in range(first_index, matrix.shape[1] + first_index)]
    if isinstance(matrix, np.ndarray):
        listed: Iterator[tuple[Any, Any]] = ((keys, row) for row in matrix)
    else:
        matrix.sum_duplicates()  # This also sorts the columns of each row.
        ranges = itertools.pairwise(matrix.indptr.tolist())
        listed = (([keys[j] for j in matrix.indices[a:b].tolist()], matrix.data[a:b]) for a, b in ranges)
    rows = ((used, row.astype(np.float64).tolist()) for used, row in listed)
    texts = (" ".join([key + _number_text(v) for key, v in zip(used, row, strict=True)]) for used, row in rows)
    return matrix.shape[0], texts


def _qid_texts(qid: npt.ArrayLike) -> list[str]:
    ids = as_array(qid, "qid").ravel().tolist()
    texts = [str(value) for value in ids] if all(map(is_count, ids)) else ids
    for row, text in enumerate(texts):
        if not isinstance(text, str) or not re.fullmatch(r"[^\s:#\x00-\x1f\ud800-\udfff]+", text):
            refuse("qid", text, "integers, or non-empty str without spaces, ':' and '#'", f" in row {row}")
    return texts
