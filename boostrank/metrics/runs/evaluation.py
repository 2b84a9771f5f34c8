"""Measures of a run, given relevance judgments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from boostrank.core.dcg import TIES
from boostrank.core.queries import Queries
from boostrank.core.rankings import RankedBlock
from boostrank.core.segments import Segments
from boostrank.core.weights import align, by_id, query_weights, refuse_unknown, shown
from boostrank.datasets.trec_tables import DOCUMENT, ITERATION, QUERY, RELEVANCE, SCORE, as_qrels, as_run, check_unique
from boostrank.inputs.arrays import Bools, Floats, Ints
from boostrank.inputs.checks import check_choice, check_flag
from boostrank.inputs.warnings import warn
from boostrank.metrics import Measure
from boostrank.metrics.base import BoundQueryMeasure, PreparedRanks, QueryMeasure
from boostrank.metrics.labels import GroupedLabels
from boostrank.metrics.query_groups import QueryGroups, add_groups, group_means
from boostrank.metrics.registry import named_measures
from boostrank.metrics.runs.novelty import SubtopicJudgments

TREC_EVAL = "trec_eval"
#: How documents are treated that were retrieved, but not judged.
UNJUDGED = ("zero", "remove")
#: Documents are numbered for about so many rows at a time.
_ROWS_TOGETHER = 2**14
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
) -> Any:
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
        ``"RR"``, have its conventions, which are those of trec_eval: the gain of nDCG is the label y itself. Others
        have the conventions of boostrank: ``"ndcg@10"`` has the gain ``2^y - 1``. A list with both is an error.
        Measures of what was judged or retrieved, such as ``"Judged@10"``, ``"SetP"`` and ``"infAP"``, are taken only
        here. ``"official"`` and ``"all_trec"`` stand for those measures of trec_eval's groups that boostrank has, which
        are all but utility, binG, ndcg_rel, Rndcg, num_nonrel_judged_ret and texts; its ndcg is called nDCG.
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
        If a table or setting is invalid, if no query is in both tables, if a list has both ``"ndcg@10"`` and
        ``"nDCG@10"``, or for a measure that is not defined where documents are missing in the run: kendall_tau, auc,
        agreement, and those with a fraction as cutoff. If an evaluated query has no weight or no group, or several
        different ones; if a weight is negative or not finite, or all are 0; or if `by` has a query that neither the
        judgments nor the run have.
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
    check_choice("subtopics", subtopics, SUBTOPICS)
    check_flag("per_query", per_query)
    checks = {
        name: for_runs(name, measure, ties, unjudged) for name, measure in named_measures(measures, "runs").items()
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
        values = values_of_ranking(prepared, judged.judged_ranking if checked.judged_only else judged.ranking)
        results[name] = bound.fill(values) if of_queries else bound.mean_of(values)
    if not of_queries:
        return results
    table = pd.DataFrame(results, index=pd.Index(ids, name="query_id"))
    if groups is None:
        return table
    summaries = {name: measure.summary for name, measure in checks.items()}
    return add_groups(table, groups) if per_query else group_means(table, groups, weights, summaries)


def for_runs(name: str, measure: Measure, ties: str, unjudged: str) -> QueryMeasure:
    """The measure with the rules of a run; raise ValueError if it is not defined for runs, or a rule is not known."""
    check_choice("ties", ties, (TREC_EVAL, *TIES))
    check_choice("unjudged", unjudged, UNJUDGED)
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


def values_of_ranking(prepared: PreparedRanks, ranking: RankedBlock | None) -> Floats:
    """Value of each query: NaN for those where the measure is undefined."""
    values = np.where(prepared.undefined, np.nan, prepared.not_retrieved)
    if ranking is not None:
        values[ranking.segments] = prepared.per_block(ranking)
    return values


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
    documents : Index
        Ids of documents, in which those of a query are each once.
    document : ndarray of int64, shape (n_documents,)
        Position of the id of each document in `documents`.
    """

    queries: Queries
    judgments: Floats
    ranking: RankedBlock | None
    subtopics: SubtopicJudgments | None
    documents: pd.Index
    document: Ints

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
    documents, of_judgments, of_run = _documents(judgments, retrieved)
    if refuse_subtopics:
        _refuse_subtopics(judgments, of_judgments)
    if with_subtopics and judgments[ITERATION].nunique() == 1:
        warn(_ONE_SUBTOPIC.format(judgments[ITERATION].iloc[0]), UserWarning)
    ids = _ids_of_queries(judgments, retrieved, queries)
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
    permutation = _ranked(query, score)
    if trec_ties:
        _sort_ties(permutation, query, score, document, documents)
    grouped = Queries.from_sizes(np.bincount(query, minlength=len(ids)), ids.to_numpy(dtype=object))
    was_retrieved = permutation < len(found)
    ranks = -grouped.positions if trec_ties else score[permutation]
    ranking = ranking_of(was_retrieved, ranks.astype(np.float64), grouped)
    subtopics = None
    if with_subtopics:
        subtopics = SubtopicJudgments(
            pd.Index(pairs[permutation]).get_indexer(pd.Index(judged)).astype(np.int64),
            pd.factorize(judgments[ITERATION])[0].astype(np.int64),
            judgments[RELEVANCE].to_numpy(dtype=np.float64),
            _places(documents)[document[permutation]],
        )
    return JudgedRun(grouped, relevance[permutation], ranking, subtopics, documents, document[permutation])


