"""A run joined with relevance judgments: the documents that were judged, and the ranks of those that were retrieved."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from boostrank.datasets.trec_tables import DOCUMENT, ITERATION, QUERY, RELEVANCE, SCORE, as_qrels, as_run
from boostrank.metrics.subtopics import SubtopicJudgments
from boostrank.queries import Queries
from boostrank.rankings import RankedBlock
from boostrank.segments import Floats, Ints, Segments
from boostrank.setting_checks import check_choice

#: Which queries are evaluated: all that have judgments, or those that are in the run too.
QUERIES = ("judged", "common")
_N_SHOWN = 3
_ONE_SUBTOPIC = (
    "all judgments of qrels have the iteration {!r}, so that each query has one subtopic; measures of subtopics need "
    "qrels whose column 'iteration' has the subtopic of each judgment"
)


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """The documents of each query that were judged or retrieved, and the ranking of those that were retrieved.

    Attributes
    ----------
    queries : Queries
        Of all documents, grouped. Queries are in the sequence in which the judgments have them.
    judgments : ndarray of float64, shape (n_documents,)
        Relevance of each document as it was judged, which may be below 0; NaN for documents without a judgment. If a
        document is judged for several subtopics, it is the largest.
    ranking : RankedBlock or None
        The retrieved documents of the queries with at least one, ranked; None if no query has one.
    subtopics : SubtopicJudgments or None
        Judgments for subtopics, which are the iterations of the judgments; None if they were not asked for.
    """

    queries: Queries
    judgments: Floats
    ranking: RankedBlock | None
    subtopics: SubtopicJudgments | None = None

    @property
    def labels(self) -> Floats:
        """Relevance of each document, 0 if it is negative or unknown, shape (n_documents,)."""
        return np.fmax(self.judgments, 0.0)

    @cached_property
    def judged_ranking(self) -> RankedBlock | None:
        """The ranking without the documents that have no relevance of at least 0, as with ``trec_eval -J``."""
        if self.ranking is None:
            return None
        kept = self.judgments[self.ranking.rows] >= 0.0
        sizes = self.ranking.part.sum(kept.astype(np.int64))
        left = sizes > 0
        if not left.any():
            return None
        rows, scores = self.ranking.rows[kept], self.ranking.scores[kept]
        queries = np.arange(self.queries.n_queries)[self.ranking.segments][left]
        return RankedBlock(queries, sizes[left], Segments.from_sizes(sizes[left]), rows, scores)


def join(
    qrels: Any,
    run: Any,
    *,
    trec_ties: bool,
    queries: str | None,
    refuse_subtopics: bool = True,
    with_subtopics: bool = False,
) -> JudgedRun:
    """Join judgments and a run; see :func:`boostrank.evaluate_run` for the arguments.

    Parameters
    ----------
    qrels, run : DataFrame, dict or named tuples
    trec_ties : bool
        Whether documents with equal scores are ranked as by trec_eval, by decreasing id, where scores are equal if they
        are equal as float32. Otherwise they stay tied, in the sequence of the run.
    queries : {"judged", "common"}, optional
    refuse_subtopics : bool, default True
        Whether a document that is judged for several subtopics is an error. Otherwise its label is the largest
        relevance.
    with_subtopics : bool, default False
        Whether the result has the judgments for subtopics.

    Raises
    ------
    ValueError
        If the tables are invalid, no query is in both, or a document is judged for several iterations and
        `refuse_subtopics`.
    """
    if queries is not None:
        check_choice("queries", queries, QUERIES)
    judgments, retrieved = as_qrels(qrels), as_run(run)
    if refuse_subtopics:
        _refuse_subtopics(judgments)
    if with_subtopics and judgments[ITERATION].nunique() == 1:
        warnings.warn(_ONE_SUBTOPIC.format(judgments[ITERATION].iloc[0]), UserWarning, stacklevel=3)
    retrieved = _with_queries_of(judgments, retrieved, queries)
    if queries == "common":
        judgments = judgments[judgments[QUERY].isin(retrieved[QUERY])]
    judged = judgments
    if not refuse_subtopics:
        judged = judgments.groupby([QUERY, DOCUMENT], sort=False)[RELEVANCE].max().reset_index()
    table = judged[[QUERY, DOCUMENT, RELEVANCE]].merge(
        retrieved[[QUERY, DOCUMENT, SCORE]].assign(row=np.arange(len(retrieved))), how="outer", on=[QUERY, DOCUMENT]
    )
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
    judgments_of_documents = table[RELEVANCE].to_numpy(np.float64)[permutation]
    sizes = np.bincount(query)
    grouped = Queries.from_sizes(sizes, np.array(pd.unique(judgments[QUERY]), dtype=object))
    was_retrieved = ~np.isnan(score)
    n_retrieved = grouped.sum(was_retrieved.astype(np.int64))
    if trec_ties:
        score = -grouped.positions.astype(np.float64)
    subtopics = _subtopics(judgments, table.iloc[permutation]) if with_subtopics else None
    return JudgedRun(grouped, judgments_of_documents, _ranking(was_retrieved, score, n_retrieved), subtopics)


def _ranking(was_retrieved: Any, score: Floats, n_retrieved: Ints) -> RankedBlock | None:
    rows, found = np.flatnonzero(was_retrieved), n_retrieved[n_retrieved > 0]
    if len(found) == 0:
        return None
    return RankedBlock(np.flatnonzero(n_retrieved > 0), found, Segments.from_sizes(found), rows, score[rows])


def _subtopics(judgments: pd.DataFrame, documents: pd.DataFrame) -> SubtopicJudgments:
    """Judgments for subtopics, with the rows of their documents among all documents, which are grouped by query."""
    rows = documents[[QUERY, DOCUMENT]].assign(row=np.arange(len(documents)))
    return SubtopicJudgments(
        judgments[[QUERY, DOCUMENT]].merge(rows, how="left", on=[QUERY, DOCUMENT])["row"].to_numpy(dtype=np.int64),
        pd.factorize(judgments[ITERATION])[0].astype(np.int64),
        judgments[RELEVANCE].to_numpy(dtype=np.float64),
        documents[DOCUMENT].rank(method="dense").to_numpy().astype(np.int64),
    )


def _refuse_subtopics(judgments: pd.DataFrame) -> None:
    repeated = judgments.duplicated([QUERY, DOCUMENT])
    if repeated.any():
        row = judgments[repeated].iloc[0]
        raise ValueError(
            f"qrels has the document {row[DOCUMENT]!r} of the query {row[QUERY]!r} for several iterations (subtopics), "
            f"such as {row[ITERATION]!r}, but a measure needs one judgment for each document; pass subtopics='max' to "
            "take the largest relevance of each document, or evaluate only measures of subtopics, such as alpha_nDCG@10"
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
