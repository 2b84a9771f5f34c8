"""Files that commands read: documents in LETOR files and in tables, and scores of documents."""

from __future__ import annotations

import contextlib
import csv
import re
import shlex
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from io import StringIO
from numbers import Number
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from boostrank.datasets import read_letor
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import did_you_mean, is_finite_text, named_part, refuse_first
from boostrank.inputs.files import open_decompressed
from boostrank.inputs.frames import advice_on_texts
from boostrank.inputs.warnings import warn
from boostrank.metrics import check_scores
from boostrank.queries.by_id import ID_COLUMNS

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    # Commands that need no ranker do not import it.
    from boostrank.rankers.base import BoostedRanker

#: Endings of the names of files that are tables. A CSV or TSV file may be compressed, and then ends
#: in ".gz" too.
CSV_SUFFIXES = (".csv", ".tsv", ".tab")
PARQUET_SUFFIXES = (".parquet", ".pq")
#: Names of columns that are taken for query ids or labels if the user names none.
USUAL_NAMES: Mapping[str, Sequence[str]] = {
    "qid": ID_COLUMNS,
    "label": ("label", "relevance", "grade"),
}
#: Columns of a table of scores.
QID = "qid"
SCORE = "score"
#: Features of documents; a DataFrame if they have names.
Features: TypeAlias = "NDArray[Any] | csr_matrix | pd.DataFrame"
#: Texts that stand for a missing value, by column.
Marks = Mapping[str, Sequence[str]]
# Texts of CSV files that stand for a missing number: those of pandas, and "none". An id may be
# "NA".
_MISSING = ["", "NA", "N/A", "#NA", "#N/A", "#N/A N/A", "<NA>", "n/a", "NaN", "-NaN", "nan", "-nan"]
_MISSING += ["NULL", "null", "None", "none", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"]
# From pandas 3.1 on, numbers are rounded correctly in any case, and the argument is deprecated.
_ROUNDING: dict[str, Any] = {}
if [*map(int, pd.__version__.split(".")[:2])] < [3, 1]:
    _ROUNDING["float_precision"] = "round_trip"
# A query id that is read as a number: the text is that of the number.
_INTEGER = re.compile(r"-?[1-9][0-9]{0,17}|0")
_MAX_SHOWN = 12
# Columns of numbers with at most so many different texts have marks of missing values.
_MAX_MARKS = 3


def is_table(path: Path) -> bool:
    """Whether a file of this name is a table, and not a LETOR file."""
    return Path(path.name.removesuffix(".gz")).suffix in (*CSV_SUFFIXES, *PARQUET_SUFFIXES)


def column_names(path: Path) -> list[str]:
    """The names of the columns of a table.

    A column without a name, such as an index that pandas wrote, is left out.
    """
    if path.suffix in PARQUET_SUFFIXES:
        from pyarrow import parquet

        with _named_errors(path):
            names = parquet.read_schema(path).names
        return [name for name in names if not name.startswith("__index_level_")]
    header = _read_csv(path, header=None, nrows=1, dtype=str, na_values=[""])
    names = header.iloc[0].dropna().to_list()
    if all(is_finite_text(name) for name in names) or len(set(names)) < len(names):
        got = ",".join(names)[:60]
        raise ValueError(
            f"{path}: its first line must have different names of the columns; got {got!r}"
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
    if path.suffix in PARQUET_SUFFIXES:
        frame = _read_parquet(path, columns, texts)
    else:
        marks = dict.fromkeys(columns, _MISSING) | dict.fromkeys(texts, ("",)) | {**(missing or {})}
        frame = _read_csv(path, dtype=dict.fromkeys(texts, str), na_values=marks)
    if frame.empty or not isinstance(frame.index, pd.RangeIndex):
        fault = "there are none" if frame.empty else "they have more"
        raise ValueError(
            f"{path}: below the first line there must be rows with as many fields; {fault}"
        )
    return frame[columns]


def _read_parquet(path: Path, columns: list[str], texts: Collection[str]) -> pd.DataFrame:
    from pyarrow import parquet

    with _named_errors(path):
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
    with open_decompressed(path) as file, _named_errors(path), warnings.catch_warnings():
        # pandas warns of a column whose blocks of rows have different types: such a column has
        # texts.
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        return pd.read_csv(
            file, sep=separator, encoding="utf-8-sig", keep_default_na=False, **options
        )


def _separator(path: Path) -> str:
    """The separator of the fields of a file: the tab in files that end in ".tsv" or ".tab".

    In others, it is the first of the comma, the semicolon and the tab that the first line has.
    """
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
            f"{path} cannot be read as a table: {text}. A CSV file must be text in UTF-8, and its "
            "first line must have the names of the columns"
        ) from error


def write_table(table: pd.DataFrame, path: str) -> None:
    """Write a table as CSV, TSV or Parquet, by the ending of its name.

    Texts are written as they are, so that ids can be read again. A spreadsheet runs those that
    begin with ``=``, ``+``, ``-`` or ``@``, unless they are imported as text.
    """
    suffix = Path(path).suffix
    if suffix in PARQUET_SUFFIXES:
        table.to_parquet(path, index=False, engine="pyarrow")
    else:
        table.to_csv(path, index=False, sep="," if suffix == ".csv" else "\t")


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
    missing : list of str or None
        Texts that stand for a missing value in the features of a CSV file, besides those that
        pandas knows (its default ``na_values``).
    """

    qid: str | None = None
    label: str | None = None
    features: list[str] | None = None
    drop: list[str] | None = None
    categorical: list[str] | None = None
    missing: list[str] | None = None

    def check(self, path: Path, names: Sequence[str]) -> None:
        """Raise ValueError for an option that names a column which the table does not have."""
        options = self._replace(missing=None)._asdict()
        for option, value in options.items():
            texts = [value] if isinstance(value, str) else value
            if option == "label" and value is not None:
                require_columns(f"--{option}: {path} has no column", [value], names)
                continue
            for name in split_names(texts):
                require_columns(f"--{option}: {path} has no column", [name], names)

    def find(self, path: Path, names: Sequence[str], role: str, *, is_needed: bool) -> list[str]:
        """The columns of the role "qid", or the one of the role "label".

        They are those that the user names, or the only one with a usual name.
        """
        ids = [] if self.qid is None else split_names([self.qid])
        if role == "qid" and ids:
            return ids
        if role == "label" and self.label is not None:
            return [self.label]
        others = {self.label, *ids, *split_names(self.features), *split_names(self.drop)}
        usual = USUAL_NAMES[role]
        columns = [name for name in usual if name in names and name not in others]
        if len(columns) != 1 and is_needed:
            problem = f"no column {_quoted(usual)}"
            if columns:
                problem = f"several of the columns {_quoted(columns)}"
            raise ValueError(
                f"{path} has {problem}: name one with --{role}; its columns are {_quoted(names)}"
            )
        return columns[:1]

    def choose_features(self, path: Path, names: Sequence[str], *others: str) -> list[str]:
        """The features: those that the user names, or else all columns but `others`.

        `others` are the columns of query ids and labels.
        """
        features = split_names(self.features)
        wrong = [name for name in features if name in others]
        if not features:
            left_out = (*split_names(self.drop), *others)
            features = [name for name in names if name not in left_out]
            usual = (*USUAL_NAMES["qid"], *USUAL_NAMES["label"])
            wrong = [name for name in features if name.lower() in usual]
        if wrong:
            raise ValueError(
                f"{path}: the column {wrong[0]!r} looks like an id or a label, not a feature. "
                "Leave out what is no feature with --drop, or name all features with --features"
            )
        return features


def split_names(texts: Sequence[str] | None) -> list[str]:
    """The names in the values of an option, each of which has one or several, between commas."""
    return [name.strip() for text in texts or () for name in text.split(",")]


def features_of(ranker: BoostedRanker) -> NDArray[Any] | pd.DataFrame:
    """Features like those of a fitted ranker, without rows.

    They have the same number, names and categories.
    """
    names = getattr(ranker, "feature_names_in_", None)
    if names is None:
        return np.empty((0, ranker.n_features_in_))
    features = pd.DataFrame({name: [] for name in names})
    for i, values in ranker._library.categories(ranker.booster_).items():
        if values is not None:
            features[names[i]] = pd.Categorical([], values)
    return features


def read_documents(
    path: Path,
    columns: ColumnOptions,
    *,
    like: Features | None = None,
    roles: Collection[str] = ("features", "qid", "label"),
) -> tuple[Any, Any, Any]:
    r"""Read features, labels and query ids from a LETOR file or a table.

    :func:`is_table` knows a table by its name.

    Parameters
    ----------
    path : Path
    columns : ColumnOptions
        Columns of a table. Columns of dictionaries in Parquet files are categories in any case.
    like : ndarray, CSR matrix or DataFrame, optional
        Features whose number, names and categories `X` must have. If both they and the columns have
        names, `X` has these columns in this sequence.
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
    if columns.missing and path.suffix in PARQUET_SUFFIXES:
        raise ValueError(
            f"--missing is for CSV and TSV files; missing values of {path}, a Parquet file, are "
            "nulls"
        )
    names = column_names(path)
    columns.check(path, names)
    features: list[str] = []
    categories = split_names(columns.categorical)
    # Columns that may have the query ids or the labels.
    free = names
    if isinstance(like, pd.DataFrame):
        features = _features_of_model(path, columns, names, like)
        categories += map(str, like.select_dtypes("category"))
        free = [name for name in names if name not in like]
    ids = {role: columns.find(path, free, role, is_needed=role in roles) for role in USUAL_NAMES}
    if not features and "features" in roles:
        features = columns.choose_features(path, names, *ids["qid"], *ids["label"])
    read = {role: found for role, found in ids.items() if role in roles and found}
    texts = [*categories, *ids["qid"]]
    missing = _missing_marks(columns, features, like)
    read_names = [name for found in read.values() for name in found]
    frame = read_columns(path, [*features, *read_names], texts, missing)
    X = _features(path, frame[features], categories, missing)
    y = None
    qid = None
    if isinstance(like, pd.DataFrame):
        X = _with_categories(path, X, like)
    if "label" in read:
        y = frame[read["label"][0]].to_numpy()
    if "qid" in read:
        qid = _joined_ids([_query_ids(path, frame[name]) for name in read["qid"]])
    return X, y, qid


def _features_of_model(
    path: Path, columns: ColumnOptions, names: Sequence[str], like: pd.DataFrame
) -> list[str]:
    """The features of a model, which the table must have, and the options must not change."""
    features = list(map(str, like))
    require_columns(f"{path} lacks features of the model:", features, names)
    chosen = {*(split_names(columns.features) or features)} - {*split_names(columns.drop)}
    if chosen != {*features}:
        raise ValueError(
            f"--features and --drop must leave the features of the model: {_quoted(features)}"
        )
    return features


def _missing_marks(
    columns: ColumnOptions, features: Sequence[str], like: Features | None
) -> dict[str, list[str]]:
    """The texts that stand for a missing value in each feature of a CSV file."""
    marks: list[str] = []
    for text in columns.missing or ():
        marks += text.split(",")
    missing = {name: [*_MISSING, *marks] for name in features}
    if isinstance(like, pd.DataFrame):
        # A model may have a category "None".
        for name, values in like.select_dtypes("category").items():
            usual = {*_MISSING}.difference(map(str, values.cat.categories))
            missing[str(name)] = [*usual, *marks]
    return missing


def _read_letor(
    path: Path, columns: ColumnOptions, like: Features | None
) -> tuple[Features, Floats, NDArray[Any]]:
    """Read a LETOR file, for which options about columns are an error."""
    refused = [f"--{name}" for name, value in columns._asdict().items() if value]
    if refused:
        raise ValueError(
            f"{refused[0]} is for tables, whose names end in .csv, .tsv or .parquet, and {path} is "
            "read as a LETOR file, whose lines have 'label qid:ID index:value ...'"
        )
    n_features = None if like is None else like.shape[1]
    try:
        X, y, qid = read_letor(path, n_features=n_features)
    except ValueError as error:
        error.add_note("if this is a table, its name must end in .csv, .tsv or .parquet")
        raise
    if isinstance(like, pd.DataFrame) and len(like.select_dtypes("category").columns):
        raise ValueError(
            f"{path} is a LETOR file, which has no categories, and the model has some: use a table"
        )
    return X, y, qid


def require_columns(problem: str, wanted: Sequence[str], names: Sequence[str]) -> None:
    """Raise ValueError, with a text that says the problem, if a table lacks columns."""
    missing = [name for name in wanted if name not in names]
    if missing:
        near = did_you_mean(missing[0], names)
        raise ValueError(f"{problem} {_quoted(missing)}{near}; its columns are {_quoted(names)}")


def _with_categories(path: Path, X: pd.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
    """The features with the categories of a model.

    Other categories become missing values, with a warning.
    """
    changed: dict[str, Any] = {}
    for name, values in like.select_dtypes("category").items():
        by_text = {str(value): value for value in values.cat.categories}
        column = X[name].cat.rename_categories(str)
        unknown = [text for text in column.cat.categories if text not in by_text]
        if unknown:
            warn(
                f"{path}: the model does not know {_quoted(unknown)} in the column {name!r}: these "
                "count as missing"
            )
        known = column.cat.set_categories(list(by_text))
        changed[str(name)] = known.cat.rename_categories(by_text)
    return X.assign(**changed)


def _query_ids(path: Path, column: pd.Series) -> NDArray[Any]:
    """Query ids: numbers and truth values as they are, others as int64 if all are such, or texts.

    Floats must be whole numbers that their type can tell apart.
    """
    name = f"{path}: the query id (column {column.name!r})"
    ids = column.to_numpy()
    is_list = column.map(pd.api.types.is_list_like).to_numpy(dtype=bool)
    refuse_first(is_list, lambda row: f"{name} is no number, text or date in row {row + 1}")
    with _named_errors(path):
        texts = column.astype(str)
    missing = (column.isna() | (texts == "")).to_numpy(dtype=bool)
    refuse_first(missing, lambda row: f"{name} is missing in row {row + 1}")
    if ids.dtype.kind == "f":
        largest = 2.0 ** (np.finfo(ids.dtype).nmant + 1)
        fault = (
            f"{ids.dtype} can tell apart only whole numbers up to {largest:.0f}: write ids as "
            "integers or texts"
        )
        is_bad = (np.abs(ids) > largest) | (np.trunc(ids) != ids)
        refuse_first(is_bad, lambda row: f"{name} is {ids[row]!s} in row {row + 1}, and {fault}")
        return ids.astype(np.int64)
    if ids.dtype.kind in "iub":
        return ids
    codes, different = pd.factorize(texts)
    is_integer = all(map(_INTEGER.fullmatch, different))
    return np.array(different, dtype=np.int64 if is_integer else object)[codes]


def _joined_ids(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """One id for each row from those of several columns: texts with commas, as lines of CSV.

    Examples
    --------
    >>> _joined_ids([np.array([3, 3]), np.array(["anna", "a,b"], dtype=object)]).tolist()
    ['3,anna', '3,"a,b"']
    """
    if len(parts) == 1:
        return parts[0]
    joined = []
    for row in zip(*(part.astype(str).tolist() for part in parts), strict=True):
        line = StringIO()
        csv.writer(line, lineterminator="").writerow(row)
        joined.append(line.getvalue())
    return np.array(joined, dtype=object)


def _features(
    path: Path, X: pd.DataFrame, categories: Collection[str], missing: Marks
) -> pd.DataFrame:
    """The features as numbers and categories.

    Other texts are an error, unless they are those of missing values.
    """
    is_csv = path.suffix not in PARQUET_SUFFIXES

    def is_number(value: object) -> bool:
        return isinstance(value, Number) or (is_csv and is_finite_text(str(value)))

    changed: dict[str, pd.Series] = {}
    texts: dict[str, pd.Series] = {}
    for label, column in X.select_dtypes(exclude="category").items():
        name = str(label)
        if name in categories:
            is_present = column.notna() & (column != "")
            changed[name] = column.astype(str).where(is_present).astype("category")
        elif not pd.api.types.is_numeric_dtype(column.dtype):
            # pandas leaves integers beyond int64 as texts if values are missing.
            column = column.mask(column.isin(missing[name]))
            is_text = column.notna() & ~column.map(is_number)
            if is_text.any():
                texts[name] = column[is_text].astype(str)
            else:
                changed[name] = column.astype(object).astype(np.float64)
    if texts:
        _refuse_texts(path, X, texts)
    return X.assign(**changed)


def _refuse_texts(path: Path, X: pd.DataFrame, texts: Mapping[str, pd.Series]) -> NoReturn:
    """Raise ValueError for features with texts.

    A few texts among numbers may mark missing values.
    """
    faults: list[str] = []
    marks: list[str] = []
    no_features: list[str] = []
    for name, column in texts.items():
        counts = column.value_counts()
        shown = [
            f"{str(text)[:40]!r} in {count:,}" for text, count in counts.head(_MAX_MARKS).items()
        ]
        if len(counts) > _MAX_MARKS:
            shown.append(f"others in {counts.iloc[_MAX_MARKS:].sum():,}")
        faults.append(f"{name!r} ({', '.join(shown)}; the first in row {column.index[0] + 1:,})")
        # "a" and "b" may be categories, unless most others are numbers.
        n_words = sum(counts[text] for text in counts.index if re.match(r"\w", text))
        n_numbers = X[name].count() - len(column)
        if len(counts) <= _MAX_MARKS and n_numbers > n_words:
            marks += [text for text in counts.index if "," not in text]
        else:
            no_features.append(name)
    drop = f"--drop {','.join(no_features)}".strip()
    advice = advice_on_texts(texts, drop, "--categorical {}")
    if marks:
        option = shlex.quote(",".join(dict.fromkeys(marks)))
        advice = f"If texts mark missing values, use --missing {option}. {advice}"
    listed = ", ".join(faults[:_MAX_SHOWN])
    raise ValueError(
        f"{path}: features must be numbers, but of {len(X):,} rows, some have texts: {listed}. "
        f"{advice}"
    )


def _quoted(names: Sequence[str]) -> str:
    """Names as text, not too many of them."""
    shown = ", ".join(map(repr, names[:_MAX_SHOWN]))
    if len(names) > _MAX_SHOWN:
        shown += f", ... ({len(names)} in all)"
    return shown


def read_scores(path: Path, qid: NDArray[Any]) -> Floats:
    """Read the scores of documents with these query ids, in their sequence.

    They are the lines of a text file; or the column "score" of a table, or its only one. If a table
    has query ids too, in a column of a usual name, they must be those of the documents.
    """
    if not is_table(path):
        return _read_lines(path)
    names = column_names(path)
    score = names[0] if len(names) == 1 else SCORE
    require_columns(f"{path} has no column", [score], names)
    ids = [name for name in (QID, *ID_COLUMNS) if name in names and name != score][:1]
    frame = read_columns(path, [*ids, score], ids)
    with named_part(f"{path}: the column {score!r}"):
        scores = check_scores(frame[score], "the score")
    if ids and len(scores) == len(qid):
        score_ids = _query_ids(path, frame[ids[0]])
        refuse_first(
            score_ids.astype(str) != qid.astype(str),
            lambda i: (
                f"{path}: row {i + 1} has the query id '{score_ids[i]}', and this document "
                f"'{qid[i]}': scores must have the sequence of the documents"
            ),
        )
    return scores


def _read_lines(path: Path) -> Floats:
    """Read the scores in the lines of a text file. Empty lines are ignored."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    bad = [bool(line.strip()) and not is_finite_text(line) for line in lines]
    refuse_first(
        np.array(bad, dtype=bool),
        lambda i: f"{path}, line {i + 1}: {lines[i][:40]!r} is not a finite score",
    )
    return check_scores([float(line) for line in lines if line.strip()])
