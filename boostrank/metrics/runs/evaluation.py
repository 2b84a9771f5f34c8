"""Measures of a run, given relevance judgments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from boostrank.core.dcg import TIES
from boostrank.core.rankings import RankedBlock
from boostrank.datasets.trec_tables import as_qrels, as_run
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_choice, check_flag
from boostrank.metrics import Measure
from boostrank.metrics.base import BoundQueryMeasure, PreparedRanks, QueryMeasure
from boostrank.metrics.grouped_labels import GroupedLabels
from boostrank.metrics.query_groups import add_groups, group_means
from boostrank.metrics.registry import named_measures
from boostrank.metrics.runs.judged_run import join
from boostrank.metrics.runs.weights_and_groups import groups_by_id, weights_by_id

if TYPE_CHECKING:
    import pandas as pd

TREC_EVAL = "trec_eval"
#: How documents are treated that were retrieved, but not judged.
UNJUDGED = ("zero", "remove")
#: What measures that need one judgment for each document do with judgments for subtopics.
SUBTOPICS = ("refuse", "max")


def evaluate_run(
    qrels: Any,
    run: Any,
    measures: str | Measure | Iterable[Any] | Mapping[str, Any] = ("nDCG@10",),
    *,
    ties: str = TREC_EVAL,
    unjudged: str = "zero",
    queries: str | None = None,
    subtopics: str = "refuse",
    sample_weight: Any = None,
    per_query: bool = False,
    by: Any = None,
) -> dict[str, float] | pd.DataFrame:
    """Compute measures of a run, given relevance judgments.

    Documents that are relevant but were not retrieved count in the ideal DCG, in recall and in the number of relevant
    documents of MAP, and contribute nothing. A merge of the two tables by hand loses them.

    Parameters
    ----------
    qrels, run : DataFrame, dict of dicts, iterable of named tuples, or object of ranx
        Judgments and a ranking of the documents of each query: results of :func:`boostrank.read_qrels` and
        :func:`boostrank.read_run`; DataFrames of pandas or polars with the columns "query_id", "doc_id" and "relevance"
        or "score"; relevance or score by document by query, as for pytrec_eval and ranx; or records of ir_measures.
        A relevance below 0 counts as 0.
    measures : str or Measure, or list or dict of them, default ("nDCG@10",)
        Arguments of :func:`boostrank.get_measure`. Names of ir_measures, such as ``"nDCG@10"``, ``"AP(rel=2)"`` and
        ``"RR"``, have its conventions, which are those of trec_eval. Others have the conventions of boostrank:
        ``"ndcg@10"`` has the gain ``2^y - 1``. Measures of what was judged or retrieved, such as ``"Judged@10"``,
        ``"SetP"`` and ``"infAP"``, are taken only here.
    ties : {"trec_eval", "average", "stable", "best", "worst"}, default "trec_eval"
        How documents with equal scores are ranked. "trec_eval" ranks them by decreasing id; scores that are equal as
        float32 are equal. The other rules are those of :func:`boostrank.ndcg_score`, where "stable" keeps the sequence
        of the run.
    unjudged : {"zero", "remove"}, default "zero"
        Documents that were retrieved but not judged, or judged with a relevance below 0, have the relevance 0, or are
        removed from the run, as with ``trec_eval -J``. Single measures have it as a parameter of their name, such as
        ``"P(judged_only=True)@5"``.
    queries : {"judged", "common"}, optional
        Which queries are evaluated. "judged": all queries that have judgments; those that are not in the run have the
        value 0. "common": queries that have judgments and are in the run, as in trec_eval without ``-c``. The default
        is "judged", with a warning if a query is in only one of the two.
    subtopics : {"refuse", "max"}, default "refuse"
        What measures that need one judgment for each document, such as nDCG, do with a document that is judged for
        several subtopics, which are the iterations of `qrels`: "refuse" raises an error, and "max" takes the largest
        relevance. Measures of subtopics, such as ``"alpha_nDCG@10"``, use each judgment in both cases.
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
    check_choice("unjudged", unjudged, UNJUDGED)
    check_choice("subtopics", subtopics, SUBTOPICS)
    check_flag("per_query", per_query)
    checks = {
        name: _for_runs(name, measure, ties, unjudged) for name, measure in named_measures(measures, "runs").items()
    }
    of_subtopics = [measure.of_subtopics for measure in checks.values()]
    judgments, retrieved = as_qrels(qrels), as_run(run)
    judged = join(
        judgments,
        retrieved,
        trec_ties=ties == TREC_EVAL,
        queries=queries,
        refuse_subtopics=subtopics == "refuse" and not all(of_subtopics),
        with_subtopics=any(of_subtopics),
    )
    ids = judged.queries.ids
    weights = np.ones(len(ids)) if sample_weight is None else weights_by_id(sample_weight, ids)
    groups = None if by is None else groups_by_id(by, ids, judgments, retrieved)
    labels = GroupedLabels(judged.labels, judged.queries, judged.judgments, judged.subtopics)
    of_queries = per_query or groups is not None
    results: dict[str, Any] = {}
    for name, checked in checks.items():
        prepared = checked.prepare(labels)
        assert isinstance(prepared, PreparedRanks)
        bound = BoundQueryMeasure(checked, judged.queries, prepared, weights)
        values = _values(prepared, judged.judged_ranking if checked.judged_only else judged.ranking)
        results[name] = bound.fill(values) if of_queries else bound.mean_of(values)
    if not of_queries:
        return results
    import pandas as pd

    table = pd.DataFrame(results, index=pd.Index(ids, name="query_id"))
    if groups is None:
        return table
    sums = [name for name, measure in checks.items() if measure.is_sum]
    return add_groups(table, groups) if per_query else group_means(table, groups, weights, sums)


def _for_runs(name: str, measure: Measure, ties: str, unjudged: str) -> QueryMeasure:
    """The measure with the rules of a run; raise ValueError if it is not defined for runs."""
    if not isinstance(measure, QueryMeasure):
        raise ValueError(f"{name} is not defined for runs: it is a function of labels and scores")
    k: Any = getattr(measure, "k", None)
    if isinstance(k, float):
        raise ValueError(f"{name} is not defined for runs: the cutoff must be a number of documents, not a fraction")
    if k is None and measure.needs_cutoff:
        raise ValueError(f"{name} is not defined for runs without a cutoff; choose one, such as {name}@10")
    has_ties = "ties" in {field.name for field in fields(measure)}
    rules: dict[str, Any] = {"ties": ties} if has_ties and ties != TREC_EVAL else {}
    return replace(measure, judged_only=measure.judged_only or unjudged == "remove", **rules)


def _values(prepared: PreparedRanks, ranking: RankedBlock | None) -> Floats:
    """Value of each query: NaN for those where the measure is undefined."""
    values = np.where(prepared.undefined, np.nan, prepared.not_retrieved)
    if ranking is not None:
        values[ranking.segments] = prepared.per_block(ranking)
    return values
