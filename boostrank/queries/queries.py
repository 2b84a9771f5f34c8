"""Queries: the documents of each query as segments, with query ids and the sequence of the rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from boostrank.inputs.arrays import Bools, Ints, as_array, check_lengths
from boostrank.inputs.checks import named_part, refuse, refuse_first
from boostrank.inputs.table import QID, Table, with_rows
from boostrank.queries.segments import Segments, Values

#: Features: an array, a sparse matrix, or a table of pandas, polars or pyarrow.
Features: TypeAlias = Any

#: How to pass query ids to estimators, splitters and scorers.
ESTIMATOR_ADVICE = (
    "Pass qid= (to a splitter, groups=). With scikit-learn's model selection, enable metadata "
    "routing (sklearn.set_config(enable_metadata_routing=True)), or pass X as a DataFrame with a "
    "column or an index named 'qid'. If all rows belong to one query, pass qid=numpy.full(len(y), "
    "'all')."
)

# Before its version 3, pandas merges texts that are equal up to a zero character, but not beside
# other objects.
_NO_TEXT: Any = [None] if pd.__version__ < "3" else []


@dataclass(frozen=True, eq=False)
class Queries(Segments):
    """The documents of each query as segments; queries are sorted by their first appearance.

    Construct it with :meth:`from_qid` or :meth:`from_sizes`. The reductions of
    :class:`~boostrank.queries.segments.Segments` take *grouped* values: the values of the documents
    of a query are next to each other. :meth:`group` permutes values of rows so that they are
    grouped, and keeps the sequence of the documents of a query. :meth:`ungroup` reverses it.

    Inside of the package, values of documents are grouped. Only :meth:`group`,
    :meth:`original_rows_of`, :attr:`qid` and arguments of users have the sequence of the original
    rows; a function that takes both kinds has a parameter `grouped`.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n_queries + 1,)
        Query ``i`` has the grouped documents ``indptr[i]:indptr[i + 1]``, at least one.
    ids : ndarray, shape (n_queries,)
        Id of each query.
    permutation : ndarray of int64, shape (n_documents,), or None
        ``values[permutation]`` groups values of rows. None if the rows were grouped already.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> queries = br.Queries.from_qid(["b", "a", "b"])
    >>> queries.ids.tolist(), queries.sizes.tolist()
    (['b', 'a'], [2, 1])
    >>> grouped = queries.group(np.array([1.0, 5.0, 2.0]))
    >>> queries.sum(grouped).tolist()
    [3.0, 5.0]
    >>> queries.ungroup(grouped).tolist()
    [1.0, 5.0, 2.0]
    """

    ids: NDArray[Any]
    permutation: Ints | None = None

    @classmethod
    def from_qid(cls, qid: ArrayLike) -> Self:
        """Make queries from one query id per row.

        Parameters
        ----------
        qid : array-like, shape (n_documents,)
            Integers, strings or other hashable ids. Rows of one query need not be adjacent. Ids are
            only compared for equality.

        Raises
        ------
        ValueError
            If `qid` is empty or not one-dimensional, or if an id is missing.
        """
        ids = _as_ids(qid)
        try:
            starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
            codes, n_different = number_ids(ids[starts])
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"qid must have ids that can be hashed, such as integers and str: {error}"
            ) from None
        ends = np.append(starts, len(ids))
        if n_different == len(starts):
            return cls(ends.astype(np.int64), ids[starts])
        row_codes = np.repeat(codes, np.diff(ends))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row_codes))]).astype(np.int64)
        permutation = np.argsort(row_codes, kind="stable")
        return cls(indptr, ids[permutation[indptr[:-1]]], permutation)

    @classmethod
    def from_sizes(cls, sizes: ArrayLike, ids: Values | None = None) -> Self:
        """Make queries of grouped rows from the number of documents of each query.

        Parameters
        ----------
        sizes : array-like of int, shape (n_queries,)
            Number of documents of each query, at least 1.
        ids : ndarray, shape (n_queries,), optional
            Different query ids; by default 0, 1, ...

        Raises
        ------
        ValueError
            As :meth:`boostrank.queries.segments.Segments.from_sizes`.
        """
        segments = Segments.from_sizes(sizes)
        if ids is None:
            ids = np.arange(segments.n_segments)
        return cls(segments.indptr, ids)

    #: Number of queries, and of documents over all queries.
    n_queries, n_documents = Segments.n_segments, Segments.n_rows

    @property
    def qid(self) -> NDArray[Any]:
        """Query id of each original row, shape (n_documents,)."""
        return self.ungroup(self.repeat(self.ids))

    def group(self, rows: Values) -> NDArray[Any]:
        """Group values of rows, shape (n_documents, ...).

        It returns the same array if the rows are grouped already.
        """
        return rows if self.permutation is None else rows[self.permutation]

    def ungroup(self, grouped: Values) -> NDArray[Any]:
        """Reverse :meth:`group`: the values of the original rows, shape (n_documents, ...)."""
        if self.permutation is None:
            return grouped
        rows = np.empty_like(grouped)
        rows[self.permutation] = grouped
        return rows

    def check_qid(self, qid: ArrayLike, owner: str) -> None:
        """Raise ValueError if `qid` differs from the query ids here.

        `owner` says what these belong to, for messages.
        """
        ids = _as_ids(qid)
        expected = self.qid
        check_lengths(**{owner: len(expected), "qid": len(ids)})
        if ids.dtype != expected.dtype:
            ids = ids.astype(object)
            expected = expected.astype(object)
        refuse_first(
            ids != expected,
            lambda row: (
                f"qid differs from the query ids of {owner}: it is {str(ids[row])!r} in row {row}, "
                f"where these have {str(expected[row])!r}{other_type(ids[row], expected[row])}. "
                "Leave qid out if the rows are the same"
            ),
        )

    def original_rows_of(self, queries: Ints | Bools) -> Ints:
        """Increasing original row numbers of some queries, given by their indices or a mask."""
        grouped = self.rows_of(queries)
        if self.permutation is None:
            return grouped
        return np.sort(self.permutation[grouped])


def number_ids(ids: Values) -> tuple[Ints, int]:
    """Number ids by first appearance; returns the number of each, and how many they are.

    Raises TypeError or ValueError for ids that cannot be hashed.
    """
    # pandas would merge numbers that are equal as float64.
    if ids.dtype.kind in "US" or ids.dtype.itemsize > 8:
        ids = ids.astype(object)
    if ids.dtype != object:
        codes, different = pd.factorize(ids)
        return codes, len(different)
    codes, different = pd.factorize(np.append(ids, _NO_TEXT))
    return codes[: len(ids)], len(different)


def find_qid(
    X: Features, qid: ArrayLike | None, y: object = None, *, name: str = "qid"
) -> tuple[Any, Any]:
    """Return features, as they are given, and the query ids that :func:`table_and_qid` finds.

    A RecordBatch of pyarrow becomes a Table.
    """
    table, ids = table_and_qid(Table(with_rows(X)), qid, y, name=name)
    return table.given, ids


def table_and_qid(
    table: Table,
    qid: ArrayLike | None,
    y: object = None,
    *,
    columns: Sequence[str] = (QID,),
    sizes: Mapping[str, Ints] = MappingProxyType({}),
    keys: Sequence[Any] = (),
    name: str = "qid",
) -> tuple[Table, NDArray[Any] | None]:
    """Return the table of the features and the query ids.

    The query ids are those of `y`, if its class defines the attribute `qid` (preferences and clicks
    do); else those of `sizes`, of `qid`, of a column of `X`, or of the index level "qid" of `X`:
    the first of these that is given. All that are given must divide the rows into the same queries.
    Columns of query ids are removed from the features.

    Parameters
    ----------
    table : Table
    qid : array-like, shape (n_documents,), str, list of str or None
        A string is the name of the column or the index level of `X` that contains the query ids,
        which is then no feature. A list of names makes one id of several columns or levels.
    y : array-like or labels of boostrank, optional
    columns : sequence of str, default ("qid",)
        The columns or index levels of `X` that contain query ids, if `X` has them. A column "qid"
        has them too.
    sizes : mapping of str to ndarray, optional
        By the name of an argument that has the sizes of the queries: the number of the query of
        each row.
    keys : sequence, optional
        Names of columns or index levels by which the sizes were counted. They stay features.
    name : str, default "qid"
        The name of the argument `qid` in messages.

    Returns
    -------
    table : Table
        The features, without columns of query ids.
    qid : ndarray, shape (n_documents,), or None
        None if there are no query ids.

    Raises
    ------
    ValueError
        If `X` has no column or index level of such a name; if two of the sources contradict each
        other; or if query ids of features are numbers that are not integers, because scaled or
        imputed ids no longer identify queries, and weights never do.

    Examples
    --------
    >>> import pandas as pd
    >>> table = Table(pd.DataFrame({"price": [1.5, 2.5], "qid": [7, 8]}))
    >>> table, qid = table_and_qid(table, None)
    >>> table.names, qid.tolist()
    (['price'], [7, 8])
    """
    given = names_of_ids(qid, table)
    if given is not None:
        if table.keys(given) is None:
            raise ValueError(
                f"{name} must be the name of a column of X, of {table.names[:10]}, or of an index "
                f"level, a list of such names, or one query id per row; got {qid!r}"
            )
        columns = given
        qid = None
    sources: dict[str, ArrayLike | None] = {
        "y": getattr(y, QID) if hasattr(type(y), QID) else None,
        **sizes,
    }
    if keys:
        sources[f"{', '.join(map(repr, keys))} of X"] = table.keys(keys)
    # These are no ids: they say only which rows belong together.
    without_ids = tuple(sources)[1:]
    if name not in sizes:
        sources[name] = qid
    sources.update(table.ids(columns))
    if len(columns) > 1:
        # Several values make a tuple, which is never missing.
        for source, values in table.parts_of_ids(columns).items():
            with named_part(source):
                _refuse_fractions(_as_ids(values), source)
    for column in (*columns, QID):
        table = table.without(column)
    return table, _common_ids(sources, y, without_ids, has_features=table.given is not None)


def names_of_ids(qid: object, table: Table) -> tuple[str, ...] | None:
    """The names of columns or index levels that an argument `qid` has; None for query ids.

    A list of texts with one for each row has query ids.

    Examples
    --------
    >>> table = Table(pd.DataFrame({"week": [1, 1, 2], "user": [7, 8, 7]}))
    >>> names_of_ids("week", table), names_of_ids(["week", "user"], table)
    (('week',), ('week', 'user'))
    >>> names_of_ids(["a", "a", "b"], table) is None
    True
    """
    if isinstance(qid, str):
        return (qid,)
    if not isinstance(qid, (list, tuple)) or not qid or not table.names:
        return None
    are_names = all(isinstance(name, str) for name in qid) and len(qid) != table.n_rows
    return tuple(qid) if are_names else None


def _common_ids(
    sources: Mapping[str, ArrayLike | None],
    y: object,
    without_ids: Collection[str],
    *,
    has_features: bool,
) -> NDArray[Any] | None:
    """The query ids of the first source that has some; ValueError if others contradict them."""
    first = ""
    ids = None
    for source, values in sources.items():
        if values is None:
            continue
        others = as_array(values, source)
        if has_features and source not in without_ids:
            _refuse_fractions(others, source)
        if ids is None:
            first = source
            ids = others
        elif first == "y" and source not in without_ids and hasattr(y, "check_qid"):
            # These have names of queries, which labels of others with the same sizes have not.
            with named_part(source):
                y.check_qid(others)
        else:
            check_same_queries(first, ids, source, others)
    return ids


def _refuse_fractions(ids: Values, source: str) -> None:
    """Raise ValueError if query ids of features are numbers that are not integers."""
    if ids.dtype.kind != "f":
        return
    if (ids[np.isfinite(ids)] % 1 != 0).any():
        kept = f"X.set_index({QID!r}), set_output(transform='pandas')"
        advice = ". Weights are given as sample_weight=; scaled ids are kept in the index: " + kept
        refuse(source, ids, "query ids", advice, got="numbers that are not whole")


def check_same_queries(first: str, ids: Values, second: str, other_ids: Values) -> None:
    """Raise ValueError if two sources of query ids divide the rows into other queries."""
    starts = _first_rows(ids, first)
    other_starts = _first_rows(other_ids, second)
    check_lengths(**{second: len(other_ids), first: len(ids)})
    refuse_first(
        starts != other_starts,
        lambda row: (
            f"{first} and {second} contradict each other: row {row} is in query {ids[row]!s} of "
            f"row {starts[row]} by the first, and in query {other_ids[row]!s} of row "
            f"{other_starts[row]} by the second. Give one of them"
        ),
    )


def _first_rows(ids: Values, source: str) -> Ints:
    """For each row the first row of its query."""
    with named_part(source):
        queries = Queries.from_qid(ids)
    rows = queries.group(np.arange(len(ids)))
    return queries.ungroup(queries.repeat(rows[queries.starts]))


def require_qid(qid: Any, receiver: str, advice: str = ESTIMATOR_ADVICE) -> Any:
    """Return the query ids; if they are None, raise ValueError.

    Its message says that `receiver` got none, and gives `advice` how to pass them.
    """
    if qid is None:
        raise ValueError(
            f"{receiver} got no qid, so it does not know which rows belong to which query. {advice}"
        )
    return qid


def id_index(ids: Values) -> pd.Index:
    """An index of query ids.

    Texts may have characters that Arrow does not have, and a tuple is one id.
    """
    dtype = object if ids.dtype.kind in "OUS" else None
    return pd.Index(ids, dtype=dtype, tupleize_cols=False)


def python_scalar(value: object) -> object:
    """A scalar of NumPy as one of Python; other objects stay as they are."""
    return value.item() if isinstance(value, np.generic) else value


def other_type(query_id: object, expected: object) -> str:
    """The end of a message about two ids that differ, if one is a text and the other one is not.

    Otherwise it is empty.

    Examples
    --------
    >>> other_type("7", 7)
    ' (of the types str and int)'
    >>> other_type(7.0, 8)
    ''
    """
    if isinstance(query_id, str) == isinstance(expected, str):
        return ""
    name = type(python_scalar(query_id)).__name__
    expected_name = type(python_scalar(expected)).__name__
    return f" (of the types {name} and {expected_name})"


def positions_by_id(ids: Values) -> Ints:
    """Position of each different id among the sorted ids.

    Where ids cannot be compared, it is that in the given sequence.

    Examples
    --------
    >>> positions_by_id(Queries.from_qid(["b", "a", "b"]).ids).tolist()
    [1, 0]
    """
    try:
        return np.unique(ids, return_inverse=True)[1].astype(np.int64)
    except TypeError:
        return np.arange(len(ids))


def _as_ids(qid: ArrayLike) -> NDArray[Any]:
    ids = as_array(qid, "qid")
    if ids.ndim != 1 or len(ids) == 0:
        expected = "one query id per row, a non-empty one-dimensional array"
        refuse("qid", ids, expected, got=f"shape {ids.shape}")
    refuse_first(pd.isna(ids), lambda row: f"qid must not be missing; qid[{row}] is {ids[row]!s}")
    return ids


def draw_queries_to_hold_out(
    n_queries: int, fraction: float, random_state: np.random.RandomState
) -> Bools:
    """Mask of random queries to hold out, as many as :func:`n_to_hold_out` says."""
    held_out = np.zeros(n_queries, dtype=bool)
    held_out[random_state.permutation(n_queries)[: n_to_hold_out(n_queries, fraction)]] = True
    return held_out


def n_to_hold_out(n_queries: int, fraction: float) -> int:
    """Number of queries to hold out: a share of them, at least one and not all.

    Raises ValueError if there are fewer than two queries.
    """
    if n_queries < 2:
        raise ValueError("at least two queries are needed to hold out queries; got one")
    return int(np.clip(round(fraction * n_queries), 1, n_queries - 1))
