"""Comparison of runs, given relevance judgments, by paired tests over queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from boostrank.comparison.comparison import Comparison, check_named
from boostrank.comparison.differences import GROUP
from boostrank.comparison.versions import versions
from boostrank.inputs.checks import named_part
from boostrank.metrics.labels import fractions_are_named, warn_of_fractions
from boostrank.queries.by_id import ValuesById
from boostrank.queries.groups import number_groups
from boostrank.runs import evaluate_run
from boostrank.runs.evaluation import (
    MeasuresOfRuns,
    evaluated_queries,
    groups_by_id,
    measures_of_runs,
)
from boostrank.runs.trec_tables import (
    DOCUMENT,
    QUERY,
    RELEVANCE,
    Source,
    as_qrels,
    as_run,
    number_queries,
)


def compare_runs(
    qrels: Source,
    runs: Mapping[str, Source],
    measures: MeasuresOfRuns = ("nDCG@10",),
    *,
    ties: str = "trec_eval",
    queries: str | None = None,
    baseline: str | None = None,
    groups: ValuesById | None = None,
    n_permutations: int = 10_000,
    random_state: int | None = 0,
) -> Comparison:
    """Compare the measures of runs with those of a baseline, given relevance judgments.

    All runs are evaluated on the same queries, and differences are paired by query. Each run is
    joined with the judgments and sorted once for all measures.

    Parameters
    ----------
    qrels : DataFrame, dict of dicts, iterable of named tuples, or object of ranx
        Judgments, as in :func:`boostrank.evaluate_run`.
    runs : dict of str to run
        Runs by name, each in one of the forms of :func:`boostrank.evaluate_run`.
    measures : str or Measure, or list or dict of them, default ("nDCG@10",)
        As in :func:`boostrank.evaluate_run`. Counts, such as "NumRet", are compared by their means
        over queries.
    ties
        As in :func:`boostrank.evaluate_run`.
    queries : {"judged", "common"}, optional
        Which queries are evaluated. "judged": all queries that have judgments; a run has the value
        0 for those that it misses. "common": queries that have judgments and are in all runs. The
        default is "judged", with a warning if a run misses a query, or has queries without
        judgments, which are never evaluated.
    baseline : str, optional
        Name of the run to compare with; the first one by default.
    groups : Mapping, Series or DataFrame, optional
        Group of each query by query id, as in :func:`boostrank.evaluate_run`, where queries belong
        together, such as the variations of a topic: tests, intervals and effects are by group, as
        those of :func:`boostrank.permutation_test`, while means are still those over queries.
    n_permutations : int, default 10_000
        As in :func:`boostrank.permutation_test`.
    random_state : int or None, default 0
        Seed of the permutation tests.

    Returns
    -------
    Comparison
        With the kind "run": its column of names is "run", and it has no folds and no rounds.

    Raises
    ------
    ValueError
        If `baseline` is not the name of a run, if there is no common query, for geometric means
        ("gm_map"), if an evaluated query has no group or all are in one, and as
        :func:`boostrank.evaluate_run`.
    TypeError
        If `runs` is not a dict of one or more runs by name, or a table or values by query id have
        another form.

    Warns
    -----
    UserWarning
        If `queries` is not given, and a run misses a query or has queries without judgments.

    Examples
    --------
    >>> import boostrank as br
    >>> qrels = {"1": {"a": 1, "b": 0}, "2": {"a": 0, "b": 1}, "3": {"a": 1, "b": 2}}
    >>> bm25 = {query: {"a": 2.0, "b": 1.0} for query in "123"}
    >>> dense = {query: {"a": 1.0, "b": 2.0} for query in "123"}
    >>> comparison = br.compare_runs(qrels, {"bm25": bm25, "dense": dense}, ["RR", "nDCG@1"])
    >>> print(comparison)
    RR, compared with bm25
    run      mean     diff  p (Holm)  w/t/l
    ───────────────────────────────────────
    bm25   0.8333
    dense  0.8333  +0.0000      >0.5  1/1/1
    dense does not differ significantly from bm25.
    <BLANKLINE>
    nDCG@1 (linear gain), compared with bm25
    run      mean     diff  p (Holm)  w/t/l
    ───────────────────────────────────────
    bm25   0.5000
    dense  0.6667  +0.1667      >0.5  2/0/1
    dense does not differ significantly from bm25.
    """
    baseline = check_named("run", runs, baseline)
    named = measures_of_runs(measures)
    for name, measure in named.items():
        if getattr(measure, "summary", "") == "geometric mean":
            raise ValueError(
                f"{name} is a geometric mean, and runs are compared by means: use map or bpref"
            )
    all_judgments = as_qrels(qrels)
    tables = {}
    for name, run in runs.items():
        with named_part(f"the run {name}"):
            tables[name] = as_run(run)
    numbered = number_queries(all_judgments, *tables.values())
    is_evaluated = evaluated_queries(numbered, [f"the run {name}" for name in tables], queries)
    query_of_judgments = numbered.numbers[: len(all_judgments)]
    judgments = all_judgments[is_evaluated[query_of_judgments]]
    relevant = judgments[judgments[RELEVANCE] > 0].groupby(QUERY)[DOCUMENT].nunique()
    warn_of_fractions(named.values(), judgments[RELEVANCE].to_numpy())
    group_of_query = None
    if groups is not None:
        ids = numbered.ids[is_evaluated]
        of_ids = groups_by_id(groups, "groups", ids, all_judgments, *tables.values())
        group_of_query = pd.Series(np.asarray(of_ids, dtype=object), index=ids, dtype=object)
        number_groups(group_of_query.to_numpy())
    by_run = []
    for name, table in tables.items():
        with named_part(f"the run {name}"), fractions_are_named():
            values = evaluate_run(
                judgments, table, named, ties=ties, queries="judged", per_query=True
            )
        ids = values.index.to_numpy()
        n_relevant = relevant.reindex(ids, fill_value=0).to_numpy()
        by_run.append(values.assign(run=name, query=ids, relevant=n_relevant))
    per_query = pd.concat(by_run, ignore_index=True)[["run", "query", "relevant", *named]]
    if group_of_query is not None:
        per_query.insert(2, GROUP, group_of_query.reindex(per_query["query"]).array)
    tests: dict[str, Any] = {"n_permutations": n_permutations, "random_state": random_state}
    settings = {"ties": ties, "queries": queries} | tests
    texts = {name: str(value) for name, value in settings.items()}
    texts["versions"] = versions()
    return Comparison(per_query, list(named), baseline, "run", settings=texts, **tests)
