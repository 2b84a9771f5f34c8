"""Make preference graphs from tables of pairs or of side-by-side judgments; read and write them as CSV files."""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.core.queries import rows_with_ids
from boostrank.inputs.arrays import check_lengths
from boostrank.inputs.checks import check_choice
from boostrank.inputs.files import write_atomically
from boostrank.inputs.frames import as_frame
from boostrank.preferences.graph import PreferenceGraph


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
    frame = as_frame(pairs, "pairs", "winner", "loser")
    weight = frame["weight"].to_numpy() if "weight" in frame else None
    if documents is None:
        return PreferenceGraph(qid, frame["winner"].to_numpy(), frame["loser"].to_numpy(), weight)
    check_lengths(qid=np.shape(qid)[0], documents=len(np.asarray(documents)))
    query = {"query": (qid, frame["qid"])} if "qid" in frame else {}
    winner, loser = (rows_with_ids(**query, document=(documents, frame[name])) for name in ("winner", "loser"))
    return PreferenceGraph(qid, winner, loser, weight)


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
    frame = as_frame(judgments, "judgments", "left", "right", "preferred")
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
    number that the text spells.

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
    kinds = {"weight": float, "winner": int, "loser": int}
    if documents is not None:
        kinds |= dict.fromkeys(("winner", "loser"), _kind(documents, "documents")) | {"qid": _kind(qid, "qid")}
    try:
        # The names of the columns are read as a row: pandas then refuses each line that is longer than this one.
        cells = pd.read_csv(name, dtype=str, header=None, keep_default_na=False)
        cells = cells.set_axis(cells.iloc[0].str.strip(), axis=1).iloc[1:]
        columns = {str(each): _typed(cells[each], kinds.get(str(each), str)) for each in cells}
        return from_pairs(columns, qid, documents)
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
        For ids of other types, and if there is not one id for each document.

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
        ids, queries = _texts(documents, "documents"), _texts(graph.qid, "qid")
        check_lengths(graph=len(graph), documents=len(ids))
        frame = pd.DataFrame({"qid": queries[graph.winner], "winner": ids[graph.winner], "loser": ids[graph.loser]})
    if graph.weight is not None:
        frame["weight"] = graph.weight
    write_atomically(path, lambda name: frame.to_csv(name, index=False))


def _kind(ids: ArrayLike, name: str) -> type:
    """The type of ids: str, int or float; other ids, and ids of several types, are errors."""
    import pandas as pd

    kinds = {"string": str, "integer": int, "floating": float}
    given: Any = ids
    found = pd.api.types.infer_dtype(given if hasattr(given, "dtype") else list(given), skipna=False)
    if found not in kinds:
        raise ValueError(f"{name} must be all str, all integers or all floats for a CSV file; got {found}")
    return kinds[found]


def _texts(ids: ArrayLike, name: str) -> NDArray[Any]:
    """Ids as the texts that a file has, which :func:`_typed` turns back."""
    kind, given = _kind(ids, name), np.asarray(ids)
    return np.array([text if kind is str else repr(kind(text)) for text in given], dtype=object)


def _typed(texts: Any, kind: type) -> NDArray[Any]:
    """The values that the texts of a column spell."""
    values: NDArray[Any] = texts.to_numpy(object)
    try:
        return values if kind is str else values.astype(kind)
    except (ValueError, OverflowError) as error:
        advice = "; without documents=, winner and loser are row numbers" if kind is int else ""
        raise ValueError(f"column {texts.name!r}: {error}{advice}") from None
