"""Measures of a run, given relevance judgments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from boostrank.dcg import TIES
from boostrank.metrics import Measure
from boostrank.metrics.base import BoundQueryMeasure, PreparedRanks, QueryMeasure
from boostrank.metrics.grouped_labels import GroupedLabels
from boostrank.metrics.query_groups import add_groups, group_means
from boostrank.metrics.registry import named_measures
from boostrank.runs.judged_run import JudgedRun, join
from boostrank.runs.weights_and_groups import groups_by_id, weights_by_id
from boostrank.segments import Floats
from boostrank.setting_checks import check_choice

if TYPE_CHECKING:
    import pandas as pd

TREC_EVAL = "trec_eval"


def evaluate_run(
    qrels: Any,
    run: Any,
    measures: str | Measure | Iterable[Any] | Mapping[str, Any] = ("nDCG@10",),
    *,
    ties: str = TREC_EVAL,
    unjudged: str = "zero",
    queries: str | None = None,
    sample_weight: Any = None,
    per_query: bool = False,
    by: Any = None,
) -> dict[str, float] | pd.DataFrame:
    """Compute measures of a run, given relevance judgments.

    Documents that are relevant but were not retrieved count in the ideal DCG, in recall and in the number of relevant
    documents of MAP, and contribute nothing. A merge of the two tables by hand loses them.

    Parameters
    ----------
    qrels, run : DataFrame, dict of dicts, list of named tuples, or objects of ranx
        Judgments and a ranking of the documents of each query: results of :func:`boostrank.read_qrels` and
        :func:`boostrank.read_run`; DataFrames of pandas or polars with the columns "query_id", "doc_id" and "relevance"
        or "score"; relevance or score by document by query, as for pytrec_eval and ranx; or records of ir_measures.
        A relevance below 0 counts as 0.
    measures : str or Measure, or list or dict of them, default ("nDCG@10",)
        Arguments of :func:`boostrank.get_measure`. Names of ir_measures, such as ``"nDCG@10"``, ``"AP(rel=2)"`` and
        ``"RR"``, have its conventions, which are those of trec_eval. Others have the conventions of boostrank:
        ``"ndcg@10"`` has the gain ``2^y - 1``.
    ties : {"trec_eval", "average", "stable", "best", "worst"}, default "trec_eval"
        How documents with equal scores are ranked. "trec_eval" ranks them by decreasing id; scores that are equal as
        float32 are equal. The other rules are those of :func:`boostrank.ndcg_score`, where "stable" keeps the sequence
        of the run.
    unjudged : {"zero", "remove"}, default "zero"
        Documents that were retrieved but not judged have the relevance 0, or are removed from the run.
    queries : {"judged", "common"}, optional
        Which queries are evaluated. "judged": all queries that have judgments; those that are not in the run have the
        value 0. "common": queries that have judgments and are in the run, as in trec_eval without ``-c``. The default
        is "judged", with a warning if a query is in only one of the two.
    sample_weight : Mapping, Series or DataFrame, optional
        Weight of each query in the means, by query id: a dict, a Series with the query ids as index, or a DataFrame
        with two columns, one of them called "query_id", "query", "qid" or "q_id". Weights of other queries are ignored.
    per_query : bool, default False
        Return the values of each query instead of the means.
    by : Mapping, Series or DataFrame, optional
        Group of each query by query id, in the same forms. Queries that the judgments and the run have, but that are
        not evaluated, are ignored.

    Returns
    -------
    dict of str to float, or DataFrame
        Means over queries by the name of the measure. With `per_query` it is a DataFrame with one column per measure
        and one row per query, with the query ids as index. With `by` it is that of :func:`boostrank.evaluate`: means
        by group with 95% intervals, or the values of each query with their group.

    Raises
    ------
    ValueError
        If a table or setting is invalid, if no query is in both tables, or for a measure that is not defined where
        documents are missing in the run: kendall_tau, auc, agreement, and those with a fraction as cutoff. If an
        evaluated query has no weight or no group, or several different ones; if a weight is negative or not finite, or
        all are 0; or if `by` has a query that neither the judgments nor the run have.
    TypeError
        If `qrels`, `run`, `sample_weight` or `by` has another form.

    Warns
    -----
    UserWarning
        If a query is in only one of the two tables and `queries` is not given.

    References
    ----------
    Buckley et al., trec_eval 9. MacAvaney, Macdonald and Ounis, "Streamlining evaluation with ir-measures", ECIR 2022.

    Examples
    --------
    >>> qrels = {"301": {"a": 2, "b": 1, "c": 0, "d": 1}}
    >>> run = {"301": {"c": 3.0, "a": 2.0, "x": 1.0}}
    >>> values = evaluate_run(qrels, run, ["nDCG@10", "AP", "R@2"])
    >>> {name: round(value, 4) for name, value in values.items()}
    {'nDCG@10': 0.403, 'AP': 0.1667, 'R@2': 0.3333}
    >>> evaluate_run(qrels, run, "AP", by={"301": "short"})[["group", "metric", "queries", "mean"]].round(4)
             group metric  queries    mean
    0        short     AP        1  0.1667
    1  all queries     AP        1  0.1667
    """
    check_choice("ties", ties, (TREC_EVAL, *TIES))
    judged = join(qrels, run, trec_ties=ties == TREC_EVAL, unjudged=unjudged, queries=queries)
    ids = judged.queries.ids
    weights = np.ones(len(ids)) if sample_weight is None else weights_by_id(sample_weight, ids)
    groups = None if by is None else groups_by_id(by, ids, qrels, run)
    labels, of_queries = GroupedLabels(judged.labels, judged.queries), per_query or groups is not None
    results: dict[str, Any] = {}
    for name, measure in named_measures(measures).items():
        checked = _for_runs(name, measure, ties)
        prepared = checked.prepare(labels)
        assert isinstance(prepared, PreparedRanks)
        bound = BoundQueryMeasure(checked, judged.queries, prepared, weights)
        values = _values(prepared, judged)
        results[name] = bound.fill(values) if of_queries else bound.mean_of(values)
    if not of_queries:
        return results
    import pandas as pd

    table = pd.DataFrame(results, index=pd.Index(ids, name="query_id"))
    if groups is None:
        return table
    return add_groups(table, groups) if per_query else group_means(table, groups, weights)


def _for_runs(name: str, measure: Measure, ties: str) -> QueryMeasure:
    """The measure with the tie rule; raise ValueError if it is not defined for runs."""
    settings = {field.name for field in fields(measure)} if isinstance(measure, QueryMeasure) else set()
    if not isinstance(measure, QueryMeasure) or not {"k", "ties"} <= settings:
        raise ValueError(f"{name} is not defined for runs: it needs a score for each document of a query")
    k: Any = vars(measure)["k"]
    if isinstance(k, float):
        raise ValueError(f"{name} is not defined for runs: the cutoff must be a number of documents, not a fraction")
    if k is None and measure.name in ("precision", "mean_precision"):
        raise ValueError(f"{name} is not defined for runs without a cutoff; choose one, such as {name}@10")
    rule: dict[str, Any] = {} if ties == TREC_EVAL else {"ties": ties}
    return replace(measure, **rule)


def _values(prepared: PreparedRanks, judged: JudgedRun) -> Floats:
    """Value of each query: 0 for queries without retrieved documents, NaN for those where the measure is undefined."""
    values = np.where(prepared.undefined, np.nan, 0.0)
    if judged.ranking is not None:
        values[judged.ranking.segments] = prepared.per_block(judged.ranking)
    return values
