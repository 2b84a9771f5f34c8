"""Write LETOR files."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from boostrank.datasets.letor_parser import PathLike
from boostrank.files import write_atomically


def _number_text(value: float) -> str:
    return repr(value).removesuffix(".0")  # -0.0 becomes -0, which is read as -0.0


def _feature_rows(X: Any, first: int) -> tuple[int, Iterator[str]]:
    """Return the number of rows, and their index:value texts one after the other."""
    kept = X.tocsr(copy=True) if hasattr(X, "tocsr") else np.asarray(X)
    if kept.ndim != 2 or min(kept.shape) < 1 or kept.dtype.kind in "cmMSUV":
        raise ValueError(f"X must be 2-D numbers with >= 1 row and column; got {kept.dtype}, shape {kept.shape}")
    names = [f"{column}:" for column in range(first, kept.shape[1] + first)]
    if isinstance(kept, np.ndarray):
        listed: Iterator[tuple[Any, Any]] = ((names, row) for row in kept)
    else:
        kept.sum_duplicates()  # also sorts
        spans = itertools.pairwise(kept.indptr.tolist())
        listed = (([names[j] for j in kept.indices[a:b].tolist()], kept.data[a:b]) for a, b in spans)
    rows = ((used, row.astype(np.float64).tolist()) for used, row in listed)
    texts = (" ".join([n + _number_text(v) for n, v in zip(used, row, strict=True)]) for used, row in rows)
    return kept.shape[0], texts


def _qid_texts(qid: npt.ArrayLike) -> list[str]:
    values = np.asarray(qid)
    whole = values.dtype.kind in "iu"
    texts = [str(value) if whole else value for value in values.ravel().tolist()]
    for row, text in enumerate(texts):
        if not isinstance(text, str) or not re.fullmatch(r"[^\s:#\x00-\x1f]+", text):
            message = f"qid must be whole numbers, or non-empty str without spaces, ':' and '#'; got {text!r}"
            raise ValueError(f"{message} in row {row}")
    return texts


def write_letor(
    path: PathLike,
    X: Any,
    y: npt.ArrayLike,
    qid: npt.ArrayLike,
    *,
    comments: Sequence[str] | None = None,
    zero_based: bool = False,
) -> None:
    r"""Write one LETOR / SVMlight file that :func:`read_letor` reads back to the same numbers.

    A dense X is written with all its values, zeros too, as LETOR files are; of a sparse X the stored
    values are written, sorted by index. Numbers are the shortest texts that are read back as the same
    float64. The path then names either the complete new file or what it named before, also if
    writing fails: the text goes to a temporary file beside it that takes its place at the end.

    Parameters
    ----------
    path : str or os.PathLike
        File to write or replace; gzip if it ends in ``.gz``.
    X : array, data frame or scipy.sparse matrix, shape (n_documents, n_features)
        Features. A sparse X whose last columns are empty needs ``n_features`` to be read back.
    y : array of float, shape (n_documents,)
        Labels.
    qid : array of int or str, shape (n_documents,)
        Queries. If all are str that spell whole numbers, they are read back as int64.
    comments : sequence of str, length n_documents, optional
        Comments, one line each; read back without spaces around them.
    zero_based : bool, default False
        Whether the first feature gets index 0 rather than 1.

    Raises
    ------
    ValueError
        If lengths differ, there is nothing to write, X or y is not numeric, or a qid or comment would
        break its line.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.txt")
    ...     write_letor(path, [[0.1, 0], [2, 3]], [1, 0], [7, 7], comments=["doc a", ""])
    ...     print(path.read_text(), end="")
    1 qid:7 1:0.1 2:0 # doc a
    0 qid:7 1:2 2:3
    """
    n, features = _feature_rows(X, 0 if zero_based else 1)
    labels, qids = np.asarray(y, np.float64), _qid_texts(qid)
    notes = [""] * n if comments is None else list(comments)
    if labels.shape != (n,) or np.shape(qid) != (n,) or len(notes) != n:
        got = f"y has shape {labels.shape}, qid {np.shape(qid)}, and there are {len(notes)} comments"
        raise ValueError(f"X has {n} rows, so y and qid must be 1-D of length {n}, as comments; {got}")
    for row, note in enumerate(notes):
        if not isinstance(note, str) or re.search(r"[\r\n]", note):
            raise ValueError(f"comments must be str of one line; got {note!r} in row {row}")
    heads = (f"{_number_text(label)} qid:{text}" for label, text in zip(labels.tolist(), qids, strict=True))
    tails = (f" # {note}" if note else "" for note in notes)
    lines = zip(heads, features, tails, strict=True)
    texts = (f"{a} {b}".rstrip(" ") + f"{c}\n" for a, b, c in lines)
    write_atomically(path, lambda draft: _write_lines(draft, texts))


def _write_lines(path: str, lines: Iterator[str]) -> None:
    with contextlib.ExitStack() as stack:
        stream: Any = stack.enter_context(open(path, "wb"))
        if path.endswith(".gz"):  # without name and time: the same data give the same bytes
            stream = stack.enter_context(gzip.GzipFile("", "wb", fileobj=stream, mtime=0))
        stream.writelines(line.encode() for line in lines)
