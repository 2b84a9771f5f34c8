"""Tables in CSV, TSV and Parquet files: their columns as a DataFrame, and which columns have which role."""

from __future__ import annotations

import csv
import io
import shlex
import warnings
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple

import pandas as pd

from boostrank.inputs.checks import did_you_mean, is_finite_text
from boostrank.inputs.files import is_parquet, open_decompressed
from boostrank.queries.by_id import ID_COLUMNS

#: Endings of the names of files, without that of gzip, which are tables.
CSV_SUFFIXES, PARQUET_SUFFIXES = (".csv", ".tsv", ".tab"), (".parquet", ".pq")
#: Names of columns that are taken for query ids or labels if the user names none.
QID_NAMES, LABEL_NAMES = ID_COLUMNS, ("label", "relevance", "grade")
# Names of columns that are probably no features: ids of documents, and the index that pandas writes to CSV files.
_OTHER_IDS = ("doc_id", "docid", "docno", "did", "document_id", "id", "index", "Unnamed: 0")
# Texts of CSV files that stand for a missing number. Columns of text have no such texts: "NA" may be an id.
_MISSING = ("", "NA", "N/A", "#N/A", "<NA>", "n/a", "NaN", "nan", "-nan", "NULL", "null", "None", "none")
# Column in which pandas keeps an index without a name in Parquet files.
_PANDAS_INDEX = "__index_level_"
_BLOCK = 2**20
_MAX_SHOWN = 12


class TableFile(ABC):
    """A file with a table.

    Attributes
    ----------
    path : Path
    names : list of str
        Names of its columns.
    """

    def __init__(self, path: Path, names: list[str]) -> None:
        repeated = [name for name, count in pd.Series(names).value_counts().items() if count > 1]
        if repeated:
            raise ValueError(f"{path}: two columns have the name {repeated[0]!r}")
        self.path, self.names = path, names

    def read(self, columns: list[str], texts: Collection[str] = ()) -> pd.DataFrame:
        """Read some of the columns, in the given sequence, with rows 0, 1, ...

        Those in `texts` are read as texts if the file does not say which type they have.
        """
        table = self._read(columns, texts)
        if table.empty:
            raise ValueError(f"{self.path}: the table has no rows")
        return table

    @abstractmethod
    def _read(self, columns: list[str], texts: Collection[str]) -> pd.DataFrame: ...


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
    if is_parquet(path) or path.suffix in PARQUET_SUFFIXES:
        return ParquetFile(path)
    return CsvFile(path) if Path(path.name.removesuffix(".gz")).suffix in CSV_SUFFIXES else None


def looks_like_table(path: Path) -> bool:
    """Whether the first line has a separator of a CSV file, and no query id of a LETOR file as in ``qid:7``."""
    with open_decompressed(path) as file:
        line = file.readline(10_000)
    return any(separator in line for separator in (b",", b";", b"\t")) and b"qid:" not in line


