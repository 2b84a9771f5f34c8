"""Model selection that keeps queries whole: splits and folds by query, cross-validation and grid search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import sklearn
from numpy.typing import ArrayLike
from sklearn import model_selection
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from boostrank.datasets import Dataset, Fold
from boostrank.dcg import check_relevance
from boostrank.frames import find_qid, require_qid
from boostrank.metrics import Measure, make_scorer
from boostrank.queries import Queries
from boostrank.segments import Ints

Folds = list[tuple[Ints, Ints]]


class QueryKFold(GroupKFold):
    """K folds of whole queries; scikit-learn's ``GroupKFold`` that takes its groups from `qid`.

    With metadata routing on, ``GridSearchCV(..., cv=QueryKFold(5)).fit(X, y, qid=qid)`` hands the query ids to the
    splitter, the estimator and the scorer. With routing off, they are those of a DataFrame's column or index level
    named "qid".

    Parameters
    ----------
    n_splits : int, default 5
    shuffle : bool, default False
        False balances the number of documents over folds; True assigns whole queries at random.
    random_state : int, RandomState or None
        Seed of the shuffling.
    stratify : bool, default False
        Distribute queries without a relevant document (no label above 0) evenly over the folds: such a query counts
        0 or 1 whatever the ranker does, so their share moves the score of a fold.

    Notes
    -----
    What takes parts of the training rows after splitting, as scikit-learn's ``learning_curve`` and
    ``HalvingGridSearchCV`` over samples do, cuts queries apart whatever the splitter. Vary ``n_estimators``, or take
    parts of the queries yourself (:func:`split_queries`).

    Raises
    ------
    ValueError
        By `split`, if there are no query ids, one is missing, or there are fewer queries than folds.

    Examples
    --------
    >>> qid = ["a", "a", "b", "b", "c", "c"]
    >>> [test.tolist() for _, test in QueryKFold(n_splits=3).split(np.zeros((6, 1)), groups=qid)]
    [[4, 5], [2, 3], [0, 1]]
    """

    __metadata_request__split: ClassVar = {"groups": "qid"}

    def __init__(
        self, n_splits: int = 5, *, shuffle: bool = False, random_state: Any = None, stratify: bool = False
    ) -> None:
        super().__init__(n_splits, shuffle=shuffle, random_state=random_state)
        self.stratify = stratify

    def split(self, X: Any, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> Iterator[tuple[Ints, Ints]]:
        """Rows to train and to test on, for each fold.

        Parameters
        ----------
        X : array-like or DataFrame of n_documents rows
        y : array-like, shape (n_documents,), optional
            Labels; needed to stratify.
        groups : array-like, shape (n_documents,), optional
            Query ids; may be left out when `X` holds them.
        """
        _, qid = find_qid(X, groups, y)
        queries = Queries.from_qid(require_qid(qid, "QueryKFold.split"))
        if self.stratify:
            yield from self._stratified(queries, y)
        else:
            yield from super().split(X, y, queries.qid)

    def _stratified(self, queries: Queries, y: ArrayLike | None) -> Iterator[tuple[Ints, Ints]]:
        if y is None:
            raise ValueError("QueryKFold(stratify=True) needs the labels: pass y to split")
        if queries.n_queries < self.n_splits:
            raise ValueError(f"n_splits={self.n_splits} folds need as many queries; got {queries.n_queries}")
        relevant = queries.max(queries.group(check_relevance(y))) > 0
        random = check_random_state(self.random_state)
        order = random.permutation(queries.n_queries) if self.shuffle else np.argsort(-queries.sizes, kind="stable")
        order = order[np.argsort(~relevant[order], kind="stable")]
        # Dealt back and forth, large queries first, folds differ by one query in each stratum and little in documents.
        there = np.arange(self.n_splits)
        fold = np.empty(queries.n_queries, dtype=np.int64)
        fold[order] = np.resize(np.concatenate([there, there[::-1]]), queries.n_queries)
        for i in range(self.n_splits):
            yield queries.take(fold != i), queries.take(fold == i)


def split_queries(qid: ArrayLike, fraction: float, random_state: Any = None) -> tuple[Ints, Ints]:
    """Rows to keep and rows to hold out, in their given order, such that no query is in both.

    Parameters
    ----------
    qid : array-like, shape (n_documents,)
    fraction : float in (0, 1)
        Share of the queries to hold out, rounded; at least one query is on each side.
    random_state : int, RandomState or None

    Raises
    ------
    ValueError
        If `fraction` is not in (0, 1), or there are fewer than two queries.

    Examples
    --------
    >>> keep, hold_out = split_queries([1, 1, 2, 2, 3, 3, 4, 4], 0.25, random_state=0)
    >>> keep.tolist(), hold_out.tolist()
    ([0, 1, 2, 3, 6, 7], [4, 5])
    """
    queries = Queries.from_qid(qid)
    if not 0 < fraction < 1:
        raise ValueError(f"the fraction of queries to hold out must be in (0, 1); got {fraction!r}")
    if queries.n_queries < 2:
        raise ValueError("to hold out queries there must be at least two; got one")
    n_held = int(np.clip(round(fraction * queries.n_queries), 1, queries.n_queries - 1))
    shuffled = check_random_state(random_state).permutation(queries.n_queries)
    return queries.take(shuffled[n_held:]), queries.take(shuffled[:n_held])


def query_folds(data: Dataset, n_splits: int = 5, *, random_state: Any = 0) -> list[Fold]:
    """Folds of one data set by query: a part to test on, the next one to validate on, and the rest to train on.

    Examples
    --------
    >>> from boostrank.datasets import Dataset, make_ranking
    >>> folds = query_folds(Dataset(*make_ranking(n_queries=10, random_state=0)), n_splits=5)
    >>> len(folds), folds[0].name, len(set(folds[0].test.qid))
    (5, 'Fold1', 2)
    """
    if n_splits < 3:
        raise ValueError(f"n_splits must be at least 3, to train, validate and test on; got {n_splits}")
    splitter = QueryKFold(n_splits, shuffle=True, random_state=random_state)
    tests = [test for _, test in splitter.split(data.qid, groups=data.qid)]
    folds = []
    for i, test in enumerate(tests):
        validation = tests[(i + 1) % n_splits]
        train = np.setdiff1d(np.arange(len(data.qid)), np.concatenate([test, validation]))
        folds.append(Fold(f"Fold{i + 1}", *(data.take(rows) for rows in (train, validation, test))))
    return folds


def with_validation(fold: Fold, *, fraction: float = 0.2, random_state: Any = 0) -> Fold:
    """The fold with validation data: if it has none, a share of its training queries is set apart as such."""
    if fold.validation is not None:
        return fold
    keep, hold_out = split_queries(fold.train.qid, fraction, random_state)
    return fold._replace(train=fold.train.take(keep), validation=fold.train.take(hold_out))


def cross_validate(
    ranker: Any,
    X: Any,
    y: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    cv: Any = 5,
    scoring: Any = "ndcg@10",
    **options: Any,
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
    scoring : str, Measure or scorer, or list or dict of them, default "ndcg@10"
        Measures as in :func:`boostrank.get_measure`, or scorers such as of :func:`boostrank.make_scorer`. A list or a
        dict gives a column for each.
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
    scoring: Any = "ndcg@10",
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
    number = queries.ungroup(queries.repeat(np.arange(queries.n_queries)))
    for train, test in checked:
        shared = np.intersect1d(number[train], number[test])
        if len(shared):
            raise ValueError(
                f"cv has a fold with rows of query {str(queries.ids[shared[0]])!r} (and {len(shared) - 1} others) on "
                "both sides, to train and to test on: use QueryKFold or another splitter by groups"
            )
    return X, queries.qid, checked


def _scorers(scoring: Any) -> dict[str, Any]:
    """Scorers by name, with one for the number of rounds."""
    if isinstance(scoring, str) or callable(scoring):
        scoring = {"score": scoring}
    elif not isinstance(scoring, Mapping):
        scoring = {str(measure): measure for measure in scoring}
    scorers = {
        name: make_scorer(scorer) if isinstance(scorer, (str, Measure)) else scorer for name, scorer in scoring.items()
    }
    return {**scorers, "n_estimators": _n_estimators}


def _n_estimators(estimator: Any, X: Any, y: Any = None) -> float:
    """A scorer that reports the rounds of a fitted ranker."""
    ranker = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    return float(getattr(ranker, "best_iteration_", np.nan))
