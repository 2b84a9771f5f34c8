"""Columns of numbers that look like ids of documents, or like dates, and not like features."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from boostrank.inputs.arrays import Bools, Floats
from boostrank.inputs.table import to_pandas
from boostrank.inputs.warnings import warn
from boostrank.queries.queries import Queries

# In fewer rows or steps, values may differ, and rise, by chance.
_FEWEST = 20
# So many rows show of most columns that their values are no integers, or not all different.
_FIRST_ROWS = 2000
_OWNERS = (
    "asin|customer|dest|destination|doc|document|hotel|item|job|listing|movie|page|passage|person|"
    "product|prop|property|query|req|request|row|search|seller|session|shop|site|srch|store|url|"
    "user|video|visitor"
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_ID_WORDS = {"id", "guid", "uuid"}
_ID_NAMES = re.compile(
    rf"(?:{_OWNERS})id|(?:doc|document|item|line|record|row)(?:no|nr|num|number|index)|rows?"
    r"|index|idx|level0|unnamed0"
)
_TIME_WORDS = {"at", "created", "date", "datetime", "day", "modified", "time", "timestamp", "ts"}
_TIME_WORDS |= {"epoch", "expires", "posted", "published", "released", "unix", "updated", "when"}
_MONTH_WORDS = {"date", "month", "period", "ym"}
# Seconds from 1990 to 2100, and the same in milliseconds, microseconds and nanoseconds.
_SECONDS = (631_152_000, 4_102_444_800)
_UNITS = (1, 1_000, 1_000_000, 1_000_000_000)
# Days since 1970 of 1990, and days since 1900, as in spreadsheets, of 2100.
_DAYS = (7_305, 73_050)
# Digits of hours and minutes, and of seconds, behind those of a day.
_DIGITS_OF_TIMES = (1, 10_000, 1_000_000)
# Larger numbers, and infinity, have no 64 bits.
_TOO_LARGE = 2.0**64
_DATE = "a date"


class IdWarning(UserWarning):
    """A feature looks like an id or a date."""


class Suspects(NamedTuple):
    """Columns that may be no features.

    Attributes
    ----------
    ids : dict of str to str
        Why a column looks like an id, by its name.
    dates : list of str
        Columns whose numbers look like dates.
    """

    ids: Mapping[Any, str]
    dates: Sequence[Any]


def suspects(X: pd.DataFrame, queries: Queries, known: Collection[object] = ()) -> Suspects:
    """Find columns of numbers that look like ids or dates.

    Parameters
    ----------
    X : DataFrame
        Features, with rows in the sequence of the file.
    queries : Queries
        The queries of the rows.
    known : collection, optional
        Columns that are features whatever they look like.

    Examples
    --------
    >>> frame = pd.DataFrame({"price": [3, 5, 3], "shop_id": [7, 9, 7], "day": [20240131] * 3})
    >>> suspects(frame, Queries.from_qid([1, 1, 1]))
    Suspects(ids={'shop_id': 'its name'}, dates=['day'])
    """
    ids: dict[Any, str] = {}
    dates: list[Any] = []
    is_step = np.ones(queries.n_documents - 1, dtype=bool)
    is_step[queries.ends[:-1] - 1] = False
    head = X.iloc[:_FIRST_ROWS]
    if queries.permutation is not None:
        head = X.iloc[queries.permutation[:_FIRST_ROWS]]
    for i, name in enumerate(X.columns):
        reason = "" if name in known else _reason(name, head.iloc[:, i], is_step)
        if reason and len(head) < len(X):
            column = X.iloc[:, i]
            if queries.permutation is not None:
                column = column.iloc[queries.permutation]
            reason = _reason(name, column, is_step)
        if reason == _DATE:
            dates.append(name)
        elif reason:
            ids[name] = reason
    return Suspects(ids, dates)


def _reason(name: object, column: pd.Series, is_step: Bools) -> str:
    """Why a column looks like an id or a date; "" if it does not.

    Parameters
    ----------
    name : object
    column : Series
        Values of the first rows, or of all, grouped by query.
    is_step : ndarray of bool, shape (n_documents - 1,)
        Whether a row and the next one are of one query.
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        return "a category of its own in each row" if _differ(column, len(column)) else ""
    values = _numbers(column)
    if values is None:
        return ""
    present = values[~np.isnan(values)]
    if _are_times(present, _words(name)):
        return _DATE
    if not _are_whole(present):
        return ""
    if is_name_of_id(name):
        return "its name"
    if _differ(pd.Series(present), len(values)):
        return "a different value in each row"
    steps = np.diff(values)
    inside = steps[is_step[: len(steps)]]
    if len(inside) >= _FEWEST and (inside > 0).all():
        return "values that rise with the rows of each query"
    return ""


