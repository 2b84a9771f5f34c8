"""Fusion: one ranking from several runs, or from the scores of several rankers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pandas.api.typing import DataFrameGroupBy

from boostrank.inputs.arrays import Floats, check_lengths, finite_numbers
from boostrank.inputs.checks import check_choice, check_count, check_number, refuse
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.targets import make_targets
from boostrank.queries.queries import Queries
from boostrank.runs.trec_tables import (
    DOCUMENT,
    QUERY,
    RELEVANCE,
    SCORE,
    Source,
    as_qrels,
    as_run,
    check_unique,
)
from boostrank.surrogates import Surrogate, get_surrogate

#: Runs, or arrays of the scores of documents.
Runs: TypeAlias = Mapping[str, Source] | Sequence[Source]


def _by_query(scores: pd.DataFrame) -> DataFrameGroupBy:
    return scores.groupby(level=QUERY, sort=False)


def _min_max(scores: pd.DataFrame) -> pd.DataFrame:
    """Scores from 0 to 1. They are halved before, so that no difference overflows."""
    by_query = _by_query(scores)
    low = 0.5 * by_query.transform("min")
    high = 0.5 * by_query.transform("max")
    return _ratio(0.5 * scores - low, high - low)


def _z_score(scores: pd.DataFrame) -> pd.DataFrame:
    """Standardized scores.

    They are computed from those between 0 and 1: a mean of large equal scores differs from them by
    rounding.
    """
    scaled = _min_max(scores)
    by_query = _by_query(scaled)
    return _ratio(scaled - by_query.transform("mean"), by_query.transform("std", ddof=0))


def _relative_rank(scores: pd.DataFrame) -> pd.DataFrame:
    """Ranks from 1 for the first document to ``1 / n`` for the last."""
    by_query = _by_query(scores)
    return 1.0 - (by_query.rank(ascending=False) - 1.0) / by_query.transform("count")


#: How scores of a run are made comparable with those of others, from the scores by query.
NORMALIZATIONS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "min_max": _min_max,
    "z_score": _z_score,
    "rank": _relative_rank,
    "none": lambda scores: scores,
}
#: How the parts of a document, one for each run that retrieved it, become one score.
METHODS = ("rrf", "combsum", "combmnz")
_MAX_ITERATIONS = 200


def fuse(
    runs: Runs,
    method: str = "rrf",
    *,
    normalize: str = "min_max",
    weights: Mapping[str, float] | ArrayLike | None = None,
    k: float = 60.0,
    qid: ArrayLike | None = None,
) -> Any:
    """Make one ranking from several runs, or from the scores of several rankers.

    The rankers have scored the same documents. A document that a run did not retrieve gets nothing
    from this run. With "z_score" that is as much as for a document of mean score.

    Parameters
    ----------
    runs : dict or sequence of runs, or of arrays if `qid` is given
        At least two. Runs in the forms of :func:`boostrank.evaluate_run`; or arrays of shape
        (n_documents,), such as predictions of rankers for the same rows.
    method : {"rrf", "combsum", "combmnz"}, default "rrf"
        "rrf" is reciprocal rank fusion: the score of a document is the sum of ``1 / (k + rank)``
        over runs. The others take the sum of the normalized scores, and the sum times the number of
        runs that retrieved the document.
    normalize : {"min_max", "z_score", "rank", "none"}, default "min_max"
        How the scores ``s`` of a run and query become comparable; "rrf" does not use it. "min_max"
        is ``(s - min) / (max - min)``, "z_score" is ``(s - mean) / std``, and "rank" is ``1 - (rank
        - 1) / n``. Where all scores of a query are equal, the first two are 0.
    weights : dict of str to float, or sequence of float, optional
        Weight of each run in the sum, such as :func:`fusion_weights` finds; 1 by default.
    k : float, default 60
        Number that is added to the ranks by "rrf". Documents with equal scores have their mean
        rank.
    qid : array-like, shape (n_documents,), optional
        Query of each document, if `runs` are arrays.

    Returns
    -------
    DataFrame or ndarray
        The fused run with the columns "query_id", "doc_id" and "score", sorted by query and
        decreasing score; or the fused scores, float64, of shape (n_documents,), if `qid` is given.

    Raises
    ------
    ValueError
        If there are fewer than two runs, if a run is invalid, if a setting is unknown, if weights
        are negative, all 0, or not one for each run.

    References
    ----------
    Cormack, Clarke and Buettcher, "Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods", SIGIR 2009. Fox and Shaw, "Combination of multiple searches", TREC-2, 1994.

    Examples
    --------
    >>> import boostrank as br
    >>> lexical, dense = {"q": {"a": 9.0, "b": 5.0, "c": 1.0}}, {"q": {"b": 0.9, "d": 0.7}}
    >>> br.fuse([lexical, dense]).round(4)["doc_id"].tolist()
    ['b', 'a', 'd', 'c']
    >>> br.fuse([lexical, dense], "combsum", weights=[3, 1])["score"].tolist()
    [3.0, 2.5, 0.0, 0.0]
    >>> br.fuse([[1.0, 3.0, 2.0], [0.1, 0.2, 0.3]], qid=["q", "q", "q"]).round(4).tolist()
    [0.0317, 0.0325, 0.0325]
    """
    check_choice("method", method, METHODS)
    parts = _parts(_scores_of_runs(runs, qid), method, normalize, k)
    if weights is not None:
        parts = parts * _checked_weights(weights, parts.columns.tolist())
    fused = parts.sum(axis=1)
    if method == "combmnz":
        fused *= parts.notna().sum(axis=1)
    if qid is not None:
        return fused.to_numpy()
    table = fused.rename(SCORE).reset_index()
    queries, _ = pd.factorize(table[QUERY])
    return table.iloc[np.lexsort((-table[SCORE], queries))].reset_index(drop=True)


def fusion_weights(
    labels: Source,
    runs: Runs,
    method: str = "combsum",
    *,
    normalize: str = "min_max",
    k: float = 60.0,
    qid: ArrayLike | None = None,
    dcg: DCG | None = None,
    loss: Surrogate | str = "softmax",
) -> dict[str, float]:
    """Learn the weights of runs in :func:`fuse` from judged queries.

    The loss is consistent with NDCG. The fused score of a document is linear in the weights ``w``,
    so that for a convex surrogate ``L`` the loss ``L(sum_j w_j x_j, u)`` is convex in them, where
    ``x_j`` are the parts of the runs and ``u`` the normalized gains. L-BFGS-B finds its minimum
    over ``w >= 0``. Weights are divided by their sum, which does not change the ranking.

    Parameters
    ----------
    labels : judgments, or array-like of shape (n_documents,) if `qid` is given
        Judgments of the training queries in the forms of :func:`boostrank.evaluate_run`, or labels
        of the rows. Documents without judgment have relevance 0. Queries without a relevant
        document in the runs have no influence.
    runs, normalize, k, qid
        As in :func:`fuse`.
    method : {"combsum", "rrf"}, default "combsum"
        The method for which the weights are.
    dcg : DCG, optional
        Gain, discount and cutoff of NDCG; the default is ``DCG()``.
    loss : str or Surrogate, default "softmax"
        A convex surrogate.

    Returns
    -------
    dict of str to float
        Weight of each run, at least 0; their sum is 1. Runs that are no dict are named "0", "1",
        ...

    Raises
    ------
    ValueError
        As :func:`fuse`; for a surrogate that is not convex, or if no training query has a relevant
        document.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=100, random_state=0)
    >>> noise = np.random.default_rng(0).normal(size=len(y))
    >>> weights = br.fusion_weights(y, {"good": y + noise, "noise": noise[::-1]}, qid=qid)
    >>> weights["good"] > 0.9
    True
    """
    check_choice("method", method, ("rrf", "combsum"))
    surrogate = get_surrogate(loss) if isinstance(loss, str) else loss
    if not surrogate.convex:
        refuse("loss", loss, "a convex surrogate, such as 'softmax'")
    scores = _scores_of_runs(runs, qid)
    if qid is None:
        queries = Queries.from_qid(scores.index.get_level_values(QUERY).astype(object))
        by_document = as_qrels(labels).groupby([QUERY, DOCUMENT], sort=False)[RELEVANCE].max()
        # Documents without a judgment have the relevance 0.
        relevance = np.fmax(by_document.reindex(scores.index).to_numpy(), 0.0)
    else:
        queries = Queries.from_qid(qid)
        relevance = finite_numbers(labels, "labels", runs=len(scores))
    targets = make_targets(queries.group(relevance), queries, dcg)
    if not targets.any():
        raise ValueError("labels must have a relevant document that is in a run; there is none")
    parts = _parts(scores, method, normalize, k).fillna(0.0)
    # The parts of "rrf" are small numbers: the optimizer needs columns of similar size.
    sizes = (parts.max() - parts.min()).replace(0.0, 1.0)
    x = queries.group((parts / sizes).to_numpy())

    def value_and_gradient(w: Floats) -> tuple[float, Floats]:
        fused = x @ w
        gradient, _ = surrogate.gradient_hessian(fused, targets, queries)
        return float(surrogate.loss(fused, targets, queries).sum()), x.T @ gradient

    from scipy.optimize import minimize

    n = x.shape[1]
    found = minimize(
        value_and_gradient,
        np.ones(n),
        jac=True,
        bounds=[(0.0, None)] * n,
        options={"maxiter": _MAX_ITERATIONS},
    )
    solution = found.x / sizes
    # If no run helps, they have equal weights.
    weights = np.full(n, 1.0 / n)
    if solution.sum() > 0.0:
        weights = solution / solution.sum()
    return dict(zip(parts.columns.tolist(), weights.tolist(), strict=True))


def _scores_of_runs(runs: Runs, qid: ArrayLike | None) -> pd.DataFrame:
    """The scores that each run gives to the documents of all runs, NaN if it has none.

    The rows are documents by query and id, in the sequence of their first rows; of arrays, by query
    and row.
    """
    if not isinstance(runs, Mapping):
        runs = {str(i): run for i, run in enumerate(runs)}
    check_count("the number of runs", len(runs), 2)
    if qid is not None:
        query = Queries.from_qid(qid).qid
        columns = {name: finite_numbers(run, f"run {name}") for name, run in runs.items()}
        for name, column in columns.items():
            check_lengths(qid=len(query), **{f"run {name}": len(column)})
        rows = pd.MultiIndex.from_arrays([query, np.arange(len(query))], names=[QUERY, DOCUMENT])
        return pd.DataFrame(columns, index=rows)
    scores = {}
    for name, run in runs.items():
        table = as_run(run)
        check_unique(table, f"run {name}")
        scores[name] = table.set_index([QUERY, DOCUMENT])[SCORE]
    return pd.concat(scores, axis=1, sort=False)


def _parts(scores: pd.DataFrame, method: str, normalize: str, k: float) -> pd.DataFrame:
    """The part of each run in the score of each document; NaN where the run did not retrieve it."""
    check_choice("normalize", normalize, NORMALIZATIONS)
    check_number("k", k, smallest=0.0)
    if method == "rrf":
        return 1.0 / (k + _by_query(scores).rank(ascending=False))
    return NORMALIZATIONS[normalize](scores)


def _ratio(numerators: pd.DataFrame, denominators: pd.DataFrame) -> pd.DataFrame:
    """The quotient, 0 where the denominator is 0."""
    return numerators / denominators.where(denominators != 0.0, 1.0)


def _checked_weights(weights: Mapping[str, float] | ArrayLike, names: Sequence[str]) -> Floats:
    """The weights of the runs, in the sequence of their names."""
    if isinstance(weights, Mapping):
        if set(weights) != set(names):
            raise ValueError(
                f"weights must have the names of the runs, {', '.join(names)}; "
                f"got {', '.join(weights)}"
            )
        weights = [weights[name] for name in names]
    values = finite_numbers(weights, "weights", runs=len(names))
    if (values < 0.0).any() or not values.any():
        refuse("weights", values.tolist(), "at least 0, and not all 0")
    return values
