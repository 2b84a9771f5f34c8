"""Files that commands read: documents in LETOR files and in tables, scores of documents, and groups of queries."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from boostrank.datasets import read_letor
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import did_you_mean, is_finite_text, named_part, refuse_first, warn
from boostrank.inputs.files import open_decompressed
from boostrank.metrics import check_scores
from boostrank.queries.by_id import ID_COLUMNS

#: Endings of the names of files that are tables. A CSV or TSV file may be compressed, and then ends in ".gz" too.
CSV_SUFFIXES, PARQUET_SUFFIXES = (".csv", ".tsv", ".tab"), (".parquet", ".pq")
#: Names of columns that are taken for query ids or labels if the user names none.
USUAL_NAMES: Mapping[str, Sequence[str]] = {"qid": ID_COLUMNS, "label": ("label", "relevance", "grade")}
#: Columns of a table of scores.
QID, SCORE = "qid", "score"
# Texts of CSV files that stand for a missing number. Columns of text have no such texts: "NA" may be an id.
_MISSING = ["", "NA", "N/A", "#N/A", "<NA>", "n/a", "NaN", "nan", "-nan", "NULL", "null", "None", "none"]
# A query id that is read as a number: the text is that of the number.
_INTEGER = re.compile(r"-?[1-9][0-9]{0,17}|0")
_MAX_SHOWN = 12


def is_table(path: Path) -> bool:
    """Whether a file of this name is a table, and not a LETOR file."""
    return Path(path.name.removesuffix(".gz")).suffix in (*CSV_SUFFIXES, *PARQUET_SUFFIXES)


def column_names(path: Path) -> list[str]:
    """The names of the columns of a table; a column without a name, such as an index that pandas wrote, has none."""
    if path.suffix in PARQUET_SUFFIXES:
        from pyarrow import parquet

        with _named_errors(path):
            return [name for name in parquet.read_schema(path).names if not name.startswith("__index_level_")]
    with open_decompressed(path) as file, _named_errors(path):
        header = pd.read_csv(file, sep=_separator(path), header=None, nrows=1, dtype=str, encoding="utf-8-sig")
    names = header.iloc[0].dropna().to_list()
    if all(is_finite_text(name) for name in names) or len(set(names)) < len(names):
        text = ",".join(names)[:60]
        raise ValueError(f"{path}: its first line must have different names of the columns; got {text!r}")
    return names


def read_columns(path: Path, columns: list[str], texts: Collection[str]) -> pd.DataFrame:
    """Read columns of a table. Those in `texts` are texts if the file does not say which type they have."""
    if path.suffix in PARQUET_SUFFIXES:
        from pyarrow import parquet

        # The metadata may say that a column is the index.
        frame = parquet.read_table(path, columns=columns).to_pandas(ignore_metadata=True)
    else:
        with open_decompressed(path) as file, _named_errors(path), warnings.catch_warnings():
            # pandas warns of a column whose blocks of rows have different types: such a column is not numeric.
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)
            frame = pd.read_csv(
                file,
                sep=_separator(path),
                encoding="utf-8-sig",
                dtype=dict.fromkeys(texts, str),
                na_values={name: _MISSING for name in columns if name not in texts},
                keep_default_na=False,
                float_precision="round_trip",
            )
    if frame.empty or not isinstance(frame.index, pd.RangeIndex):
        fault = "there are none" if frame.empty else "they have more"
        raise ValueError(f"{path}: below the first line there must be rows with as many fields; {fault}")
    return frame[columns]


def _separator(path: Path) -> str:
    """The tab in files that end in ".tsv" or ".tab"; otherwise the first of , ; and tab that the first line has."""
    if Path(path.name.removesuffix(".gz")).suffix in (".tsv", ".tab"):
        return "\t"
    with open_decompressed(path) as file:
        line = next((line for line in file if line.strip()), b"").decode(errors="replace")
    return next((separator for separator in ",;\t" if separator in line), ",")


@contextlib.contextmanager
def _named_errors(path: Path) -> Iterator[None]:
    """Name the file, and what is expected of it, in errors of pandas and pyarrow."""
    try:
        yield
    except ValueError as error:
        text = str(error).removeprefix("Error tokenizing data. C error: ").strip()
        raise ValueError(
            f"{path} cannot be read as a table: {text}. A CSV file must be text in UTF-8, and its first line must have "
            "the names of the columns"
        ) from error


def write_table(table: pd.DataFrame, path: str) -> None:
    """Write a table as CSV, TSV or Parquet, by the ending of its name."""
    if Path(path).suffix in PARQUET_SUFFIXES:
        table.to_parquet(path, index=False, engine="pyarrow")
    else:
        table.to_csv(path, index=False, sep="," if Path(path).suffix == ".csv" else "\t")


class ColumnOptions(NamedTuple):
    """The options that say which columns of a table have which role.

    Attributes
    ----------
    qid, label : str or None
        None for a usual name.
    features : list of str or None
        The features; None for all columns that have no other role.
    drop : list of str or None
        Columns that are no features.
    categorical : list of str or None
        Features that are categories, whose values are read as texts.
    """

    qid: str | None = None
    label: str | None = None
    features: list[str] | None = None
    drop: list[str] | None = None
    categorical: list[str] | None = None

    def check(self, path: Path, names: Sequence[str]) -> None:
        """Raise ValueError for an option that names a column which the table does not have."""
        for option, value in self._asdict().items():
            for name in split_names([value] if isinstance(value, str) else value):
                require_columns(f"--{option}: {path} has no column", [name], names)

    def find(self, path: Path, names: Sequence[str], role: str, *, is_needed: bool) -> str | None:
        """The column of the role "qid" or "label": the one that the user names, or the only one with a usual name."""
        if getattr(self, role) is not None:
            return str(getattr(self, role))
        others = {self.qid, self.label, *split_names(self.features), *split_names(self.drop)}
        columns = [name for name in USUAL_NAMES[role] if name in names and name not in others]
        if len(columns) != 1 and is_needed:
            problem = (
                f"several of the columns {_quoted(columns)}" if columns else f"no column {_quoted(USUAL_NAMES[role])}"
            )
            raise ValueError(f"{path} has {problem}: name one with --{role}; its columns are {_quoted(names)}")
        return columns[0] if columns else None

    def choose_features(self, path: Path, names: Sequence[str], *others: str | None) -> list[str]:
        """The features: those that the user names, or all columns but `others`, those of query ids and labels."""
        drop, features = split_names(self.drop), split_names(self.features)
        wrong = [name for name in features if name in others]
        if not features:
            features = [name for name in names if name not in (*drop, *others)]
            wrong = [name for name in features if name.lower() in (*USUAL_NAMES["qid"], *USUAL_NAMES["label"])]
        if wrong:
            raise ValueError(
                f"{path}: the column {wrong[0]!r} looks like an id or a label, not a feature. Leave out what is no "
                "feature with --drop, or name all features with --features"
            )
        return features


def split_names(texts: Sequence[str] | None) -> list[str]:
    """The names in the values of an option, each of them a name or several names separated by commas."""
    return [name.strip() for text in texts or () for name in text.split(",")]


def features_of(ranker: Any) -> Any:
    """Features without rows that have the number, the names and the categories of those of a fitted ranker."""
    names = getattr(ranker, "feature_names_in_", None)
    if names is None:
        return np.empty((0, ranker.n_features_in_))
    categories = {i: values for i, values in ranker._library.categories(ranker.booster_).items() if values is not None}
    columns: Any = {name: pd.Categorical([], categories[i]) if i in categories else [] for i, name in enumerate(names)}
    return pd.DataFrame(columns)


def read_documents(
    path: Path, columns: ColumnOptions, *, like: Any = None, roles: Collection[str] = ("features", "qid", "label")
) -> tuple[Any, Any, Any]:
    r"""Read features, labels and query ids from a LETOR file or a table, which :func:`is_table` knows by its name.

    Parameters
    ----------
    path : Path
    columns : ColumnOptions
        Columns of a table. Columns of dictionaries in Parquet files are categories in any case.
    like : ndarray, CSR matrix or DataFrame, optional
        Features whose number, names and categories `X` must have. If both they and the columns have names, `X` has
        these columns in this sequence.
    roles : collection of str, default ("features", "qid", "label")
        Roles of the columns that are read from a table, which must have them.

    Returns
    -------
    X : ndarray, CSR matrix, or DataFrame of numbers and categories, shape (n_documents, n_features)
        A DataFrame if the features have names.
    y : ndarray, shape (n_documents,), or None
        Labels; None if they are not read.
    qid : ndarray, shape (n_documents,), int64 or object, or None
        Query ids; None if they are not read.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name, "train.csv")
    >>> _ = path.write_text("query,price,grade\nred shoe,9.5,2\nred shoe,,0\nhat,3,1\n")
    >>> X, y, qid = read_documents(path, ColumnOptions(qid="query", label="grade"))
    >>> X["price"].tolist(), y.tolist(), qid.tolist()
    ([9.5, nan, 3.0], [2, 0, 1], ['red shoe', 'red shoe', 'hat'])
    >>> folder.cleanup()
    """
    if not is_table(path):
        return _read_letor(path, columns, like)
    names = column_names(path)
    columns.check(path, names)
    free, features, categories = names, list[str](), split_names(columns.categorical)
    if isinstance(like, pd.DataFrame):
        features, free = list(map(str, like)), [name for name in names if name not in like]
        categories += list(map(str, like.select_dtypes("category")))
        require_columns(f"{path} lacks features of the model:", features, names)
    ids = {role: columns.find(path, free, role, is_needed=role in roles) for role in USUAL_NAMES}
    if not features and "features" in roles:
        features = columns.choose_features(path, names, *ids.values())
    read = {role: name for role, name in ids.items() if role in roles and name is not None}
    texts = [*categories, *filter(None, [ids["qid"]])]
    frame = read_columns(path, [*features, *read.values()], texts)
    X = _features(path, frame[features], categories)
    return (
        _with_categories(path, X, like) if isinstance(like, pd.DataFrame) else X,
        frame[read["label"]].to_numpy() if "label" in read else None,
        _query_ids(path, frame[read["qid"]]) if "qid" in read else None,
    )


def _read_letor(path: Path, columns: ColumnOptions, like: Any) -> tuple[Any, Any, Any]:
    """Read a LETOR file, for which options about columns are an error."""
    refused = [f"--{name}" for name, value in columns._asdict().items() if value]
    if refused:
        raise ValueError(
            f"{refused[0]} is for tables, whose names end in .csv, .tsv or .parquet, and {path} is read as a LETOR "
            "file, whose lines have 'label qid:ID index:value ...'"
        )
    X: Any
    try:
        X, y, qid = read_letor(path, n_features=None if like is None else like.shape[1])
    except ValueError as error:
        error.add_note("if this is a table, its name must end in .csv, .tsv or .parquet")
        raise
    if isinstance(like, pd.DataFrame) and len(like.select_dtypes("category").columns):
        raise ValueError(f"{path} is a LETOR file, which has no categories, and the model has some: use a table")
    return X, y, qid


def require_columns(problem: str, wanted: Sequence[str], names: Sequence[str]) -> None:
    """Raise ValueError, with a text that says the problem, if a table lacks columns."""
    missing = [name for name in wanted if name not in names]
    if missing:
        near = did_you_mean(missing[0], names)
        raise ValueError(f"{problem} {_quoted(missing)}{near}; its columns are {_quoted(names)}")


def _with_categories(path: Path, X: pd.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
    """The features with the categories of a model; others are missing values, of which a warning tells."""
    changed: dict[str, Any] = {}
    for name, values in like.select_dtypes("category").items():
        by_text = {str(value): value for value in values.cat.categories}
        column = X[name].cat.rename_categories(str)
        unknown = [text for text in column.cat.categories if text not in by_text]
        if unknown:
            warn(f"{path}: the model does not know {_quoted(unknown)} in the column {name!r}: these count as missing")
        changed[str(name)] = column.cat.set_categories(list(by_text)).cat.rename_categories(by_text)
    return X.assign(**changed)


def _query_ids(path: Path, column: pd.Series) -> NDArray[Any]:
    """Query ids: int64 if all of them are such numbers, else texts."""
    missing = (column.isna() | (column.astype(str) == "")).to_numpy(dtype=bool)
    refuse_first(missing, lambda row: f"{path}: the query id (column {column.name!r}) is missing in row {row + 1}")
    codes, ids = pd.factorize(column if pd.api.types.is_numeric_dtype(column.dtype) else column.astype(str))
    is_integer = all(_INTEGER.fullmatch(str(value).removesuffix(".0")) for value in ids)
    return np.array(ids, dtype=np.int64 if is_integer else object)[codes]


def _features(path: Path, X: pd.DataFrame, categories: Collection[str]) -> pd.DataFrame:
    """The features as numbers and categories; other texts are an error."""
    changed: dict[str, Any] = {}
    wrong = []
    for name, column in X.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            continue
        if name in categories:
            changed[str(name)] = column.astype(str).where(column.notna() & (column != "")).astype("category")
        elif column.dtype == object and column.dropna().map(lambda value: isinstance(value, (bool, Decimal))).all():
            changed[str(name)] = column.astype(np.float64)
        elif not pd.api.types.is_numeric_dtype(column.dtype):
            wrong.append(str(name))
    if wrong:
        column = X[wrong[0]]
        row = int(np.argmax(pd.to_numeric(column.astype(str), errors="coerce").isna() & column.notna()))
        raise ValueError(
            f"{path}: no numbers are in {_quoted(wrong)}: row {row + 1} of {wrong[0]!r} has "
            f"{str(column.iloc[row])[:40]!r}. Leave out what is no feature (--drop {','.join(wrong)}), or make it "
            "categories (--categorical)"
        )
    return X.assign(**changed)


def _quoted(names: Sequence[str]) -> str:
    """Names as text, not too many of them."""
    more = f", ... ({len(names)} in all)" if len(names) > _MAX_SHOWN else ""
    return ", ".join(map(repr, names[:_MAX_SHOWN])) + more


def read_scores(path: Path, qid: NDArray[Any]) -> Floats:
    """Read the scores of documents with these query ids, in their sequence.

    They are the lines of a text file; or the column "score" of a table, or its only one. If a table has a column "qid"
    too, its ids must be those of the documents.
    """
    if not is_table(path):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        bad = np.array([bool(line.strip()) and not is_finite_text(line) for line in lines], dtype=bool)
        refuse_first(bad, lambda i: f"{path}, line {i + 1}: {lines[i][:40]!r} is not a finite score")
        return check_scores([float(line) for line in lines if line.strip()])
    names = column_names(path)
    score = names[0] if len(names) == 1 else SCORE
    require_columns(f"{path} has no column", [score], names)
    has_ids = QID in names and score != QID
    frame = read_columns(path, [QID, score] if has_ids else [score], {QID})
    with named_part(f"{path}: the column {score!r}"):
        scores = check_scores(frame[score], "the score")
    if has_ids and len(scores) == len(qid):
        differ = _query_ids(path, frame[QID]).astype(str) != qid.astype(str)
        refuse_first(
            differ,
            lambda row: (
                f"{path}: row {row + 1} has the query id {str(frame[QID].iloc[row])!r}, and this document "
                f"{str(qid[row])!r}: the scores must have the sequence of the documents"
            ),
        )
    return scores
