"""Splits and folds of whole queries: no query is both trained and tested on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator, GroupKFold, check_cv
from sklearn.utils.validation import _num_samples

from boostrank.datasets import Dataset, Fold
from boostrank.inputs.arrays import Ints, check_lengths
from boostrank.inputs.checks import (
    EstimatorSeed,
    as_random_state,
    check_count,
    check_number,
    named_part,
)
from boostrank.ndcg.labels import Labels
from boostrank.queries.queries import (
    Features,
    Queries,
    draw_queries_to_hold_out,
    find_qid,
    positions_by_id,
    require_qid,
)

#: A number of folds, what makes folds, or pairs of row numbers.
Splitter: TypeAlias = int | BaseCrossValidator | Iterable[tuple[ArrayLike, ArrayLike]] | None


class QueryKFold(GroupKFold):
    """K folds of whole queries: scikit-learn's ``GroupKFold`` with the query ids as groups.

    With metadata routing enabled, ``GridSearchCV(..., cv=QueryKFold(5)).fit(X, y, qid=qid)`` passes
    the query ids to the splitter, the estimator and the scorer. Without metadata routing, X must be
    a DataFrame with a column or an index level named "qid".

    Parameters
    ----------
    n_splits : int, default 5
        Number of folds.
    shuffle : bool, default False
        False: the folds have about the same number of documents. True: queries are assigned to
        folds at random.
    random_state : int, RandomState or None
        EstimatorSeed of the shuffling.

    Raises
    ------
    ValueError
        By `split`, if there are no query ids, if one is missing, or if there are fewer queries than
        folds.

    Notes
    -----
    scikit-learn's ``learning_curve``, and ``HalvingGridSearchCV`` with samples as its resource,
    take parts of the training rows of a fold, and so cut queries apart with every splitter. Use
    :func:`boostrank.model_selection.learning_curve`, and ``n_estimators`` as the resource of a
    search.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> qid = ["a", "a", "b", "b", "c", "c"]
    >>> [test.tolist() for _, test in br.QueryKFold(n_splits=3).split(np.zeros((6, 1)), groups=qid)]
    [[4, 5], [2, 3], [0, 1]]
    """

    __metadata_request__split: ClassVar = {"groups": "qid"}

    def split(
        self, X: Features, y: ArrayLike | Labels | None = None, groups: ArrayLike | None = None
    ) -> Iterator[tuple[Ints, Ints]]:
        """Yield the row numbers to train on and those to test on, for each fold.

        Parameters
        ----------
        X : array-like or DataFrame of n_documents rows
        y
            Not used; labels of clicks or preferences may have the query ids.
        groups : array-like, shape (n_documents,), optional
            Query ids; may be left out if `X` is a DataFrame with a column or an index level named
            "qid".
        """
        _, qid = find_qid(X, groups, y, name="groups")
        queries = Queries.from_qid(require_qid(qid, "QueryKFold.split"))
        check_lengths(X=_num_samples(X), qid=queries.n_documents)
        if queries.n_queries < self.n_splits:
            raise ValueError(
                f"{self.n_splits} folds need at least {self.n_splits} queries; got "
                f"{queries.n_queries}"
            )
        as_random_state(self.random_state)
        number = queries.ungroup(queries.repeat(positions_by_id(queries.ids)))
        yield from super().split(X, y, number)


def split_queries(
    qid: ArrayLike, fraction: float, random_state: EstimatorSeed = None
) -> tuple[Ints, Ints]:
    """Divide rows at random into rows to keep and to hold out, each query in one of the parts.

    Parameters
    ----------
    qid : array-like, shape (n_documents,)
        Query id of each row.
    fraction : float in (0, 1)
        Share of the queries to hold out. Their number is rounded, and each part has at least one
        query.
    random_state : int, RandomState or None
        EstimatorSeed of the choice.

    Returns
    -------
    keep, hold_out : ndarray of int64
        Increasing row numbers.

    Raises
    ------
    ValueError
        If `fraction` is not in (0, 1), or there are fewer than two queries.

    Examples
    --------
    >>> import boostrank as br
    >>> keep, hold_out = br.split_queries([1, 1, 2, 2, 3, 3, 4, 4], 0.25, random_state=0)
    >>> keep.tolist(), hold_out.tolist()
    ([0, 1, 2, 3, 6, 7], [4, 5])
    """
    queries = Queries.from_qid(qid)
    check_number("fraction", fraction, above=0, below=1)
    held_out = draw_queries_to_hold_out(queries.n_queries, fraction, as_random_state(random_state))
    return queries.original_rows_of(~held_out), queries.original_rows_of(held_out)


class Folds(list[tuple[Ints, Ints]]):
    """Folds of whole queries: pairs of row numbers to train and to test on, not to be printed."""

    def __repr__(self) -> str:
        return f"<{len(self)} folds of queries>"


def make_folds(X: Features, y: ArrayLike | Labels, queries: Queries, cv: Splitter) -> Folds:
    """The folds of a number of folds, a splitter, or pairs of row numbers.

    Raises
    ------
    ValueError
        If `cv` is none of these, or a fold has rows of one query to train and to test on.
    """
    if isinstance(cv, (int, np.integer)) and cv >= 2:
        cv = QueryKFold(int(cv))
    rows = np.arange(queries.n_documents)
    pairs = check_cv(cv).split(X, y, queries.qid)
    folds = Folds((rows[train], rows[test]) for train, test in pairs)
    number = queries.ungroup(queries.repeat(np.arange(queries.n_queries)))
    for train, test in folds:
        shared = np.intersect1d(number[train], number[test])
        if len(shared):
            raise ValueError(
                f"cv has a fold with rows of query {str(queries.ids[shared[0]])!r} (and "
                f"{len(shared) - 1} others) on both sides, to train and to test on: use "
                "QueryKFold or another splitter by groups"
            )
    return folds


def query_folds(
    data: Dataset,
    n_splits: int = 5,
    *,
    random_state: EstimatorSeed = 0,
    test_labels: Any = None,
) -> list[Fold]:
    """Make folds of a data set for training, validation and test, none of which cuts a query.

    The queries are divided at random into `n_splits` parts of equal numbers of queries. Each fold
    has one part to test on, the next part to validate on, and the other parts to train on.

    Parameters
    ----------
    data : Dataset
    n_splits : int, default 5
        Number of folds, at least 3.
    random_state : int, RandomState or None, default 0
        EstimatorSeed of the division.
    test_labels : array-like, shape (n_documents,), optional
        Labels of all rows for the parts to test on, in place of ``data.y``. With ClickLabels as
        ``data.y`` and the true labels here, rankers learn from clicks and stop early by them, and
        are judged by the true labels.

    Returns
    -------
    list of Fold

    Raises
    ------
    ValueError
        If `n_splits` is below 3 or above the number of queries, if `test_labels` has another number
        of rows, and if clicks have no impression in a part of a fold.

    Examples
    --------
    >>> import boostrank as br
    >>> data = br.Dataset(*br.make_ranking(n_queries=10, random_state=0))
    >>> folds = br.query_folds(data, n_splits=5)
    >>> len(folds), folds[0].name, len(set(folds[0].test.qid))
    (5, 'Fold1', 2)
    """
    # A fold has a part to train on, one to validate on and one to test on.
    check_count("n_splits", n_splits, smallest=3)
    splitter = QueryKFold(n_splits, shuffle=True, random_state=random_state)
    tests = [test for _, test in splitter.split(data.qid, groups=data.qid)]
    check_lengths(X=len(data.qid), y=len(data.y))
    tested = data
    if test_labels is not None:
        tested = data._replace(y=test_labels)
        check_lengths(X=len(data.qid), test_labels=len(tested.y))
    folds = []
    for i, test in enumerate(tests):
        name = f"Fold{i + 1}"
        validation = tests[(i + 1) % n_splits]
        train = np.setdiff1d(np.arange(len(data.qid)), np.concatenate([test, validation]))
        # Clicks may have no impression of any of the rows of a part.
        with named_part(f"{name}, the part to train on"):
            to_train = data.take(train)
        with named_part(f"{name}, the part to validate on"):
            to_validate = data.take(validation)
        with named_part(f"{name}, the part to test on"):
            to_test = tested.take(test)
        folds.append(Fold(name, to_train, to_validate, to_test))
    return folds


def with_validation(fold: Fold, *, fraction: float = 0.2, random_state: EstimatorSeed = 0) -> Fold:
    """Return the fold with validation data.

    Parameters
    ----------
    fold : Fold
        Returned unchanged if it has validation data.
    fraction : float in (0, 1), default 0.2
        Otherwise, this share of its training queries is taken at random as validation data.
    random_state : int, RandomState or None, default 0
        EstimatorSeed of the choice.

    Examples
    --------
    >>> import boostrank as br
    >>> data = br.Dataset(*br.make_ranking(n_queries=10, random_state=0))
    >>> fold = br.model_selection.with_validation(
    ...     br.datasets.Fold("Fold1", train=data, validation=None, test=data)
    ... )
    >>> len(set(fold.train.qid)), len(set(fold.validation.qid))
    (8, 2)
    """
    check_number("fraction", fraction, above=0, below=1)
    if fold.validation is not None:
        return fold
    keep, hold_out = split_queries(fold.train.qid, fraction, random_state)
    return fold._replace(train=fold.train.take(keep), validation=fold.train.take(hold_out))
