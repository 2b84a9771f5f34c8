"""Queries: the documents of each query as segments, with the query ids and the permutation that
groups the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from boostrank.inputs.arrays import Bools, Ints, as_array, check_lengths
from boostrank.inputs.checks import named_part, refuse, refuse_first
from boostrank.inputs.frames import QID, column_names, is_pandas, without_column
from boostrank.queries.segments import Segments

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
        # pandas would merge numbers that are equal as float64.
        would_merge = ids.dtype.kind in "US" or ids.dtype.itemsize > 8
        try:
            starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
            first_ids = ids[starts].astype(object) if would_merge else ids[starts]
            codes, different = pd.factorize(
                np.append(first_ids, _NO_TEXT) if first_ids.dtype == object else first_ids
            )
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"qid must have ids that can be hashed, such as integers and str: {error}"
            ) from None
        if len(different) == len(starts):
            return cls(np.append(starts, len(ids)).astype(np.int64), ids[starts])
        row_codes = np.repeat(codes[: len(starts)], np.diff(np.append(starts, len(ids))))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row_codes))]).astype(np.int64)
        permutation = np.argsort(row_codes, kind="stable")
        return cls(indptr, ids[permutation[indptr[:-1]]], permutation)

    @classmethod
    def from_sizes(cls, sizes: ArrayLike, ids: NDArray[Any] | None = None) -> Self:
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
        return cls(segments.indptr, np.arange(segments.n_segments) if ids is None else ids)

    #: Number of queries, and of documents over all queries.
    n_queries, n_documents = Segments.n_segments, Segments.n_rows

    @property
    def qid(self) -> NDArray[Any]:
        """Query id of each original row, shape (n_documents,)."""
        return self.ungroup(self.repeat(self.ids))

    def group(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Group values of rows, shape (n_documents, ...); returns the same array if the rows are
        grouped already.
        """
        return rows if self.permutation is None else rows[self.permutation]

    def ungroup(self, grouped: NDArray[Any]) -> NDArray[Any]:
        """Reverse :meth:`group`: from grouped values to values of the original rows, shape
        (n_documents, ...).
        """
        if self.permutation is None:
            return grouped
        rows = np.empty_like(grouped)
        rows[self.permutation] = grouped
        return rows

    def check_qid(self, qid: ArrayLike, owner: str) -> None:
        """Raise ValueError if `qid` differs from the query ids here; `owner` says what they belong
        to, for messages.
        """
        ids, expected = _as_ids(qid), self.qid
        check_lengths(**{owner: len(expected), "qid": len(ids)})
        if ids.dtype != expected.dtype:
            ids, expected = ids.astype(object), expected.astype(object)
        refuse_first(
            ids != expected,
            lambda row: (
                f"qid differs from the query ids of {owner}: it is {str(ids[row])!r} in row {row}, "
                f"where these have {str(expected[row])!r}{other_type(ids[row], expected[row])}. "
                f"Leave qid out if the rows are the same"
            ),
        )

    def original_rows_of(self, queries: NDArray[Any]) -> Ints:
        """Increasing original row numbers of some queries, which are given by their indices or a
        mask.
        """
        grouped = self.rows_of(queries)
        return grouped if self.permutation is None else np.sort(self.permutation[grouped])


def find_qid(
    X: Any,
    qid: ArrayLike | None,
    y: Any = None,
    *,
    column: str = QID,
    group: Ints | None = None,
    name: str = "qid",
) -> tuple[Any, Any]:
    """Return the features and the query ids.

    The query ids are those of `y`, if its class defines the attribute `qid` (preferences and clicks
    do); else those of `group`, of `qid`, of a column of `X`, or of the index level "qid" of `X`:
    the first of these that is given. All that are given must divide the rows into the same queries.
    Columns of query ids are removed from the features.

    Parameters
    ----------
    X : array-like, sparse matrix, DataFrame or pyarrow Table, shape (n_documents, n_features)
    qid : array-like, shape (n_documents,), str or None
        A string is the name of the column of `X` that contains the query ids, which is then no
        feature.
    y : array-like or labels of boostrank, optional
    column : str, default "qid"
        The column of `X` that contains query ids, if `X` has it. A column "qid" has them too.
    group : ndarray, shape (n_documents,), optional
        The number of the query of each row, from the sizes of the queries.
    name : str, default "qid"
        The name of the argument `qid` in messages.

    Returns
    -------
    X : the type of `X`
        The features, without columns of query ids.
    qid : ndarray, shape (n_documents,), or None
        None if there are no query ids.

    Raises
    ------
    ValueError
        If `X` has no column of this name; if two of the sources contradict each other; or if query
        ids of features are numbers that are not integers, because scaled or imputed ids no longer
        identify queries, and weights never do.

    Examples
    --------
    >>> import pandas as pd
    >>> X, qid = find_qid(pd.DataFrame({"price": [1.5, 2.5], "qid": [7, 8]}), None)
    >>> list(X.columns), qid.tolist()
    (['price'], [7, 8])
    """
    names = column_names(X)
    if isinstance(qid, str):
        if qid not in names:
            refuse(
                name, qid, f"the name of a column of X, of {names[:10]}, or one query id per row"
            )
        column, qid = qid, None
    sources: dict[str, Any] = {
        "y": y.qid if hasattr(type(y), QID) else None,
        "group": group,
        name: qid,
    }
    for id_column in dict.fromkeys((column, QID)):
        if id_column in names:
            sources[f"the column {id_column!r} of X"] = X[id_column]
            X = without_column(X, id_column)
    if is_pandas(X) and QID in X.index.names:
        sources[f"the index {QID!r} of X"] = X.index.get_level_values(QID)
    first, ids = "", None
    for source, values in sources.items():
        if values is None:
            continue
        values = as_array(values, source)
        if (
            X is not None
            and values.dtype.kind == "f"
            and (values[np.isfinite(values)] % 1 != 0).any()
        ):
            advice = f"scaled ids are kept in the index: X.set_index({QID!r}), set_output(transform='pandas')"
            advice = f". Weights are given as sample_weight=; {advice}"
            refuse(source, values, "query ids", advice, got="numbers that are not whole")
        if ids is None:
            first, ids = source, values
        elif first == "y" and source != "group" and hasattr(y, "check_qid"):
            # These have names of queries, which labels of others with the same sizes have not.
            with named_part(source):
                y.check_qid(values)
        else:
            _check_same_queries({first: ids, source: values})
    return X, ids


