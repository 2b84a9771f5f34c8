"""Files that commands read: documents in LETOR files and in tables, and scores of documents."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from boostrank.cli.columns import (
    check_labels,
    numbers_and_categories,
    quoted,
)
from boostrank.cli.tables import (
    MISSING,
    TAB_SUFFIXES,
    column_names,
    ending,
    is_parquet,
    is_table,
    named_errors,
    read_columns,
)
from boostrank.datasets import read_letor
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import did_you_mean, is_finite_text, named_part, refuse_first
from boostrank.inputs.text_columns import written_number
from boostrank.inputs.warnings import warn
from boostrank.metrics import check_scores
from boostrank.queries.by_id import ID_COLUMNS

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from boostrank.objectives.labels import MultipleLabels

    # Commands that need no ranker do not import it.
    from boostrank.rankers.base import BoostedRanker

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
#: Endings of the names of files that are neither tables nor LETOR files.
OTHER_FILES = {".xlsx", ".xls", ".ods", ".json", ".jsonl", ".ndjson", ".feather", ".arrow"}
OTHER_FILES |= {".npy", ".npz", ".pkl", ".pickle", ".zip", ".bz2", ".xz", ".7z", ".sqlite", ".html"}
# Characters at the end of an id that are not seen.
_INVISIBLE = " \t\r\n\x00\u00a0\u200b\ufeff"
# What floats have behind an id.
_END_OF_ID = re.compile(r"(?<=\d)\.0+$")
# The weight of a column of labels, among those of several objectives.
_WEIGHT = re.compile(r"(.+):\s*([0-9.]+(?:[eE]-?[0-9]+)?)")
# A query id that is read as a number: the text is that of the number.
_INTEGER = re.compile(r"-?[1-9][0-9]{0,17}|0")


class ColumnOptions(NamedTuple):
    """The options that say which columns of a table have which role.

    Attributes
    ----------
    qid, label : str or None
        None for a usual name. Labels of several objectives are columns with weights, as in
        "click:0.7,order:0.3".
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
            if option == "label":
                require_columns(f"--{option}: {path} has no column", self.labels, names)
                continue
            for name in split_names(texts):
                require_columns(f"--{option}: {path} has no column", [name], names)
        if self.qid is not None and self.qid in self.labels:
            raise ValueError(f"--qid and --label name the same column, {self.qid!r}")

    @property
    def weights(self) -> dict[str, float] | None:
        """The weight of each column of labels of several objectives; None for one column."""
        parts = [_WEIGHT.fullmatch(text) for text in split_names([self.label or ""])]
        found = {part[1].strip(): float(part[2]) for part in parts if part is not None}
        if len(found) < max(2, len(parts)):
            return None
        return found

    @property
    def labels(self) -> list[str]:
        """The columns of labels that the user names."""
        if self.label is None:
            return []
        return [self.label] if self.weights is None else list(self.weights)

    def find(self, path: Path, names: Sequence[str], role: str, *, is_needed: bool) -> list[str]:
        """The columns of the role "qid", or those of the role "label".

        They are those that the user names, or the only one with a usual name.
        """
        ids = [] if self.qid is None else split_names([self.qid])
        if role == "qid" and ids:
            return ids
        if role == "label" and self.labels:
            return self.labels
        others = {*self.labels, *ids, *split_names(self.features), *split_names(self.drop)}
        usual = USUAL_NAMES[role]
        columns = [name for name in usual if name in names and name not in others]
        if len(columns) != 1 and is_needed:
            problem = f"no column {quoted(usual)}"
            taken = [name for name in usual if name in names and name in others]
            if columns:
                problem = f"several of the columns {quoted(columns)}"
            elif taken:
                problem += f" besides {quoted(taken)}, which another option names"
            hint = ""
            if len(names) == 1:
                separators = "commas, semicolons, tabs or |"
                if ending(path) in TAB_SUFFIXES:
                    separators = "tabs"
                hint = f". Names in the first line are separated by {separators}"
            raise ValueError(
                f"{path} has {problem}: name one with --{role}; its columns are "
                f"{quoted(names)}{hint}"
            )
        return columns[:1]

    def choose_features(self, path: Path, names: Sequence[str], *others: str) -> list[str]:
        """The features: those that the user names, or else all columns but `others`.

        `others` are the columns of query ids and labels.
        """
        dropped = split_names(self.drop)
        features = [name for name in split_names(self.features) if name not in dropped]
        wrong = [name for name in features if name in others]
        if not self.features:
            features = [name for name in names if name not in (*dropped, *others)]
            usual = (*USUAL_NAMES["qid"], *USUAL_NAMES["label"])
            wrong = [name for name in features if name.lower() in usual]
        if wrong:
            raise ValueError(
                f"{path}: the column {wrong[0]!r} looks like an id or a label, not a feature. "
                "Leave out what is no feature with --drop, or name all features with --features"
            )
        if not features:
            raise ValueError(
                f"{path} has no features: each of its columns {quoted(names)} has the query ids or "
                "the labels, or is left out by --features and --drop"
            )
        for name in split_names(self.categorical):
            require_columns("--categorical: these are no features:", [name], features)
        return list(dict.fromkeys(features))


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
    may_be_negative: bool = False,
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
    may_be_negative : bool, default False
        Whether labels may be below 0.

    Returns
    -------
    X : ndarray, CSR matrix, or DataFrame of numbers and categories, shape (n_documents, n_features)
        A DataFrame if the features have names.
    y : ndarray, shape (n_documents,), MultipleLabels or None
        Labels; those of several objectives may be missing, as NaN. None if they are not read.
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
    if ending(path) in OTHER_FILES and path.is_file():
        raise ValueError(
            f"{path}: files that end in {ending(path)} are not read. Save the table as CSV in "
            "UTF-8 (.csv) or as Parquet (.parquet)"
        )
    if not is_table(path):
        return _read_letor(path, columns, like, may_be_negative)
    if columns.missing and is_parquet(path):
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
    is_training = not isinstance(like, pd.DataFrame)
    X = numbers_and_categories(
        path,
        frame[features],
        categories,
        missing,
        has_texts=not is_parquet(path),
        is_training=is_training,
    )
    y: NDArray[Any] | MultipleLabels | None = None
    qid = None
    if isinstance(like, pd.DataFrame):
        X = _with_categories(path, X, like)
    if "label" in read:
        found = read["label"]
        if columns.weights is None:
            y = check_labels(path, frame[found[0]], may_be_negative=may_be_negative)
        else:
            y = _labels_of_objectives(path, frame[found], columns.weights)
    if "qid" in read:
        qid = _joined_ids([_query_ids(path, frame[name]) for name in read["qid"]])
    return X, y, qid