def warn_of_frame(X: object, queries: Queries) -> None:
    """Warn of the columns of a DataFrame that look like ids or dates; other features have none."""
    frame = to_pandas(X)
    if isinstance(frame, pd.DataFrame):
        warn_of_ids(suspects(frame, queries), "X", _leave_out)


@contextmanager
def without_id_warnings() -> Iterator[None]:
    """Leave out warnings of columns: trainings on parts of features would repeat them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdWarning)
        yield


def _leave_out(names: Sequence[Any]) -> str:
    return (
        f"Leave out what is no feature (X.drop(columns={names})), and make codes of categories "
        "categories (astype('category'))"
    )


def warn_of_ids(found: Suspects, data: str, leave_out: Callable[[Sequence[Any]], str]) -> None:
    """Warn of columns that may be no features, once of ids and once of dates.

    Parameters
    ----------
    found : Suspects
    data : str
        The name of the data.
    leave_out : callable
        Function of names of columns that says how to leave them out, and what else to do.
    """
    if found.ids:
        listed = ", ".join(f"{name!r} ({why})" for name, why in found.ids.items())
        look = "looks like an id" if len(found.ids) == 1 else "look like ids"
        warn(
            f"{data}: {listed} {look}: from ids, a ranker learns the sequence of the rows, and new "
            f"data have other ids. {leave_out(list(found.ids))}",
            IdWarning,
        )
    if found.dates:
        listed = ", ".join(map(repr, found.dates))
        look = "looks like a date" if len(found.dates) == 1 else "look like dates"
        warn(
            f"{data}: {listed} {look}, read as a number: new data have later ones. Make an age of "
            f"each, such as days before the query. {leave_out(found.dates)}",
            IdWarning,
        )


def is_name_of_id(name: object) -> bool:
    """Whether the name of a column says that it has ids or numbers of rows.

    Examples
    --------
    >>> names = ["doc_id", "docid", "productId", "id", "row", "idf", "paid", "bid", "position"]
    >>> [name for name in names if is_name_of_id(name)]
    ['doc_id', 'docid', 'productId', 'id', 'row']
    """
    words = [word.lower() for word in _WORD.findall(str(name))]
    if not words:
        return False
    return words[-1] in _ID_WORDS or _ID_NAMES.fullmatch("".join(words)) is not None


def _words(name: object) -> set[str]:
    return {word.lower() for word in _WORD.findall(str(name))}


def _differ(values: pd.Series, n_rows: int) -> bool:
    """Whether the values that are not missing are all different, and not a few of the rows."""
    present = values.dropna()
    return len(present) >= max(_FEWEST, n_rows / 2) and bool(present.is_unique)


def _numbers(column: pd.Series) -> Floats | None:
    """The values of a column, NaN where one is missing; None if they are no numbers of 64 bits."""
    dtype = column.dtype
    if not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
        return None
    values = column.to_numpy(np.float64, na_value=np.nan)
    present = values[~np.isnan(values)]
    if len(present) == 0 or not (np.abs(present) < _TOO_LARGE).all():
        return None
    return values


def _are_whole(numbers: Floats) -> bool:
    return bool((numbers == np.trunc(numbers)).all())


def _are_times(numbers: Floats, words: set[str]) -> bool:
    """Whether numbers are dates or times, which for some of them the words of a name decide."""
    if words & _TIME_WORDS and any(_are_between(numbers / unit, _SECONDS) for unit in _UNITS):
        return True
    if not _are_whole(numbers):
        return False
    if any(_are_dates(numbers // unit) for unit in _DIGITS_OF_TIMES):
        return True
    if words & _MONTH_WORDS and _are_dates(100 * numbers + 1):
        return True
    return "date" in words and _are_between(numbers, _DAYS)


def _are_between(numbers: Floats, limits: tuple[int, int]) -> bool:
    return bool(numbers.min() >= limits[0] and numbers.max() <= limits[1])


def _are_dates(numbers: Floats) -> bool:
    """Whether numbers such as 20240131 are dates."""
    if not _are_between(numbers, (1900_01_01, 2100_12_31)):
        return False
    months = numbers // 100 % 100
    days = numbers % 100
    return bool(((months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)).all())
