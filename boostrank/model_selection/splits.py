"""Splits and folds of whole queries: no query is both trained and tested on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import BaseCrossValidator, GroupKFold, check_cv
from sklearn.utils.validation import _num_samples

from boostrank.datasets import Dataset, Fold
from boostrank.inputs.arrays import Ints, as_array, check_lengths
from boostrank.inputs.checks import (
    EstimatorSeed,
    as_random_state,
    check_count,
    check_number,
    named_part,
)
from boostrank.inputs.table import Table
from boostrank.inputs.warnings import warn
from boostrank.model_selection.time_split import QueryTimeSplit
from boostrank.ndcg.labels import Labels
from boostrank.queries.equal_lists import numbers_of_lists
from boostrank.queries.groups import joined, numbers_of_groups
from boostrank.queries.queries import (
    Features,
    Queries,
    draw_queries_to_hold_out,
    find_qid,
    positions_by_id,
    require_qid,
)
from boostrank.queries.segments import Values
from boostrank.training.data import grouped_features

#: A number of folds, what makes folds, or pairs of row numbers.
Splitter: TypeAlias = int | BaseCrossValidator | Iterable[tuple[ArrayLike, ArrayLike]] | None
#: With a larger share of queries that are copies of others, scores are too good.
MAX_COPIES = 0.05


class QueryKFold(GroupKFold):
    """K folds of whole queries: scikit-learn's ``GroupKFold`` with the query ids as groups.

    With metadata routing enabled, ``GridSearchCV(..., cv=QueryKFold(5)).fit(X, y, qid=qid)`` passes
    the query ids to the splitter, the estimator and the scorer, and ``fit(X, y, qid=qid,
    groups=users)`` groups of queries that are not divided to the splitter and the estimator.
    Without metadata routing, X must be a DataFrame with a column or an index level named "qid".

    Parameters
    ----------
    n_splits : int, default 5
        Number of folds.
    shuffle : bool, default False
        False: the folds have about the same number of documents. True: queries are assigned to
        folds at random.
    random_state : int, RandomState or None
        Seed of the shuffling.

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

    __metadata_request__split: ClassVar = {"groups": True, "qid": True}

    def split(
        self,
        X: Features,
        y: ArrayLike | Labels | None = None,
        groups: ArrayLike | None = None,
        qid: ArrayLike | None = None,
    ) -> Iterator[tuple[Ints, Ints]]:
        """Yield the row numbers to train on and those to test on, for each fold.

        Parameters
        ----------
        X : array-like or DataFrame of n_documents rows
        y : optional
            Labels of clicks or preferences may have the query ids. Lists with equal rows of `X` and
            equal labels under different ids are copies, and are in one fold.
        groups : array-like, shape (n_documents,), optional
            Query ids; or, with `qid` or a column or an index level "qid" of `X`, the group of each
            row, or of each query: no fold divides a group.
        qid : array-like, shape (n_documents,), optional
            Query ids; may be left out if `X` is a DataFrame with a column or an index level named
            "qid".
        """
        features, queries, of_queries = _queries_and_groups(X, y, qid, groups, "QueryKFold.split")
        lists = _numbers_of_lists(features, y, queries)
        if of_queries is not None:
            lists = _lowest(positions_by_id(queries.ids), joined(lists, of_queries))
        n_lists = len(np.unique(lists))
        if n_lists < self.n_splits:
            kind = "queries"
            if n_lists < queries.n_queries:
                kind = "queries that may be in different folds"
            raise ValueError(
                f"{self.n_splits} folds need at least {self.n_splits} {kind}; got {n_lists}"
            )
        as_random_state(self.random_state)
        yield from super().split(X, y, queries.ungroup(queries.repeat(lists)))

    def get_n_splits(
        self,
        X: Features | None = None,
        y: object = None,
        groups: ArrayLike | None = None,
        qid: ArrayLike | None = None,
    ) -> int:
        """The number of folds; no argument changes it."""
        return int(super().get_n_splits())


def _numbers_of_lists(X: Features, y: ArrayLike | Labels | None, queries: Queries) -> Ints:
    """The position of each query by its id; copies of a list have that of the first of them."""
    position = positions_by_id(queries.ids)
    values: Any = Table(X).values
    if getattr(values, "ndim", 2) != 2:
        return position
    labels: NDArray[Any] = np.zeros(queries.n_documents)
    if isinstance(y, Labels):
        labels = y.per_document
    elif y is not None:
        labels = as_array(y, "y")
    numbers = numbers_of_lists(grouped_features(values, queries), queries.group(labels), queries)
    return _lowest(position, numbers)


def _lowest(positions: Ints, numbers: Ints) -> Ints:
    """For each query the lowest position among the queries that have its number."""
    lowest = np.full(len(positions), len(positions))
    np.minimum.at(lowest, numbers, positions)
    return lowest[numbers]


def _queries_and_groups(
    X: Features,
    y: ArrayLike | Labels | None,
    qid: ArrayLike | None,
    groups: ArrayLike | None,
    receiver: str,
) -> tuple[Features, Queries, Ints | None]:
    """Features without ids, the queries, and the number of the group of each query, or None.

    Without query ids, `groups` are these.
    """
    features, ids = find_qid(X, qid, y)
    if ids is None:
        features, ids = find_qid(X, groups, y, name="groups")
        groups = None
    queries = Queries.from_qid(require_qid(ids, receiver))
    check_lengths(X=_num_samples(X), qid=queries.n_documents)
    if groups is None:
        return features, queries, None
    return features, queries, numbers_of_groups(groups, queries)