def _labels_of_objectives(
    path: Path, frame: pd.DataFrame, weights: Mapping[str, float]
) -> MultipleLabels:
    """The labels of several objectives; those that are missing are NaN."""
    # Imported on use: one label needs no extension.
    from boostrank.objectives.labels import MultipleLabels

    labels = {}
    for name in weights:
        column = frame[name]
        is_given = column.notna().to_numpy()
        values = np.full(len(frame), np.nan)
        if is_given.any():
            values[is_given] = check_labels(path, column[is_given], may_be_negative=False)
        labels[name] = values
    with named_part("--label"):
        return MultipleLabels(labels, weights)


def _features_of_model(
    path: Path, columns: ColumnOptions, names: Sequence[str], like: pd.DataFrame
) -> list[str]:
    """The features of a model, which the table must have, and the options must not change."""
    features = list(map(str, like))
    require_columns(f"{path} lacks features of the model:", features, names)
    chosen = {*(split_names(columns.features) or features)} - {*split_names(columns.drop)}
    if chosen != {*features}:
        raise ValueError(
            f"--features and --drop must leave the features of the model: {quoted(features)}"
        )
    return features


def _missing_marks(
    columns: ColumnOptions, features: Sequence[str], like: Features | None
) -> dict[str, list[str]]:
    """The texts that stand for a missing value in each feature of a CSV file."""
    marks: list[str] = []
    for text in columns.missing or ():
        marks += text.split(",")
    missing = {name: [*MISSING, *marks] for name in features}
    if isinstance(like, pd.DataFrame):
        # A model may have a category "None".
        for name, values in like.select_dtypes("category").items():
            usual = {*MISSING}.difference(map(str, values.cat.categories))
            missing[str(name)] = [*usual, *marks]
    return missing


