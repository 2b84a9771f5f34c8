"""TREC files: relevance judgments (qrels) and rankings (runs).

A line of qrels is ``QUERY ITERATION DOCUMENT RELEVANCE``, and a line of a run is ``QUERY Q0
DOCUMENT RANK SCORE TAG``, with blanks or tabs between the fields. The rank in a file is not used,
as in trec_eval: scores rank the documents. Lines that begin with ``#`` are comments, also those
with the metadata of ir_metadata. The tag of a run may be missing in all lines, and texts may follow
it, which trec_eval does not read either.
"""

from __future__ import annotations

import codecs
import os
import re
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from boostrank.inputs.arrays import Ints
from boostrank.inputs.checks import is_finite_text, refuse
from boostrank.inputs.files import open_decompressed, write_lines
from boostrank.runs.trec_tables import (
    DOCUMENT,
    ITERATION,
    QUERY,
    RELEVANCE,
    SCORE,
    Texts,
    as_run,
    check_unique,
)
from boostrank.text.trec_lines import Role, trec_lines

Path = str | os.PathLike[str]

#: Names of the columns of each kind of file.
COLUMNS = {
    "qrels": (QUERY, ITERATION, DOCUMENT, RELEVANCE),
    "run": (QUERY, "q0", DOCUMENT, "rank", SCORE, "tag"),
}
#: The fields of a line of each kind of file, for error messages.
LINE_FORMS = {
    "qrels": "QUERY ITERATION DOCUMENT RELEVANCE",
    "run": "QUERY Q0 DOCUMENT RANK SCORE TAG",
}
#: The columns of texts that are read; no two lines have the same texts in all of them.
TEXTS = {"qrels": (QUERY, DOCUMENT, ITERATION), "run": (QUERY, DOCUMENT)}
#: The column that has numbers.
NUMBERS = {"qrels": RELEVANCE, "run": SCORE}
_INTEGER = r"[+-]?[0-9]{1,18}"
_BLANKS = b" \t\r\n"


def read_qrels(path: Path) -> pd.DataFrame:
    r"""Read relevance judgments from a TREC file.

    Parameters
    ----------
    path : str or path
        Text in UTF-8, or such text compressed by gzip, whatever its name. Each line has the fields
        ``QUERY ITERATION DOCUMENT RELEVANCE``. Empty lines, and lines that begin with ``#``, are
        ignored.

    Returns
    -------
    DataFrame
        One row per line, with the columns "query_id", "doc_id", "iteration" (str) and "relevance"
        (int64), as ir_measures names them. The iteration is the subtopic in tasks that have
        subtopics, and otherwise has no meaning. A relevance may be negative; measures treat it as
        0.

    Raises
    ------
    ValueError
        If a line has another number of fields, a relevance that is not an integer, or a document
        that is judged already for this query and iteration; or if the file is empty or not such
        text. The message names the line.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import boostrank as br
    >>> path = pathlib.Path(tempfile.mkdtemp(), "qrels.txt")
    >>> _ = path.write_text("301 0 doc-1 2\n301 0 doc-2 0\n")
    >>> br.read_qrels(path)
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
        Text in UTF-8, or such text compressed by gzip, whatever its name. Each line has the fields
        ``QUERY Q0 DOCUMENT RANK SCORE TAG``, where the tag may be missing in all lines, and texts
        may follow it. Empty lines, and lines that begin with ``#``, are ignored.

    Returns
    -------
    DataFrame
        One row per line, with the columns "query_id", "doc_id" (str) and "score" (float64).
        ``table.attrs["tag"]`` is the tag of the first line, with the texts that follow it. Ranks
        are not read, since trec_eval does not use them either.

    Raises
    ------
    ValueError
        If a line has another number of fields, a score that is not a finite number, or a document
        that the query has already; or if the file is empty or not such text. The message names the
        line.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import boostrank as br
    >>> path = pathlib.Path(tempfile.mkdtemp(), "run.txt")
    >>> _ = path.write_text("301 Q0 doc-2 1 9.5 bm25\n301 Q0 doc-1 2 7.25 bm25\n")
    >>> br.read_run(path)
      query_id doc_id  score
    0      301  doc-2   9.50
    1      301  doc-1   7.25
    """
    table, tag = _read(path, "run")
    table.attrs["tag"] = tag
    return table


