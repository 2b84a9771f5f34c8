"""A run joined with relevance judgments: the documents that were judged, and the ranks of those that were retrieved."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from boostrank.datasets.trec_tables import DOCUMENT, ITERATION, QUERY, RELEVANCE, SCORE, as_qrels, as_run
from boostrank.queries import Queries
from boostrank.rankings import RankedBlock
from boostrank.segments import Floats, Ints, Segments
from boostrank.setting_checks import check_choice

#: How documents are treated that were retrieved, but not judged.
UNJUDGED = ("zero", "remove")
#: Which queries are evaluated: all that have judgments, or those that are in the run too.
QUERIES = ("judged", "common")
_N_SHOWN = 3


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """The documents of each query that were judged or retrieved, and the ranking of those that were retrieved.

    Attributes
    ----------
    queries : Queries
        Of all documents, grouped. Queries are in the sequence in which the judgments have them.
    labels : ndarray of float64, shape (n_documents,)
        Relevance of each document, 0 if it is negative or unknown.
    ranking : RankedBlock or None
        The retrieved documents of the queries with at least one, ranked; None if no query has one.
    """

    queries: Queries
    labels: Floats
    ranking: RankedBlock | None


def join(qrels: Any, run: Any, *, trec_ties: bool, unjudged: str, queries: str | None) -> JudgedRun:
    """Join judgments and a run; see :func:`boostrank.evaluate_run` for the arguments.

    Parameters
    ----------
    qrels, run : DataFrame, dict or named tuples
    trec_ties : bool
        Whether documents with equal scores are ranked as by trec_eval, by decreasing id, where scores are equal if they
        are equal as float32. Otherwise they stay tied, in the sequence of the run.
    unjudged : {"zero", "remove"}
    queries : {"judged", "common"}, optional

    Raises
    ------
    ValueError
        If the tables are invalid, a document is judged for several iterations, or no query is in both.
    """
    check_choice("unjudged", unjudged, UNJUDGED)
    if queries is not None:
        check_choice("queries", queries, QUERIES)
    judgments, retrieved = as_qrels(qrels), as_run(run)
    _refuse_subtopics(judgments)
    retrieved = _with_queries_of(judgments, retrieved, queries)
    if queries == "common":
        judgments = judgments[judgments[QUERY].isin(retrieved[QUERY])]
    table = judgments[[QUERY, DOCUMENT, RELEVANCE]].merge(
        retrieved[[QUERY, DOCUMENT, SCORE]].assign(row=np.arange(len(retrieved))), how="outer", on=[QUERY, DOCUMENT]
    )
    if unjudged == "remove":
        table = table[table[RELEVANCE].notna()]
    query = pd.Categorical(table[QUERY], categories=pd.unique(judgments[QUERY])).codes
    score, row = table[SCORE].to_numpy(), table["row"].to_numpy()
    if trec_ties:
        with np.errstate(over="ignore"):  # Scores beyond the range of float32 are tied, as with trec_eval.
            score = score.astype(np.float32)
        document = table[DOCUMENT].rank(method="dense").to_numpy()
        tiebreak = -document
    else:
        tiebreak = row
    # Documents that were not retrieved have a missing score, and come last.
    permutation = np.lexsort((tiebreak, -score, query))
    query, score = query[permutation].astype(np.int64), score[permutation]
    labels = np.maximum(table[RELEVANCE].fillna(0.0).to_numpy()[permutation], 0.0)
    sizes = np.bincount(query)
    grouped = Queries.from_sizes(sizes, np.array(pd.unique(judgments[QUERY]), dtype=object))
    was_retrieved = ~np.isnan(score)
    n_retrieved = grouped.sum(was_retrieved.astype(np.int64))
    if trec_ties:
        score = -grouped.positions.astype(np.float64)
    return JudgedRun(grouped, labels, _ranking(was_retrieved, score, n_retrieved))


def _ranking(was_retrieved: Any, score: Floats, n_retrieved: Ints) -> RankedBlock | None:
    rows, found = np.flatnonzero(was_retrieved), n_retrieved[n_retrieved > 0]
    if len(found) == 0:
        return None
    return RankedBlock(np.flatnonzero(n_retrieved > 0), found, Segments.from_sizes(found), rows, score[rows])


def _refuse_subtopics(judgments: pd.DataFrame) -> None:
    repeated = judgments.duplicated([QUERY, DOCUMENT])
    if repeated.any():
        row = judgments[repeated].iloc[0]
        raise ValueError(
            f"qrels has the document {row[DOCUMENT]!r} of the query {row[QUERY]!r} for several iterations (subtopics), "
            f"such as {row[ITERATION]!r}; these measures need one judgment for each document"
        )


def _with_queries_of(judgments: pd.DataFrame, retrieved: pd.DataFrame, queries: str | None) -> pd.DataFrame:
    """The documents of the run whose query has judgments; a warning names queries that only one of the two has."""
    judged: Any = pd.unique(judgments[QUERY])
    in_run: Any = pd.unique(retrieved[QUERY])
    missing, unknown = judged[~pd.Index(judged).isin(in_run)], in_run[~pd.Index(in_run).isin(judged)]
    if len(unknown) == len(in_run):
        raise ValueError(
            f"the run has none of the queries of qrels: {_some(in_run)} in the run, {_some(judged)} in qrels"
        )
    faults = []
    if len(missing):
        faults.append(
            f"{len(missing)} of {len(judged)} queries of qrels are not in the run and count as 0 ({_some(missing)})"
        )
    if len(unknown):
        faults.append(
            f"{len(unknown)} of {len(in_run)} queries of the run have no judgments and are left out ({_some(unknown)})"
        )
    if faults and queries is None:
        warnings.warn(
            "; ".join(faults) + "; pass queries='judged' (--queries judged) for this without a warning, or "
            "queries='common' to evaluate only queries that both have, as trec_eval does",
            UserWarning,
            stacklevel=4,
        )
    return retrieved[retrieved[QUERY].isin(set(judged))]


def _some(ids: Any) -> str:
    shown = ", ".join(repr(str(each)) for each in ids[:_N_SHOWN])
    return shown + (", ..." if len(ids) > _N_SHOWN else "")