def _check_same_queries(sources: dict[str, NDArray[Any]]) -> None:
    """Raise ValueError if two sources of query ids, by name, divide the rows into other queries."""
    starts = []
    for source, ids in sources.items():
        with named_part(source):
            queries = Queries.from_qid(ids)
        # For each row the first row of its query.
        starts.append(
            queries.ungroup(queries.repeat(queries.group(np.arange(len(ids)))[queries.starts]))
        )
    (first, ids), (second, other_ids) = sources.items()
    check_lengths(**{second: len(other_ids), first: len(ids)})
    refuse_first(
        starts[0] != starts[1],
        lambda row: (
            f"{first} and {second} contradict each other: row {row} is in query {ids[row]!s} of "
            f"row {starts[0][row]} by the first, and in query {other_ids[row]!s} of row "
            f"{starts[1][row]} by the second. Give one of them"
        ),
    )


def require_qid(qid: Any, receiver: str, advice: str = ESTIMATOR_ADVICE) -> Any:
    """Return the query ids; if they are None, raise ValueError with `advice` how to pass them to
    `receiver`.
    """
    if qid is None:
        raise ValueError(
            f"{receiver} got no qid, so it does not know which rows belong to which query. {advice}"
        )
    return qid


def id_index(ids: NDArray[Any]) -> pd.Index:
    """An index of query ids: texts may have characters that Arrow does not have, and tuples are one
    id each.
    """
    return pd.Index(ids, dtype=object if ids.dtype.kind in "OUS" else None, tupleize_cols=False)


def other_type(query_id: Any, expected: Any) -> str:
    """The end of a message about two ids that differ, if one is a text and the other one is not;
    otherwise nothing.

    Examples
    --------
    >>> other_type("7", 7)
    ' (of the types str and int)'
    >>> other_type(7.0, 8)
    ''
    """
    if isinstance(query_id, str) == isinstance(expected, str):
        return ""
    types = [
        type(id_.item() if isinstance(id_, np.generic) else id_).__name__
        for id_ in (query_id, expected)
    ]
    return f" (of the types {types[0]} and {types[1]})"


def positions_by_id(ids: NDArray[Any]) -> Ints:
    """Position of each different id among the sorted ids; where ids cannot be compared, in the
    given sequence.

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
        refuse(
            "qid",
            ids,
            "one query id per row, a non-empty one-dimensional array",
            got=f"shape {ids.shape}",
        )
    missing = pd.isna(ids)
    if np.any(missing):
        raise ValueError(
            f"qid must not be missing; qid[{int(np.argmax(missing))}] is "
            f"{ids[np.argmax(missing)]!s}"
        )
    return ids


def draw_queries_to_hold_out(
    n_queries: int, fraction: float, random_state: np.random.RandomState
) -> Bools:
    """Mask of the queries to hold out, shape (n_queries,): a share of them, at least one and not
    all.

    Raises ValueError if there are fewer than two queries.
    """
    if n_queries < 2:
        raise ValueError("at least two queries are needed to hold out queries; got one")
    n_held = int(np.clip(round(fraction * n_queries), 1, n_queries - 1))
    held_out = np.zeros(n_queries, dtype=bool)
    held_out[random_state.permutation(n_queries)[:n_held]] = True
    return held_out
