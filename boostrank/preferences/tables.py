"""Preference graphs from tables of pairs or of side-by-side judgments, and from and to CSV files."""

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
    """A preference graph from a table of pairs.

    Parameters
    ----------
    pairs : DataFrame or mapping of columns
        "winner" and "loser"; "weight" if edges differ in importance; "qid" if ids of documents are unique only within a
        query.
    qid : array-like, shape (n_documents,)
        Query of each row of the features.
    documents : array-like, shape (n_documents,), optional
        Id of each row, as in "winner" and "loser"; these are row numbers without it.

    Raises
    ------
    ValueError
        For a column that is missing, a document that no row has or that several rows have, and edges that
        :class:`PreferenceGraph` refuses.

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
    """A preference graph from side-by-side judgments.

    Parameters
    ----------
    judgments : DataFrame or mapping of columns
        "left", "right" and "preferred", one of "left", "right" and "tie"; "weight" and "qid" as in :func:`from_pairs`.
    qid, documents
        See :func:`from_pairs`.
    ties : {"skip", "half"}, default "skip"
        Leave ties out, or let them be half an edge each way.

    Raises
    ------
    ValueError
        As :func:`from_pairs`, and for a judgment that is none of the three.

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
    tied = frame[frame["preferred"] == "tie"].assign(weight=lambda part: part["weight"] / 2)
    left = pd.concat([frame[frame["preferred"] == "left"], *([tied] if ties == "half" else [])])
    right = pd.concat([frame[frame["preferred"] == "right"], *([tied] if ties == "half" else [])])
    pairs = pd.concat(
        [
            left.rename(columns={"left": "winner", "right": "loser"}),
            right.rename(columns={"right": "winner", "left": "loser"}),
        ]
    )
    return from_pairs(pairs, qid, documents)


def read_preferences(
    path: str | os.PathLike[str], qid: ArrayLike, documents: ArrayLike | None = None
) -> PreferenceGraph:
    """Read a CSV file of pairs, as :func:`write_preferences` writes it.

    Its first line names the columns: winner, loser, and perhaps weight and qid (see :func:`from_pairs`). Files may be
    compressed (".gz" and the other suffixes that pandas knows).

    Raises
    ------
    FileNotFoundError
    ValueError
        For a line that cannot be read, and as :func:`from_pairs`; the message names the file.
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
    """Write the edges as CSV: winner, loser, and the weight unless all are 1.

    Parameters
    ----------
    graph : PreferenceGraph
    path : str or path
        The file appears under this name only when it is complete.
    documents : array-like, shape (n_documents,), optional
        Ids to write in place of row numbers; with the column qid, since they may be unique only within a query.

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

    frame = table if isinstance(table, pd.DataFrame) else pd.DataFrame({name: table[name] for name in _names(table)})
    missing = [name for name in needed if name not in frame]
    if missing:
        raise ValueError(f"no column {missing[0]!r}; got {', '.join(map(repr, frame.columns)) or 'none'}")
    return frame


def _names(table: Any) -> list[str]:
    return list(getattr(table, "columns", table))


def _find_rows(frame: pd.DataFrame, column: str, qid: ArrayLike, documents: ArrayLike | None) -> Ints:
    """Row of each document in the column."""
    import pandas as pd

    wanted = frame[column].to_numpy()
    if documents is None:
        if wanted.dtype.kind not in "iu" and len(wanted):
            raise ValueError(f"the column {column!r} must hold row numbers, or give the ids of the rows as documents=")
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
            + ("" if "qid" in frame else ": name the query in a column qid")
        )
    found = pd.Index(rows).get_indexer(pd.Index(wanted_codes))
    if (found < 0).any():
        edge = int(np.argmin(found))
        where = f" in query {str(frame['qid'].iloc[edge])!r}" if "qid" in frame else ""
        raise ValueError(f"no row has the document {wanted[edge]!r}{where}, {column} of pair {edge}")
    return found


def _joint_codes(keys: list[Any], wanted: list[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One number for each combination of keys; wanted combinations that are no key get -1."""
    key_codes, wanted_codes = np.zeros(len(keys[0]), np.int64), np.zeros(len(wanted[0]), np.int64)
    for key, want in zip(keys, wanted, strict=True):
        levels = key.unique()
        of_key, of_wanted = levels.get_indexer(key), levels.get_indexer(want)
        key_codes = key_codes * len(levels) + of_key
        unknown = (wanted_codes < 0) | (of_wanted < 0)
        wanted_codes = np.where(unknown, -1, wanted_codes * len(levels) + of_wanted)
    return key_codes, wanted_codes
