"""TREC files: relevance judgments (qrels) and rankings (runs).

A line of qrels is ``QUERY ITERATION DOCUMENT RELEVANCE``, and a line of a run is ``QUERY Q0 DOCUMENT RANK SCORE TAG``,
with blanks or tabs between the fields. The rank in a file is not used, as in trec_eval: scores rank the documents.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
import warnings
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from boostrank.datasets.trec_compiled import parse_compiled
from boostrank.datasets.trec_tables import DOCUMENT, ITERATION, QUERY, RELEVANCE, SCORE, as_run
from boostrank.inputs.checks import is_finite_text
from boostrank.inputs.files import read_decompressed, write_atomically

Path = str | os.PathLike[str]

#: Names of the columns of each kind of file.
COLUMNS = {"qrels": (QUERY, ITERATION, DOCUMENT, RELEVANCE), "run": (QUERY, "q0", DOCUMENT, "rank", SCORE, "tag")}
#: What the lines of each kind of file consist of, for error messages.
LINE_FORMS = {"qrels": "QUERY ITERATION DOCUMENT RELEVANCE", "run": "QUERY Q0 DOCUMENT RANK SCORE TAG"}
#: The columns of texts that are read; no two lines have the same ones.
TEXTS = {"qrels": (QUERY, DOCUMENT, ITERATION), "run": (QUERY, DOCUMENT)}
#: The column that has numbers.
NUMBERS = {"qrels": RELEVANCE, "run": SCORE}
_INTEGER = r"[+-]?[0-9]{1,18}"
_BLANKS = b" \t\r\n"
# A column for a field that is too many.
_BEYOND = "beyond"
#: How pandas reads numbers exactly: the default of older versions rounds some numbers to a neighbour.
EXACT_NUMBERS: dict[str, Any] = {} if int(pd.__version__.split(".")[0]) >= 3 else {"float_precision": "round_trip"}


def read_qrels(path: Path) -> pd.DataFrame:
    r"""Read relevance judgments from a TREC file.

    Parameters
    ----------
    path : str or path
        Text in UTF-8, or such text compressed by gzip, whatever its name. Each line has the fields ``QUERY ITERATION
        DOCUMENT RELEVANCE``. Empty lines are ignored.

    Returns
    -------
    DataFrame
        One row per line, with the columns "query_id", "doc_id", "iteration" (str) and "relevance" (int64), as
        ir_measures names them. The iteration is the subtopic in tasks that have subtopics, and otherwise has no
        meaning. A relevance may be negative; measures treat it as 0.

    Raises
    ------
    ValueError
        If a line has another number of fields, a relevance that is not an integer, or a document that is judged
        already for this query and iteration; or if the file is empty or not such text. The message names the line.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "qrels.txt")
    >>> _ = path.write_text("301 0 doc-1 2\n301 0 doc-2 0\n")
    >>> read_qrels(path)
      query_id doc_id iteration  relevance
    0      301  doc-1         0          2
    1      301  doc-2         0          0
    """
    return _read(path, "qrels")[0]


def read_run(path: Path) -> pd.DataFrame:
    r"""Read a ranking of the documents of each query from a TREC file.

    Parameters
    ----------
    path : str or path
        Text in UTF-8, or such text compressed by gzip, whatever its name. Each line has the fields ``QUERY Q0 DOCUMENT
        RANK SCORE TAG``. Empty lines are ignored.

    Returns
    -------
    DataFrame
        One row per line, with the columns "query_id", "doc_id" (str) and "score" (float64). ``table.attrs["tag"]`` is
        the tag of the first line. Ranks are not read, since trec_eval does not use them either.

    Raises
    ------
    ValueError
        If a line has another number of fields, a score that is not a finite number, or a document that the query has
        already; or if the file is empty or not such text. The message names the line.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "run.txt")
    >>> _ = path.write_text("301 Q0 doc-2 1 9.5 bm25\n301 Q0 doc-1 2 7.25 bm25\n")
    >>> read_run(path)
      query_id doc_id  score
    0      301  doc-2   9.50
    1      301  doc-1   7.25
    """
    table, tag = _read(path, "run")
    table.attrs["tag"] = tag
    return table


def write_run(path: Path, run: object, tag: str = "boostrank") -> None:
    """Write a ranking of the documents of each query as a TREC file.

    Queries are written in the sequence in which they first appear, and their documents by decreasing score. Documents
    with equal scores keep their sequence; note that trec_eval ranks them by decreasing id. Scores are written with all
    digits that are needed to read the same number. The file is written atomically.

    Parameters
    ----------
    path : str or path
        The text is compressed by gzip if the name ends with ".gz".
    run : DataFrame or dict
        A DataFrame of pandas or polars with the columns "query_id", "doc_id" and "score", or a dict of dicts, score by
        document by query.
    tag : str, default "boostrank"
        Name of the run, the last field of each line, without blanks.

    Raises
    ------
    ValueError
        If an id or the tag is empty or has blanks, if a document occurs twice in a query, or a score is not a finite
        number.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "run.txt")
    >>> write_run(path, {"301": {"doc-1": 7.25, "doc-2": 9.5}}, tag="mine")
    >>> print(path.read_text().strip())
    301 Q0 doc-2 1 9.5 mine
    301 Q0 doc-1 2 7.25 mine
    """
    if not isinstance(tag, str):
        raise ValueError(f"tag must be a text; got {tag!r}")
    table = as_run(run)
    for name, texts in (("tag", pd.Series([tag], dtype=str)), (QUERY, table[QUERY]), (DOCUMENT, table[DOCUMENT])):
        blank = texts.str.contains(r"\s", regex=True) | (texts == "")
        if blank.any():
            raise ValueError(
                f"a field of a TREC file must not be empty and must not have blanks; got the {name} "
                f"{texts[blank].iloc[0]!r}"
            )
    queries = pd.Series(pd.factorize(table[QUERY])[0])
    ranked = table.iloc[np.lexsort((-table[SCORE].to_numpy(), queries))]
    ranks = ranked.groupby(QUERY, sort=False, observed=True).cumcount() + 1
    rows = zip(ranked[QUERY], ranked[DOCUMENT], ranks, ranked[SCORE].tolist(), strict=True)
    text = "".join(f"{query} Q0 {document} {rank} {score!r} {tag}\n" for query, document, rank, score in rows)
    content = text.encode()
    if os.fspath(path).endswith(".gz"):
        content = gzip.compress(content, mtime=0)

    def write(temporary: str) -> None:
        with open(temporary, "wb") as file:
            file.write(content)

    write_atomically(path, write)


def _read(path: Path, kind: str) -> tuple[pd.DataFrame, str]:
    """The table of a file, checked, and the last field of its first line."""
    columns, content = COLUMNS[kind], read_decompressed(path)
    if content[:3].tobytes() == codecs.BOM_UTF8:
        content = content[3:]
    table = parse_compiled(content, columns, TEXTS[kind], NUMBERS[kind])
    if table is None:
        table = _parse_with_pandas(path, content[:-1].tobytes(), kind)
    # The file has a line, since otherwise it was refused.
    fields = re.search(rb"(?:([^ \t\r\n]+)[ \t]*)+", content[:-1].data)
    return table, fields[1].decode() if fields else ""


def _parse_with_pandas(path: Path, content: bytes, kind: str) -> pd.DataFrame:
    columns, texts, number = COLUMNS[kind], TEXTS[kind], NUMBERS[kind]
    number_type = np.int64 if kind == "qrels" else np.float64
    try:
        # pandas is several times faster where it may choose the types of columns.
        table = _read_csv(content, [*columns, _BEYOND], {number: str if kind == "qrels" else np.float64})
        if len(table) == 0 or (table[columns[-1]] == "").any() or (table[_BEYOND] != "").any():
            _raise_fault(path, content, kind)
        if kind == "qrels" and not table[number].str.fullmatch(_INTEGER).all():
            _raise_fault(path, content, kind)
        values = table[number].to_numpy(dtype=object).astype(number_type)
        # pandas reads a column of the words True and False as the numbers 1 and 0.
        if kind == "run" and np.isin(values, (0.0, 1.0)).all():
            words = _read_csv(content, list(columns), str, usecols=[number])[number]
            if words.str.contains("[a-df-zA-DF-Z]", regex=True).any():
                _raise_fault(path, content, kind)
        # Ids such as 007 were read as numbers.
        wrong = [name for name in texts if not isinstance(table[name].dtype, pd.StringDtype)]
        if wrong:
            table[wrong] = _read_csv(content, list(columns), str, usecols=wrong)[wrong]
    except (ValueError, OverflowError):
        _raise_fault(path, content, kind)
    if not np.isfinite(values).all() or table.duplicated(list(texts)).any():
        _raise_fault(path, content, kind)
    return table[list(texts)].assign(**{number: values})


def _read_csv(content: bytes, columns: list[str], dtype: Any, usecols: list[str] | None = None) -> pd.DataFrame:
    with warnings.catch_warnings():
        # Columns of several types, and lines that are too long, are noticed by the caller.
        warnings.simplefilter("ignore", (pd.errors.DtypeWarning, pd.errors.ParserWarning))
        return pd.read_csv(
            io.BytesIO(content),
            sep=r"\s+",
            header=None,
            names=columns,
            usecols=usecols,
            index_col=False,
            dtype=dtype,
            na_filter=False,
            quoting=csv.QUOTE_NONE,
            encoding="utf-8",
            **EXACT_NUMBERS,
        )


def _raise_fault(path: Path, content: bytes, kind: str) -> NoReturn:
    """Raise ValueError for the first invalid line. It reads line by line, which takes several times longer."""
    seen: set[tuple[str, ...]] = set()
    # Lines end in \n, \r\n or \r, as for pandas.
    for number, line in enumerate(content.splitlines(), 1):
        fields = re.split(rb"[ \t]+", line.strip(_BLANKS))
        if fields == [b""]:
            continue
        try:
            fault = _fault([field.decode() for field in fields], kind, seen)
        except UnicodeDecodeError:
            fault = "it is not text in UTF-8"
        if fault:
            shown = line[:60].decode(errors="replace")
            raise ValueError(
                f"{os.fspath(path)}, line {number}: {fault} (in the line {shown!r}); expected {LINE_FORMS[kind]}"
            )
    if not seen:
        raise ValueError(f"{os.fspath(path)} has no lines; expected lines {LINE_FORMS[kind]}")
    raise AssertionError(
        f"{os.fspath(path)}: the fast reader refused this file, but each line is valid; please report this as a defect "
        "of boostrank"
    )


def _fault(fields: list[str], kind: str, seen: set[tuple[str, ...]]) -> str:
    """Describe the fault of a line, or return an empty text; add its query and document to `seen`."""
    if len(fields) != len(COLUMNS[kind]):
        return f"it has {len(fields)} fields"
    line = dict(zip(COLUMNS[kind], fields, strict=True))
    text = line[NUMBERS[kind]]
    if kind == "qrels" and not re.fullmatch(_INTEGER, text):
        return f"the relevance {text!r} is not an integer"
    if kind == "run" and not is_finite_text(text):
        return f"the score {text!r} is not a finite number"
    key = tuple(line[name] for name in (QUERY, ITERATION, DOCUMENT) if name in line)
    if key in seen:
        return f"the document {line[DOCUMENT]!r} occurs a second time for the query {line[QUERY]!r}"
    seen.add(key)
    return ""
