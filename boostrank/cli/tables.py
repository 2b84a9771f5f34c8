"""Tables in files: CSV, TSV and Parquet."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from boostrank.cli.columns import Marks
from boostrank.inputs.checks import is_finite_text
from boostrank.inputs.files import open_decompressed
from boostrank.inputs.warnings import warn

#: Endings of the names of files that are tables. A CSV or TSV file may be compressed, and then ends
#: in ".gz" too.
TAB_SUFFIXES = (".tsv", ".tab")
CSV_SUFFIXES = (".csv", *TAB_SUFFIXES)
#: Endings of the names of Parquet files.
PARQUET_SUFFIXES = (".parquet", ".pq")
#: Texts of CSV files that stand for a missing number: those of pandas, and "none". An id may be
#: "NA".
MISSING = ["", "NA", "N/A", "#NA", "#N/A", "#N/A N/A", "<NA>", "n/a", "NaN", "-NaN", "nan", "-nan"]
MISSING += ["NULL", "null", "None", "none", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"]
# From pandas 3.1 on, numbers are rounded correctly in any case, and the argument is deprecated.
_ROUNDING: dict[str, Any] = {}
if [*map(int, pd.__version__.split(".")[:2])] < [3, 1]:
    _ROUNDING["float_precision"] = "round_trip"
_QUOTES = (
    'A field with a comma needs quotes, as in "a,b", each quote must be closed, and no line may '
    "end with a separator if the first one does not"
)


def is_table(path: Path) -> bool:
    """Whether a file of this name is a table, and not a LETOR file."""
    return ending(path) in (*CSV_SUFFIXES, *PARQUET_SUFFIXES)


def is_parquet(path: Path) -> bool:
    """Whether a file of this name is in Parquet."""
    return ending(path) in PARQUET_SUFFIXES


def ending(path: Path) -> str:
    """The ending of the name of a file in small letters, without that of compression.

    Examples
    --------
    >>> ending(Path("Train.CSV.gz"))
    '.csv'
    """
    return Path(path.name.lower().removesuffix(".gz")).suffix


def column_names(path: Path) -> list[str]:
    """The names of the columns of a table.

    A column without a name, such as an index that pandas wrote, is left out.
    """
    if is_parquet(path):
        from pyarrow import parquet

        with named_errors(path):
            names = parquet.read_schema(path).names
        return [name for name in names if not name.startswith("__index_level_")]
    header = _read_csv(path, header=None, nrows=1, dtype=str, na_values=[""])
    names = header.iloc[0].dropna().str.strip().to_list()
    got = ",".join(names)[:60]
    if all(is_finite_text(name) for name in names):
        raise ValueError(
            f"{path}: its first line must have the names of the columns, and it has numbers; got "
            f"{got!r}"
        )
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise ValueError(
            f"{path}: its first line must have different names of the columns, and {name!r} "
            f"stands there {count} times; got {got!r}"
        )
    return names


def read_columns(
    path: Path, columns: list[str], texts: Collection[str], missing: Marks | None = None
) -> pd.DataFrame:
    """Read columns of a table.

    Parameters
    ----------
    path : Path
    columns : list of str
    texts : collection of str
        Columns that are texts if the file does not say which type they have. Of these, only empty
        fields are missing.
    missing : dict of str to list of str, optional
        The texts that stand for a missing value in columns of a CSV file, where they are others
        than usual.
    """
    if is_parquet(path):
        frame = _read_parquet(path, columns, texts)
    else:
        marks = dict.fromkeys(columns, MISSING) | dict.fromkeys(texts, ("",)) | {**(missing or {})}
        options: dict[str, Any] = {"dtype": dict.fromkeys(texts, str), "na_values": marks}
        header = _read_csv(path, nrows=0).columns
        if any(name != name.strip() for name in header):
            options |= {"names": header.str.strip(), "header": 0}
        frame = _read_csv(path, **options)
        if isinstance(frame.index, pd.RangeIndex):
            _warn_of_short_rows(path, frame)
    if frame.empty or not isinstance(frame.index, pd.RangeIndex):
        fault = "there are none" if frame.empty else f"they have more. {_QUOTES}"
        raise ValueError(
            f"{path}: below the first line there must be rows with as many fields; {fault}"
        )
    return frame[columns]


def _read_parquet(path: Path, columns: list[str], texts: Collection[str]) -> pd.DataFrame:
    from pyarrow import parquet

    with named_errors(path):
        table = parquet.read_table(path, columns=columns)
        # The metadata may say that a column is the index.
        frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
        for name in {*texts} & {*columns}:
            # Beside nulls, integers would become floats, which have other texts, and not all
            # large integers.
            frame[name] = table[name].to_pandas(integer_object_nulls=True)
    return frame


def _read_csv(path: Path, **options: Any) -> pd.DataFrame:
    separator = _separator(path)
    options = {**options, **_ROUNDING}
    with open_decompressed(path) as file, named_errors(path), warnings.catch_warnings():
        # pandas warns of a column whose blocks of rows have different types: such a column has
        # texts.
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        return pd.read_csv(
            file,
            sep=separator,
            encoding="utf-8-sig",
            keep_default_na=False,
            skipinitialspace=True,
            **options,
        )


def _warn_of_short_rows(path: Path, frame: pd.DataFrame) -> None:
    """Warn of rows with fewer fields than the first line, whose last values count as missing."""
    n_columns = frame.shape[1]
    last = frame.iloc[:, -1]
    # Columns that are not asked for have empty texts for missing values.
    is_suspect = (last.isna() | (last == "")).to_numpy(dtype=bool)
    if n_columns < 2 or not is_suspect.any():
        return
    with open_decompressed(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        rows = csv.reader(text, delimiter=_separator(path), skipinitialspace=True)
        # As pandas, without empty lines.
        sizes = [(len(row), rows.line_num) for row in rows if len(row) > 1 or "".join(row).strip()]
    short = [
        (row, n_fields, line)
        for row, (n_fields, line) in enumerate(sizes[1:], 1)
        if n_fields < n_columns
    ]
    if short and len(sizes) == len(frame) + 1:
        row, n_fields, line = short[0]
        others = ""
        if len(short) > 1:
            others = f", the first of {len(short):,} such rows"
        warn(
            f"{path}: row {row:,} (line {line:,}) has {n_fields} of the {n_columns} fields of the "
            f"first line{others}: the others count as missing. Complete such lines, or leave them "
            "out"
        )


def _separator(path: Path) -> str:
    """The separator of the fields of a file: the tab in files that end in ".tsv" or ".tab".

    In others, it is that of the comma, the semicolon, the tab and "|" which the first line has most
    often.
    """
    if ending(path) in TAB_SUFFIXES:
        return "\t"
    with open_decompressed(path) as file:
        line = next((line for line in file if line.strip()), b"").decode(errors="replace")
    outside_quotes = re.sub(r'"[^"]*"', "", line)
    return max(",;\t|", key=outside_quotes.count)


@contextlib.contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Name the file, and what is expected of it, in errors of pandas and pyarrow."""
    try:
        yield
    except pd.errors.EmptyDataError:
        raise ValueError(
            f"{path} is empty: its first line must have the names of the columns"
        ) from None
    except ValueError as error:
        text = str(error).removeprefix("Error tokenizing data. C error: ").strip()
        if isinstance(error, pd.errors.ParserError):
            raise ValueError(f"{path} cannot be read as a table: {text}. {_QUOTES}") from error
        raise ValueError(
            f"{path} cannot be read as a table: {text}. A CSV file must be text in UTF-8, and its "
            "first line must have the names of the columns"
        ) from error


def write_table(table: pd.DataFrame, path: str) -> None:
    """Write a table as CSV, TSV or Parquet, by the ending of its name.

    Texts are written as they are, so that ids can be read again. A spreadsheet runs those that
    begin with ``=``, ``+``, ``-`` or ``@``, unless they are imported as text.
    """
    if is_parquet(Path(path)):
        table.to_parquet(path, index=False, engine="pyarrow")
    else:
        table.to_csv(path, index=False, sep="," if ending(Path(path)) == ".csv" else "\t")
