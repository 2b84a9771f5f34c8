"""Losses of queries that need time in proportion to the number of documents."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostrank.core.compiled import _call, _floats
from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Floats

LossName = Literal[
    "squared",
    "poisson",
    "logistic",
    "centered-squared",
    "centered-logistic",
    "power",
    "pnorm",
    "normalized-pnorm",
    "cosine",
]
# Their positions are their numbers in query_losses.c.
_LOSSES: tuple[LossName, ...] = LossName.__args__  # type: ignore[attr-defined]
_NO_WEIGHTS = np.empty(0)


class LossForm(NamedTuple):
    """A loss that the library knows.

    Attributes
    ----------
    name : str
    settings : tuple of float
        As they stand in query_losses.c.
    """

    name: LossName
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
    if any(result.shape != (queries.n_rows,) for result in out):
        raise ValueError(f"gradient and Hessian must have one value for each of {queries.n_rows} documents")
    # A loss without settings gets one, since an empty array may have no address.
    settings = np.array([*form.settings, 0.0])
    n_weights, factors = (0, _NO_WEIGHTS) if weights is None else (queries.n_rows, _floats(weights, queries))
    documents = _floats(scores, queries), offset, _floats(targets, queries), factors, n_weights, scale
    result = _call(
        "query_loss", _LOSSES.index(form.name), settings, *documents, queries.indptr, queries.n_segments, *out
    )
    return result == 0


def exp_and_log(values: Floats) -> tuple[Floats, Floats]:
    """The exponential function, for values of at most 709, and the logarithm of the absolute value, as losses use them.

    Errors are below 1 unit in the last place. Results below 2.2e-308, the smallest normal number, are 0, and logarithms
    of such numbers are minus infinity.

    Examples
    --------
    >>> from boostrank.core.compiled import is_available
    >>> bool(is_available() and abs(exp_and_log(np.array([0.0, 1.0]))[0][1] - np.e) > np.spacing(np.e))
    False
    """
    results = np.empty(len(values)), np.empty(len(values))
    _call("elementary", np.ascontiguousarray(values, np.float64), len(values), *results)
    return results
