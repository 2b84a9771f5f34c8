"""Documents of many queries for the commands, from LETOR, CSV, TSV and Parquet files."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from boostrank.cli.table_columns import ColumnOptions, Columns, listed, near
from boostrank.cli.table_files import TableFile, open_table
from boostrank.datasets import Dataset, read_letor
from boostrank.inputs.arrays import Floats
from boostrank.inputs.files import open_decompressed
from boostrank.inputs.warnings import warn

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
    path: str | Path,
    *,
    qid: str | None = None,
    label: str | None = None,
    features: list[str] | None = None,
    drop: list[str] | None = None,
    categorical: list[str] | None = None,
    model: ModelFeatures | None = None,
    needs_qid: bool = True,
    needs_label: bool = True,
    others: list[str] | None = None,
) -> Documents:
    r"""Read documents from a LETOR, CSV, TSV or Parquet file.

    The name of a CSV or TSV file ends in ``.csv``, ``.tsv`` or ``.tab``, and ``.gz`` after it if it is compressed.
    Parquet is known by its content. All other files are LETOR files.

    Parameters
    ----------
    path : str or Path
    qid, label : str, optional
        Columns of a table with the query ids and the labels. By default those with a usual name.
    features, drop : list of str, optional
        Columns of a table that are features, or that are not; by default all that have no other role are features.
    categorical : list of str, optional
        Features that are categories. Columns of dictionaries in Parquet files are categories in any case.
    model : ModelFeatures, optional
        Features that `X` must have. If both they and the columns have names, `X` has these columns in this sequence,
        and other columns are not read.
    needs_qid, needs_label : bool, default True
        Whether it is an error if a table has no such column. If they are not needed and not named, query ids are not
        read, and labels only if all of them are numbers.
    others : list of str, optional
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
    >>> documents = read_documents(path, qid="query", label="grade")
    >>> documents.feature_names, documents.X["price"].tolist()
    (['price'], [9.5, nan, 3.0])
    >>> documents.y.tolist(), documents.qid.tolist()
    ([2.0, 0.0, 1.0], ['red shoe', 'red shoe', 'hat'])
    >>> folder.cleanup()
    """
    path = Path(path)
    options = ColumnOptions(qid, label, features, drop or (), categorical or ())
    table = open_table(path)
    if table is None:
        return _read_letor(path, options, model, others)
    absent = next((name for name in others or () if name not in table.names), None)
    if absent is not None:
        raise ValueError(f"--keep: {path} has no column {absent!r}{near(absent, table.names)}; {listed(table.names)}")
    known = model.names if model is not None else None
    columns = options.choose(path, table.names, needs_qid=needs_qid, needs_label=needs_label, known_features=known)
    if not needs_qid and qid is None:
        # A column that nobody needs may have any values.
        columns = columns._replace(qid=None)
    categories = options.categories_of(table.names) | set(model.categories if model is not None else ())
    may_lack_labels = not needs_label and label is None
    return _read_table(table, columns, categories, model, others or [], may_lack_labels)


def read_judged(path: Path, qid: str | None = None, label: str | None = None) -> tuple[Floats, NDArray[Any]]:
    """Read labels and query ids as :func:`read_documents` does, and of a table no other columns."""
    table = open_table(path)
    if table is None:
        return _read_letor(path, ColumnOptions(qid, label), None, None).dataset[1:]
    columns = ColumnOptions(qid, label).choose(path, table.names, known_features=[])
    assert columns.qid is not None
    assert columns.label is not None
    frame = table.read([columns.qid, columns.label], {columns.qid})
    return _labels(path, frame[columns.label]), query_ids(path, frame[columns.qid])


def _read_letor(path: Path, options: ColumnOptions, model: ModelFeatures | None, others: list[str] | None) -> Documents:
    given = [*options.given, *(["--keep"] if others else [])]
    if given:
        raise ValueError(
            f"{given[0]} is for tables, and {path} is read as a LETOR file, whose lines have 'label qid:ID "
            "index:value ...'. The name of a table ends in .csv, .tsv or .parquet"
        )
    try:
        X, y, qid = read_letor(path, n_features=None if model is None else model.n_features)
    except ValueError as error:
        if _looks_like_table(path):
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


def _looks_like_table(path: Path) -> bool:
    """Whether the first line has commas or semicolons, and no colon as in ``qid:7``."""
    with open_decompressed(path) as file:
        line = file.readline(10_000)
    return (b"," in line or b";" in line) and b"qid:" not in line


def _read_table(
    table: TableFile,
    columns: Columns,
    categories: set[str],
    model: ModelFeatures | None,
    others: list[str],
    may_lack_labels: bool,
) -> Documents:
    path, features = table.path, columns.features
    if model is not None and model.names is None:
        if len(features) != model.n_features:
            raise ValueError(
                f"{path} has {len(features)} features, but the model has {model.n_features}, without names; choose "
                "them in its sequence with --features"
            )
        warn(
            f"the features of the model have no names: the columns of {path} are taken in their sequence, "
            f"{features[0]!r} as the first feature"
        )
    ids = [name for name in (columns.qid, columns.label) if name is not None]
    wanted = list(dict.fromkeys([*features, *ids, *others]))
    texts = {name for name in wanted if name in categories or name == columns.qid or name not in [*features, *ids]}
    frame = table.read(wanted, texts)
    y = None
    if columns.label is not None:
        with contextlib.suppress(*([ValueError] if may_lack_labels else [])):
            y = _labels(path, frame[columns.label])
    qid = None if columns.qid is None else query_ids(path, frame[columns.qid])
    kept = frame[others] if others else None
    X = frame.drop(columns=[name for name in wanted if name not in features])
    X = _numbers(path, X, categories)
    if model is not None:
        X = _with_categories(path, X, model)
    return Documents(X, y, qid, features, kept)


def _with_categories(path: Path, X: pd.DataFrame, model: ModelFeatures) -> pd.DataFrame:
    """The features with the categories of the model; others are missing values, of which a warning tells."""
    changed: dict[str, Any] = {}
    for name, known in model.categories.items():
        if known is None:
            continue
        by_text = {str(value): value for value in known}
        texts = [str(value) for value in X[name].cat.categories]
        unknown = [text for text in texts if text not in by_text]
        if unknown:
            shown = ", ".join(map(repr, unknown[:5])) + (", ..." if len(unknown) > 5 else "")
            warn(f"{path}: the model does not know {shown} in the column {name!r}: these values count as missing")
        positions = {text: i for i, text in enumerate(by_text)}
        # The code of a missing value is -1, the last of these.
        to_known = np.array([*(positions.get(text, -1) for text in texts), -1])
        codes = to_known[X[name].cat.codes.to_numpy()]
        changed[name] = pd.Categorical.from_codes(codes.tolist(), dtype=pd.CategoricalDtype(known))
    return X.assign(**changed) if changed else X


def _labels(path: Path, column: pd.Series) -> Floats:
    missing = column.isna().to_numpy()
    if missing.any():
        raise ValueError(f"{path}: the label (column {column.name!r}) is missing in row {_row(missing)}")
    if not pd.api.types.is_numeric_dtype(column.dtype):
        row = _first_text(column)
        raise ValueError(
            f"{path}: the label (column {column.name!r}) must be a number; row {row + 1} has "
            f"{str(column.iloc[row])[:40]!r}"
        )
    values = column.to_numpy(np.float64)
    infinite = np.isinf(values)
    if infinite.any():
        raise ValueError(f"{path}: the label (column {column.name!r}) in row {_row(infinite)} is infinite")
    return values


def query_ids(path: Path, column: pd.Series) -> NDArray[Any]:
    """Query ids: int64 if all of them are such numbers, else str."""
    missing = column.isna().to_numpy()
    if not pd.api.types.is_numeric_dtype(column.dtype):
        column = column.astype(str)
        missing = missing | (column == "").to_numpy()
    if missing.any():
        raise ValueError(f"{path}: the query id (column {column.name!r}) is missing in row {_row(missing)}")
    if pd.api.types.is_integer_dtype(column.dtype):
        return column.to_numpy()
    if pd.api.types.is_float_dtype(column.dtype):
        fractions = (column % 1 != 0).to_numpy()
        if fractions.any():
            row = int(np.argmax(fractions))
            raise ValueError(
                f"{path}: the query id (column {column.name!r}) in row {row + 1} is {column.iloc[row]}; expected "
                "integers or texts"
            )
        return column.to_numpy(np.int64)
    codes, different = pd.factorize(column)
    texts = different.to_list()
    is_integer = all(_INTEGER.fullmatch(text) for text in texts)
    values = np.array(texts, dtype=np.int64) if is_integer else np.array(texts, dtype=str)
    return values[codes]


def _numbers(path: Path, X: pd.DataFrame, categories: set[str]) -> pd.DataFrame:
    """The features, in which texts are an error unless they are categories."""
    changed: dict[str, Any] = {}
    wrong = []
    for name in X.columns:
        column = X[name]
        if name in categories and not isinstance(column.dtype, pd.CategoricalDtype):
            changed[name] = column.astype(str).where(column.notna() & (column != "")).astype("category")
        elif isinstance(column.dtype, pd.CategoricalDtype):
            continue
        elif column.dtype == object and column.isin([True, False]).where(column.notna(), True).all():
            changed[name] = column.astype(np.float64)
        elif not pd.api.types.is_numeric_dtype(column.dtype):
            wrong.append(column)
        elif column.dtype.kind == "f" and np.isinf(column.to_numpy()).any():
            row = _row(np.isinf(column.to_numpy()))
            raise ValueError(
                f"{path}: the feature {name!r} is infinite in row {row}; leave the field empty if it is missing"
            )
    if wrong:
        _refuse_texts(path, wrong)
    return X.assign(**changed) if changed else X


def _refuse_texts(path: Path, wrong: list[pd.Series]) -> None:
    first = wrong[0]
    row = _first_text(first)
    names = ", ".join(repr(column.name) for column in wrong[:8]) + (", ..." if len(wrong) > 8 else "")
    are = f"the column {names} does not consist of numbers" if len(wrong) == 1 else f"no numbers are in {names}"
    drop = ",".join(str(column.name) for column in wrong[:8])
    raise ValueError(
        f"{path}: {are}: row {row + 1} of {first.name!r} has {str(first.iloc[row])[:40]!r}. Leave out what is no "
        f"feature (--drop {drop}), or make it categories (--categorical)"
    )


def _first_text(column: pd.Series) -> int:
    """Number of the first row that is neither a number nor missing."""
    texts = pd.to_numeric(column.astype(str), errors="coerce").isna() & column.notna()
    return int(np.argmax(texts.to_numpy()))


def _row(mask: NDArray[np.bool_]) -> int:
    """Number of the first row of a mask, counted from 1 and without the line of names."""
    return int(np.argmax(mask)) + 1
