"""Make preference graphs from tables of pairs or of side-by-side judgments; read and write them as CSV files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.files import write_atomically
from boostrank.preferences.graph import PreferenceGraph
from boostrank.segments import Ints

if TYPE_CHECKING:
    import pandas as pd


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
    frame = _frame(pairs, ("winner", "loser"))
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

    if ties not in ("skip", "half"):
        raise ValueError(f"ties must be 'skip' or 'half'; got {ties!r}")
    frame = _frame(judgments, ("left", "right", "preferred"))
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
    as_text = {} if documents is None or np.asarray(documents).dtype.kind in "iu" else {"winner": str, "loser": str}
    try:
        frame = pd.read_csv(name, dtype=as_text, skipinitialspace=True, keep_default_na=False, index_col=False)
        return from_pairs(frame, qid, documents)
    except (ValueError, pd.errors.ParserError, pd.errors.ParserWarning) as error:
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
        be unique only within a query.

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

    frame = pd.DataFrame({"winner": graph.winner, "loser": graph.loser})
    if documents is not None:
        ids = np.asarray(documents)
        frame = pd.DataFrame({"qid": graph.qid[graph.winner], "winner": ids[graph.winner], "loser": ids[graph.loser]})
    if graph.weight is not None:
        frame["weight"] = graph.weight
    write_atomically(path, lambda name: frame.to_csv(name, index=False))


def _frame(table: Any, needed: tuple[str, ...]) -> pd.DataFrame:
    import pandas as pd

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
    rows, wanted_codes = _joint_codes(keys, ids)
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


def _joint_codes(keys: list[Any], wanted: list[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers that are equal for equal combinations of keys; wanted combinations that no row has get -1."""
    key_codes, wanted_codes = np.zeros(len(keys[0]), np.int64), np.zeros(len(wanted[0]), np.int64)
    for key, want in zip(keys, wanted, strict=True):
        levels = key.unique()
        of_key, of_wanted = levels.get_indexer(key), levels.get_indexer(want)
        key_codes = key_codes * len(levels) + of_key
        unknown = (wanted_codes < 0) | (of_wanted < 0)
        wanted_codes = np.where(unknown, -1, wanted_codes * len(levels) + of_wanted)
    return key_codes, wanted_codes
