"""Data of many queries for the commands: documents, folds, groups of queries and scores in files of several formats."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from boostrank.cli import tables
from boostrank.cli.options import refuse_unused
from boostrank.cli.tables import ColumnOptions
from boostrank.datasets import Dataset, Fold, read_letor, read_letor_folds
from boostrank.datasets.letor_reader import LETOR_ENDINGS, find_folds
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import is_finite_text, named_part
from boostrank.inputs.warnings import warn
from boostrank.metrics import check_scores
from boostrank.queries.by_id import ID_COLUMNS, by_id

#: Columns of a table of scores.
QID, SCORE = "qid", "score"
_TABLE_ENDINGS = (*tables.CSV_SUFFIXES, *(f"{suffix}.gz" for suffix in tables.CSV_SUFFIXES), *tables.PARQUET_SUFFIXES)
#: A query id that is read as a number: the text is that of the number.
_INTEGER = re.compile(r"-?[1-9][0-9]{0,17}|0")


class ModelFeatures(NamedTuple):
    """Features that a file must have: their number, and their names in the sequence of the model.

    Attributes
    ----------
    n_features : int
    names : list of str or None
        None if they have no names.
    categories : dict of str to list, or None
        Those that are categories, with the values that the model knows; None where it is not known.
    """

    n_features: int
    names: list[str] | None = None
    categories: Mapping[str, list[Any] | None] = MappingProxyType({})

    @classmethod
    def of(cls, ranker: Any) -> Self:
        """The features of a fitted ranker, such as one that was read from a file."""
        names = getattr(ranker, "feature_names_in_", None)
        if names is None:
            return cls(ranker.n_features_in_)
        texts = [str(name) for name in names]
        return cls(
            len(texts), texts, {texts[i]: known for i, known in ranker._backend.categories(ranker.booster_).items()}
        )


class Documents(NamedTuple):
    """The content of a file of documents.

    Attributes
    ----------
    X : ndarray, CSR matrix, or DataFrame of numbers and categories, shape (n_documents, n_features)
        A DataFrame if the features have names.
    y : ndarray, shape (n_documents,), float64, or None
        Labels; None if the file has none and they were not needed.
    qid : ndarray, shape (n_documents,), int64 or str, or None
        Query ids; None as for `y`.
    feature_names : list of str or None
    others : DataFrame or None
        Columns that were read besides.
    """

    X: Any
    y: Floats | None
    qid: NDArray[Any] | None
    feature_names: list[str] | None
    others: pd.DataFrame | None = None

    @property
    def dataset(self) -> Dataset:
        """Features, labels and query ids, which must not be None."""
        assert self.y is not None
        assert self.qid is not None
        return Dataset(self.X, self.y, self.qid)

    @property
    def features(self) -> ModelFeatures:
        """The features, which other files must have too."""
        categories = {}
        if isinstance(self.X, pd.DataFrame):
            of_type = self.X.select_dtypes("category")
            categories = {str(name): of_type[name].cat.categories.to_list() for name in of_type}
        return ModelFeatures(self.X.shape[1], self.feature_names, categories)


def read_documents(
    path: Path,
    columns: ColumnOptions,
    *,
    model: ModelFeatures | None = None,
    needs_qid: bool = True,
    needs_label: bool = True,
    others: Sequence[str] = (),
) -> Documents:
    r"""Read documents from a LETOR, CSV, TSV or Parquet file.

    The name of a CSV or TSV file ends in ``.csv``, ``.tsv`` or ``.tab``, and ``.gz`` after it if it is compressed.
    Parquet is known by its content. All other files are LETOR files.

    Parameters
    ----------
    path : Path
    columns : ColumnOptions
        Columns of a table. Columns of dictionaries in Parquet files are categories in any case.
    model : ModelFeatures, optional
        Features that `X` must have. If both they and the columns have names, `X` has these columns in this sequence,
        and other columns are not read.
    needs_qid, needs_label : bool, default True
        Whether it is an error if a table has no such column. If they are not needed and not named, query ids are not
        read, and labels only if all of them are numbers.
    others : sequence of str, optional
        Columns of a table to read besides, unchanged.

    Raises
    ------
    ValueError
        If the file is damaged; if the columns are not those that are needed, or options do not fit; if a query id or a
        label is missing, or a label or a feature is no number; and for options about columns of a LETOR file.
    OSError
        If the file cannot be read.
    ImportError
        For a Parquet file, if pyarrow is not installed.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name, "train.csv")
    >>> _ = path.write_text("query,price,grade\nred shoe,9.5,2\nred shoe,,0\nhat,3,1\n")
    >>> documents = read_documents(path, ColumnOptions(qid="query", label="grade"))
    >>> documents.feature_names, documents.X["price"].tolist()
    (['price'], [9.5, nan, 3.0])
    >>> documents.y.tolist(), documents.qid.tolist()
    ([2.0, 0.0, 1.0], ['red shoe', 'red shoe', 'hat'])
    >>> folder.cleanup()
    """
    table = tables.open_table(path)
    if table is None:
        return _read_letor(path, [*columns.given, *(["--keep"] if others else [])], model)
    for name in others:
        tables.require_column("--keep", path, name, table.names)
    known = model.names if model is not None else None
    qid, label, features = columns.choose(
        path, table.names, needs_qid=needs_qid, needs_label=needs_label, known_features=known
    )
    if not needs_qid and columns.qid is None:
        # A column that nobody needs may have any values.
        qid = None
    if model is not None and known is None:
        warn(
            f"the features of the model have no names: the columns of {path} are taken in their sequence, "
            f"{features[0]!r} as the first feature"
        )
    of_model = () if model is None else model.categories
    categories = {*tables.split_names(columns.categorical, table.names), *of_model}
    numbers = ({*features} - categories | {label}) - {qid}
    wanted = list(dict.fromkeys(name for name in (*features, qid, label, *others) if name is not None))
    frame = table.read(wanted, [name for name in wanted if name not in numbers])
    y = None
    if label is not None:
        may_lack_labels = not needs_label and columns.label is None
        with contextlib.suppress(*([ValueError] if may_lack_labels else [])):
            y = _labels(path, frame[label])
    X = _features(path, frame[features], categories)
    if model is not None:
        X = _with_categories(path, X, model)
    ids = None if qid is None else query_ids(path, frame[qid])
    return Documents(X, y, ids, features, frame[list(others)] if others else None)


def read_judged(path: Path, columns: ColumnOptions) -> tuple[Floats, NDArray[Any]]:
    """Read labels and query ids as :func:`read_documents` does, and of a table no other columns."""
    table = tables.open_table(path)
    if table is None:
        return _read_letor(path, columns.given, None).dataset[1:]
    qid, label, _ = columns.choose(path, table.names, known_features=[])
    assert qid is not None
    assert label is not None
    frame = table.read([qid, label], {qid})
    return _labels(path, frame[label]), query_ids(path, frame[qid])


def _read_letor(path: Path, options: list[str], model: ModelFeatures | None) -> Documents:
    """Read a LETOR file, for which the options of tables in `options` are an error."""
    if options:
        raise ValueError(
            f"{options[0]} is for tables, and {path} is read as a LETOR file, whose lines have 'label qid:ID "
            "index:value ...'. The name of a table ends in .csv, .tsv or .parquet"
        )
    try:
        X, y, qid = read_letor(path, n_features=None if model is None else model.n_features)
    except ValueError as error:
        if tables.looks_like_table(path):
            error.add_note("if this is a table, its name must end in .csv, .tsv or .parquet")
        raise
    if model is not None and model.names is not None:
        texts = [name for name, known in model.categories.items() if known is not None]
        if texts:
            raise ValueError(
                f"{path} is a LETOR file, which has numbers only, and {texts[0]!r} of the model is a category: use a "
                "table"
            )
        warn(
            f"the features of {path} have no names: feature 1 is taken for {model.names[0]!r}, and so on in the "
            "sequence of the model"
        )
        if isinstance(X, np.ndarray):
            return Documents(pd.DataFrame(X, columns=model.names), y, qid, model.names)
    return Documents(X, y, qid, None)


def _with_categories(path: Path, X: pd.DataFrame, model: ModelFeatures) -> pd.DataFrame:
    """The features with the categories of the model; others are missing values, of which a warning tells."""
    changed: dict[str, Any] = {}
    for name, known in model.categories.items():
        if known is None:
            continue
        by_text = {str(value): value for value in known}
        column = X[name].cat.rename_categories(str)
        unknown = [text for text in column.cat.categories if text not in by_text]
        if unknown:
            shown = ", ".join(map(repr, unknown[:5])) + (", ..." if len(unknown) > 5 else "")
            warn(f"{path}: the model does not know {shown} in the column {name!r}: these values count as missing")
        changed[name] = column.cat.set_categories(list(by_text)).cat.rename_categories(by_text)
    return X.assign(**changed)


def _labels(path: Path, column: pd.Series) -> Floats:
    what = f"the label (column {column.name!r})"
    _refuse_rows(path, column.isna(), f"{what} is missing")
    if not pd.api.types.is_numeric_dtype(column.dtype):
        row, text = _first_text(column)
        raise ValueError(f"{path}: {what} must be a number; row {row} has {text!r}")
    values = column.to_numpy(np.float64)
    _refuse_rows(path, np.isinf(values), f"{what} is infinite")
    return values


def query_ids(path: Path, column: pd.Series) -> NDArray[Any]:
    """Query ids: int64 if all of them are such numbers, else str."""
    what, missing = f"the query id (column {column.name!r})", column.isna()
    if not pd.api.types.is_numeric_dtype(column.dtype):
        column = column.astype(str)
        missing |= column == ""
    _refuse_rows(path, missing, f"{what} is missing")
    if pd.api.types.is_numeric_dtype(column.dtype):
        _refuse_rows(path, column % 1 != 0, f"{what} is neither an integer nor a text")
        return column.to_numpy(np.int64)
    codes, different = pd.factorize(column)
    texts = different.to_list()
    is_integer = all(_INTEGER.fullmatch(text) for text in texts)
    values = np.array(texts, dtype=np.int64) if is_integer else np.array(texts, dtype=str)
    return values[codes]


def _features(path: Path, X: pd.DataFrame, categories: set[str]) -> pd.DataFrame:
    """The features as numbers and categories; other texts are an error."""
    changed: dict[str, Any] = {}
    wrong = []
    for name, column in X.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            continue
        if name in categories:
            changed[str(name)] = column.astype(str).where(column.notna() & (column != "")).astype("category")
        elif column.dtype == object and column.isin([True, False]).where(column.notna(), True).all():
            changed[str(name)] = column.astype(np.float64)
        elif not pd.api.types.is_numeric_dtype(column.dtype):
            wrong.append(name)
        elif column.dtype.kind == "f":
            where = f"the feature {name!r} is infinite"
            _refuse_rows(path, np.isinf(column.to_numpy()), where, "; leave the field empty if it is missing")
    if wrong:
        names = ", ".join(map(repr, wrong[:8])) + (", ..." if len(wrong) > 8 else "")
        are = f"the column {names} does not consist of numbers" if len(wrong) == 1 else f"no numbers are in {names}"
        row, text = _first_text(X[wrong[0]])
        raise ValueError(
            f"{path}: {are}: row {row} of {wrong[0]!r} has {text!r}. Leave out what is no feature "
            f"(--drop {','.join(map(str, wrong[:8]))}), or make it categories (--categorical)"
        )
    return X.assign(**changed)


def _refuse_rows(path: Path, mask: Any, what: str, advice: str = "") -> None:
    """Raise ValueError with the number of the first row of a mask, counted from 1 and without the line of names."""
    if mask.any():
        raise ValueError(f"{path}: {what} in row {int(np.argmax(mask)) + 1}{advice}")


def _first_text(column: pd.Series) -> tuple[int, str]:
    """Number and text of the first row that is neither a number nor missing."""
    texts = pd.to_numeric(column.astype(str), errors="coerce").isna() & column.notna()
    row = int(np.argmax(texts.to_numpy()))
    return row + 1, str(column.iloc[row])[:40]


def read_folds(directory: Path, columns: ColumnOptions) -> list[Fold]:
    """Read folds from ``Fold1/train.csv``, ``Fold1/vali.csv``, ``Fold1/test.csv``, ``Fold2/train.csv``, ...

    The files may be tables in any format that commands read, or LETOR files; see
    :func:`boostrank.read_letor_folds` for their names. The columns of a fold are those of its training file, and so are
    the categories.

    Raises
    ------
    ValueError
        For options about columns of LETOR files, and as :func:`read_documents`.
    OSError
        If there are no folds, if a fold has no training file or no test file, or if a file cannot be read.
    """
    found = find_folds(directory, (*LETOR_ENDINGS, *_TABLE_ENDINGS))
    paths = [path for _, parts in found for path in parts if path is not None]
    n_letor = sum(path.name.endswith(LETOR_ENDINGS) for path in paths)
    if n_letor == len(paths):
        refuse_unused("folds in CSV, TSV or Parquet files", **columns._asdict())
        return read_letor_folds(directory)
    if n_letor:
        raise ValueError(f"{directory} has both LETOR files and tables, such as {paths[0]}; expected one format")
    folds = []
    for folder, (train_path, validation_path, test_path) in found:
        assert train_path is not None
        assert test_path is not None
        train, ids = read_documents(train_path, columns), ColumnOptions(columns.qid, columns.label)
        test = read_documents(test_path, ids, model=train.features).dataset
        validation = None
        if validation_path is not None:
            validation = read_documents(validation_path, ids, model=train.features).dataset
        folds.append(Fold(folder.name, train.dataset, validation, test))
    return folds


def read_groups(path: Path) -> pd.Series:
    """Read the group of each query from a CSV or TSV file.

    The first line has the names of two columns, one of them "query_id", "query", "qid" or "q_id". A query may occur
    several times with the same group.

    Returns
    -------
    Series
        Group by query id (str). Groups are str, or int if all of them are integers, so that 2 comes before 10.

    Raises
    ------
    ValueError
        If the file has other columns, a line has another number of fields, or a field is empty; if a query has
        different groups; and if the file is empty or not text in UTF-8. The message names the option and the file.
    """
    table = tables.CsvFile(path)
    if len(table.names) != 2 or len(set(table.names) & set(ID_COLUMNS)) != 1:
        raise ValueError(
            f"--by {path}: its first line must have the names of two columns, one of them {', '.join(ID_COLUMNS[:-1])} "
            f"or {ID_COLUMNS[-1]}, such as 'query_id,group'; got {','.join(table.names)!r}"
        )
    frame = table.read(table.names, table.names).apply(lambda column: column.str.strip())
    with named_option(path):
        groups = by_id(frame.mask(frame == ""), "by")
    return pd.to_numeric(groups) if groups.str.fullmatch(_INTEGER.pattern).all() else groups


@contextlib.contextmanager
def named_option(path: Path | None) -> Iterator[None]:
    """Replace the name of the argument `by` in errors about it by the name of the option and its file."""
    try:
        yield
    except ValueError as error:
        text = str(error)
        if path is None or not text.startswith("by "):
            raise
        raise ValueError(f"--by {path} {text.removeprefix('by ')}") from error


def read_scores(path: Path, qid: NDArray[Any]) -> Floats:
    """Read the scores of documents, in the sequence of these.

    Parameters
    ----------
    path : Path
        A text file with one score per line; or a table with the column "score", or with only one column.
    qid : ndarray, shape (n_documents,)
        The query ids of the documents. If the table has a column "qid" too, its ids must be these.

    Raises
    ------
    ValueError
        If the file is neither, if a score is no finite number, or for other query ids.
    """
    table = tables.open_table(path)
    if table is not None:
        return _scores_of_table(table, qid)
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, 1):
        if line.strip() and not is_finite_text(line):
            raise ValueError(f"{path}, line {number}: {line[:40]!r} is not a finite score")
    return check_scores([float(line) for line in lines if line.strip()])


def _scores_of_table(table: tables.TableFile, qid: NDArray[Any]) -> Floats:
    path, names = table.path, table.names
    if SCORE not in names and len(names) != 1:
        raise ValueError(f"{path} must have a column 'score'; {tables.listed(names)}")
    score = SCORE if SCORE in names else names[0]
    has_qid = QID in names and score != QID
    frame = table.read([QID, score] if has_qid else [score], {QID})
    with named_part(f"{path}: the column {score!r}"):
        values = check_scores(frame[score], "the score")
    if has_qid and len(values) == len(qid):
        ids = query_ids(path, frame[QID]).astype(str)
        differ = ids != qid.astype(str)
        if differ.any():
            row = int(np.argmax(differ))
            raise ValueError(
                f"{path}: row {row + 1} has the query id {str(ids[row])!r}, and this document {str(qid[row])!r}: the "
                "scores must have the sequence of the documents"
            )
    return values
