"""Checks of the columns of a table that has been read: labels, features, and what looks like ids.

Each message names the file, the column and the first row, and the option that helps.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Number
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from boostrank.inputs.checks import is_finite_text, refuse_first
from boostrank.inputs.text_columns import (
    advice_on_texts,
    advice_on_written,
    are_dates,
    written_number,
)
from boostrank.inputs.warnings import warn
from boostrank.queries import id_columns
from boostrank.queries.queries import Queries

#: Texts that stand for a missing value, by column.
Marks = Mapping[str, Sequence[str]]
EQUAL_LABELS = (
    "in every query, all documents have the same label, so that all rankings of them are equally "
    "good"
)
ADVICE_ON_EQUAL_LABELS = (
    "Give labels that differ within queries; --label and --qid name the columns of a table"
)
_MAX_SHOWN = 12
_MAX_NAMES = 40
# Columns of numbers with at most so many different texts have marks of missing values.
_MAX_MARKS = 3
_SIGN = re.compile(r"[\W_]+|\\N")


def quoted(names: Sequence[str]) -> str:
    """Names as text, not too many of them."""
    shown = ", ".join(map(repr, names[:_MAX_SHOWN]))
    if len(names) > _MAX_SHOWN:
        shown += f", ... ({len(names)} in all)"
    return shown


def as_option(names: Iterable[object]) -> str:
    """Names as the value of an option in a shell."""
    return shlex.quote(",".join(map(str, names)))


def check_labels(
    path: Path, values: pd.Series | NDArray[Any], *, rows: str = "row", may_be_negative: bool
) -> NDArray[Any]:
    """The labels of a file, which must be finite numbers of 0 or more.

    Parameters
    ----------
    path : Path
    values : Series or ndarray, shape (n_documents,)
        A Series has the name of its column.
    rows : str, default "row"
        What the rows of the file are called in messages.
    may_be_negative : bool
        Whether labels may be below 0.

    Raises
    ------
    ValueError
        The message names the first row with another label.
    """
    name = f"{path}: the label"
    if isinstance(values, pd.Series):
        name += f" (column {values.name!r})"
        _refuse_texts_as_labels(path, values)
        if not pd.api.types.is_numeric_dtype(values.dtype):
            values = values.astype(object).astype(np.float64)
        values = values.to_numpy(na_value=np.nan) if values.hasnans else values.to_numpy()
    labels: NDArray[Any] = values
    missing = np.isnan(labels.astype(np.float64))
    others = f" (missing in {missing.sum():,} of {len(labels):,})"
    refuse_first(
        missing,
        lambda row: (
            f"{name} is missing in {rows} {row + 1:,}{others}: give the document a label, or "
            "leave it out"
        ),
    )
    infinite = np.isinf(labels.astype(np.float64))
    refuse_first(infinite, lambda row: f"{name} is {labels[row]} in {rows} {row + 1:,}")
    if not may_be_negative:
        negative = labels < 0
        others = f" (negative in {negative.sum():,} of {len(labels):,})"
        refuse_first(
            negative,
            lambda row: (
                f"{name} is {labels[row]:g} in {rows} {row + 1:,}{others}, and must be 0 or more: "
                "shift the labels so that 0 is that of irrelevant documents, leave out documents "
                "that nobody has judged, or give gain='rank' (--gain rank), if only the order "
                "within a query counts"
            ),
        )
    return labels


def require_numbers(path: Path, column: pd.Series) -> None:
    """Raise ValueError for a column that has texts, or a row without a value."""
    name = f"{path}: the column {column.name!r}"
    texts = _texts_of(column)
    if len(texts):
        counted = _counted_texts(column.name, texts)
        raise ValueError(f"{name} must have numbers, and some rows have texts: {counted}")
    refuse_first(
        column.isna().to_numpy(dtype=bool), lambda row: f"{name} has no value in row {row + 1:,}"
    )


def are_equal_within_queries(y: NDArray[Any], qid: NDArray[Any]) -> bool:
    """Whether no query has documents with different labels."""
    queries = Queries.from_qid(qid)
    labels = queries.group(y)
    return bool((queries.min(labels) == queries.max(labels)).all())


def _refuse_texts_as_labels(path: Path, column: pd.Series) -> None:
    """Raise ValueError for labels that are texts, with the way to make numbers of them."""
    texts = _texts_of(column)
    if len(texts) == 0:
        return
    raise ValueError(
        f"{path}: labels must be numbers, but of {len(column):,} rows, some have texts: "
        f"{_counted_texts(column.name, texts)}. {_advice_on_labels(column, texts)}"
    )


def _texts_of(column: pd.Series) -> pd.Series:
    """The values of a column that are neither numbers nor missing, as texts."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.iloc[:0]
    is_text = column.notna() & ~column.map(_is_number)
    return column[is_text].astype(str)


