"""Judgments and runs in the forms that other libraries use, as DataFrames with checked columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from boostrank.inputs.arrays import Bools, Ints
from boostrank.inputs.checks import refuse_first
from boostrank.inputs.frames import to_pandas
from boostrank.queries.compiled import is_available
from boostrank.queries.compiled.lines import TextNumbers, text_numbers

QUERY, DOCUMENT, RELEVANCE, SCORE, ITERATION = (
    "query_id",
    "doc_id",
    "relevance",
    "score",
    "iteration",
)

#: Names that columns have in other libraries, the first one that is there counts.
_OTHER_NAMES = {QUERY: ("q_id", "qid"), DOCUMENT: ("docno",), RELEVANCE: ("label", SCORE)}
_ITERATORS = {RELEVANCE: "qrels_iter", SCORE: "scoreddocs_iter"}


def as_run(run: Any) -> pd.DataFrame:
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


def as_qrels(qrels: Any) -> pd.DataFrame:
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


def _checked_table(source: Any, name: str, number: str, *optional: str) -> pd.DataFrame:
    """A DataFrame of pandas with columns of texts, those that are optional if they are there, and
    one of numbers.
    """
    if hasattr(source, _ITERATORS[number]):
        source = getattr(source, _ITERATORS[number])()  # ir_datasets
    if hasattr(source, "to_dict") and hasattr(source, "keys") and not hasattr(source, "columns"):
        source = source.to_dict()  # ranx
    table = to_pandas(source)
    if isinstance(source, Mapping) and all(
        isinstance(documents, Mapping) for documents in source.values()
    ):
        table = _from_dicts(source, number)
    elif not isinstance(table, pd.DataFrame):
        table = _from_tuples(source, name, number)
    for column in (QUERY, DOCUMENT, number):
        other = next(
            (other_name for other_name in _OTHER_NAMES.get(column, ()) if other_name in table), None
        )
        table = table if column in table or other is None else table.rename(columns={other: column})
    if len(table) == 0:
        raise ValueError(f"{name} is empty: it has no documents")
    missing = [column for column in (QUERY, DOCUMENT, number) if column not in table]
    if missing:
        raise ValueError(
            f"{name} must have the columns {QUERY}, {DOCUMENT} and {number}; {missing[0]} is "
            f"missing"
        )
    numbers = _numbers(table, number, name)
    columns = (QUERY, DOCUMENT, *(column for column in optional if column in table))
    return pd.DataFrame(
        {**{column: _texts(table, column, name) for column in columns}, number: numbers}
    )


def _from_tuples(source: Any, name: str, number: str) -> pd.DataFrame:
    is_path = isinstance(source, (str, os.PathLike))
    rows = [source] if is_path or not isinstance(source, Iterable) else list(source)
    if rows and not hasattr(rows[0], "_fields"):
        advice = f". Read a file with boostrank.read_{name}" if is_path else ""
        raise TypeError(
            f"{name} must be a DataFrame, a dict of dicts, {number} by document by query, or named "
            f"tuples; got {type(source).__name__}{advice}"
        )
    return pd.DataFrame(rows)


def _from_dicts(source: Mapping[Any, Any], number: str) -> pd.DataFrame:
    rows = [
        (query, document, value)
        for query, documents in source.items()
        for document, value in documents.items()
    ]
    return pd.DataFrame(rows, columns=[QUERY, DOCUMENT, number], dtype=object)


def _texts(table: pd.DataFrame, column: str, name: str) -> Any:
    """A column of ids as an array of texts."""
    ids = table[column]
    if not ids.isna().any():
        if isinstance(ids.dtype, pd.CategoricalDtype):
            ids = ids.astype(ids.cat.categories.dtype)
        if isinstance(ids.dtype, pd.StringDtype):
            return ids.array
    values = ids.to_numpy(dtype=object)
    if pd.api.types.infer_dtype(values, skipna=False) not in ("string", "integer"):
        bad = [
            not isinstance(value, (str, int, np.integer)) or isinstance(value, bool)
            for value in values
        ]
        rule = f"{name} must have ids, each str or int; {column} of"
        refuse_first(np.array(bad), lambda row: f"{rule} row {row} is {values[row]!r}")
    return pd.Series([str(value) for value in values.tolist()], dtype=str).array


def _numbers(table: pd.DataFrame, column: str, name: str) -> Any:
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
    are_in[
        np.repeat(np.arange(len(tables)), [len(table) for table in tables]), numbered.numbers
    ] = True
    return NumberedQueries(
        np.asarray(texts.take(numbered.firsts), dtype=object), numbered.numbers, are_in
    )


def number_documents(queries: NumberedQueries, *tables: pd.DataFrame) -> tuple[Any, TextNumbers]:
    """The ids of the documents of all rows, an array of pandas, and their numbers, which are others
    in each query.
    """
    texts = pd.concat([table[DOCUMENT] for table in tables], ignore_index=True).array
    return texts, _number_texts(texts, queries.numbers, len(queries.ids))


def _number_texts(texts: Any, query: Ints, n_queries: int) -> TextNumbers:
    """Number the texts of each query; see :func:`boostrank.queries.compiled.lines.text_numbers`."""
    # The compiled library reads texts only as PyArrow stores them.
    if getattr(texts.dtype, "storage", None) == "pyarrow" and is_available():
        import pyarrow as pa

        arrow_texts = pa.array(texts).cast(pa.large_string())
        array = (
            arrow_texts.combine_chunks()
            if isinstance(arrow_texts, pa.ChunkedArray)
            else arrow_texts
        )
        _, places, content = array.buffers()
        arrow_ends = np.frombuffer(places, np.int64)[array.offset : array.offset + len(array) + 1]
        return text_numbers(np.frombuffer(content or b" ", np.uint8), arrow_ends, query, n_queries)
    rows, numbers = np.argsort(query, kind="stable"), np.empty(len(query), dtype=np.int64)
    # Beside None, pandas 2 too tells apart texts that are equal up to a zero character.
    codes = pd.factorize(np.append(texts.astype(object), np.array(None)))[0][:-1]
    numbers[rows], different = pd.factorize((query * len(query) + codes)[rows])
    firsts = np.empty(len(different), dtype=np.int64)
    firsts[numbers[rows][::-1]] = rows[::-1]
    return TextNumbers(rows, numbers, firsts, np.bincount(query[firsts], minlength=n_queries))


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
        documents = number_documents(number_queries(table), table)[1].numbers
    if np.bincount(documents).max() > 1:
        keys = pd.DataFrame(
            {DOCUMENT: documents, **({ITERATION: table[ITERATION]} if ITERATION in table else {})}
        )
        refuse_first(
            keys.duplicated().to_numpy(), lambda row: f"{name} has {_document(table, row)} twice"
        )
        bad = keys.duplicated(DOCUMENT).to_numpy() & (not subtopics)
        largest = (
            f"{name}.groupby(['query_id', 'doc_id'], as_index=False, sort=False)['relevance'].max()"
        )
        advice = (
            f"but a measure needs one judgment for each document; take the largest by {largest}"
        )
        several = "for several iterations (subtopics), such as"
        refuse_first(
            bad,
            lambda i: (
                f"{name} has {_document(table, i)} {several} {table[ITERATION].iloc[i]!r}, {advice}"
            ),
        )


def _document(table: pd.DataFrame, row: int) -> str:
    """The document of a row, as text for a message."""
    query, document = (str(table[column].iloc[row]) for column in (QUERY, DOCUMENT))
    return f"the document {document!r} of the query {query!r}"
