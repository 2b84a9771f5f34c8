"""Splits that keep queries whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import GroupKFold
from sklearn.utils import check_random_state

from boostrank.dcg import check_relevance
from boostrank.frames import find_qid, require_qid
from boostrank.queries import Ints, Queries


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
        Spread queries without a relevant document (no label above 0) evenly: such a query counts 0 or 1 whatever the
        ranker does, so their share moves the score of a fold.

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