def _advice_on_labels(column: pd.Series, texts: pd.Series) -> str:
    """A sentence that says what to do with labels that are texts."""
    way = written_number(texts.unique().tolist())
    if way is not None:
        return advice_on_written(column.name, texts.iloc[0], way)
    if are_dates(texts) or texts.nunique() > _MAX_SHOWN:
        return "Name the column of the labels with --label"
    if column.count() - len(texts) > len(texts):
        return "Give these documents labels, or leave them out"
    return "Write grades in their place: 0 for the least relevant, then 1, 2, and so on"


def _is_number(value: object) -> bool:
    return isinstance(value, Number) or is_finite_text(str(value))


def _is_of_number_type(value: object) -> bool:
    return isinstance(value, Number)


def _counted_texts(name: object, texts: pd.Series) -> str:
    """The texts of a column, the most frequent first, and the first row with one."""
    counts = texts.value_counts()
    shown = [f"{str(text)[:40]!r} in {count:,}" for text, count in counts.head(_MAX_MARKS).items()]
    if len(counts) > _MAX_MARKS:
        shown.append(f"others in {counts.iloc[_MAX_MARKS:].sum():,}")
    return f"{name!r} ({', '.join(shown)}; the first in row {texts.index[0] + 1:,})"


def numbers_and_categories(
    path: Path,
    X: pd.DataFrame,
    categories: Collection[str],
    missing: Marks,
    *,
    has_texts: bool,
    is_training: bool,
) -> pd.DataFrame:
    """The features as numbers and categories.

    Other texts are an error, unless they are those of missing values. `has_texts` says whether
    texts may be numbers, as in CSV files, and `is_training` whether other features may be chosen.
    """
    is_number = _is_number if has_texts else _is_of_number_type
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
                texts[name] = column[is_text]
            else:
                changed[name] = column.astype(object).astype(np.float64)
    if texts:
        _refuse_texts(path, X, texts, has_texts=has_texts, is_training=is_training)
    return X.assign(**changed)


def _refuse_texts(
    path: Path,
    X: pd.DataFrame,
    texts: Mapping[str, pd.Series],
    *,
    has_texts: bool,
    is_training: bool,
) -> NoReturn:
    """Raise ValueError for features with texts, some of which may mark missing values."""
    faults: list[str] = []
    marks: list[str] = []
    with_words: dict[str, pd.Series] = {}
    for name, column in texts.items():
        as_text = column.astype(str)
        faults.append(_counted_texts(name, as_text))
        n_numbers = int(X[name].count()) - len(column)
        words = as_text[~as_text.map(_is_sign)]
        marks += _marks(as_text, words, n_numbers)
        if len(words):
            with_words[name] = column.loc[words.index]
        elif n_numbers == 0:
            with_words[name] = column
    advice: list[str] = []
    if marks and has_texts:
        option = as_option(dict.fromkeys(marks))
        advice.append(f"If texts mark missing values, use --missing {option}")
    elif marks:
        advice.append("If texts mark missing values, write nulls in their place")
    if is_training and with_words:
        advice.append(advice_on_texts(with_words, _drop, _categorical))
    elif not is_training:
        advice.append("The model was trained on numbers in their place")
        advice += _advice_on_numbers(with_words)
    listed = ", ".join(faults[:_MAX_SHOWN])
    raise ValueError(
        f"{path}: features must be numbers, but of {len(X):,} rows, some have texts: {listed}. "
        f"{'. '.join(advice)}"
    )