def write_run(path: Path, run: object, tag: str = "boostrank") -> None:
    """Write a ranking of the documents of each query as a TREC file.

    Queries are written in the sequence in which they first appear, and their documents by
    decreasing score. Documents with equal scores keep their sequence; note that trec_eval ranks
    them by decreasing id. Scores are written with all digits that are needed to read the same
    number. The file is written atomically.

    Parameters
    ----------
    path : str or path
        The text is compressed by gzip if the name ends with ".gz".
    run : DataFrame or dict
        A DataFrame of pandas or polars with the columns "query_id", "doc_id" and "score", or a dict
        of dicts, score by document by query.
    tag : str, default "boostrank"
        Name of the run, the last field of each line, without blanks.

    Raises
    ------
    ValueError
        If an id or the tag is empty or has blanks, if a document occurs twice in a query, or a
        score is not a finite number.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import boostrank as br
    >>> path = pathlib.Path(tempfile.mkdtemp(), "run.txt")
    >>> br.write_run(path, {"301": {"doc-1": 7.25, "doc-2": 9.5}}, tag="mine")
    >>> print(path.read_text().strip())
    301 Q0 doc-2 1 9.5 mine
    301 Q0 doc-1 2 7.25 mine
    """
    if not isinstance(tag, str):
        refuse("tag", tag, "a text")
    table = as_run(run)
    check_unique(table, "run")
    _check_fields("tag", pd.Series([tag], dtype=str))
    _check_fields(QUERY, table[QUERY])
    _check_fields(DOCUMENT, table[DOCUMENT])
    queries, _ = pd.factorize(table[QUERY])
    ranked = table.iloc[np.lexsort((-table[SCORE].to_numpy(), queries))]
    ranks = ranked.groupby(QUERY, sort=False).cumcount() + 1
    rows = zip(ranked[QUERY], ranked[DOCUMENT], ranks, ranked[SCORE].tolist(), strict=True)
    lines = (
        f"{query} Q0 {document} {rank} {score!r} {tag}\n" for query, document, rank, score in rows
    )
    write_lines(path, lines)


def _check_fields(name: str, texts: pd.Series) -> None:
    """Raise ValueError for the first text that cannot be a field of a TREC file, if one cannot."""
    wrong = texts[texts.str.contains(r"\s", regex=True) | (texts == "")].tolist()
    if wrong:
        expected = "a text that is not empty and has no blanks"
        refuse(f"{name}, a field of a TREC file,", wrong[0], expected)


def _read(path: Path, kind: str) -> tuple[pd.DataFrame, str]:
    """The table of a file, checked, and the last field of its first line."""
    with open_decompressed(path) as file:
        text = file.read().removeprefix(codecs.BOM_UTF8)
    if text.startswith(b"#") or b"\n#" in text:
        # Comments become empty lines, so that the numbers of the other lines stay.
        text = re.sub(rb"^#[^\r\n]*", b"", text, flags=re.MULTILINE)
    table = parse_compiled(np.frombuffer(text + b"\0", np.uint8), kind)
    if table is None:
        table = _parse_lines(path, text, kind)
    first_line, _, _ = text.lstrip(_BLANKS).partition(b"\n")
    return table, _tag(first_line).decode()


def parse_compiled(content: NDArray[np.uint8], kind: str) -> pd.DataFrame | None:
    """The table of a file, read in C; None if a line is invalid.

    It is None too without the compiled library.
    `content` has the bytes of the file, and a zero byte.
    """
    try:
        # The library takes any bytes.
        if content.max() >= 128:
            content.tobytes().decode()
    except UnicodeDecodeError:
        return None
    texts = TEXTS[kind]
    number = NUMBERS[kind]
    roles: dict[str, Role] = {name: i for i, name in enumerate(texts)}
    roles[number] = "integer" if kind == "qrels" else "score"
    lines = trec_lines(content, [roles.get(name, "unused") for name in COLUMNS[kind]])
    if lines is None or len(lines.scores) == 0:
        return None
    values = lines.integers if kind == "qrels" else lines.scores
    for row, start, end in lines.slow.tolist():
        values[row] = float(content[start:end].tobytes())
    if not np.isfinite(values).all():
        return None
    table = pd.DataFrame(
        {name: _column(*column) for name, column in zip(texts, lines.texts, strict=True)}
    )
    table[number] = values
    # The lines of a run of one query differ. The same query may have another run.
    is_grouped = table[QUERY].iloc[lines.runs].is_unique
    if not is_grouped and table.duplicated(list(texts)).any():
        return None
    return table