class CsvFile(TableFile):
    """A CSV file in UTF-8, plain or compressed by gzip, whose first line has the names of the columns.

    The separator is the tab in files that end in ``.tsv`` or ``.tab``; otherwise the first of comma, semicolon and tab
    that the first line has.
    """

    def __init__(self, path: Path) -> None:
        with _opened_text(path) as file:
            line = next((text for text in file if text.strip()), "")
            if not line:
                raise ValueError(f"{path}: the file is empty; expected a first line with the names of the columns")
            separators = "\t" if Path(path.name.removesuffix(".gz")).suffix in (".tsv", ".tab") else ",;\t"
            self._separator = next((one for one in separators if one in line), separators[0])
            # A name in quotes may continue on the next line.
            fields = next(csv.reader(chain([line], file), delimiter=self._separator))
        if all(is_finite_text(name) for name in fields):
            raise ValueError(
                f"{path}: its first line must have the names of the columns; got numbers, {line.strip()[:60]!r}"
            )
        self._n_fields = len(fields)
        # Columns without names are not read, such as the index that pandas writes.
        super().__init__(path, [name for name in fields if name])

    def _read(self, columns: list[str], texts: Collection[str]) -> pd.DataFrame:
        with _described(self.path), open_decompressed(self.path) as file, warnings.catch_warnings():
            # pandas warns of a column whose blocks of rows have different types: such a column is not numeric.
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)
            # Rows with too many fields are an error below.
            warnings.simplefilter("ignore", pd.errors.ParserWarning)
            table = pd.read_csv(
                file,
                sep=self._separator,
                encoding="utf-8-sig",
                index_col=False,
                usecols=columns,
                dtype=dict.fromkeys(texts, str),
                na_values={name: list(_MISSING) for name in columns if name not in texts},
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
        with open_decompressed(self.path) as content:
            while block := content.read(_BLOCK):
                n_separators += block.count(separator)
                has_quotes |= b'"' in block
        # Quoted fields may contain separators. Other files need not be read line by line, which would take longer.
        if not has_quotes and n_separators == (n_rows + 1) * (self._n_fields - 1):
            return
        with _opened_text(self.path) as file:
            rows = csv.reader(file, delimiter=self._separator)
            for row in rows:
                if row and len(row) != self._n_fields:
                    raise ValueError(
                        f"{self.path}, line {rows.line_num}: expected {self._n_fields} fields as in the first line; "
                        f"got {len(row)}"
                    )


@contextmanager
def _opened_text(path: Path) -> Iterator[IO[str]]:
    with _described(path), open_decompressed(path) as file:
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


class ParquetFile(TableFile):
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        try:
            import pyarrow.parquet as parquet
        except ImportError as error:
            raise ImportError(f"{path}: Parquet files are read with pyarrow: pip install pyarrow") from error
        self._parquet = parquet
        try:
            names = parquet.read_schema(path).names
        except ValueError as error:  # pyarrow's own errors are subclasses of ValueError.
            raise ValueError(f"{path} is no complete Parquet file: {error}") from error
        super().__init__(path, [name for name in names if not name.startswith(_PANDAS_INDEX)])

    def _read(self, columns: list[str], texts: Collection[str]) -> pd.DataFrame:
        from pyarrow import types

        # The metadata are left out, because they may say that a column is the index.
        table = self._parquet.read_table(self.path, columns=columns).replace_schema_metadata(None).select(columns)
        for i, field in enumerate(table.schema):
            # A column of bool with missing values would become a column of Python objects in pandas.
            is_number = types.is_decimal(field.type) or types.is_boolean(field.type) or types.is_float16(field.type)
            if is_number and field.name not in texts:
                table = table.set_column(i, field.name, table.column(i).cast("double"))
        frame: pd.DataFrame = table.to_pandas(split_blocks=True, self_destruct=True)
        return frame


def is_table_name(path: Path) -> bool:
    """Whether a file of this name is written as a table."""
    return path.suffix in (*CSV_SUFFIXES, *PARQUET_SUFFIXES)


def write_table_file(table: pd.DataFrame, path: str) -> None:
    """Write a table as CSV, TSV or Parquet, by the ending of its name."""
    suffix = Path(path).suffix
    if suffix in PARQUET_SUFFIXES:
        table.to_parquet(path, index=False, engine="pyarrow")
    else:
        table.to_csv(path, index=False, sep="," if suffix == ".csv" else "\t")


class Columns(NamedTuple):
    """Names of the columns of a table by their role.

    Attributes
    ----------
    qid, label : str or None
        None if the table has no such column and none is needed.
    features : list of str
    """

    qid: str | None
    label: str | None
    features: list[str]


class ColumnOptions(NamedTuple):
    """The options that say which columns of a table have which role.

    Attributes
    ----------
    qid, label : str or None
        None for a usual name.
    features : list of str or None
        The features; None for all columns that have no other role.
    drop : list of str or None
        Columns that are not read.
    categorical : list of str or None
        Features that are categories, whose values are read as texts.
    """

    qid: str | None = None
    label: str | None = None
    features: list[str] | None = None
    drop: list[str] | None = None
    categorical: list[str] | None = None

    @property
    def given(self) -> list[str]:
        """Names of the options that the user gave."""
        return [f"--{name}" for name, value in zip(self._fields, self, strict=True) if value]

    def choose(
        self,
        path: Path,
        names: list[str],
        *,
        needs_qid: bool = True,
        needs_label: bool = True,
        known_features: list[str] | None = None,
    ) -> Columns:
        """The columns of a table with these names.

        Parameters
        ----------
        path : Path
            For messages.
        names : list of str
            All columns of the table.
        needs_qid, needs_label : bool, default True
            Whether it is an error if there is no such column.
        known_features : list of str, optional
            Features of a model, which are then the features, whichever other columns there are.

        Raises
        ------
        ValueError
            For options that name a column which the table does not have, or the same column for different roles; for
            columns that are needed and missing; if there is more than one column with a usual name; and for columns
            that would become features but have the name of an id or of labels.
        """
        drop = split_names(self.drop, names)
        chosen = None if self.features is None else split_names(self.features, names)
        self._check(path, names, chosen or [], drop)
        # A feature of the model is no id and no label.
        free = [name for name in names if name not in (*drop, *(chosen or ()), *(known_features or ()))]
        qid = self.qid or _usual(path, names, free, "--qid", "query ids", QID_NAMES, needs_qid)
        free = [name for name in free if name != qid]
        label = self.label or _usual(path, names, free, "--label", "labels", LABEL_NAMES, needs_label)
        if known_features is not None:
            _require_features(path, names, known_features)
            return Columns(qid, label, known_features)
        features = [name for name in names if name not in (*drop, qid, label)] if chosen is None else chosen
        if chosen is None:
            _refuse_ids(path, features)
        return Columns(qid, label, features)

    def _check(self, path: Path, names: list[str], features: list[str], drop: list[str]) -> None:
        """Raise ValueError for columns that the table does not have, or that have two roles."""
        if features and drop:
            raise ValueError("give either --features or --drop: columns that --features does not name are left out")
        single = {"--qid": self.qid, "--label": self.label}
        roles = {option: [name] for option, name in single.items() if name is not None}
        roles |= {"--features": features, "--drop": drop, "--categorical": split_names(self.categorical, names)}
        role_of: dict[str, str] = {}
        for option, given in roles.items():
            for name in given:
                require_column(option, path, name, names)
                if option != "--categorical" and name in role_of:
                    where = " and ".join(dict.fromkeys([role_of[name], option]))
                    raise ValueError(f"the column {name!r} is given twice, by {where}")
                role_of[name] = option


def split_names(texts: Sequence[str] | None, names: list[str]) -> list[str]:
    """The names in values of an option, each of them a name or several names separated by commas."""
    found: list[str] = []
    for text in texts or ():
        found += [text] if text in names else [part.strip() for part in text.split(",")]
    return found


def require_column(option: str, path: Path, name: str, names: list[str]) -> None:
    """Raise ValueError if a table has no column of the name that an option has; `names` are those of its columns."""
    if name not in names:
        raise ValueError(f"{option}: {path} has no column {name!r}{did_you_mean(name, names)}; {listed(names)}")


def _usual(
    path: Path, names: list[str], free: list[str], option: str, what: str, usual: tuple[str, ...], is_needed: bool
) -> str | None:
    """The one column with a usual name."""
    found = [name for name in usual if name in free]
    if len(found) == 1 or not is_needed:
        return found[0] if len(found) == 1 else None
    if found:
        raise ValueError(
            f"{path} has the columns {_quoted(found)}: say with {option} which of them has the {what}, and leave the "
            "others out with --drop"
        )
    same = next((name for name in names if name.strip().lower() in usual), None)
    such = "" if same is None else f", such as {option} {shlex.quote(same)}"
    raise ValueError(
        f"{path} has no column {_quoted(usual, 'or')}: name the column of the {what} with {option}{such}; "
        f"{listed(names)}"
    )


def _refuse_ids(path: Path, features: list[str]) -> None:
    """Refuse features with names that are usual for ids and labels: they would make the model worthless."""
    usual = (*QID_NAMES, *LABEL_NAMES, *_OTHER_IDS)
    found = [name for name in features if name.lower() in usual or name in usual]
    if found:
        one, several = "looks like an id or a label, not a feature", "look like ids or labels, not features"
        are = f"the column {_quoted(found)} {one}" if len(found) == 1 else f"the columns {_quoted(found)} {several}"
        raise ValueError(
            f"{path}: {are}. Leave out what is no feature with --drop, or name all features with --features"
        )


def _require_features(path: Path, names: list[str], known: list[str]) -> None:
    """Raise ValueError if the table lacks features of a model."""
    missing = [name for name in known if name not in names]
    if missing:
        shown = _quoted(missing[:_MAX_SHOWN]) + ("" if len(missing) <= _MAX_SHOWN else ", ...")
        raise ValueError(
            f"{path} lacks {len(missing)} of the {len(known)} features of the model: {shown}"
            f"{did_you_mean(missing[0], names)}; {listed(names)}"
        )


def listed(names: list[str]) -> str:
    """The names of the columns of a table, for messages."""
    shown = ", ".join(repr(name) for name in names[:_MAX_SHOWN])
    more = f", ... ({len(names)} in all)" if len(names) > _MAX_SHOWN else ""
    return f"its columns are {shown}{more}"


def _quoted(names: Sequence[str], last: str = "and") -> str:
    """Names as text.

    Examples
    --------
    >>> _quoted(["a", "b", "c"])
    "'a', 'b' and 'c'"
    """
    texts = [repr(name) for name in names]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {last} {texts[-1]}"
