"""Tables in CSV, TSV and Parquet files: the names of their columns, and some of their columns as a DataFrame."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any, Protocol

import pandas as pd

from boostrank.datasets.feature_files import PARQUET_MARK
from boostrank.inputs.checks import is_finite_text
from boostrank.inputs.files import open_decompressed

#: Texts of CSV files that stand for a missing number. Columns of text have no such texts: "NA" may be an id.
MISSING = ("", "NA", "N/A", "#N/A", "<NA>", "n/a", "NaN", "nan", "-nan", "NULL", "null", "None", "none")
#: Endings of the names of files, without that of gzip, which are tables.
CSV_SUFFIXES, PARQUET_SUFFIXES = (".csv", ".tsv", ".tab"), (".parquet", ".pq")
#: Column in which pandas keeps an index without a name in Parquet files.
_PANDAS_INDEX = "__index_level_"
_BLOCK = 2**20


class TableFile(Protocol):
    """A file with a table.

    Attributes
    ----------
    path : Path
    names : list of str
        Names of its columns.
    """

    path: Path
    names: list[str]

    def read(self, columns: list[str], texts: Collection[str] = ()) -> pd.DataFrame:
        """Read some of the columns, in the given sequence, with rows 0, 1, ...

        Those in `texts` are read as texts if the file does not say which type they have.
        """
        ...


def open_table(path: Path) -> TableFile | None:
    """The table in a file; None if it is no table, but maybe a LETOR file.

    Parquet files are known by their content, and CSV files by their names.

    Raises
    ------
    ValueError
        If the table is empty or damaged, or its columns have no names, or two of them the same name.
    ImportError
        If pyarrow is needed and not installed.
    OSError
        If the file cannot be read.
    """
    with open(path, "rb") as file:
        is_parquet = file.read(len(PARQUET_MARK)) == PARQUET_MARK
    if is_parquet or path.suffix in PARQUET_SUFFIXES:
        return ParquetFile(path)
    return CsvFile(path) if _plain_suffix(path) in CSV_SUFFIXES else None


def _plain_suffix(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).suffix


class CsvFile:
    """A CSV file in UTF-8, plain or compressed by gzip, whose first line has the names of the columns.

    The separator is the tab in files that end in ``.tsv`` or ``.tab``; otherwise the first of comma, semicolon and tab
    that the first line has.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with _described(path), self._open() as file:
            line = next((text for text in file if text.strip()), "")
            if not line:
                raise ValueError(f"{path}: the file is empty; expected a first line with the names of the columns")
            separators = "\t" if _plain_suffix(path) != ".csv" else ",;\t"
            self._separator = next((one for one in separators if one in line), separators[0])
            # A name in quotes may continue on the next line.
            fields = next(csv.reader(chain([line], file), delimiter=self._separator))
        if all(is_finite_text(name) for name in fields):
            raise ValueError(
                f"{path}: its first line must have the names of the columns; got numbers, {line.strip()[:60]!r}"
            )
        # Columns without names are not read, such as the index that pandas writes.
        self.names = [name for name in fields if name]
        _refuse_repeated(path, self.names)
        self._fields = [name or f"\0{i}" for i, name in enumerate(fields)]

    def read(self, columns: list[str], texts: Collection[str] = ()) -> pd.DataFrame:
        """Read some of the columns; see :class:`TableFile`."""
        numbers = {name: list(MISSING) for name in columns if name not in texts}
        with _described(self.path), open_decompressed(self.path) as file, warnings.catch_warnings():
            # Types that differ between blocks of rows are those of a column that is not numeric.
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)
            # Rows with too many fields are an error below.
            warnings.simplefilter("ignore", pd.errors.ParserWarning)
            table = pd.read_csv(
                file,
                sep=self._separator,
                encoding="utf-8-sig",
                header=0,
                index_col=False,
                usecols=[self._fields.index(name) for name in columns],
                names=self._fields,
                dtype=dict.fromkeys(texts, str),
                na_values=numbers,
                keep_default_na=False,
                float_precision="round_trip",
            )
        self._check_fields(len(table))
        return table[columns]

    def _check_fields(self, n_rows: int) -> None:
        """Raise ValueError for rows with fewer or more fields than names, such as in a file that was cut off.

        pandas reads missing fields as missing values, and leaves out those that are too many.
        """
        n_separators, separator, has_quotes = 0, self._separator.encode(), False
        with _described(self.path), open_decompressed(self.path) as content:
            while block := content.read(_BLOCK):
                n_separators += block.count(separator)
                has_quotes |= b'"' in block
        # Quoted fields may contain separators. Other files need not be read line by line, which would take longer.
        if has_quotes or n_separators != (n_rows + 1) * (len(self._fields) - 1):
            self._check_lines()
        if not n_rows:
            raise ValueError(f"{self.path}: the table has no rows")

    def _check_lines(self) -> None:
        n_fields = len(self._fields)
        with _described(self.path), self._open() as file:
            rows = csv.reader(file, delimiter=self._separator)
            for row in rows:
                if row and len(row) != n_fields:
                    raise ValueError(
                        f"{self.path}, line {rows.line_num}: expected {n_fields} fields as in the first line; got "
                        f"{len(row)}"
                    )

    @contextmanager
    def _open(self) -> Iterator[IO[str]]:
        with open_decompressed(self.path) as file:
            yield io.TextIOWrapper(file, encoding="utf-8-sig", newline="")