def _column(text: NDArray[np.uint8], places: Ints) -> Texts | pd.Series:
    """Texts in the form in which pandas stores them."""
    dtype: Any = pd.Series(["text"]).dtype
    if getattr(dtype, "storage", None) == "pyarrow":
        import pyarrow as pa

        buffers = (pa.py_buffer(places), pa.py_buffer(text))
        array = pa.LargeStringArray.from_buffers(len(places) - 1, *buffers)
        return dtype.__from_arrow__(array)
    content = text.tobytes()
    texts = [content[start:end].decode() for start, end in pairwise(places.tolist())]
    return pd.Series(texts, dtype=dtype)


def _parse_lines(path: Path, content: bytes, kind: str) -> pd.DataFrame:
    """The table of a file, line by line in Python, which takes longer.

    Raises ValueError for the first invalid line.
    """
    rows: dict[tuple[str, ...], float] = {}
    tags = set[bytes]()
    is_regular = True
    n_fields = len(COLUMNS[kind])
    # Lines end in \n, \r\n or \r.
    for number, line in enumerate(content.splitlines(), 1):
        fields = re.split(rb"[ \t]+", line.strip(_BLANKS))
        if fields == [b""]:
            continue
        try:
            texts = [field.decode() for field in fields]
            fault = _add_line(texts, kind, rows)
            tags.add(_tag(line))
            # As in trec_eval, texts may follow the tag. A number as tag is the score, if blanks are
            # in an id.
            may_have_blanks = len(texts) > n_fields and is_finite_text(texts[n_fields - 1])
            if len(texts) < n_fields or may_have_blanks:
                is_regular = False
            if not (fault or is_regular) and len(tags) > 1:
                # Otherwise a field may be missing.
                fault = f"it has {len(fields)} fields, and not the tag of the lines before it"
        except UnicodeDecodeError:
            fault = "it is not text in UTF-8"
        if fault:
            shown = line[:60].decode(errors="replace")
            raise ValueError(
                f"{os.fspath(path)}, line {number}: {fault} (in {shown!r}); "
                f"expected {LINE_FORMS[kind]}"
            )
    if not rows:
        raise ValueError(f"{os.fspath(path)} has no lines; expected lines {LINE_FORMS[kind]}")
    columns = zip(TEXTS[kind], zip(*rows, strict=True), strict=True)
    table = pd.DataFrame({name: list(texts) for name, texts in columns})
    table[NUMBERS[kind]] = list(rows.values())
    return table


def _tag(line: bytes) -> bytes:
    """The tag of a line of a run; an empty one if it has none."""
    fields = line.split(None, 5)
    return fields[5].strip(_BLANKS) if len(fields) > 5 else b""


def _add_line(fields: list[str], kind: str, rows: dict[tuple[str, ...], float]) -> str:
    """Add the number of a line to `rows`, by the texts of the line; or return its fault."""
    n_fields = len(COLUMNS[kind])
    # A run may have no tag, or one with blanks. Then the rank shows that no field is missing.
    may_differ = kind == "run" and len(fields) >= n_fields - 1
    if len(fields) != n_fields and not (may_differ and re.fullmatch(_INTEGER, fields[3])):
        return f"it has {len(fields)} fields"
    line = dict(zip(COLUMNS[kind], fields, strict=False))
    text = line[NUMBERS[kind]]
    if kind == "qrels" and not re.fullmatch(_INTEGER, text):
        return f"the relevance {text!r} is not an integer"
    if kind == "run" and not is_finite_text(text):
        return f"the score {text!r} is not a finite number"
    key = tuple(line[name] for name in TEXTS[kind])
    if key in rows:
        return f"the document {line[DOCUMENT]!r} occurs a second time for the query {line[QUERY]!r}"
    rows[key] = int(text) if kind == "qrels" else float(text)
    return ""