def _advice_on_numbers(columns: Mapping[str, pd.Series]) -> list[str]:
    """How to write the numbers of columns, a sentence each; other texts have none."""
    sentences = []
    for name, column in columns.items():
        texts = column.astype(str)
        way = written_number(texts.unique().tolist())
        if way is not None:
            sentences.append(advice_on_written(name, texts.iloc[0], way))
    return sentences


def _is_sign(text: str) -> bool:
    """Whether a text such as "?" or "-" has no word and no number."""
    return _SIGN.fullmatch(text.strip()) is not None


def _marks(texts: pd.Series, words: pd.Series, n_numbers: int) -> list[str]:
    """Texts that may mark missing values: signs such as "?", or a few texts among many numbers."""
    candidates = texts.value_counts().index
    # "a" and "b" may be categories, unless most others are numbers.
    if len(candidates) > _MAX_MARKS or n_numbers <= len(words):
        candidates = texts[texts.map(_is_sign)].value_counts().index[:_MAX_MARKS]
    marks = [str(text) for text in candidates]
    return [text for text in marks if "," not in text and written_number([text]) is None]


def _drop(names: Sequence[object]) -> str:
    return f"--drop {as_option(names)}"


def _categorical(names: Sequence[object]) -> str:
    return f"--categorical {as_option(names)}"


def refuse_infinity(path: Path, X: object) -> None:
    """Raise ValueError for a feature with names that is infinite somewhere.

    LightGBM takes infinity, and XGBoost does not.
    """
    if not isinstance(X, pd.DataFrame):
        return
    for name, column in X.select_dtypes("number").items():
        infinite = np.flatnonzero(np.isinf(column.to_numpy(np.float64, na_value=np.nan)))
        if len(infinite):
            value = column.iloc[infinite[0]]
            raise ValueError(
                f"{path}: {name!r} is {value} in row {infinite[0] + 1:,}, or too large a number, "
                "which XGBoost does not take. If it marks a missing value, use --missing "
                f"{value}, or in a Parquet file a null"
            )


def warn_of_features(
    path: Path, X: object, qid: NDArray[Any], features: Sequence[str] | None
) -> None:
    """Warn of features with names that look like ids or dates, unless the user named them.

    It warns of features without values too. `features` is the option that names features.
    """
    if not isinstance(X, pd.DataFrame):
        return
    empty = [str(name) for name, is_empty in X.isna().all().items() if is_empty]
    if empty:
        noun = "the feature" if len(empty) == 1 else "the features"
        warn(f"{path}: no row has a value of {noun} {quoted(empty)}, so that nothing is learned")
    if not features:
        found = id_columns.suspects(X, Queries.from_qid(qid))
        id_columns.warn_of_ids(found, str(path), _leave_out)


def _leave_out(names: Sequence[object]) -> str:
    return (
        f"Leave out what is no feature ({_drop(names)}), make codes of categories categories "
        "(--categorical), or name all features on purpose (--features)"
    )


def features_line(X: pd.DataFrame) -> str:
    """A line with the names of features.

    Examples
    --------
    >>> features_line(pd.DataFrame({"price": [1.5], "stars": [2]}))
    'features: price, stars'
    """
    names = [str(name) for name in X.columns]
    line = f"features: {', '.join(names[:_MAX_NAMES])}"
    if len(names) > _MAX_NAMES:
        line += f", ... ({len(names)} in all)"
    return line
