"""Compiled functions for what NumPy is too slow for, such as sums over the pairs of documents of
each query.

The library is written in C and built when boostrank is installed, if there is a compiler. Without
it, callers compute the same with NumPy, up to rounding, and take several times as long. ``boostrank
--version`` says whether it is there. The environment variable ``BOOSTRANK_COMPILED=0`` makes Python
ignore it.

Functions of this package get arrays that are checked by their callers, grouped by query, and write
nothing but their results. They keep no state, and release Python's lock, so that threads can call
them at the same time. They need the library, see :func:`is_available`, and may raise MemoryError.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from itertools import starmap
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.checks import refuse_first, warn
from boostrank.queries.segments import Segments

# Number of the version of the functions' arguments, as in module.c.
INTERFACE = 6


_FLOATS, _FLOAT32S, _INTS = np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.int64)
_INT32, _UINT64, _UINT8 = np.dtype(np.int32), np.dtype(np.uint64), np.dtype(np.uint8)
_COUNT, _NUMBER = ctypes.c_int64, ctypes.c_double
_ARGUMENTS: dict[str, list[Any]] = {
    "pairwise_logistic": [_FLOATS, _FLOATS, _INTS, _COUNT, _FLOATS, _FLOATS],
    "pairwise_squared_hinge": [_FLOATS, _FLOATS, _INTS, _INTS, _COUNT, _FLOATS, _FLOATS],
    "rank_weighted": [
        _FLOATS,
        _FLOATS,
        _INTS,
        _INTS,
        _COUNT,
        _FLOATS,
        _COUNT,
        _COUNT,
        _NUMBER,
        _FLOATS,
        _FLOATS,
    ],
    "query_loss": [
        *(_COUNT, _FLOATS, _FLOATS, _NUMBER, _FLOATS, _FLOATS, _COUNT, _NUMBER),
        *(_INTS, _COUNT, _FLOAT32S, _FLOAT32S),
    ],
    "elementary": [_FLOATS, _COUNT, _FLOATS, _FLOATS],
    "first_ranks": [_FLOATS, _INTS, _COUNT, _INTS, _INTS, _INTS],
    "ranked_measure": [
        _COUNT,
        _FLOATS,
        _INTS,
        _FLOATS,
        _INTS,
        _COUNT,
        _INTS,
        _COUNT,
        _FLOATS,
        _FLOATS,
    ],
    "list_features": [_UINT8, _COUNT, _COUNT, _INTS, _COUNT, _INTS, _INTS, _COUNT, _FLOAT32S],
    "text_numbers": [_UINT8, _INTS, _COUNT, _INTS, _COUNT, _INTS, _INTS, _INTS, _INTS],
    "trec_lines": [
        *(_UINT8, _COUNT, _INTS, _COUNT, _COUNT, _COUNT, _UINT64),
        *(_UINT8, _INTS, _FLOATS, _INTS, _INTS, _INTS, _INTS),
    ],
    "letor_lines": [
        *(ctypes.c_char_p, _COUNT, _COUNT, _COUNT, _UINT64),
        *(_FLOATS, _INTS, _INT32, _FLOATS, _INTS, _INTS, _INTS),
    ],
}


# The number of each loss in query_losses.c.
_LOSSES = {
    "squared": 0,
    "poisson": 1,
    "logistic": 2,
    "centered-squared": 3,
    "centered-logistic": 4,
    "power": 5,
    "pnorm": 6,
    "normalized-pnorm": 7,
    "cosine": 8,
}
RankedMeasure = Literal["dcg", "average_precision", "reciprocal_rank", "err"]
# The number of each measure in ranked_measures.c.
_MEASURES: dict[RankedMeasure, int] = {
    "dcg": 0,
    "average_precision": 1,
    "reciprocal_rank": 2,
    "err": 3,
}
ListFeature = Literal["rank", "standardize", "minmax"]
# The number of each kind in list_features.c.
_LIST_FEATURES: dict[ListFeature, int] = {"rank": 0, "standardize": 1, "minmax": 2}
_NONE = np.empty(0)


def is_available() -> bool:
    """Whether the compiled library is there, and may be used."""
    return os.environ.get("BOOSTRANK_COMPILED") != "0" and _library() is not None


def status() -> str:
    """Whether the compiled library is used: ``"used"``, or a text that begins with ``"not used"``
    and says why.
    """
    if os.environ.get("BOOSTRANK_COMPILED") == "0":
        return "not used (BOOSTRANK_COMPILED=0)"
    return "used" if _library() is not None else "not used (boostrank was installed without it)"


def call(name: str, *arguments: object) -> int:
    """Call a function of the library, which must be there; returns its result if this is not
    negative.
    """
    # If ctypes converted them in the call, an interrupt of the conversion would become another
    # error.
    converted = starmap(_converted, zip(arguments, _ARGUMENTS[name], strict=True))
    result = int(getattr(_library(), name)(*converted))
    if result < 0:
        raise MemoryError(f"there is no memory for {name}")
    return result


def _converted(argument: Any, kind: Any) -> Any:
    """An argument as ctypes takes it; for an array, of which `kind` is the dtype, its address.

    Raises TypeError for an array of another type or layout, which the library would misread.
    ``np.ctypeslib.ndpointer`` does the same, but makes reference cycles, in whose search Python
    would need several milliseconds each time.
    """
    if not isinstance(kind, np.dtype):
        return kind(argument)
    is_array = isinstance(argument, np.ndarray) and argument.dtype == kind and argument.ndim == 1
    if not (is_array and argument.flags.c_contiguous):
        raise TypeError(f"an argument must be a contiguous array of {kind} with one dimension")
    return ctypes.c_void_p(argument.ctypes.data)


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL | None:
    """The library; None if it is not there, or, with a warning, if it belongs to another version of
    boostrank.
    """
    spec = find_spec("boostrank.queries.compiled._kernels")
    if spec is None or spec.origin is None:
        return None
    try:
        library = ctypes.CDLL(spec.origin)
        for name in ("boostrank_interface", *_ARGUMENTS):
            getattr(library, name).restype = ctypes.c_int64
        version = library.boostrank_interface()
        fault = "" if version == INTERFACE else f"interface {version}, not {INTERFACE}"
    except (OSError, AttributeError) as error:
        fault = str(error)
    if not fault:
        return library
    warn(
        f"{spec.origin} does not fit this version of boostrank ({fault}): NumPy is used in its "
        f"place, which takes "
        "longer; install boostrank again",
        RuntimeWarning,
    )
    return None


class LossForm(NamedTuple):
    """A loss that the library knows.

    Attributes
    ----------
    name : str
    settings : tuple of float
        In the sequence in which query_losses.c reads them.
    """

    name: str
    settings: tuple[float, ...] = ()


def write_derivatives(
    form: LossForm,
    scores: Floats,
    targets: Floats,
    weights: Floats | None,
    queries: Segments,
    *,
    offset: float,
    scale: float,
    out: tuple[NDArray[np.float32], ...],
) -> bool:
    """Write gradient and Hessian at ``scores + offset``, times `scale` and the weights, to `out`.

    Parameters
    ----------
    form : LossForm
    scores, targets : ndarray of float64, shape (n_documents,)
    weights : ndarray of float64, shape (n_documents,), or None
    queries : Segments
    offset, scale : float
    out : pair of contiguous arrays of float32, shape (n_documents,)

    Returns
    -------
    bool
        Whether all scores and results are finite.
    """
    # A loss without settings gets one, since an empty array may have no address.
    settings = np.array([*form.settings, 0.0])
    n_weights, factors = (
        (0, _NONE) if weights is None else (queries.n_rows, _floats(weights, queries))
    )
    documents = (
        _floats(scores, queries),
        offset,
        _floats(targets, queries),
        factors,
        n_weights,
        scale,
    )
    result = call(
        "query_loss",
        _LOSSES[form.name],
        settings,
        *documents,
        queries.indptr,
        queries.n_segments,
        *out,
    )
    return result == 0


def pair_derivatives(
    name: Literal["pairwise_logistic", "pairwise_squared_hinge", "rank_weighted"],
    scores: Floats,
    targets: Floats,
    queries: Segments,
    *settings: object,
    ranking: Ints | None = None,
) -> tuple[Floats, Floats]:
    """Gradient and exact diagonal of the Hessian of a surrogate that is a sum over pairs of
    documents.

    Parameters
    ----------
    name : str
        The function of the library: "pairwise_logistic" for
        :class:`boostrank.surrogates.PairwiseLogistic`, "pairwise_squared_hinge" for
        :class:`boostrank.surrogates.PairwiseSquaredHinge`, and "rank_weighted" for
        :class:`boostrank.surrogates.ConsistentLambdaRank`.
    scores, targets : ndarray of float64, shape (n_documents,)
    queries : Segments
    settings
        Only "rank_weighted" has some. The first one is an array of the discounts of at least as
        many ranks as the longest query has documents. The second one is an integer: pairs count if
        one of their documents has a rank up to this one. The third one says whether weights are
        divided by the distance of the scores plus the fourth one.
    ranking : ndarray of int64, shape (n_documents,)
        Row numbers of each query by decreasing score, which all but "pairwise_logistic" need.
    """
    gradient, hessian = np.empty(queries.n_rows), np.empty(queries.n_rows)
    documents = (
        _floats(scores, queries),
        _floats(targets, queries),
        *(() if ranking is None else (ranking,)),
    )
    call(name, *documents, queries.indptr, queries.n_segments, *settings, gradient, hessian)
    return gradient, hessian


def _floats(values: Floats, queries: Segments) -> Floats:
    """Values of documents as the library reads them; their number is checked, since it would read
    beyond their end.
    """
    if values.shape != (queries.n_rows,):
        raise ValueError(
            f"there are values of the shape {values.shape} for {queries.n_rows} documents"
        )
    return np.ascontiguousarray(values, dtype=np.float64)


def first_ranks(scores: Floats, queries: Segments, cutoffs: Ints) -> tuple[Ints, Ints]:
    """Rows of the documents of the first ranks of each query, and of those that are tied with the
    last of them.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_documents,)
        NaN has the last ranks.
    queries : Segments
    cutoffs : ndarray of int64, shape (n_queries,)
        Number of ranks, from 1 to the number of documents of the query. Large cutoffs take much
        time.

    Returns
    -------
    rows : ndarray of int64
        Rows of the documents of the first query, sorted by decreasing score, those of equal score
        by row, then those of the next query, and so on.
    sizes : ndarray of int64, shape (n_queries,)
        Number of these documents of each query.

    Examples
    --------
    >>> scores, queries = np.array([3.0, 2.0, 3.0, 3.0, 1.0]), Segments.from_sizes([2, 3])
    >>> expected = [0, 2, 3], [1, 2]
    >>> ranked = first_ranks(scores, queries, np.array([1, 1])) if is_available() else map(np.array, expected)
    >>> [array.tolist() for array in ranked]
    [[0, 2, 3], [1, 2]]
    """
    rows, sizes = np.empty(queries.n_rows, np.int64), np.empty(queries.n_segments, np.int64)
    wanted, longest = np.ascontiguousarray(cutoffs), queries.sizes
    bad = (wanted < 1) | (wanted > longest)
    refuse_first(
        bad, lambda i: f"cutoffs[{i}] must be an integer from 1 to {longest[i]}; got {wanted[i]}"
    )
    call(
        "first_ranks",
        _floats(scores, queries),
        queries.indptr,
        queries.n_segments,
        wanted,
        rows,
        sizes,
    )
    return rows[: int(sizes.sum())], sizes


def ranked_measure(
    measure: RankedMeasure,
    quality: Floats,
    rows: Ints,
    scores: Floats,
    part: Segments,
    cutoffs: Ints,
    *,
    averages: bool,
    discounts: Floats = _NONE,
) -> Floats:
    """Value of a measure for each query, without its divisor, averaged over all permutations of
    tied documents.

    Parameters
    ----------
    measure : {"dcg", "average_precision", "reciprocal_rank", "err"}
        "average_precision" is the sum of the precision at the ranks of relevant documents, whose
        quality is 1.
    quality : ndarray of float64, contiguous
        Gain or satisfaction of all documents.
    rows : ndarray of int64, shape (n_ranked,)
        Row of each ranked document in `quality`. Numbers of other rows would be read too.
    scores : ndarray of float64, shape (n_ranked,)
        They do not increase within a query.
    part : Segments
        The ranked documents of each query.
    cutoffs : ndarray of int64, shape (n_queries,)
        Number of ranks that count. The documents that are tied with the last of these ranks are
        among the ranked.
    averages : bool
        Whether documents of equal score are tied. If not, each has the rank of its position.
    discounts : ndarray of float64
        Discounts of ranks, for DCG.
    """
    values, number = np.empty(part.n_segments), _MEASURES[measure]
    ranked = rows, np.ascontiguousarray(scores, np.float64), part.indptr, part.n_segments, cutoffs
    call("ranked_measure", number, quality, *ranked, averages, discounts, values)
    return values


def list_features(
    X: NDArray[Any], features: Sequence[tuple[ListFeature, int]], queries: Segments
) -> NDArray[np.float32]:
    """Features of documents relative to the list of their query; see
    :func:`boostrank.queries.list_features.compute`.

    Parameters
    ----------
    X : contiguous ndarray of float32 or float64, shape (n_documents, n_columns)
    features : list of (kind, column)
    queries : Segments
    """
    if X.dtype not in (_FLOATS, _FLOAT32S) or len(X) != queries.n_rows or not X.flags.c_contiguous:
        raise ValueError(
            f"X must be a contiguous array of {queries.n_rows} rows of floats; got {X.dtype}, "
            f"{X.shape}"
        )
    values = np.empty((len(X), len(features)), dtype=np.float32)
    kinds = np.array([_LIST_FEATURES[kind] for kind, _ in features], dtype=np.int64)
    columns = np.array([column for _, column in features], dtype=np.int64)
    rows = (
        X.reshape(-1).view(np.uint8),
        X.dtype == _FLOAT32S,
        X.shape[1],
        queries.indptr,
        queries.n_segments,
    )
    call("list_features", *rows, kinds, columns, len(features), values.reshape(-1))
    return values
