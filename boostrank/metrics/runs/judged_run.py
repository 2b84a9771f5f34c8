"""A run joined with relevance judgments: the documents that were judged, and the ranks of those that were retrieved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from boostrank.core.queries import Queries
from boostrank.core.rankings import RankedBlock
from boostrank.core.segments import Segments
from boostrank.core.weights import shown
from boostrank.datasets.trec_tables import DOCUMENT, ITERATION, QUERY, RELEVANCE, SCORE
from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.checks import check_choice
from boostrank.inputs.warnings import warn
from boostrank.metrics.subtopics import SubtopicJudgments

#: Which queries are evaluated: all that have judgments, or those that are in the run too.
QUERIES = ("judged", "common")
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
    judgments: pd.DataFrame,
    retrieved: pd.DataFrame,
    *,
    trec_ties: bool,
    queries: str | None,
    refuse_subtopics: bool = True,
    with_subtopics: bool = False,
) -> JudgedRun:
    """Join judgments and a run; see :func:`boostrank.evaluate_run` for the settings.

    Parameters
    ----------
    judgments, retrieved : DataFrame
        Results of :func:`boostrank.datasets.trec_tables.as_qrels` and :func:`boostrank.datasets.trec_tables.as_run`.
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
        If no query is in both tables, or a document is judged for several iterations and `refuse_subtopics`.
    """
    if queries is not None:
        check_choice("queries", queries, QUERIES)
    if refuse_subtopics:
        _refuse_subtopics(judgments)
    if with_subtopics and judgments[ITERATION].nunique() == 1:
        warn(_ONE_SUBTOPIC.format(judgments[ITERATION].iloc[0]), UserWarning)
    ids = _ids_of_queries(judgments, retrieved, queries)
    documents, of_judgments, of_run = _documents(judgments, retrieved)
    judgments, judged = _pairs(judgments, ids, of_judgments, len(documents))
    retrieved, found = _pairs(retrieved, ids, of_run, len(documents))
    labels = pd.Series(judgments[RELEVANCE].to_numpy(), index=judged)
    if not refuse_subtopics:
        labels = labels.groupby(level=0, sort=False).max()
    pairs, relevance = _with_judged(found, labels)
    score = np.append(retrieved[SCORE].to_numpy(dtype=np.float64), np.full(len(pairs) - len(found), np.nan))
    if trec_ties:
        with np.errstate(over="ignore"):  # Scores beyond the range of float32 are tied, as with trec_eval.
            score = score.astype(np.float32)
    query, document = np.divmod(pairs, len(documents))
    # Documents that were not retrieved have a missing score, and come last.
    permutation = np.lexsort((-score, query))
    if trec_ties:
        _sort_ties(permutation, query, score, document, documents)
    grouped = Queries.from_sizes(np.bincount(query, minlength=len(ids)), ids.to_numpy(dtype=object))
    was_retrieved = permutation < len(found)
    n_retrieved = grouped.sum(was_retrieved.astype(np.int64))
    ranks = -grouped.positions if trec_ties else score[permutation]
    ranking = _ranking(was_retrieved, ranks.astype(np.float64), n_retrieved)
    subtopics = None
    if with_subtopics:
        subtopics = SubtopicJudgments(
            pd.Index(pairs[permutation]).get_indexer(pd.Index(judged)).astype(np.int64),
            pd.factorize(judgments[ITERATION])[0].astype(np.int64),
            judgments[RELEVANCE].to_numpy(dtype=np.float64),
            _places(documents)[document[permutation]],
        )
    return JudgedRun(grouped, relevance[permutation], ranking, subtopics)


def _documents(judgments: pd.DataFrame, retrieved: pd.DataFrame) -> tuple[pd.Index, Ints, Ints]:
    """Ids of the documents of both tables, each once, and their positions in the rows of each table."""
    judged, found = (table[DOCUMENT].cat for table in (judgments, retrieved))
    positions = judged.categories.get_indexer(found.categories).astype(np.int64)
    is_new = positions < 0
    positions[is_new] = len(judged.categories) + np.arange(is_new.sum())
    documents = judged.categories.append(found.categories[is_new])
    of_judgments = judged.codes.to_numpy().astype(np.int64)
    return documents, of_judgments, positions[found.codes]


def _pairs(table: pd.DataFrame, ids: pd.Index, document: Ints, n_documents: int) -> tuple[pd.DataFrame, Ints]:
    """The rows of the queries with these ids, and a number for the query and the document of each.

    Numbers are compared several times faster than texts.
    """
    query = ids.get_indexer(table[QUERY].cat.categories).astype(np.int64)[table[QUERY].cat.codes]
    pairs, kept = query * n_documents + document, query >= 0
    return (table, pairs) if kept.all() else (table[kept], pairs[kept])


def _with_judged(found: Ints, labels: pd.Series) -> tuple[Ints, Floats]:
    """The pairs of the run in its sequence, and then those that were judged, but not retrieved; and their relevance.

    `labels` is the relevance by pair. It is NaN for pairs that were not judged.
    """
    places = pd.Index(found).get_indexer(labels.index)
    not_found = places < 0
    places[not_found] = len(found) + np.arange(not_found.sum())
    pairs = np.concatenate([found, labels.index[not_found]])
    relevance = np.full(len(pairs), np.nan)
    relevance[places] = labels
    return pairs, relevance


def _sort_ties(permutation: Ints, query: Ints, score: Floats, document: Ints, documents: pd.Index) -> None:
    """Sort documents of a query with equal scores by decreasing id, in place; only their ids are compared as texts."""
    query, score = query[permutation], score[permutation]
    equals_next = np.append((query[1:] == query[:-1]) & (score[1:] == score[:-1]), False)
    equals_previous = np.append(False, equals_next[:-1])
    is_tied = equals_next | equals_previous
    if not is_tied.any():
        return
    rows, ties = permutation[is_tied], np.cumsum(~equals_previous)[is_tied]
    codes, tied = pd.factorize(document[rows])
    permutation[is_tied] = rows[np.lexsort((-_places(documents[tied])[codes], ties))]


def _places(ids: pd.Index) -> Ints:
    """The place of each id among the sorted ids."""
    places = np.empty(len(ids), dtype=np.int64)
    places[ids.argsort()] = np.arange(len(ids))
    return places


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
            f"such as {row[ITERATION]!r}, but a measure needs one judgment for each document; pass subtopics='max' to "
            "take the largest relevance of each document, or evaluate only measures of subtopics, such as alpha_nDCG@10"
        )


def _ids_of_queries(judgments: pd.DataFrame, retrieved: pd.DataFrame, queries: str | None) -> pd.Index:
    """Ids of the queries to evaluate; a warning names queries that only one of the two tables has."""
    judged, in_run = (pd.Index(np.asarray(table[QUERY].unique(), dtype=object)) for table in (judgments, retrieved))
    is_found = judged.isin(in_run)
    missing, unknown = judged[~is_found], in_run[~in_run.isin(judged)]
    if not is_found.any():
        raise ValueError(
            f"the run has none of the queries of qrels: {shown(in_run)} in the run, {shown(judged)} in qrels"
        )
    faults = []
    if len(missing):
        faults.append(
            f"{len(missing)} of {len(judged)} queries of qrels are not in the run and count as 0 ({shown(missing)})"
        )
    if len(unknown):
        faults.append(
            f"{len(unknown)} of {len(in_run)} queries of the run have no judgments and are left out ({shown(unknown)})"
        )
    if faults and queries is None:
        warn(
            "; ".join(faults) + "; pass queries='judged' (--queries judged) for this without a warning, or "
            "queries='common' to evaluate only queries that both have, as trec_eval does",
            UserWarning,
        )
    return judged[is_found] if queries == "common" else judged
