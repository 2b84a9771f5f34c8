"""Columns of texts in the place of numbers: what they seem to be, and what to do with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

# Columns with more different texts than this, and in most rows different ones, look like ids.
_MAX_CATEGORIES = 20
# Numbers and at most so many different texts may be a column of numbers with marks of missing ones.
_MAX_MARKS = 3
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:[T ].*)?"
    r"|\d{4}[-/]\d\d"
    r"|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d\d)(?:[T, ].*)?"
    rf"|\d{{1,2}}[ -.]+{_MONTH}[ ,-.]+\d{{2,4}}(?:[ ,].*)?"
    rf"|{_MONTH}\.? +\d{{1,2}},? +\d{{4}}(?:[ ,].*)?"
    r"|\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[ap]m)?"
    r"|-?\d+ days?.*",
    re.IGNORECASE,
)
#: A list of names of columns as code or as an option.
NamesAsCode = Callable[[Sequence[Any]], str]


class WrittenNumber(NamedTuple):
    """A way of writing numbers that is not read: its name, its form, and how to repair a text."""

    name: str
    form: re.Pattern[str]
    repair: Callable[[str], str]


#: At most so many texts of a column are looked at.
_MAX_EXAMINED = 5000
# Between groups of three digits, besides commas and points: spaces and apostrophes.
_SPACES = " '\u2019\u00a0\u202f"
_MINUS = "\u2212"
_DIGITS = r"\d[\d,]*(?:\.\d+)?"


def _without(text: str, characters: str) -> str:
    return text.translate(dict.fromkeys(map(ord, characters)))


def _only_number(text: str) -> str:
    found = re.search(rf"[+-]?{_DIGITS}", text.replace(_MINUS, "-"))
    assert found is not None
    return _without(found[0], ",")


#: Ways of writing numbers, the first of which is taken that all texts of a column have.
WRITTEN_NUMBERS = (
    WrittenNumber(
        "thousands separators",
        re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?"),
        lambda text: _without(text, ","),
    ),
    WrittenNumber(
        "decimal commas",
        re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?"),
        lambda text: text.replace(",", "."),
    ),
    WrittenNumber(
        "thousands separators and decimal commas",
        re.compile(rf"[+-]?[1-9]\d{{0,2}}(?:[.{_SPACES}]\d{{3}})+,\d*|[+-]?\d*,\d+"),
        lambda text: _without(text, f".{_SPACES}").replace(",", "."),
    ),
    WrittenNumber(
        "thousands separators",
        re.compile(rf"[+-]?[1-9]\d{{0,2}}(?:[{_SPACES}_]\d{{3}})+(?:\.\d*)?"),
        lambda text: _without(text, f"{_SPACES}_"),
    ),
    WrittenNumber(
        "thousands separators",
        re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3}){2,}"),
        lambda text: _without(text, "."),
    ),
    WrittenNumber(
        "signs or units beside the numbers",
        re.compile(
            rf"[+-]?\s?[^\w\s.,+<>=~±-]{{1,3}}\s?[+-]?{_DIGITS}"
            rf"|[+-]?{_DIGITS}\s?(?:[^\w\s.,+<>=~±-]{{1,3}}|[A-Za-z]{{1,5}})"
        ),
        _only_number,
    ),
)


def written_number(texts: Sequence[str]) -> WrittenNumber | None:
    """How all of these texts write numbers; None if they are no numbers, or in several ways.

    Examples
    --------
    >>> [written_number([text]).name for text in ("0,5", "1,299.00", "12 %")]
    ['decimal commas', 'thousands separators', 'signs or units beside the numbers']
    >>> written_number(["red", "0,5"]) is None
    True
    """
    different = [text.strip() for text in dict.fromkeys(texts)][:_MAX_EXAMINED]
    for way in WRITTEN_NUMBERS:
        if not different or not all(map(way.form.fullmatch, different)):
            continue
        # "7B" and "12A" are codes, and no numbers.
        units = {re.sub(r"[\d\s.,+-]", "", text) for text in different}
        if way.repair is _only_number and len(units) > 1:
            continue
        return way
    return None


def advice_on_written(name: object, text: str, way: WrittenNumber) -> str:
    """A sentence that says how a column of texts writes numbers, and how it must.

    `text` is an example.
    """
    repaired = way.repair(text.strip())
    return f"{name!r} has {way.name}: write {repaired} in place of {text}"


def _advice_on_written_or_marks(name: object, texts: pd.Series) -> str:
    """A sentence on a column of written numbers, and maybe a few marks among them; else ""."""
    has_digit = texts.str.contains(r"\d")
    marks = texts[~has_digit].unique()
    if len(marks) > _MAX_MARKS or has_digit.mean() < 0.5:
        return ""
    numbers = texts[has_digit]
    way = written_number(numbers.unique().tolist())
    if way is None:
        return ""
    advice = advice_on_written(name, numbers.iloc[0], way)
    if len(marks):
        advice += f", and nothing in place of {', '.join(marks)} if this means a missing value"
    return advice


def advice_on_stored_numbers(name: object, texts: pd.Series) -> str:
    """A sentence on a column of texts that are numbers, or numbers and a few marks; else "".

    Examples
    --------
    >>> advice_on_stored_numbers("x", pd.Series(["1.5", "2"]))
    "'x' has numbers that are stored as texts: pandas.to_numeric makes numbers of them"
    >>> advice_on_stored_numbers("x", pd.Series(["red", "blue", "2"]))
    ''
    """
    if texts.str.fullmatch(r"\d+").all() and _look_like_ids(texts, texts):
        return ""
    others = texts[pd.to_numeric(texts, errors="coerce").isna()].unique()
    if len(others) == 0:
        return (
            f"{name!r} has numbers that are stored as texts: pandas.to_numeric makes numbers of "
            "them"
        )
    is_number = ~texts.isin(others)
    if len(others) > _MAX_MARKS or is_number.mean() < 0.5:
        return ""
    return (
        f"{name!r} has numbers, and texts such as {others[0]!r}: if these mark missing values, use "
        "pandas.to_numeric(..., errors='coerce')"
    )


def are_dates(texts: pd.Series) -> bool:
    """Whether all texts are dates, times or durations."""
    return bool(len(texts)) and all(map(_DATE.fullmatch, texts.unique()))


def advice_on_texts(
    columns: Mapping[Any, pd.Series], leave_out: NamesAsCode, categories: NamesAsCode
) -> str:
    """Sentences that say what to do with columns that are neither numbers nor categories.

    Parameters
    ----------
    columns : mapping of str to Series
        Their values that are not missing.
    leave_out, categories : callable
        Functions of names of columns that return how to leave out those that are no features, and
        how to make categories.
    """
    texts = {name: values.astype(str) for name, values in columns.items()}
    written = []
    others: list[Any] = []
    dates: list[Any] = []
    ids: list[Any] = []
    words: list[Any] = []
    for name, text in texts.items():
        is_date = are_dates(text)
        advice = "" if is_date else _advice_on_written_or_marks(name, text)
        if advice:
            written.append(advice)
            continue
        others.append(name)
        if is_date:
            dates.append(name)
        elif _look_like_ids(columns[name], text):
            ids.append(name)
        else:
            words.append(name)
    sentences = []
    if ids:
        looks = "look like ids" if len(ids) > 1 else "looks like an id"
        sentences.append(f"{', '.join(map(repr, ids))} {looks}")
    if others:
        choices = f"Leave out what is no feature ({leave_out(others)})"
        if words:
            choices += f", or make it categories ({categories(words)})"
        if dates:
            choices += ", or make numbers of dates, such as days since a fixed date"
        sentences.append(choices)
    return ". ".join([*sentences, *written])


def _look_like_ids(values: pd.Series, texts: pd.Series) -> bool:
    """Whether most texts of a column differ."""
    if pd.api.types.infer_dtype(values) != "string":
        return False
    return texts.nunique() > max(_MAX_CATEGORIES, len(values) / 2)
