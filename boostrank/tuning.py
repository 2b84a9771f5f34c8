"""scikit-learn's model selection with the query ids handed on: no setting to remember, no fold that cuts a query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import sklearn
from numpy.typing import ArrayLike
from sklearn import model_selection
from sklearn.pipeline import Pipeline

from boostrank.frames import find_qid, require_qid
from boostrank.metrics import make_scorer
from boostrank.model_selection import QueryKFold
from boostrank.queries import Ints, Queries

Folds = list[tuple[Ints, Ints]]


def cross_validate(
    ranker: Any, X: Any, y: ArrayLike, qid: ArrayLike | None = None, *, cv: Any = 5, scoring: Any = None, **options: Any
) -> dict[str, Any]:
    """scikit-learn's ``cross_validate`` on whole queries, with metadata routing on for this call.

    Parameters
    ----------
    ranker : estimator
        A ranker, or a Pipeline that ends with one.
    X : array-like, sparse matrix or DataFrame, shape (n_documents, n_features)
    y : array-like, shape (n_documents,)
    qid : array-like, shape (n_documents,), optional
        May be left out when `X` holds a column or an index level "qid".
    cv : int, splitter or iterable of (train, test), default 5
        An integer means :class:`boostrank.QueryKFold`.
    scoring : str, scorer, list of str or dict, default "ndcg@10"
        As in :func:`boostrank.make_scorer`. A list or a dict gives a column for each.
    **options
        Further arguments of scikit-learn's function, such as `n_jobs` or `return_train_score`.

    Returns
    -------
    dict of ndarray
        As from scikit-learn: ``"test_score"`` (or ``"test_<name>"``) for each fold, and ``"test_n_estimators"``, the
        number of boosting rounds that each model predicts with (found by early stopping where that is on).

    Raises
    ------
    ValueError
        If there are no query ids, or a fold has rows of one query on both sides.

    Examples
    --------
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=40, random_state=0)
    >>> cross_validate(br.LightGBMRanker(n_estimators=5), X, y, qid, cv=3)["test_score"].shape
    (3,)
    """
    X, qid, folds = _folds(X, y, qid, cv)
    with sklearn.config_context(enable_metadata_routing=True):
        return model_selection.cross_validate(
            ranker, X, y, cv=folds, scoring=_scorers(scoring), params={"qid": qid}, **options
        )


def grid_search(
    ranker: Any,
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
    X: Any,
    y: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    cv: Any = 5,
    scoring: Any = None,
    **options: Any,
) -> model_selection.GridSearchCV:
    """scikit-learn's ``GridSearchCV`` on whole queries, fitted, with metadata routing on for this call.

    Parameters
    ----------
    ranker, X, y, qid, cv, scoring
        As in :func:`cross_validate`. Every candidate is scored alike, whatever `k` and `gain` it is trained with.
    grid : dict, or list of dict
        Values to try by parameter. Native objectives such as "lambdarank" are values of `objective` like any other.
    **options
        Further arguments of ``GridSearchCV``. With several scorers `refit` is the name of the first by default.

    Returns
    -------
    sklearn.model_selection.GridSearchCV
        Fitted; ``cv_results_["mean_test_n_estimators"]`` is the mean number of rounds that models predict with.

    Raises
    ------
    ValueError
        As :func:`cross_validate`.

    Examples
    --------
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=40, random_state=0)
    >>> grid = {"objective": ["softmax", "lambdarank"]}
    >>> search = grid_search(br.LightGBMRanker(n_estimators=5), grid, X, y, qid, cv=3)
    >>> len(search.cv_results_["mean_test_score"])
    2
    """
    X, qid, folds = _folds(X, y, qid, cv)
    scorers = _scorers(scoring)
    options = {"refit": next(iter(scorers)), **options}
    with sklearn.config_context(enable_metadata_routing=True):
        return model_selection.GridSearchCV(ranker, grid, cv=folds, scoring=scorers, **options).fit(X, y, qid=qid)


def _folds(X: Any, y: ArrayLike, qid: ArrayLike | None, cv: Any) -> tuple[Any, Any, Folds]:
    """Features, query ids, and folds of which none cuts a query."""
    X, qid = find_qid(X, qid, y)
    queries = Queries.from_qid(require_qid(qid, "cross-validation"))
    splitter = QueryKFold(cv) if isinstance(cv, int) else cv
    folds: Iterable[tuple[Ints, Ints]] = splitter.split(X, y, queries.qid) if hasattr(splitter, "split") else splitter
    checked = [(np.arange(queries.n_documents)[train], np.arange(queries.n_documents)[test]) for train, test in folds]
    number = queries.ungroup(queries.spread(np.arange(queries.n_queries)))
    for train, test in checked:
        shared = np.intersect1d(number[train], number[test])
        if len(shared):
            raise ValueError(
                f"cv has a fold with rows of query {str(queries.ids[shared[0]])!r} (and {len(shared) - 1} others) on "
                "both sides, to train and to test on: use QueryKFold or another splitter by groups"
            )
    return X, queries.qid, checked


def _scorers(scoring: Any) -> dict[str, Any]:
    if scoring is None or isinstance(scoring, str) or callable(scoring):
        scoring = {"score": "ndcg@10" if scoring is None else scoring}
    elif not isinstance(scoring, Mapping):
        scoring = {name: name for name in scoring}
    scorers = {name: make_scorer(scorer) if isinstance(scorer, str) else scorer for name, scorer in scoring.items()}
    return scorers | {"n_estimators": _n_estimators}


def _n_estimators(estimator: Any, X: Any, y: Any = None) -> float:
    """A scorer that reports the rounds of a fitted ranker."""
    ranker = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    return float(getattr(ranker, "best_iteration_", np.nan))
