"""Functions that compute measures, such as ``precision_score``, made from the classes of the measures.

``score_functions.pyi`` declares their parameters for type checkers.
"""

from __future__ import annotations

import inspect
from dataclasses import fields
from inspect import Parameter
from typing import TYPE_CHECKING, Any

from boostrank.metrics.average_precision import AveragePrecision
from boostrank.metrics.base import QueryMeasure
from boostrank.metrics.binary import (
    BinaryPreference,
    InterpolatedPrecision,
    MeanPrecision,
    Precision,
    Recall,
    ReciprocalRank,
    RPrecision,
    Success,
)
from boostrank.metrics.correlation import AUC, Agreement, KendallTau
from boostrank.metrics.graded import ExpectedReciprocalRank, RankBiasedPrecision
from boostrank.metrics.ndcg import DiscountedCumulativeGain, ndcg_score

if TYPE_CHECKING:
    from collections.abc import Callable

_ARRAYS = """Parameters
----------
y_true, y_score, qid, sample_weight, per_query
    See :func:`boostrank.ndcg_score`.
"""
_RESULT = """

Returns
-------
float, or ndarray of shape (n_queries,)
    The mean over queries; with `per_query` the value of each query.

Raises
------
ValueError
    For labels, scores, ids, weights or settings that are invalid, and if no query is left; the message names the
    argument.

References
"""


def score_function(name: str, measure: type[QueryMeasure]) -> Callable[..., Any]:
    """Make the function `name` that computes a measure with the settings that are given as keywords.

    Its parameters are those of :func:`boostrank.ndcg_score` with the settings of the measure, and its docstring is that
    of the class of the measure, with these parameters.
    """

    def score(
        y_true: Any,
        y_score: Any,
        qid: Any = None,
        *,
        sample_weight: Any = None,
        per_query: bool = False,
        **settings: Any,
    ) -> Any:
        for each in settings.keys() - own.keys():
            raise TypeError(f"{name}() got an unexpected keyword argument {each!r}")
        return measure(**settings)(y_true, y_score, qid, sample_weight=sample_weight, per_query=per_query)

    signature = inspect.signature(ndcg_score)
    *arrays, weight, per_query = signature.parameters.values()
    own = {field.name: field for field in fields(measure) if field.name != "judged_only"}
    names = [measure.at, *(each for each in own if each not in (measure.at, "empty")), "empty"]
    settings = [
        Parameter(each, Parameter.KEYWORD_ONLY, default=own[each].default, annotation=own[each].type)
        for each in names
        if each in own
    ]
    score.__signature__ = signature.replace(parameters=[*arrays[:3], *settings, weight, per_query])
    score.__name__ = score.__qualname__ = name
    text = inspect.getdoc(measure) or ""
    score.__doc__ = text.replace("Parameters\n----------\n", _ARRAYS).replace("\n\nReferences\n", _RESULT)
    return score


agreement_score = score_function("agreement_score", Agreement)
auc_score = score_function("auc_score", AUC)
average_precision_score = score_function("average_precision_score", AveragePrecision)
bpref_score = score_function("bpref_score", BinaryPreference)
dcg_score = score_function("dcg_score", DiscountedCumulativeGain)
err_score = score_function("err_score", ExpectedReciprocalRank)
iprec_score = score_function("iprec_score", InterpolatedPrecision)
kendall_tau_score = score_function("kendall_tau_score", KendallTau)
mean_precision_score = score_function("mean_precision_score", MeanPrecision)
precision_score = score_function("precision_score", Precision)
rbp_score = score_function("rbp_score", RankBiasedPrecision)
recall_score = score_function("recall_score", Recall)
reciprocal_rank_score = score_function("reciprocal_rank_score", ReciprocalRank)
rprec_score = score_function("rprec_score", RPrecision)
success_score = score_function("success_score", Success)
