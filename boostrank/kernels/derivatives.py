"""Gradient and Hessian of losses: in C, if a loss has a form there, and by its formula in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from boostrank.inputs.arrays import Float32s, Floats
from boostrank.kernels.library import Argument, as_documents, call, is_available
from boostrank.queries.segments import Segments

#: Gradient and Hessian of a loss at scores, given its targets and the queries of the documents.
Formula = Callable[[Floats, Floats, Segments], tuple[Floats, Floats]]

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
_NO_WEIGHTS: Floats = np.empty(0)


class LossForm(NamedTuple):
    """A loss without pairs as C computes it, in one pass and with the precision of float32.

    Attributes
    ----------
    name : str
    settings : tuple of float
        In the sequence in which query_losses.c reads them.
    """

    name: str
    settings: tuple[float, ...] = ()


class PairForm(NamedTuple):
    """A loss that is a sum over pairs of documents as C computes it.

    Attributes
    ----------
    name : str
        The function of the library: "pairwise_logistic" for
        :class:`boostrank.surrogates.PairwiseLogistic`, "pairwise_squared_hinge" for
        :class:`boostrank.surrogates.PairwiseSquaredHinge`, and "rank_weighted" for
        :class:`boostrank.surrogates.ConsistentLambdaRank`.
    settings : tuple
        Only "rank_weighted" has some. The first one is an array of the discounts of at least as
        many ranks as the longest query has documents. The second one is an integer: pairs count if
        one of their documents has a rank up to this one. The third one says whether weights are
        divided by the distance of the scores plus the fourth one.
    """

    name: Literal["pairwise_logistic", "pairwise_squared_hinge", "rank_weighted"]
    settings: tuple[Argument, ...] = ()


def write_derivatives(
    form: LossForm | None,
    formula: Formula,
    scores: Floats,
    targets: Floats,
    weights: Floats | None,
    queries: Segments,
    *,
    offset: float,
    scale: float,
    out: tuple[Float32s, Float32s],
) -> bool:
    """Write gradient and Hessian at ``scores + offset``, times `scale` and the weights, to `out`.

    Parameters
    ----------
    form : LossForm or None
        The loss in C; None if it has no form there.
    formula : callable
        The loss in NumPy, which is used without a form or without the library. Arrays may then be
        those of a device.
    scores, targets : ndarray of float64, shape (n_documents,)
    weights : ndarray of float64, shape (n_documents,), or None
    queries : Segments
    offset, scale : float
    out : pair of contiguous arrays of float32, shape (n_documents,)

    Returns
    -------
    bool
        Whether all scores and results are finite. If not, some of the results may be missing.
    """
    if form is not None and is_available():
        # A loss without settings gets one, since an empty array may have no address.
        settings = np.array([*form.settings, 0.0])
        factors = _NO_WEIGHTS if weights is None else as_documents(weights, queries)
        fault = call(
            "query_loss",
            _LOSSES[form.name],
            settings,
            as_documents(scores, queries),
            offset,
            as_documents(targets, queries),
            factors,
            len(factors),
            scale,
            queries.indptr,
            queries.n_segments,
            *out,
        )
        return fault == 0
    shifted = scores + offset
    if not np.isfinite(shifted).all():
        return False
    factor = scale if weights is None else scale * weights
    for values, result in zip(formula(shifted, targets, queries), out, strict=True):
        with np.errstate(over="ignore"):
            np.multiply(values, factor, out=result)
        if not np.isfinite(result).all():
            return False
    return True


def pair_derivatives(
    form: PairForm | None, formula: Formula, scores: Floats, targets: Floats, queries: Segments
) -> tuple[Floats, Floats]:
    """Gradient and exact diagonal of the Hessian of a loss that is a sum over pairs of documents.

    Parameters
    ----------
    form : PairForm or None
        The loss in C; None if it has no form there.
    formula : callable
        The loss in NumPy, which is used without a form or without the library.
    scores, targets : ndarray of float64, shape (n_documents,)
    queries : Segments
    """
    if form is None or not is_available():
        return formula(scores, targets, queries)
    documents: list[Argument] = [as_documents(scores, queries), as_documents(targets, queries)]
    if form.name != "pairwise_logistic":
        documents.append(queries.sort(scores, stable=False))
    gradient = np.empty(queries.n_rows)
    hessian = np.empty(queries.n_rows)
    call(
        form.name,
        *documents,
        queries.indptr,
        queries.n_segments,
        *form.settings,
        gradient,
        hessian,
    )
    return gradient, hessian