def _documents(judgments: pd.DataFrame, retrieved: pd.DataFrame) -> tuple[pd.Index, Ints, Ints]:
    """Ids of the documents of both tables, and the positions in them of the rows of each table.

    Within a query each id has one position. Ids are numbered for some queries at a time: a table of all ids of a large
    run does not fit into the processor's cache, and a look-up in it takes several times longer.

    Raises ValueError if a query has a document twice.
    """
    tables = judgments, retrieved
    names = [table[QUERY].cat.categories for table in tables]
    numbers = np.split(pd.factorize(names[0].append(names[1]))[0], [len(names[0])])
    query = np.concatenate([of_table[table[QUERY].cat.codes] for of_table, table in zip(numbers, tables, strict=True)])
    by_query = _by_query(query)
    texts = pd.concat([table[DOCUMENT] for table in tables], ignore_index=True).take(by_query)
    first = np.append(0, np.cumsum(np.bincount(query))[:-1])
    starts = first[np.diff(first // _ROWS_TOGETHER, prepend=-1) > 0]
    codes, ids, n_ids = np.empty(len(texts), dtype=np.int64), [], 0
    for start, end in pairwise([*starts.tolist(), len(texts)]):
        own_codes, own_ids = pd.factorize(texts.iloc[start:end])
        codes[by_query[start:end]] = own_codes + n_ids
        ids.append(pd.Index(own_ids))
        n_ids += len(own_ids)
    of_judgments, of_run = np.split(codes, [len(judgments)])
    check_unique(judgments, "qrels", of_judgments)
    check_unique(retrieved, "run", of_run)
    return ids[0].append(ids[1:]), of_judgments, of_run


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
    judged = labels.to_numpy(dtype=np.float64)
    places = labels.index.get_indexer(pd.Index(found))
    not_found = np.ones(len(judged), dtype=bool)
    not_found[places[places >= 0]] = False
    relevance = np.where(places >= 0, judged[places], np.nan)
    return np.append(found, labels.index[not_found]), np.append(relevance, judged[not_found])


def _ranked(query: Ints, score: Floats) -> Ints:
    """The permutation that sorts documents by query, and those of a query by decreasing score.

    Documents that were not retrieved have a missing score. They come last, here and in the result.
    """
    n_found = len(score) - np.count_nonzero(np.isnan(score))
    query_of_run, follows = query[:n_found], score[1:n_found] <= score[: n_found - 1]
    changes = query_of_run[1:] != query_of_run[:-1]
    is_grouped = np.count_nonzero(changes) < np.count_nonzero(np.bincount(query_of_run))
    # Runs are mostly sorted, and queries alone are sorted ten times faster.
    return _by_query(query) if is_grouped and (changes | follows).all() else np.lexsort((-score, query))


def _by_query(query: Ints) -> Ints:
    """The permutation that sorts rows by the number of their query; those of a query keep their sequence."""
    # NumPy sorts small integer types in linear time.
    return np.argsort(query.astype(np.min_scalar_type(query.max())), kind="stable")


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


def ranking_of(was_retrieved: Bools, score: Floats, queries: Queries) -> RankedBlock | None:
    """The ranking of the documents that were retrieved, from documents that are sorted by score in each query."""
    n_retrieved = queries.sum(was_retrieved.astype(np.int64))
    rows, found = np.flatnonzero(was_retrieved), n_retrieved[n_retrieved > 0]
    if len(found) == 0:
        return None
    return RankedBlock(np.flatnonzero(n_retrieved > 0), found, Segments.from_sizes(found), rows, score[rows])


def _refuse_subtopics(judgments: pd.DataFrame, documents: Ints) -> None:
    pairs = pd.DataFrame({QUERY: judgments[QUERY].cat.codes.to_numpy(), DOCUMENT: documents})
    repeated = pairs.duplicated().to_numpy()
    if repeated.any():
        row = judgments[repeated].iloc[0]
        raise ValueError(
            f"qrels has the document {row[DOCUMENT]!r} of the query {row[QUERY]!r} for several iterations (subtopics), "
            f"such as {row[ITERATION]!r}, but a measure needs one judgment for each document; pass subtopics='max' to "
            "take the largest relevance of each document, or evaluate only measures of subtopics, such as alpha_nDCG@10"
        )


def _ids_of_queries(judgments: pd.DataFrame, retrieved: pd.DataFrame, queries: str | None) -> pd.Index:
    """Ids of the queries to evaluate; a warning names queries that only one of the two tables has."""
    judged, in_run = ids_of(judgments), ids_of(retrieved)
    is_found = judged.isin(in_run)
    if not is_found.any():
        raise ValueError(
            f"the run has none of the queries of qrels: {shown(in_run)} in the run, {shown(judged)} in qrels"
        )
    faults = differing_queries(judged, in_run, "the run")
    if faults and queries is None:
        warn(
            "; ".join(faults) + "; pass queries='judged' (--queries judged) for this without a warning, or "
            "queries='common' to evaluate only queries that both have, as trec_eval does",
            UserWarning,
        )
    return judged[is_found] if queries == "common" else judged


def ids_of(table: pd.DataFrame) -> pd.Index:
    """The ids of the queries of a table, in the sequence in which they first appear."""
    # Of objects: for its own texts pandas makes a PyArrow scalar of each in `isin`, which takes longer.
    return pd.Index(np.asarray(table[QUERY].unique(), dtype=object), dtype=object)


def differing_queries(judged: pd.Index, in_run: pd.Index, run: str) -> list[str]:
    """The parts of a warning that name queries which only the judgments or only `run` has."""
    missing, unknown = judged[~judged.isin(in_run)], in_run[~in_run.isin(judged)]
    faults = []
    if len(missing):
        faults.append(
            f"{len(missing)} of {len(judged)} queries of qrels are not in {run} and count as 0 ({shown(missing)})"
        )
    if len(unknown):
        faults.append(
            f"{len(unknown)} of {len(in_run)} queries of {run} have no judgments and are left out ({shown(unknown)})"
        )
    return faults


def weights_by_id(sample_weight: Any, ids: NDArray[Any]) -> Floats:
    """The weight of each evaluated query.

    Parameters
    ----------
    sample_weight : Mapping, Series or DataFrame
        Weight by query id. Weights of other queries are ignored.
    ids : ndarray of object, shape (n_queries,)
        Ids (str) of the evaluated queries.

    Raises
    ------
    ValueError, TypeError
        As :func:`boostrank.evaluate_run` for `sample_weight`.
    """
    weights = align(by_id(sample_weight, "sample_weight", ids_are_text=True), ids, "sample_weight")
    return query_weights(weights.to_numpy(), Queries.from_sizes(np.ones(len(ids), dtype=np.int64), ids))


def groups_by_id(by: Any, ids: NDArray[Any], *tables: pd.DataFrame) -> QueryGroups:
    """The group of each evaluated query.

    Parameters
    ----------
    by : Mapping, Series or DataFrame
        Group by query id.
    ids : ndarray of object, shape (n_queries,)
        Ids (str) of the evaluated queries.
    *tables : DataFrame
        Checked judgments and runs. Together they have all queries that `by` may have.

    Raises
    ------
    ValueError, TypeError
        As :func:`boostrank.evaluate_run` for `by`.
    """
    groups = by_id(by, "by", ids_are_text=True)
    if not groups.index.isin(ids).all():
        known = [np.asarray(table[QUERY].cat.categories, dtype=object) for table in tables]
        refuse_unknown(groups, np.concatenate(known), "by")
    return QueryGroups.from_values(align(groups, ids, "by"))
