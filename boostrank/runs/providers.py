"""Measures of the package ir_measures that are not ours: the programs that it calls, its providers, compute them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from boostrank.inputs.arrays import Floats
from boostrank.metrics.base import Measure
from boostrank.metrics.names import similar_name
from boostrank.metrics.registry import unknown_name
from boostrank.runs.trec_tables import RELEVANCE


@dataclass(frozen=True, repr=False)
class ProvidedMeasure(Measure):
    """A measure that a provider of ir_measures computes, such as ``"alpha_nDCG@10"``; only for runs.

    Parameters
    ----------
    name : str
        Its name in ir_measures.
    """

    name: str  # type: ignore[misc]
    #: The value over queries is the mean.
    summary: ClassVar[str] = "mean"

    def __str__(self) -> str:
        return self.name

    def arguments(self) -> str:
        return repr(self.name)

    def values(self, judgments: pd.DataFrame, run: pd.DataFrame, ids: NDArray[Any]) -> Floats:
        """Value of each query, shape (n_queries,); 0 for those that the provider leaves out.

        Parameters
        ----------
        judgments, run : DataFrame
            Results of :func:`boostrank.runs.trec_tables.as_qrels` and :func:`boostrank.runs.trec_tables.as_run`.
        ids : ndarray of object, shape (n_queries,)
        """
        import ir_measures

        relevance = judgments[RELEVANCE].to_numpy()
        if (relevance != np.floor(relevance)).any():
            raise ValueError(f"{self} is computed by ir_measures, which needs a relevance of whole numbers")
        qrels = judgments.assign(**{RELEVANCE: relevance.astype(np.int64)})
        try:
            results = list(ir_measures.iter_calc([ir_measures.parse_measure(self.name)], qrels, run))
        except Exception as error:  # Providers have many kinds of errors.
            raise ValueError(f"ir_measures cannot compute {self}: {error}") from error
        by_query = {result.query_id: result.value for result in results}
        return np.array([by_query.get(query, 0.0) for query in ids], dtype=np.float64)

    def bind(self, *args: Any, **settings: Any) -> NoReturn:
        """Raise ValueError: the measure needs a run."""
        raise ValueError(f"{self} is not defined for arrays: pass judgments and a run to evaluate_run")

    _compute = bind


def provided_measure(name: str) -> ProvidedMeasure:
    """The measure of this name.

    Raises
    ------
    ValueError
        If ir_measures does not know it, or is not installed.
    """
    try:
        import ir_measures
    except ImportError:
        raise ValueError(
            f"{name!r} is no measure of boostrank{similar_name(name)}. If it is one of ir_measures, install this "
            "package, which computes it: pip install ir-measures"
        ) from None
    try:
        ir_measures.parse_measure(name)
    except (NameError, ValueError):
        raise unknown_name(name) from None
    return ProvidedMeasure(name)