@contextmanager
def _described(path: Path) -> Iterator[None]:
    """Name the file in errors about its content."""
    try:
        yield
    except UnicodeDecodeError:
        raise ValueError(
            f"{path}: it is not text in UTF-8; save it in this encoding, as with iconv -f LATIN1 -t UTF-8"
        ) from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError, csv.Error) as error:
        text = str(error).removeprefix("Error tokenizing data. C error: ").strip()
        raise ValueError(f"{path} cannot be read as a table: {text}") from error


class ParquetFile:
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        try:
            import pyarrow.parquet as parquet
        except ImportError as error:
            raise ImportError(f"{path}: Parquet files are read with pyarrow: pip install pyarrow") from error
        self.path, self._parquet = path, parquet
        try:
            names = parquet.read_schema(path).names
        except ValueError as error:  # pyarrow's own error is a subclass of it.
            raise ValueError(f"{path} is no complete Parquet file: {error}") from error
        self.names = [name for name in names if not name.startswith(_PANDAS_INDEX)]
        _refuse_repeated(path, self.names)

    def read(self, columns: list[str], texts: Collection[str] = ()) -> pd.DataFrame:
        """Read some of the columns; see :class:`TableFile`. Those in `texts` keep the types that they have."""
        import pyarrow as pa

        try:
            table = self._parquet.read_table(self.path, columns=columns)
        except ValueError as error:
            raise ValueError(f"{self.path} is no complete Parquet file: {error}") from error
        if not table.num_rows:
            raise ValueError(f"{self.path}: the table has no rows")
        # Without the metadata, which may say that a column is the index.
        table = table.replace_schema_metadata(None).select(columns)
        for i, field in enumerate(table.schema):
            if field.name not in texts and (wanted := _number_type(pa, field.type)) is not None:
                table = table.set_column(i, field.name, table.column(i).cast(wanted))
        frame: pd.DataFrame = table.to_pandas(split_blocks=True, self_destruct=True)
        return frame


def _number_type(pa: Any, found: Any) -> Any:
    """The type of numbers to convert a column of a Parquet file to; None for no conversion."""
    if pa.types.is_decimal(found):
        return pa.float64()
    if pa.types.is_float16(found) or pa.types.is_boolean(found):
        # With missing values, a column of pandas for bool has Python's objects.
        return pa.float32()
    return None


def _refuse_repeated(path: Path, names: list[str]) -> None:
    repeated = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if repeated is not None:
        raise ValueError(f"{path}: two columns have the name {repeated!r}")


def is_table_name(path: Path) -> bool:
    """Whether a file of this name is written as a table."""
    return path.suffix in (*CSV_SUFFIXES, *PARQUET_SUFFIXES)


def write_table_file(table: pd.DataFrame, path: str) -> None:
    """Write a table as CSV, TSV or Parquet, by the ending of its name.

    Raises
    ------
    ImportError
        For Parquet, if pyarrow is not installed.
    """
    suffix = Path(path).suffix
    if suffix in PARQUET_SUFFIXES:
        try:
            import pyarrow  # noqa: F401
        except ImportError as error:
            raise ImportError("Parquet files are written with pyarrow: pip install pyarrow") from error
        table.to_parquet(path, index=False, engine="pyarrow")
    else:
        table.to_csv(path, index=False, sep="," if suffix == ".csv" else "\t")
