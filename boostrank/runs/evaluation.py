"""Measures of a run, given relevance judgments: ours, and others that ir_measures computes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from boostrank.inputs.arrays import Bools, Floats, Ints
from boostrank.inputs.checks import check_choice, check_flag
from boostrank.inputs.warnings import warn
from boostrank.metrics import Measure
from boostrank.metrics.base import BoundQueryMeasure, PreparedRanks, QueryMeasure
from boostrank.metrics.labels import GroupedLabels, warn_of_fractions
from boostrank.metrics.names import MEASURES, base_name
from boostrank.metrics.query_groups import (
    as_groups,
    refuse_groups_of_values,
    table_of_queries,
)
from boostrank.metrics.registry import (
    by_name,
    from_parsed,
    get_measure,
    is_of_ir_measures,
    unknown_name,
)
from boostrank.queries.by_id import ValuesById, align, by_id, refuse_unknown, shown
from boostrank.queries.queries import Queries
from boostrank.queries.rankings import TIES, RankedBlock
from boostrank.queries.segments import Segments, Values
from boostrank.queries.weights import query_weights
from boostrank.runs.names import as_ir_measures, members, parse_name
from boostrank.runs.trec_tables import (
    QUERY,
    RELEVANCE,
    SCORE,
    NumberedQueries,
    Source,
    Texts,
    as_qrels,
    as_run,
    check_unique,
    number_documents,
    number_queries,
)

TREC_EVAL = "trec_eval"
#: A measure of runs: a name, or an object, also of ir_measures, whose classes are not known here.
MeasureOfRuns: TypeAlias = Any
#: One or several of them, in a dict by name.
MeasuresOfRuns: TypeAlias = "str | Measure | Iterable[MeasureOfRuns] | Mapping[str, MeasureOfRuns]"


def evaluate_run(
    qrels: Source,
    run: Source,
    measures: MeasuresOfRuns = ("nDCG@10",),
    *,
    ties: str = TREC_EVAL,
    queries: str | None = None,
    sample_weight: ValuesById | None = None,
    per_query: bool = False,
    by: ValuesById | None = None,
    groups: ValuesById | None = None,
) -> Any:
    """Compute measures of a run, given relevance judgments.

    Documents that are relevant but were not retrieved count in the ideal DCG, in recall and in the
    number of relevant documents of MAP, and contribute nothing. A merge of the two tables by hand
    loses them.

    Parameters
    ----------
    qrels, run : DataFrame, dict of dicts, iterable of named tuples, or object of ranx
        Judgments and a ranking of the documents of each query: results of
        :func:`boostrank.read_qrels` and :func:`boostrank.read_run`; DataFrames of pandas or polars
        with the columns "query_id", "doc_id" and "relevance" or "score"; relevance or score by
        document by query, as for pytrec_eval and ranx; or records of ir_measures. Documents without
        a judgment, and those with a relevance below 0, have the relevance 0. A document with
        several judgments, which differ in their "iteration", is an error unless only measures of
        ir_measures are asked for that have subtopics.
    measures : str or Measure, or list or dict of them, default ("nDCG@10",)
        Arguments of :func:`boostrank.get_measure`. Names of ir_measures, such as ``"nDCG@10"``,
        ``"AP(rel=2)"`` and ``"RR"``, have its conventions, which are those of trec_eval: the gain
        of nDCG is the label y itself. Others have the conventions of boostrank: ``"ndcg@10"`` has
        the gain ``2^y - 1``. A list with both is an error. Counts of what was judged or retrieved,
        such as ``"NumRet"``, are taken only here. Other measures of ir_measures, such as
        ``"alpha_nDCG@10"``, ``"Judged@10"``, and ``"P(judged_only=True)@5"``, which leaves out
        documents without a judgment as ``trec_eval -J``, are computed by the programs that this
        package calls, if it is installed, with their tie rule and all queries and documents.
        ``"official"`` stands for the measures that trec_eval prints by default.
    ties : {"trec_eval", "average", "stable", "best", "worst"}, default "trec_eval"
        How documents with equal scores are ranked. "trec_eval" ranks them by decreasing id; scores
        that are equal as float32 are equal. The other rules are those of
        :func:`boostrank.ndcg_score`, where "stable" keeps the sequence of the run.
    queries : {"judged", "common"}, optional
        Which queries are evaluated. "judged": all queries that have judgments; those that are not
        in the run have the value 0. "common": queries that have judgments and are in the run, as in
        trec_eval without ``-c``. The default is "judged", with a warning if a query is in only one
        of the two.
    sample_weight : Mapping, Series or DataFrame, optional
        Weight of each query in the means, by query id: a dict, a Series with the query ids as
        index, or a DataFrame with two columns, one of them called "query_id", "query", "qid" or
        "q_id". Weights of other queries are ignored.
    per_query : bool, default False
        Return the values of each query instead of the means.
    by : Mapping, Series or DataFrame, optional
        Group of each query by query id, in the same forms. Queries that the judgments and the run
        have, but that are not evaluated, are ignored.
    groups : Mapping, Series or DataFrame, optional
        Group of each query by query id, in the same forms, where queries belong together, such as
        the variations of a topic: intervals take only groups as independent. Not for `per_query`.

    Returns
    -------
    dict of str to float, or DataFrame
        Means over queries by the name of the measure. With `per_query` it is a DataFrame with one
        column per measure and one row per query, with the query ids as index. With `by` or `groups`
        it is that of :func:`boostrank.evaluate`: means with 95% intervals, or with `by` the values
        of each query with their group.

    Raises
    ------
    ValueError
        If a table or setting is invalid, if no query is in both tables, or for a measure that is
        not defined where documents are missing in the run: auc, agreement, and those with a
        fraction as cutoff. If a measure is unknown; or if ir_measures has to compute it, and is not
        installed, or `ties` is given. If an evaluated query has no weight or no group, or several
        different ones; if a weight is negative or not finite, or all are 0; if `by` or `groups` has
        a query that neither the judgments nor the run have; or if all `groups` are the same, or are
        given with `per_query`.
    TypeError
        If `qrels`, `run`, `sample_weight`, `by` or `groups` has another form.

    Warns
    -----
    UserWarning
        If a query is in only one of the two tables and `queries` is not given.

    References
    ----------
    Buckley et al., trec_eval 9. MacAvaney, Macdonald and Ounis, "Streamlining evaluation with
    ir-measures", ECIR 2022.

    Examples
    --------
    >>> import boostrank as br
    >>> qrels = {"301": {"a": 2, "b": 1, "c": 0, "d": 1}}
    >>> run = {"301": {"c": 3.0, "a": 2.0, "x": 1.0}}
    >>> values = br.evaluate_run(qrels, run, ["nDCG@10", "AP", "R@2"])
    >>> {name: round(value, 4) for name, value in values.items()}
    {'nDCG@10': 0.403, 'AP': 0.1667, 'R@2': 0.3333}
    >>> table = br.evaluate_run(qrels, run, "AP", by={"301": "short"})
    >>> table[["group", "metric", "queries", "mean"]].round(4)
             group metric  queries    mean
    0        short     AP        1  0.1667
    1  all queries     AP        1  0.1667
    """
    check_flag("per_query", per_query)
    refuse_groups_of_values(groups, per_query)
    named = measures_of_runs(measures)
    checked = {name: for_runs(name, measure, ties) for name, measure in named.items()}
    ours = {name: item for name, item in checked.items() if isinstance(item, QueryMeasure)}
    judgments = as_qrels(qrels)
    retrieved = as_run(run)
    judged = join(
        judgments, retrieved, trec_ties=ties == TREC_EVAL, queries=queries, subtopics=not ours
    )
    ids = judged.queries.ids
    weights: Floats = np.ones(len(ids))
    if sample_weight is not None:
        weights = weights_by_id(sample_weight, ids)
    compared = None
    if by is not None:
        compared = groups_by_id(by, "by", ids, judgments, retrieved)
    units = None
    if groups is not None:
        units = groups_by_id(groups, "groups", ids, judgments, retrieved)
    labels = GroupedLabels(judged.labels, judged.queries, judged.judgments)
    warn_of_fractions(ours.values(), judged.labels)
    of_queries = per_query or by is not None or groups is not None
    results: dict[str, Floats | float] = {}
    for name, measure in checked.items():
        if name in ours:
            prepared = measure.prepare(labels)
            assert isinstance(prepared, PreparedRanks)
            bound = BoundQueryMeasure(measure, judged.queries, prepared, weights)
            values = values_of_ranking(prepared, judged.ranking)
            results[name] = bound.fill(values) if of_queries else bound.mean_of(values)
        else:
            evaluated = judgments[judgments[QUERY].isin(ids)]
            values = provided_values(measure, evaluated, retrieved, ids)
            results[name] = values if of_queries else float(np.average(values, weights=weights))
    if not of_queries:
        return results
    table = pd.DataFrame(results, index=pd.Index(ids, name="query_id"))
    summaries = {name: measure.summary for name, measure in ours.items()}
    return table_of_queries(table, compared, weights, per_query, summaries, units)


def measures_of_runs(measures: MeasuresOfRuns) -> dict[str, MeasureOfRuns]:
    """The measures of runs by name, also those of ir_measures and groups of measures.

    Otherwise it is :func:`boostrank.metrics.named_measures`.

    Raises
    ------
    ValueError
        As :func:`boostrank.evaluate_run` for `measures`.

    Examples
    --------
    >>> measures_of_runs(["AP", "P_5"])
    {'AP': get_measure('map'), 'P_5': get_measure('precision@5')}
    """
    if not isinstance(measures, (Measure, Mapping)) and not callable(measures):
        listed = measures
        if isinstance(measures, str):
            listed = [measures]
        measures = [measure for item in listed for measure in members(str(item)) or [item]]
    named = by_name(measures, _measure_of_runs)
    for measure in named.values():
        if isinstance(measure, Measure):
            measure.check_domain("runs")
    return named


def _measure_of_runs(measure: MeasureOfRuns) -> MeasureOfRuns:
    text = ""
    if isinstance(measure, str) or is_of_ir_measures(measure):
        text = str(measure)
    parsed = parse_name(text, of_runs=True)
    if parsed is not None:
        return from_parsed(parsed, text, {})
    name = base_name(text)
    if not name or ":" in name or name in MEASURES:
        return get_measure(measure)
    return provided_measure(as_ir_measures(text))


def for_runs(name: str, measure: MeasureOfRuns, ties: str) -> MeasureOfRuns:
    """The measure with a tie rule; raise ValueError if it, or the rule, is not for runs."""
    check_choice("ties", ties, (TREC_EVAL, *TIES))
    if is_of_ir_measures(measure):
        if ties == TREC_EVAL:
            return measure
        raise ValueError(f"{name} is computed by ir_measures: ties must be {TREC_EVAL!r}")
    k = getattr(measure, "k", None)
    if isinstance(k, float) or (k is None and measure.needs_cutoff):
        raise ValueError(
            f"{name} is not defined for runs: the cutoff must be a number of documents, such as "
            f"10; got {k!r}"
        )
    if ties == TREC_EVAL or not hasattr(measure, "ties"):
        return measure
    return replace(measure, ties=ties)


def provided_measure(name: str) -> MeasureOfRuns:
    """The measure of this name in ir_measures, whose providers compute it; only for runs.

    Raises
    ------
    ValueError
        If ir_measures does not know it, or is not installed.
    """
    try:
        import ir_measures
    except ImportError:
        raise ValueError(
            f"{unknown_name(name)}; other measures of ir_measures need this package, which "
            "computes them: pip install ir-measures"
        ) from None
    try:
        measure = ir_measures.parse_measure(name)
        measure.validate_params()
    except (NameError, ValueError):
        raise unknown_name(name) from None
    except AssertionError as error:
        raise ValueError(f"ir_measures cannot compute {name}: {error}") from None
    return measure


def provided_values(
    measure: MeasureOfRuns, judgments: pd.DataFrame, run: pd.DataFrame, ids: Values
) -> Floats:
    """Value of each query by a measure of ir_measures; 0 for those that its provider leaves out.

    Parameters
    ----------
    measure : object of ir_measures
    judgments, run : DataFrame
        Results of :func:`boostrank.runs.trec_tables.as_qrels` and
        :func:`boostrank.runs.trec_tables.as_run`.
    ids : ndarray of object, shape (n_queries,)
    """
    import ir_measures

    relevance = judgments[RELEVANCE].to_numpy()
    if (relevance != np.floor(relevance)).any():
        raise ValueError(
            f"{measure} is computed by ir_measures, which needs a relevance of whole numbers"
        )
    qrels = judgments.assign(**{RELEVANCE: relevance.astype(np.int64)})
    try:
        results = ir_measures.iter_calc([measure], qrels, run)
        by_query = {result.query_id: result.value for result in results}
    except Exception as error:  # Providers have many kinds of errors.
        raise ValueError(f"ir_measures cannot compute {measure}: {error}") from error
    return np.array([by_query.get(query, 0.0) for query in ids], dtype=np.float64)


def values_of_ranking(prepared: PreparedRanks, ranking: RankedBlock | None) -> Floats:
    """Value of each query: NaN for those where the measure is undefined."""
    values = np.where(prepared.undefined, np.nan, prepared.not_retrieved)
    if ranking is not None:
        with np.errstate(invalid="ignore"):  # 0/0 where the measure is undefined
            values[ranking.segments] = prepared.per_block(ranking)
    return values


#: Which queries are evaluated: all that have judgments, or those that are in the run too.
QUERIES = ("judged", "common")


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """The documents of each query that were judged or retrieved, and the ranking of the latter.

    Attributes
    ----------
    queries : Queries
        Of all documents, grouped. Queries are in the sequence in which the judgments have them.
    judgments : ndarray of float64, shape (n_documents,)
        Relevance of each document as it was judged, which may be below 0; NaN for documents without
        a judgment. If a document has several judgments, it is the largest.
    ranking : RankedBlock or None
        The retrieved documents of the queries with at least one, ranked; None if no query has one.
    texts : array of pandas
        Ids of the documents of the rows of both tables, those of the judgments first.
    row : ndarray of int64, shape (n_documents,)
        Position of the id of each document in `texts`.
    """

    queries: Queries
    judgments: Floats
    ranking: RankedBlock | None
    texts: Texts
    row: Ints

    @property
    def labels(self) -> Floats:
        """Relevance of each document, 0 if it is negative or unknown, shape (n_documents,)."""
        return np.fmax(self.judgments, 0.0)


def join(
    judgments: pd.DataFrame,
    retrieved: pd.DataFrame,
    *,
    trec_ties: bool,
    queries: str | None,
    subtopics: bool = False,
) -> JudgedRun:
    """Join judgments and a run; see :func:`boostrank.evaluate_run` for the settings.

    Parameters
    ----------
    judgments, retrieved : DataFrame
        Results of :func:`boostrank.runs.trec_tables.as_qrels` and
        :func:`boostrank.runs.trec_tables.as_run`.
    trec_ties : bool
        Whether documents with equal scores are ranked as by trec_eval, by decreasing id, where
        scores are equal if they are equal as float32. Otherwise they stay tied, in the sequence of
        the run.
    queries : {"judged", "common"}, optional
    subtopics : bool, default False
        Whether a document may have several judgments, which differ in their iteration. Its label is
        the largest.

    Raises
    ------
    ValueError
        If no query is in both tables, or a document has several judgments and may not.
    """
    numbered = number_queries(judgments, retrieved)
    is_evaluated = evaluated_queries(numbered, ["the run"], queries)
    texts, documents = number_documents(numbered, judgments, retrieved)
    # A pair is a document of a query.
    pairs = documents.numbers
    n_judgments = len(judgments)
    check_unique(judgments, "qrels", pairs[:n_judgments], subtopics=subtopics)
    check_unique(retrieved, "run", pairs[n_judgments:])
    relevance = np.full(len(documents.firsts), np.nan)
    np.fmax.at(relevance, pairs[:n_judgments], judgments[RELEVANCE].to_numpy())
    n_queries = len(numbered.ids)
    n_rows = np.bincount(numbered.numbers, minlength=n_queries)
    n_found = np.bincount(numbered.numbers[n_judgments:], minlength=n_queries)[is_evaluated]
    counts = (documents.rows >= n_judgments) & np.repeat(is_evaluated, n_rows)
    rows_of_run = documents.rows[counts]
    score = retrieved[SCORE].to_numpy()[rows_of_run - n_judgments]
    if trec_ties:
        # Scores beyond the range of float32 are tied, as with trec_eval.
        with np.errstate(over="ignore"):
            score = score.astype(np.float32)
    ranked_queries = Segments.from_sizes(n_found[n_found > 0])
    ranked = ranked_queries.sort(score)
    score = score[ranked]
    ranked_pairs = pairs[rows_of_run][ranked]
    if trec_ties:
        _sort_ties(ranked_pairs, ranked_queries.runs(score), texts, documents.firsts)
    grouped = Queries.from_sizes(documents.sizes[is_evaluated], numbered.ids[is_evaluated])
    # The documents of a query are sorted by rank, and those that were not retrieved come last.
    was_retrieved = grouped.positions < grouped.repeat(n_found)
    others = np.repeat(is_evaluated, documents.sizes)
    others[ranked_pairs] = False
    pair_of_row = np.empty(grouped.n_rows, dtype=np.int64)
    pair_of_row[was_retrieved] = ranked_pairs
    pair_of_row[~was_retrieved] = np.flatnonzero(others)
    ranks = -grouped.positions.astype(np.float64)
    if not trec_ties:
        ranks[was_retrieved] = score
    ranking = ranking_of(was_retrieved, ranks, grouped)
    row = documents.firsts[pair_of_row]
    return JudgedRun(grouped, relevance[pair_of_row], ranking, texts, row)


def _sort_ties(pairs: Ints, tied: Segments, texts: Texts, first_rows: Ints) -> None:
    """Sort tied pairs by decreasing id of their document, in place.

    Only the ids of tied pairs are compared as texts.
    """
    is_tied = tied.repeat(tied.sizes > 1)
    if not is_tied.any():
        return
    rows = pairs[is_tied]
    runs = tied.repeat(np.arange(tied.n_segments))[is_tied]
    codes, different = pd.Series(texts.take(first_rows[rows])).factorize(sort=True)
    pairs[is_tied] = rows[np.argsort(runs * len(different) - codes)]


def ranking_of(was_retrieved: Bools, score: Floats, queries: Queries) -> RankedBlock | None:
    """The ranking of the documents that were retrieved.

    All documents are sorted by score in each query.
    """
    n_retrieved = queries.sum(was_retrieved.astype(np.int64))
    ranked_queries = np.flatnonzero(n_retrieved)
    if len(ranked_queries) == 0:
        return None
    sizes = n_retrieved[ranked_queries]
    rows = np.flatnonzero(was_retrieved)
    return RankedBlock(ranked_queries, sizes, Segments.from_sizes(sizes), rows, score[rows])


def evaluated_queries(numbered: NumberedQueries, runs: Sequence[str], queries: str | None) -> Bools:
    """Which queries to evaluate, shape (n_queries,).

    A warning names those that only the judgments or only a run has.

    Parameters
    ----------
    numbered : NumberedQueries
        Those of the judgments and of each run.
    runs : sequence of str
        What messages call the runs.
    queries : {"judged", "common"}, optional
        As in :func:`boostrank.compare_runs`.
    """
    if queries is not None:
        check_choice("queries", queries, QUERIES)
    faults = []
    are_judged, *are_in_runs = numbered.are_in
    for run, are_in_run in zip(runs, are_in_runs, strict=True):
        missing = numbered.ids[are_judged & ~are_in_run]
        unknown = numbered.ids[are_in_run & ~are_judged]
        if len(missing) == are_judged.sum():
            ids = f"{shown(unknown)} in the run, {shown(missing)} in qrels"
            raise ValueError(f"{run} has none of the queries of qrels: {ids}")
        if len(missing):
            number = f"{len(missing)} of {are_judged.sum()} queries of qrels"
            faults.append(f"{number} are not in {run} and count as 0 ({shown(missing)})")
        if len(unknown):
            number = f"{len(unknown)} of {are_in_run.sum()} queries of {run}"
            faults.append(f"{number} have no judgments and are left out ({shown(unknown)})")
    if faults and queries is None:
        warn(
            f"{'; '.join(faults)}; pass queries='judged' (--queries judged) for this without a "
            "warning, or queries='common' to evaluate only queries that all of them have, as "
            "trec_eval does"
        )
    if queries != "common":
        return are_judged
    are_in_all: Bools = np.logical_and.reduce(numbered.are_in)
    if not are_in_all.any():
        raise ValueError(f"no query of qrels is in all of them: {', '.join(runs)}")
    return are_in_all


def weights_by_id(sample_weight: ValuesById, ids: Values) -> Floats:
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
    given = by_id(sample_weight, "sample_weight", ids_are_text=True)
    weights = align(given, ids, "sample_weight")
    # One row for each query.
    queries = Queries.from_sizes(np.ones(len(ids), dtype=np.int64), ids)
    return query_weights(weights.to_numpy(), queries)


def groups_by_id(by: ValuesById, name: str, ids: Values, *tables: pd.DataFrame) -> pd.Categorical:
    """The group of each evaluated query.

    Parameters
    ----------
    by : Mapping, Series or DataFrame
        Group by query id.
    name : str
        Name of the argument, for error messages.
    ids : ndarray of object, shape (n_queries,)
        Ids (str) of the evaluated queries.
    *tables : DataFrame
        Checked judgments and runs. Together they have all queries that `by` may have.

    Raises
    ------
    ValueError, TypeError
        As :func:`boostrank.evaluate_run` for `by`.
    """
    groups = by_id(by, name, ids_are_text=True)
    known = np.concatenate([table[QUERY].unique() for table in tables], dtype=object)
    refuse_unknown(groups, known, name)
    return as_groups(align(groups, ids, name))
