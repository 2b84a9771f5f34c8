"""Make preference graphs from tables of pairs or of side-by-side judgments; read and write them as CSV files."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.core.queries import joint_codes
from boostrank.inputs.arrays import Ints
from boostrank.inputs.checks import check_choice
from boostrank.inputs.files import write_atomically
from boostrank.preferences.graph import PreferenceGraph

if TYPE_CHECKING:
    import pandas as pd

MAX_INT64 = 2**63 - 1


def from_pairs(pairs: Any, qid: ArrayLike, documents: ArrayLike | None = None) -> PreferenceGraph:
    """Make a preference graph from a table of pairs.

    Parameters
    ----------
    pairs : DataFrame or mapping of columns
        Columns "winner" and "loser"; also "weight" if edges differ in importance, and "qid" if ids of documents are
        unique only within a query.
    qid : array-like, shape (n_documents,)
        Query id of each row of the features.
    documents : array-like, shape (n_documents,), optional
        Id of the document of each row of the features; "winner" and "loser" contain these ids. Without it, "winner" and
        "loser" contain row numbers.

    Returns
    -------
    PreferenceGraph

    Raises
    ------
    ValueError
        If a column is missing, if no row or several rows have the id of a document, or if :class:`PreferenceGraph`
        refuses an edge.

    Examples
    --------
    >>> pairs = {"winner": ["b", "a"], "loser": ["a", "c"], "weight": [1.0, 0.5]}
    >>> graph = from_pairs(pairs, qid=[1, 1, 1], documents=["a", "b", "c"])
    >>> graph.winner.tolist(), graph.loser.tolist()
    ([1, 0], [0, 2])
    """
    frame = _frame(pairs, "pairs", ("winner", "loser"))
    winner, loser = (_find_rows(frame, name, qid, documents) for name in ("winner", "loser"))
    return PreferenceGraph(qid, winner, loser, frame["weight"].to_numpy() if "weight" in frame else None)


def from_judgments(
    judgments: Any, qid: ArrayLike, documents: ArrayLike | None = None, *, ties: Literal["skip", "half"] = "skip"
) -> PreferenceGraph:
    """Make a preference graph from side-by-side judgments.

    Parameters
    ----------
    judgments : DataFrame or mapping of columns
        Columns "left" and "right" contain documents. Column "preferred" contains "left", "right" or "tie". Columns
        "weight" and "qid" as in :func:`from_pairs`.
    qid, documents
        As in :func:`from_pairs`.
    ties : {"skip", "half"}, default "skip"
        ``"skip"`` leaves ties out. ``"half"`` makes two edges of a tie, in both directions, with half of its weight.

    Returns
    -------
    PreferenceGraph

    Raises
    ------
    ValueError
        As in :func:`from_pairs`, and if "preferred" contains another value.

    Examples
    --------
    >>> judgments = {"left": [0, 1], "right": [1, 2], "preferred": ["right", "tie"]}
    >>> from_judgments(judgments, qid=[5, 5, 5], ties="half").to_scipy().toarray().tolist()
    [[0.0, 0.0, 0.0], [1.0, 0.0, 0.5], [0.0, 0.5, 0.0]]
    """
    import pandas as pd

    check_choice("ties", ties, ("skip", "half"))
    frame = _frame(judgments, "judgments", ("left", "right", "preferred"))
    known = frame["preferred"].isin(["left", "right", "tie"]).to_numpy()
    if not known.all():
        row = int(np.argmin(known))
        raise ValueError(
            f"preferred must be 'left', 'right' or 'tie'; judgment {row} has {frame['preferred'].iloc[row]!r}"
        )
    frame = frame.assign(weight=frame.get("weight", 1.0))
    halves = frame[frame["preferred"] == "tie"].assign(weight=lambda part: part["weight"] / 2)
    tied = [halves] if ties == "half" else []
    left = pd.concat([frame[frame["preferred"] == "left"], *tied])
    right = pd.concat([frame[frame["preferred"] == "right"], *tied])
    left = left.rename(columns={"left": "winner", "right": "loser"})
    right = right.rename(columns={"right": "winner", "left": "loser"})
    return from_pairs(pd.concat([left, right]), qid, documents)


def read_preferences(
    path: str | os.PathLike[str], qid: ArrayLike, documents: ArrayLike | None = None
) -> PreferenceGraph:
    """Read a preference graph from a CSV file of pairs, as :func:`write_preferences` writes it.

    Parameters
    ----------
    path : str or path
        The first line names the columns: winner, loser, and optionally weight and qid, as in :func:`from_pairs`. The
        file may be compressed, with the suffix ".gz" or another one that pandas knows.
    qid, documents
        As in :func:`from_pairs`.

    Returns
    -------
    PreferenceGraph

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        As in :func:`from_pairs`, and if a line cannot be read. The message names the file.

    Notes
    -----
    The types of ids are those of `documents` and `qid`, and are never guessed from the file. If they are str, an id of
    the file is its text as it stands, with its spaces and leading zeros; if they are integers or floats, it is the
    number that the text spells. So every file that :func:`write_preferences` writes is read back exactly.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     print("winner,loser", file=file)
    ...     print("b,a", file=file, flush=True)
    ...     read_preferences(file.name, qid=[1, 1], documents=["a", "b"]).winner.tolist()
    [1]
    """
    import pandas as pd

    name = os.fspath(path)
    try:
        # The names of the columns are read as a row: pandas then refuses each line that is longer than this one.
        cells = pd.read_csv(name, dtype=str, header=None, keep_default_na=False)
        return from_pairs(_typed_columns(cells, qid, documents), qid, documents)
    except (ValueError, pd.errors.ParserError) as error:
        raise ValueError(f"{name!r}: {error}") from None


def write_preferences(graph: PreferenceGraph, path: str | os.PathLike[str], documents: ArrayLike | None = None) -> None:
    """Write the edges of a preference graph to a CSV file.

    The columns are winner and loser, and weight if the graph has weights.

    Parameters
    ----------
    graph : PreferenceGraph
    path : str or path
        The file is written atomically: it is never incomplete.
    documents : array-like, shape (n_documents,), optional
        Ids of documents, which are written in place of row numbers. The file then has a column qid too, since ids may
        be unique only within a query. Ids of documents and of queries are str, integers or floats.

    Raises
    ------
    ValueError
        For ids of other types, for a str that CSV cannot represent, and if there is not one id for each document.

    Examples
    --------
    >>> import tempfile
    >>> graph = PreferenceGraph(qid=[1, 1, 1], winner=[2, 0], loser=[0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_preferences(graph, f"{folder}/pairs.csv")
    ...     read_preferences(f"{folder}/pairs.csv", qid=[1, 1, 1])
    PreferenceGraph(n_documents=3, n_queries=1, n_edges=2)
    """
    import pandas as pd

    frame, texts = pd.DataFrame({"winner": graph.winner, "loser": graph.loser}), list[NDArray[Any]]()
    if documents is not None:
        ids = _texts(documents, "documents")
        if len(ids) != len(graph):
            raise ValueError(f"documents has {len(ids)} ids for {len(graph)} documents of the graph")
        queries = _texts(graph.qid, "qid")
        frame = pd.DataFrame({"qid": queries[graph.winner], "winner": ids[graph.winner], "loser": ids[graph.loser]})
        texts = [queries, ids]
    if graph.weight is not None:
        frame["weight"] = graph.weight
    # Only values with the delimiter, a quote or a line end are quoted by default, and a carriage return is no line end.
    returns = any("\r" in text for ids in texts for text in ids)
    quoting: Any = csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL
    write_atomically(path, lambda name: frame.to_csv(name, index=False, quoting=quoting))


def _texts(ids: ArrayLike, name: str) -> NDArray[Any]:
    """Ids as the texts that a file has, which :func:`_typed` turns back."""
    array, kind = _uniform(ids, name)
    if kind is not str:
        return np.array([repr(kind(value)) for value in array], dtype=object)
    bad = next((text for text in array if not text or re.search("[\0\ud800-\udfff]", text)), None)
    if bad is not None:
        raise ValueError(f"{name} has the id {bad!r}, which a CSV file cannot hold")
    return array


def _typed_columns(cells: pd.DataFrame, qid: ArrayLike, documents: ArrayLike | None) -> dict[str, NDArray[Any]]:
    """The columns of a file by name, with ids of the types of `qid` and `documents`."""
    names = [str(name).strip() for name in cells.iloc[0]]
    if len(set(names)) < len(names):
        raise ValueError(f"the first line has a column twice: {', '.join(map(repr, names))}")
    rows = cells.iloc[1:]
    empty = (rows == "").any(axis=1).to_numpy()
    if empty.any():
        raise ValueError(f"pair {int(np.argmax(empty))} has fewer values than there are columns, or an empty one")
    columns = {name: rows.iloc[:, i].to_numpy(object) for i, name in enumerate(names)}
    kinds: dict[str, type] = {"weight": float}
    if documents is not None:
        kinds |= dict.fromkeys(("winner", "loser"), _uniform(documents, "documents")[1])
        kinds |= {"qid": _uniform(qid, "qid")[1]}
    else:
        kinds |= {"winner": int, "loser": int}
    return {name: _typed(texts, name, kinds.get(name, str), documents is None) for name, texts in columns.items()}


def _typed(texts: NDArray[Any], name: str, kind: type, row_numbers: bool) -> NDArray[Any]:
    """The values that texts of a column spell."""
    if kind is str:
        return texts
    values = []
    for pair, text in enumerate(texts):
        try:
            values.append(kind(text))
        except ValueError:
            if kind is int and row_numbers:
                raise ValueError(
                    f"the column {name!r} must hold row numbers, or give the ids of the rows as documents=; pair "
                    f"{pair} has {text!r}"
                ) from None
            expected = "an integer" if kind is int else "a number"
            raise ValueError(f"{name} of pair {pair} is {text!r}, not {expected}") from None
    if kind is int and any(abs(value) > MAX_INT64 for value in values):
        raise ValueError(f"{name} has {max(values, key=abs)}, which is beyond the integers of 64 bits")
    return np.array(values, dtype=np.float64 if kind is float else np.int64)


def _uniform(ids: ArrayLike, name: str) -> tuple[NDArray[Any], type]:
    """Ids as an array, and their type: str, int or float; other ids, and ids of several types, are errors."""
    # In a list NumPy would turn the numbers among str into str.
    given: Any = ids
    array = np.asarray(given) if hasattr(given, "dtype") else np.array(list(given), dtype=object)
    if array.dtype.kind == "U":
        array = array.astype(object)
    if array.dtype.kind in "iu" or (array.dtype.kind == "f" and array.dtype.itemsize <= 8):
        return array, int if array.dtype.kind in "iu" else float
    for kind, types in ((str, str), (int, (int, np.integer)), (float, (float, np.floating))):
        if array.dtype.kind == "O" and all(isinstance(x, types) and not isinstance(x, bool) for x in array):
            return array, kind
    raise ValueError(f"{name} must be all str, all integers or all floats for a CSV file; got {array.dtype}")


def _frame(table: Any, name: str, needed: tuple[str, ...]) -> pd.DataFrame:
    import pandas as pd

    if not (isinstance(table, Mapping) or hasattr(table, "columns")):
        wanted = ", ".join(map(repr, needed))
        raise TypeError(f"{name} must be a DataFrame or a dict with the columns {wanted}; got {type(table).__name__}")
    names = list(getattr(table, "columns", table))
    frame = table if isinstance(table, pd.DataFrame) else pd.DataFrame({name: table[name] for name in names})
    missing = [name for name in needed if name not in frame]
    if missing:
        raise ValueError(f"no column {missing[0]!r}; got {', '.join(map(repr, frame.columns)) or 'none'}")
    return frame


def _find_rows(frame: pd.DataFrame, column: str, qid: ArrayLike, documents: ArrayLike | None) -> Ints:
    """Row number of each document in a column."""
    import pandas as pd

    wanted = frame[column].to_numpy()
    if documents is None:
        if wanted.dtype.kind not in "iu" and len(wanted):
            raise ValueError(
                f"the column {column!r} must contain row numbers; for ids of documents, pass the id of each row as "
                "documents="
            )
        return wanted
    keys, ids = [pd.Index(np.asarray(documents))], [pd.Index(wanted)]
    if len(keys[0]) != np.shape(qid)[0]:
        raise ValueError(f"documents has {len(keys[0])} ids for {np.shape(qid)[0]} rows of qid")
    if "qid" in frame:
        keys, ids = [pd.Index(np.asarray(qid)), *keys], [pd.Index(frame["qid"].to_numpy()), *ids]
    rows, wanted_codes = joint_codes(keys, ids)
    if len(np.unique(rows)) != len(rows):
        repeated = keys[-1][pd.Index(rows).duplicated()][0]
        raise ValueError(
            f"several rows have the document {repeated!r}"
            + ("" if "qid" in frame else ": add a column qid with the query of each pair")
        )
    found = pd.Index(rows).get_indexer(pd.Index(wanted_codes))
    if (found < 0).any():
        edge = int(np.argmin(found))
        where = f" in query {str(frame['qid'].iloc[edge])!r}" if "qid" in frame else ""
        raise ValueError(f"no row has the document {wanted[edge]!r}{where}, {column} of pair {edge}")
    return found
