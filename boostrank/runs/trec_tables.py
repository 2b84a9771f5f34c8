"""Judgments and runs in the forms that other libraries use, as DataFrames with checked columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.extensions import ExtensionArray

from boostrank.inputs.arrays import Bools, Floats, Ints
from boostrank.inputs.checks import is_count, refuse_first
from boostrank.inputs.table import to_pandas
from boostrank.text.text_numbers import TextNumbers, text_numbers

QUERY = "query_id"
DOCUMENT = "doc_id"
RELEVANCE = "relevance"
SCORE = "score"
ITERATION = "iteration"

#: Judgments or a run in one of the forms of :func:`as_run`.
Source: TypeAlias = Any
#: Ids as pandas stores texts.
Texts: TypeAlias = ExtensionArray
#: Names that columns have in other libraries, the first one that is there counts.
_OTHER_NAMES = {QUERY: ("q_id", "qid"), DOCUMENT: ("docno",), RELEVANCE: ("label", SCORE)}
_ITERATORS = {RELEVANCE: "qrels_iter", SCORE: "scoreddocs_iter"}


def as_run(run: Source) -> pd.DataFrame:
    """Make a DataFrame of a ranking of the documents of each query.

    Parameters
    ----------
    run : DataFrame, dict, or iterable of named tuples
        - a DataFrame of pandas or polars with the columns "query_id" (or "q_id", "qid"), "doc_id"
          (or "docno") and "score", as in ir_measures and PyTerrier;
        - a dict of dicts, score by document by query, as for pytrec_eval and ranx;
        - a ``ranx.Run``;
        - named tuples with these fields, such as ``ir_measures.ScoredDoc``;
        - a data set of ir_datasets that has scored documents.

    Returns
    -------
    DataFrame
        With the columns "query_id", "doc_id" (texts) and "score" (float64). Ids that are integers
        become their decimal text, as in TREC files.

    Raises
    ------
    ValueError
        If a column is missing, an id is missing, or a score is not a finite number. Whether a
        document occurs twice in a query is checked by :func:`check_unique`.
    TypeError
        If `run` has none of these forms.
    """
    return _checked_table(run, "run", SCORE)


def as_qrels(qrels: Source) -> pd.DataFrame:
    """Make a DataFrame of relevance judgments.

    Parameters
    ----------
    qrels : DataFrame, dict, or iterable of named tuples
        In the forms of :func:`as_run`, with "relevance" (or "label", "score") in place of "score".
        A column "iteration" with subtopics is optional.

    Returns
    -------
    DataFrame
        With the columns "query_id", "doc_id", "iteration" if it is there (texts), and "relevance"
        (float64).

    Raises
    ------
    ValueError, TypeError
        As :func:`as_run`.
    """
    return _checked_table(qrels, "qrels", RELEVANCE, ITERATION)


def _checked_table(source: Source, name: str, number: str, *optional: str) -> pd.DataFrame:
    """A DataFrame with a column of numbers and columns of texts, also optional ones that it has."""
    table = _table(source, name, number)
    for column in (QUERY, DOCUMENT, number):
        others = [other for other in _OTHER_NAMES.get(column, ()) if other in table]
        if others and column not in table:
            table = table.rename(columns={others[0]: column})
    if len(table) == 0:
        raise ValueError(f"{name} is empty: it has no documents")
    for column in (QUERY, DOCUMENT, number):
        if column not in table:
            expected = f"{QUERY}, {DOCUMENT} and {number}"
            raise ValueError(f"{name} must have the columns {expected}; {column} is missing")
    numbers = _numbers(table, number, name)
    columns: dict[str, Texts | Floats] = {}
    for column in (QUERY, DOCUMENT, *optional):
        if column in table:
            columns[column] = _texts(table, column, name)
    columns[number] = numbers
    return pd.DataFrame(columns)


def _table(source: Source, name: str, number: str) -> pd.DataFrame:
    """A DataFrame of pandas with the names and the values of the source."""
    # A data set of ir_datasets.
    if hasattr(source, _ITERATORS[number]):
        source = getattr(source, _ITERATORS[number])()
    # A run or judgments of ranx.
    if hasattr(source, "to_dict") and hasattr(source, "keys") and not hasattr(source, "columns"):
        source = source.to_dict()
    if isinstance(source, Mapping) and all(
        isinstance(documents, Mapping) for documents in source.values()
    ):
        return _from_dicts(source, number)
    table = to_pandas(source)
    return table if isinstance(table, pd.DataFrame) else _from_tuples(source, name, number)


def _from_tuples(source: Source, name: str, number: str) -> pd.DataFrame:
    is_path = isinstance(source, (str, os.PathLike))
    rows: list[object] = [source]
    if isinstance(source, Iterable) and not is_path:
        rows = list(source)
    if rows and not hasattr(rows[0], "_fields"):
        advice = f". Read a file with boostrank.read_{name}" if is_path else ""
        raise TypeError(
            f"{name} must be a DataFrame, a dict of dicts, {number} by document by query, or named "
            f"tuples; got {type(source).__name__}{advice}"
        )
    return pd.DataFrame(rows)


def _from_dicts(source: Mapping[object, Mapping[object, object]], number: str) -> pd.DataFrame:
    rows = [
        (query, document, value)
        for query, documents in source.items()
        for document, value in documents.items()
    ]
    return pd.DataFrame(rows, columns=[QUERY, DOCUMENT, number], dtype=object)


def _texts(table: pd.DataFrame, column: str, name: str) -> Texts:
    """A column of ids as an array of texts."""
    ids = table[column]
    if not ids.isna().any():
        if isinstance(ids.dtype, pd.CategoricalDtype):
            ids = ids.astype(ids.cat.categories.dtype)
        if isinstance(ids.dtype, pd.StringDtype):
            return ids.array
    values = ids.to_numpy(dtype=object)
    if pd.api.types.infer_dtype(values, skipna=False) not in ("string", "integer"):
        bad = [not isinstance(value, str) and not is_count(value) for value in values]
        rule = f"{name} must have ids, each str or int; {column} of"
        refuse_first(np.array(bad), lambda row: f"{rule} row {row} is {values[row]!r}")
    return pd.Series([str(value) for value in values.tolist()], dtype=str).array


def _numbers(table: pd.DataFrame, column: str, name: str) -> Floats:
    """A column of finite numbers as float64."""
    try:
        numbers = table[column].to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{column} of {name} must be numbers: {error}") from None
    rule = f"{column} of {name} must be finite; it is"
    refuse_first(
        ~np.isfinite(numbers), lambda row: f"{rule} {numbers[row]} for {_document(table, row)}"
    )
    return numbers


class NumberedQueries(NamedTuple):
    """The queries of tables, numbered by first appearance.

    Attributes
    ----------
    ids : ndarray of object, shape (n_queries,)
    numbers : ndarray of int64, shape (n_rows,)
        The query of each row, those of one table after those of the other.
    are_in : ndarray of bool, shape (n_tables, n_queries)
        Which queries each table has.
    """

    ids: NDArray[Any]
    numbers: Ints
    are_in: Bools


def number_queries(*tables: pd.DataFrame) -> NumberedQueries:
    """Number the queries of tables that :func:`as_qrels` or :func:`as_run` has made."""
    texts = pd.concat([table[QUERY] for table in tables], ignore_index=True).array
    numbered = _number_texts(texts, np.zeros(len(texts), dtype=np.int64), 1)
    are_in = np.zeros((len(tables), len(numbered.firsts)), dtype=bool)
    table_of_row = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    are_in[table_of_row, numbered.numbers] = True
    ids = np.asarray(texts.take(numbered.firsts), dtype=object)
    return NumberedQueries(ids, numbered.numbers, are_in)


def number_documents(queries: NumberedQueries, *tables: pd.DataFrame) -> tuple[Texts, TextNumbers]:
    """The ids of the documents of all rows, and their numbers, which are others in each query."""
    texts = pd.concat([table[DOCUMENT] for table in tables], ignore_index=True).array
    return texts, _number_texts(texts, queries.numbers, len(queries.ids))


def _number_texts(texts: Texts, query: Ints, n_queries: int) -> TextNumbers:
    """Number the texts of each query; see :func:`boostrank.text.text_numbers.text_numbers`."""
    found = _number_arrow_texts(texts, query, n_queries)
    if found is not None:
        return found
    rows = np.argsort(query, kind="stable")
    numbers = np.empty(len(query), dtype=np.int64)
    # Beside None, pandas 2 too tells apart texts that are equal up to a zero character.
    with_none = np.append(np.asarray(texts.astype(object)), np.array(None))
    codes = pd.factorize(with_none)[0][:-1]
    numbers[rows], different = pd.factorize((query * len(query) + codes)[rows])
    firsts = np.empty(len(different), dtype=np.int64)
    firsts[numbers[rows][::-1]] = rows[::-1]
    return TextNumbers(rows, numbers, firsts, np.bincount(query[firsts], minlength=n_queries))


def _number_arrow_texts(texts: Texts, query: Ints, n_queries: int) -> TextNumbers | None:
    """Number texts in C, which reads them only as PyArrow stores them; None if it cannot."""
    if getattr(texts.dtype, "storage", None) != "pyarrow":
        return None
    import pyarrow as pa

    array = pa.array(texts).cast(pa.large_string())
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    _, places, content = array.buffers()
    first = array.offset
    arrow_ends = np.frombuffer(places, np.int64)[first : first + len(array) + 1]
    return text_numbers(np.frombuffer(content or b" ", np.uint8), arrow_ends, query, n_queries)


def check_unique(
    table: pd.DataFrame, name: str, documents: Ints | None = None, *, subtopics: bool = True
) -> None:
    """Raise ValueError if a query of judgments or of a run has a document twice.

    Parameters
    ----------
    table : DataFrame
    name : str
        The name of the table in messages.
    documents : ndarray of int64, shape (n_rows,), optional
        The numbers of the documents, if they are known; see :func:`number_documents`.
    subtopics : bool, default True
        Whether a document may have several judgments, which differ in their iteration.
    """
    if documents is None:
        _, numbered = number_documents(number_queries(table), table)
        documents = numbered.numbers
    if np.bincount(documents).max() <= 1:
        return
    keys = pd.DataFrame({DOCUMENT: documents})
    if ITERATION in table:
        keys[ITERATION] = table[ITERATION]
    refuse_first(
        keys.duplicated().to_numpy(), lambda row: f"{name} has {_document(table, row)} twice"
    )
    if subtopics:
        return
    refuse_first(
        keys.duplicated(DOCUMENT).to_numpy(),
        lambda row: (
            f"{name} has {_document(table, row)} for several iterations (subtopics), such as "
            f"{table[ITERATION].iloc[row]!r}, but a measure needs one judgment for each document; "
            f"take the largest by {name}.groupby(['query_id', 'doc_id'], as_index=False, "
            "sort=False)['relevance'].max()"
        ),
    )


def _document(table: pd.DataFrame, row: int) -> str:
    """The document of a row, as text for a message."""
    query = str(table[QUERY].iloc[row])
    document = str(table[DOCUMENT].iloc[row])
    return f"the document {document!r} of the query {query!r}"