def _read_letor(
    path: Path, columns: ColumnOptions, like: Features | None, may_be_negative: bool
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
    check_labels(path, y, rows="document", may_be_negative=may_be_negative)
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
        raise ValueError(f"{problem} {quoted(missing)}{near}; its columns are {quoted(names)}")


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
                f"{path}: the model does not know {quoted(unknown)} in the column {name!r}: these "
                "count as missing"
            )
        known = column.cat.set_categories(list(by_text))
        changed[str(name)] = known.cat.rename_categories(by_text)
    return X.assign(**changed)


def _warn_of_similar(name: str, different: Iterable[str]) -> None:
    """Warn of query ids that differ only by spaces at their ends, or as 7 and 7.0 do."""
    by_text: dict[str, str] = {}
    for text in different:
        other = by_text.setdefault(_END_OF_ID.sub("", text.strip(_INVISIBLE)), text)
        if other != text:
            warn(
                f"{name} has {other!r} and {text!r}, which look the same, and are two queries: "
                "write them in one way if they are one"
            )
            return


def read_groups(path: Path, name: str) -> NDArray[Any]:
    """Read the group of each document, which says what its query belongs to, from a table."""
    require_columns(f"--group: {path} has no column", [name], column_names(path))
    return _query_ids(path, read_columns(path, [name], [name])[name], "the group")


def read_times(path: Path, name: str) -> NDArray[Any]:
    """Read the time of each document from a table: numbers or dates."""
    require_columns(f"--time: {path} has no column", [name], column_names(path))
    column = read_columns(path, [name], [])[name]
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.to_numpy()
    try:
        return pd.to_datetime(column, format="ISO8601").to_numpy()
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{path}: the time (column {name!r}) must be a number or a date such as 2024-05-31 in "
            f"each row; {error}"
        ) from None


def _query_ids(path: Path, column: pd.Series, kind: str = "the query id") -> NDArray[Any]:
    """Ids of queries or groups, which messages call `kind`.

    They are numbers and truth values as they are, others as int64 if all are such, or texts. Floats
    must be whole numbers that their type can tell apart.
    """
    name = f"{path}: {kind} (column {column.name!r})"
    ids = column.to_numpy()
    is_list = column.map(pd.api.types.is_list_like).to_numpy(dtype=bool)
    refuse_first(is_list, lambda row: f"{name} is no number, text or date in row {row + 1}")
    with named_errors(path):
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
    _warn_of_similar(name, different)
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
    scores = _checked_scores(path, frame[score])
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


def _checked_scores(path: Path, column: pd.Series) -> Floats:
    """The scores in a column of a table, which must be finite numbers."""
    name = f"{path}: the score (column {column.name!r})"
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    refuse_first(
        ~np.isfinite(numbers),
        lambda row: (
            f"{name} is {column.iloc[row]!s} in row {row + 1:,}, and must be a finite number"
        ),
    )
    return check_scores(numbers)


def _read_lines(path: Path) -> Floats:
    """Read the scores in the lines of a text file. Empty lines are ignored."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    bad = [bool(line.strip()) and not is_finite_text(line) for line in lines]
    refuse_first(
        np.array(bad, dtype=bool),
        lambda i: f"{path}, line {i + 1}: {lines[i][:40]!r} is not a finite score{_hint(lines[i])}",
    )
    return check_scores([float(line) for line in lines if line.strip()])


def _hint(line: str) -> str:
    """The end of a message about a line that is no score; empty if nothing is known."""
    way = written_number([line])
    if way is not None:
        return f": it has {way.name}; write {way.repair(line.strip())}"
    if re.search(r"[A-Za-z,;\t]", line):
        return ". A file with one score a line has no other line; a table must end in .csv or .tsv"
    return ""
