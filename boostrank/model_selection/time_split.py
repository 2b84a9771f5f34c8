"""Splits of lists in time: train on earlier lists, and test on later ones."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, ClassVar, TypeAlias, TypeGuard

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils.validation import _num_samples

from boostrank.inputs.arrays import Ints, as_array, check_lengths
from boostrank.inputs.checks import check_count, is_count, refuse, refuse_first
from boostrank.inputs.table import Table
from boostrank.ndcg.labels import Labels
from boostrank.queries.queries import Features, Queries, find_qid, require_qid

#: A number of times, or a span of time: a text such as "30D", or what can be subtracted from times.
Span: TypeAlias = int | float | str | timedelta | np.timedelta64 | pd.DateOffset


class QueryTimeSplit(BaseCrossValidator):
    """Folds that train on earlier lists and test on later ones: ``TimeSeriesSplit`` for lists.

    The last times are divided into `n_splits` parts of equal length. Each part is tested on once,
    and trained on is what was before it. Lists of one time, such as the races of a day, stay
    together.

    Parameters
    ----------
    n_splits : int, default 5
        Number of folds, at least 1.
    time : str or array-like, shape (n_documents,), optional
        The name of a column or an index level of the features, or one value for each row: dates,
        numbers or periods, equal within a list. By default lists follow each other in time as they
        first appear in the data, as rows do in ``TimeSeriesSplit``, and each list is a time of its
        own: sort the rows by time. ``split`` takes `time` too, so that with metadata routing
        ``GridSearchCV(..., cv=QueryTimeSplit()).fit(X, y, qid=qid, time=dates)`` passes it on.
    test_size : int or span, optional
        Times that each fold tests on. An integer counts different times. A span is a text such as
        "30D", a timedelta or a DateOffset, or for times that are numbers a float: a fold tests on
        the times after ``end - test_size``, up to its end. By default it is
        ``n_times // (n_splits + 1)``.
    gap : int or span, default 0
        Times before those of the test that are not trained on, because their labels are known only
        later (purging): returns over the next 5 lists need a gap of 4. With a span, a fold trains
        on the times before ``first tested time - gap``.
    max_train_size : int or span, optional
        Train on the last times only: at most this many, or those after ``last trained time -
        max_train_size``. By default all earlier times are trained on.

    Raises
    ------
    ValueError
        By `split`, for invalid settings; if there are no query ids; if a time is missing or a text,
        or times differ within a list; and if a fold has no list to train or to test on.

    Notes
    -----
    :func:`boostrank.cross_validate`, :func:`boostrank.grid_search` and :func:`boostrank.compare` do
    not use the column `time` as a feature. With scikit-learn's own functions, keep it out of the
    columns: as an index level (``X.set_index("date")``) or an array.

    A ranker that stops early should not do so on random lists of the past: give it
    ``validation_fraction=0.2, validation="last"``.

    References
    ----------
    López de Prado, "Advances in financial machine learning", 2018, chapter 7, for purging.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> qid = ["a", "a", "b", "c", "c", "d"]
    >>> days = [1, 1, 1, 2, 2, 3]
    >>> folds = br.QueryTimeSplit(n_splits=2, time=days).split(np.zeros((6, 1)), groups=qid)
    >>> [(train.tolist(), test.tolist()) for train, test in folds]
    [([0, 1, 2], [3, 4]), ([0, 1, 2, 3, 4], [5])]
    >>> splitter = br.QueryTimeSplit(n_splits=1, gap=1, time=days)
    >>> [(train.tolist(), test.tolist()) for train, test in splitter.split(qid, groups=qid)]
    [([0, 1, 2], [5])]
    """

    __metadata_request__split: ClassVar = {"groups": "qid", "time": True}

    def __init__(
        self,
        n_splits: int = 5,
        *,
        time: str | ArrayLike | None = None,
        test_size: Span | None = None,
        gap: Span = 0,
        max_train_size: Span | None = None,
    ) -> None:
        self.n_splits = n_splits
        self.time = time
        self.test_size = test_size
        self.gap = gap
        self.max_train_size = max_train_size

    def get_n_splits(
        self, X: object = None, y: object = None, groups: object = None, time: object = None
    ) -> int:
        """Number of folds."""
        return self.n_splits

    def split(
        self,
        X: Features,
        y: ArrayLike | Labels | None = None,
        groups: ArrayLike | None = None,
        time: str | ArrayLike | None = None,
    ) -> Iterator[tuple[Ints, Ints]]:
        """Yield the row numbers to train on and those to test on, for each fold, earliest first.

        Parameters
        ----------
        X : array-like or DataFrame of n_documents rows
        y : optional
            Labels of clicks or preferences may have the query ids.
        groups : array-like, shape (n_documents,), optional
            Query ids; may be left out if `X` is a DataFrame with a column or an index level named
            "qid".
        time : str or array-like, shape (n_documents,), optional
            In place of the parameter `time`.
        """
        check_count("n_splits", self.n_splits, smallest=1)
        _, qid = find_qid(X, groups, y, name="groups")
        queries = Queries.from_qid(require_qid(qid, "QueryTimeSplit.split"))
        check_lengths(X=_num_samples(X), qid=queries.n_documents)
        if time is None:
            time = self.time
        if time is None:
            numbers = np.arange(queries.n_queries)
            times = pd.Index(numbers)
        else:
            numbers, times = _times_of_queries(times_of_rows(time, X), queries)
        for train, test in self._ranges(times):
            is_trained = (numbers >= train.start) & (numbers < train.stop)
            is_tested = (numbers >= test.start) & (numbers < test.stop)
            yield queries.original_rows_of(is_trained), queries.original_rows_of(is_tested)

    def _ranges(self, times: pd.Index) -> list[tuple[range, range]]:
        """The times to train on and those to test on, for each fold, as ranges of their numbers."""
        folds = []
        for test in self._tested(times):
            last = test.start
            if _is_number(self.gap):
                check_count("gap", self.gap, smallest=0)
                last -= int(self.gap)
            else:
                last = _first_from(times, test.start, "gap", self.gap, side="left")
            first = 0
            if _is_number(self.max_train_size):
                check_count("max_train_size", self.max_train_size, smallest=1)
                first = max(0, last - int(self.max_train_size))
            elif self.max_train_size is not None and last > 0:
                first = _first_from(times, last - 1, "max_train_size", self.max_train_size)
            if last <= first:
                raise ValueError(
                    f"nothing is left to train on before {times[test.start]}, the first time of a "
                    f"fold of {len(times)} times: give fewer n_splits, or a smaller test_size or "
                    "gap"
                )
            folds.append((range(first, last), test))
        return folds

    def _tested(self, times: pd.Index) -> list[range]:
        """The times that each fold tests on, as ranges of their numbers."""
        size = self.test_size
        if size is None:
            size = max(1, len(times) // (self.n_splits + 1))
        if _is_number(size):
            check_count("test_size", size, smallest=1)
            if len(times) <= self.n_splits * size:
                raise ValueError(
                    f"n_splits={self.n_splits} folds that test {size} times each, and train on "
                    f"earlier ones, need more than {self.n_splits * size} different times; got "
                    f"{len(times)}"
                )
            starts = len(times) - size * np.arange(self.n_splits, 0, -1)
            return [range(start, start + size) for start in starts.tolist()]
        tested: list[range] = []
        end: Any = times[-1]
        stop = len(times)
        for _ in range(self.n_splits):
            end = _before(end, "test_size", size)
            start = int(times.searchsorted(end, side="right"))
            if start == stop:
                raise ValueError(
                    f"test_size={size!r} leaves a fold without a time to test on, after {end}: "
                    "give fewer n_splits or another test_size"
                )
            tested.insert(0, range(start, stop))
            stop = start
        return tested


def without_time(X: Features, cv: object) -> Features:
    """The features without the column that gives a :class:`QueryTimeSplit` its times."""
    if isinstance(cv, QueryTimeSplit) and isinstance(cv.time, str):
        return Table(X).without(cv.time).given
    return X


def times_of_rows(time: str | ArrayLike, X: Features) -> pd.Index:
    """The time of each row."""
    values: Any = time
    if isinstance(time, str):
        table = Table(X)
        values = table.keys([time])
        if values is None:
            expected = f"the name of a column of X, of {table.names[:10]}, or of an index level"
            refuse("time", time, f"{expected}, or one value for each row")
    elif not isinstance(time, (pd.Series, pd.Index)):
        values = as_array(time, "time")
    index = pd.Index(values)
    check_lengths(X=_num_samples(X), time=len(index))
    refuse_first(index.isna(), lambda row: f"time must not be missing; time[{row}] is missing")
    if pd.api.types.infer_dtype(index) == "string":
        advice = ". Texts have no sequence in time: give pandas.to_datetime(time)"
        refuse("time", index, "dates, numbers or periods", advice, got=f"{index[0]!r}")
    return index


def _times_of_queries(values: pd.Index, queries: Queries) -> tuple[Ints, pd.Index]:
    """The number of the time of each query, and the different times, sorted."""
    codes, times = pd.factorize(values, sort=True)
    codes = queries.group(codes)
    differs = queries.min(codes) != queries.max(codes)
    refuse_first(
        differs,
        lambda i: (
            f"time differs within the list of query {str(queries.ids[i])!r}: give one time per list"
        ),
    )
    return codes[queries.starts], pd.Index(times)


def _first_from(times: pd.Index, number: int, name: str, span: object, side: Any = "right") -> int:
    """The number of the first time after ``times[number] - span``, or with "left" from it on."""
    return int(times.searchsorted(_before(times[number], name, span), side=side))


def _is_number(span: object) -> TypeGuard[int]:
    """Whether a span is a number of times; NumPy's timedelta64 is an integer type."""
    return is_count(span) and not isinstance(span, np.timedelta64)


def _before(time: Any, name: str, span: Any) -> Any:
    """The time that is a span before another one; ValueError for a span that cannot be."""
    expected = (
        "an integer, which counts times, or a span of time such as '30D' or a timedelta for dates, "
        "or 2.5 for numbers"
    )
    try:
        earlier = time - (pd.Timedelta(span) if isinstance(span, str) else span)
    except (TypeError, ValueError) as error:
        refuse(name, span, expected, f" ({error})")
    if not earlier <= time:
        refuse(name, span, f"{expected}, not negative")
    return earlier
