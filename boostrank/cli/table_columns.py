"""Which columns of a table are query ids, labels and features."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from boostrank.core.weights import ID_COLUMNS

#: Names of columns that are taken for query ids or labels if the user names none.
QID_NAMES, LABEL_NAMES = ID_COLUMNS, ("label", "relevance", "grade")
#: Names of columns that are probably no features: ids of documents, and the index that pandas writes to CSV files.
_OTHER_IDS = ("doc_id", "docid", "docno", "did", "document_id", "id", "index", "Unnamed: 0")
_MAX_SHOWN = 12


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
    drop : list of str
        Columns that are not read.
    categorical : list of str
        Features that are categories, whose values are read as texts.
    """

    qid: str | None = None
    label: str | None = None
    features: list[str] | None = None
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()

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
        drop, categorical = (split_names(given, names) for given in (self.drop, self.categorical))
        chosen = None if self.features is None else split_names(self.features, names)
        self._check_options(path, names, chosen, drop, categorical)
        # A feature of the model is no id and no label.
        free = [name for name in names if name not in (*drop, *(chosen or ()), *(known_features or ()))]
        qid = self.qid or _usual(path, names, free, "--qid", "query ids", QID_NAMES, needs_qid)
        free = [name for name in free if name != qid]
        label = self.label or _usual(path, names, free, "--label", "labels", LABEL_NAMES, needs_label)
        if known_features is not None:
            return Columns(qid, label, _known(path, names, known_features))
        features = [name for name in names if name not in (*drop, qid, label)] if chosen is None else chosen
        if chosen is None:
            _refuse_ids(path, features)
        if not features:
            raise ValueError(f"{path} has no columns that are features; {listed(names)}")
        unused = [name for name in categorical if name not in features]
        if unused:
            raise ValueError(f"--categorical {unused[0]}: this column is no feature")
        return Columns(qid, label, features)

    def categories_of(self, names: list[str]) -> set[str]:
        """Those of the names that ``--categorical`` has."""
        return set(split_names(self.categorical, names))

    def _check_options(
        self, path: Path, names: list[str], features: list[str] | None, drop: list[str], categorical: list[str]
    ) -> None:
        single = {"--qid": self.qid, "--label": self.label}
        roles: dict[str, list[str]] = {option: [name] for option, name in single.items() if name is not None}
        roles |= {"--features": features or [], "--drop": drop}
        role_of: dict[str, str] = {}
        for option, given in [*roles.items(), ("--categorical", categorical)]:
            for name in given:
                if name not in names:
                    raise ValueError(f"{option}: {path} has no column {name!r}{near(name, names)}; {listed(names)}")
                if option in roles:
                    other = role_of.setdefault(name, option)
                    if other != option or given.count(name) > 1:
                        where = option if other == option else f"{other} and {option}"
                        raise ValueError(f"the column {name!r} is given twice, by {where}")
        if features is not None and drop:
            raise ValueError("give either --features or --drop: columns that --features does not name are left out")


def split_names(texts: Sequence[str], names: list[str]) -> list[str]:
    """The names in values of an option, each of them a name or several names separated by commas."""
    found: list[str] = []
    for text in texts:
        found += [text] if text in names else [part.strip() for part in text.split(",")]
    return found


def _usual(
    path: Path, names: list[str], free: list[str], option: str, what: str, usual: tuple[str, ...], is_needed: bool
) -> str | None:
    """The one column with a usual name."""
    found = [name for name in usual if name in free]
    if len(found) > 1 and not is_needed:
        return None
    if len(found) > 1:
        raise ValueError(
            f"{path} has the columns {_quoted(found)}: say with {option} which of them has the {what}, and leave the "
            "others out with --drop"
        )
    if not found and is_needed:
        same = next((name for name in names if name.strip().lower() in usual), None)
        such = "" if same is None else f", such as {option} {shlex.quote(same)}"
        raise ValueError(
            f"{path} has no column {_quoted(usual, 'or')}: name the column of the {what} with {option}{such}; "
            f"{listed(names)}"
        )
    return found[0] if found else None


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


def _known(path: Path, names: list[str], known: list[str]) -> list[str]:
    """The features of a model, if the table has them all."""
    missing = [name for name in known if name not in names]
    if missing:
        shown = _quoted(missing[:_MAX_SHOWN]) + ("" if len(missing) <= _MAX_SHOWN else ", ...")
        raise ValueError(
            f"{path} lacks {len(missing)} of the {len(known)} features of the model: {shown}"
            f"{near(missing[0], names)}; {listed(names)}"
        )
    return list(known)


def near(name: str, names: list[str]) -> str:
    """Propose a column whose name is similar; empty if there is none."""
    same = [other for other in names if other.strip().lower() == name.strip().lower()]
    found = same or difflib.get_close_matches(name, names, 1)
    return f" (did you mean {found[0]!r}?)" if found else ""


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