def split_queries(
    qid: ArrayLike,
    fraction: float,
    random_state: EstimatorSeed = None,
    *,
    groups: ArrayLike | None = None,
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
        Seed of the choice.
    groups : array-like, shape (n_documents,) or (n_queries,), optional
        The group of each row, or of each query in the sequence in which queries first appear: the
        fraction is one of groups, and none is divided.

    Returns
    -------
    keep, hold_out : ndarray of int64
        Increasing row numbers.

    Raises
    ------
    ValueError
        If `fraction` is not in (0, 1), if there are fewer than two queries, or if the rows of a
        query are in two groups.

    Examples
    --------
    >>> import boostrank as br
    >>> keep, hold_out = br.split_queries([1, 1, 2, 2, 3, 3, 4, 4], 0.25, random_state=0)
    >>> keep.tolist(), hold_out.tolist()
    ([0, 1, 2, 3, 6, 7], [4, 5])
    """
    queries = Queries.from_qid(qid)
    check_number("fraction", fraction, above=0, below=1)
    numbers = np.arange(queries.n_queries)
    if groups is not None:
        numbers = numbers_of_groups(groups, queries)
    n_parts = int(numbers.max()) + 1
    drawn = draw_queries_to_hold_out(n_parts, fraction, as_random_state(random_state))
    held_out = drawn[numbers]
    return queries.original_rows_of(~held_out), queries.original_rows_of(held_out)


class Folds(list[tuple[Ints, Ints]]):
    """Folds of whole queries: pairs of row numbers to train and to test on, not to be printed."""

    def __repr__(self) -> str:
        return f"<{len(self)} folds of queries>"


def make_folds(
    X: Features,
    y: ArrayLike | Labels,
    queries: Queries,
    cv: Splitter,
    groups: Ints | None = None,
) -> Folds:
    """The folds of a number of folds, a splitter, or pairs of row numbers.

    `groups` is the number of the group of each query, shape (n_queries,).

    Raises
    ------
    ValueError
        If `cv` is none of these, or a fold has rows of one query, or queries of one group, to train
        and to test on.
    """
    if isinstance(cv, (int, np.integer)) and cv >= 2:
        cv = QueryKFold(int(cv))
    rows = np.arange(queries.n_documents)
    splitter = check_cv(cv)
    if groups is None or isinstance(splitter, QueryTimeSplit):
        # Times belong to queries; that no group is divided is checked below.
        pairs = splitter.split(X, y, queries.qid)
    elif isinstance(splitter, QueryKFold):
        pairs = splitter.split(X, y, groups, queries.qid)
    else:
        pairs = splitter.split(X, y, queries.ungroup(queries.repeat(groups)))
    folds = Folds((rows[train], rows[test]) for train, test in pairs)
    number = queries.ungroup(queries.repeat(np.arange(queries.n_queries)))
    for i, (train, test) in enumerate(folds):
        shared = np.intersect1d(number[train], number[test])
        if len(shared):
            _refuse_cut_queries(f"fold {i + 1} of {_name(cv)}", queries.ids[shared])
        if groups is None:
            continue
        trained = np.unique(number[train])
        is_divided = np.isin(groups[trained], groups[np.unique(number[test])])
        if is_divided.any():
            query = queries.ids[trained[np.argmax(is_divided)]]
            raise ValueError(
                f"fold {i + 1} of {_name(cv)} divides a group: it trains on query {str(query)!r}, "
                "and tests on another query of its group. Use QueryKFold, or a splitter that "
                "divides no group"
            )
    # QueryKFold has looked for copies itself, and puts them into one fold.
    if not isinstance(splitter, QueryKFold):
        _warn_of_copies(X, y, queries, folds, number)
    return folds


def _name(cv: Splitter) -> str:
    """A splitter in a message."""
    return repr(cv) if hasattr(cv, "split") else "cv"


def _refuse_cut_queries(fold: str, ids: Values) -> NoReturn:
    """Raise ValueError for a fold that trains and tests on rows of the queries with these ids."""
    cut = f"1 query apart, {str(ids[0])!r}"
    if len(ids) > 1:
        cut = f"{len(ids)} queries apart, such as {str(ids[0])!r}"
    raise ValueError(
        f"{fold} cuts {cut}, which it trains and tests on: use QueryKFold or another splitter by "
        "groups; for queries in sequence of time, give cv=[(train, test), ...] with the row "
        "numbers of whole queries"
    )


def _warn_of_copies(
    X: Features, y: ArrayLike | Labels, queries: Queries, folds: Folds, number: Ints
) -> None:
    """Warn if more than :data:`MAX_COPIES` of the queries are tested on and trained on as copies.

    `number` is that of the query of each row.
    """
    lists = _numbers_of_lists(X, y, queries)
    for train, test in folds:
        tested = np.unique(number[test])
        is_known = np.isin(lists[tested], lists[np.unique(number[train])])
        # Single documents are equal by chance, and have no ranking.
        is_known &= queries.sizes[tested] > 1
        if is_known.mean() > MAX_COPIES:
            first = queries.ids[tested[np.argmax(is_known)]]
            warn(
                f"{is_known.sum()} of the {len(tested)} queries of a fold to test on, such as "
                f"{str(first)!r}, have the documents and labels of queries to train on under "
                "another id, so that scores are too good. QueryKFold, or cv=5, keeps copies in one "
                "fold"
            )
            return


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
        Seed of the division.
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
        Seed of the choice.

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
