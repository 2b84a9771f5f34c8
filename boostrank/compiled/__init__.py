"""Compiled functions for what NumPy is too slow for: pairs of documents, and the first ranks of each query.

The library is written in C and built when boostrank is installed, if there is a compiler. Without it, callers compute
the same with NumPy, up to rounding, and take up to 17 times as long. ``boostrank --version`` says whether it is there.
The environment variable ``BOOSTRANK_COMPILED=0`` makes Python ignore it.

Functions of this package get arrays that are checked by their callers, grouped by query, and write nothing but their
results. They keep no state, and release Python's lock, so that threads can call them at the same time.
"""

from __future__ import annotations

import ctypes
import os
import warnings
from functools import lru_cache
from importlib.util import find_spec

import numpy as np

from boostrank.segments import Floats, Ints, Segments

# Number of the version of the functions' arguments, as in module.c.
INTERFACE = 1

_FLOATS = np.ctypeslib.ndpointer(np.float64, ndim=1, flags="C_CONTIGUOUS")
_INTS = np.ctypeslib.ndpointer(np.int64, ndim=1, flags="C_CONTIGUOUS")
_COUNT = ctypes.c_int64
_ARGUMENTS = {
    "boostrank_interface": [],
    "pairwise_logistic": [_FLOATS, _FLOATS, _INTS, _COUNT, _FLOATS, _FLOATS],
    "first_ranks": [_FLOATS, _INTS, _COUNT, _INTS, _INTS, _INTS],
}


def is_available() -> bool:
    """Whether the compiled library is there, and may be used."""
    return os.environ.get("BOOSTRANK_COMPILED", "1") != "0" and _library() is not None


def pairwise_logistic(scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
    """Gradient and exact diagonal of the Hessian of :class:`boostrank.surrogates.PairwiseLogistic`.

    Parameters
    ----------
    scores, targets : ndarray of float64, shape (n_documents,)
    queries : Segments

    Raises
    ------
    RuntimeError
        If the compiled library is not there.
    MemoryError
    """
    scores, targets = (_contiguous(values, queries) for values in (scores, targets))
    gradient, hessian = np.empty_like(scores), np.empty_like(scores)
    _call("pairwise_logistic", scores, targets, queries.indptr, queries.n_segments, gradient, hessian)
    return gradient, hessian


def first_ranks(scores: Floats, queries: Segments, cutoffs: Ints) -> tuple[Ints, Ints]:
    """Rows of the documents of the first ranks of each query, and of those that are tied with the last of them.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_documents,)
        Not NaN.
    queries : Segments
    cutoffs : ndarray of int64, shape (n_queries,)
        Number of ranks, from 1 to the number of documents of the query.

    Returns
    -------
    rows : ndarray of int64
        Rows of the documents of the first query, sorted by decreasing score, those of equal score by row, then those of
        the next query, and so on.
    sizes : ndarray of int64, shape (n_queries,)
        Number of these documents of each query.

    Raises
    ------
    RuntimeError
        If the compiled library is not there.
    MemoryError
    """
    scores = _contiguous(scores, queries)
    if cutoffs.shape != (queries.n_segments,) or cutoffs.min() < 1 or (cutoffs > queries.sizes).any():
        raise ValueError("there must be a cutoff from 1 to the number of its documents for each query")
    rows, sizes = np.empty(queries.n_rows, np.int64), np.empty(queries.n_segments, np.int64)
    _call("first_ranks", scores, queries.indptr, queries.n_segments, np.ascontiguousarray(cutoffs), rows, sizes)
    return rows[: sizes.sum()], sizes


def _contiguous(values: Floats, queries: Segments) -> Floats:
    """Values of documents as the library reads them; their number is checked, since it would read beyond their end."""
    if values.shape != (queries.n_rows,):
        raise ValueError(f"there are values of the shape {values.shape} for {queries.n_rows} documents")
    return np.ascontiguousarray(values, dtype=np.float64)


def _call(name: str, *arguments: object) -> None:
    library = _library()
    if library is None:
        raise RuntimeError(f"the compiled function {name} is not there: boostrank was installed without a C compiler")
    if getattr(library, name)(*arguments) != 0:
        raise MemoryError(f"there is no memory for {name}")


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL | None:
    found = find_spec("boostrank.compiled._kernels")
    if found is None or found.origin is None:
        return None
    try:
        library = ctypes.CDLL(found.origin)
        library.boostrank_interface.restype = ctypes.c_int64
        interface = library.boostrank_interface()
    except (OSError, AttributeError) as error:
        interface = error
    if interface != INTERFACE:
        warnings.warn(
            f"{found.origin} does not fit this version of boostrank ({interface}): NumPy is used in its place, which "
            "takes longer; install boostrank again",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    for name, arguments in _ARGUMENTS.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, ctypes.c_int64
    return library
