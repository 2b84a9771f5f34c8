"""Names of features that a boosting library takes, and parameters that concern single features.

The libraries take the values of these parameters in different forms, and check little: LightGBM
crashes for the index of a feature that does not exist, and XGBoost takes weights of too few
features. So names and indices are translated and checked here, and the libraries get one form.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from boostrank.backends.libraries import Parameters
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import is_count, is_number, refuse
from boostrank.inputs.streams import FeatureBlocks, FeatureStream
from boostrank.inputs.table import is_pandas

if TYPE_CHECKING:
    import pandas as pd


class NameCode:
    r"""The encoding of names of features for one library: forbidden characters get a percent code.

    Names without such characters are unchanged, except that the empty name is encoded as "%".

    Parameters
    ----------
    forbidden : str
        Characters that the library does not take in a name, or would replace: the inside of the
        brackets of a regular expression.

    Examples
    --------
    >>> code = NameCode(r"\[\]")
    >>> code.encode("price [EUR]"), code.decode("price %5BEUR%5D")
    ('price %5BEUR%5D', 'price [EUR]')
    """

    def __init__(self, forbidden: str) -> None:
        self._forbidden = re.compile(f"[{forbidden}%]")

    def encode(self, name: str) -> str:
        """Return a name without forbidden characters, which is not empty."""
        return self._forbidden.sub(lambda match: quote(match[0], safe=""), name) or "%"

    def decode(self, name: str) -> str:
        """Return the name that was encoded.

        A name that :meth:`encode` does not return is unchanged.
        """
        decoded = "" if name == "%" else unquote(name)
        return decoded if self.encode(decoded) == name else name

    def encode_columns(self, X: pd.DataFrame) -> pd.DataFrame:
        """Encode the names of the columns of a pandas DataFrame."""
        names = [self.encode(str(name)) for name in X.columns]
        return X if names == list(X.columns) else X.set_axis(names, axis=1)


@dataclass(frozen=True)
class Features:
    """The features of the training data.

    Attributes
    ----------
    number : int
    names : list of str, optional
        None if the features have no names.
    categorical : sequence of int
        Indices of the columns of a DataFrame whose type is categorical.
    sources : sequence of int
        The index of the column from which each of the last features is computed, those that
        `query_features` adds.
    """

    number: int
    names: Sequence[str] | None = None
    categorical: Sequence[int] = ()
    sources: Sequence[int] = ()

    @property
    def n_columns(self) -> int:
        """Number of the columns of X."""
        return self.number - len(self.sources)

    def index(self, parameter: str, feature: str | int) -> int:
        """The index of a feature from its name, a string, or from its index.

        Parameters
        ----------
        parameter : str
            For messages.
        feature : str or int

        Raises
        ------
        ValueError
            For features that do not exist. Also for an index that is, as text, the name of another
            feature: the columns of a DataFrame may be integers, which are names.
        """
        if isinstance(feature, str):
            known = "have no names: give indices"
            if self.names is not None:
                if feature in self.names:
                    return self.names.index(feature)
                known = f"are {[*map(str, self.names[:10])]}"
            raise ValueError(
                f"{parameter} has the name {feature!r}, which is no feature: the features {known}"
            )
        if not is_count(feature) or not 0 <= feature < self.number:
            indices = f"0 to {self.number - 1} (a column 'qid' is no feature and does not count)"
            expected = f"a name, a string, or an index from {indices}"
            refuse(f"each feature of {parameter}", feature, expected)
        name = str(feature)
        if self.names is not None and name in self.names and self.names[feature] != name:
            raise ValueError(
                f"{parameter} has the feature {feature}, which may be the column {name!r} or the "
                f"column with this index, {self.names[feature]!r}: give the name as a string"
            )
        return int(feature)


#: A parameter whose values depend on the features: a function of its name, which is for messages,
#: of the value that the user gave, which is not None, of the features, and of all parameters that
#: the user gave, by canonical name. It returns the value as the boosting library takes it, or None
#: to leave the parameter out. It raises ValueError for values without a meaning, for features that
#: do not exist, and for values of more or fewer features.
FeatureParameter = Callable[[str, Any, Features, Parameters], Any]


@dataclass(frozen=True)
class ValuePerFeature:
    """One value per feature: a sequence, or a dict by name or index.

    Features that `query_features` adds have the value of their column, unless they have one of
    their own.

    Attributes
    ----------
    description : str
        Of one value: it completes "must be".
    accepts : callable
        Whether one value is valid.
    default : object
        The value of features that a dict does not have.
    default_from : str
        Name of a parameter whose value takes the place of `default`, if it is given.
    convert : callable
        One value as the library takes it.
    as_type : callable
        The type of the sequence that the library takes.
    """

    description: str
    accepts: Callable[[Any], bool]
    default: Any
    default_from: str = ""
    convert: Callable[[Any], Any] = float
    as_type: Callable[[list[Any]], Any] = list

    def __call__(self, name: str, value: object, features: Features, others: Parameters) -> Any:
        """The values of all features, in the sequence of the features."""
        if isinstance(value, Mapping):
            default = others.get(self.default_from, self.default)
            return self.as_type(self._from_mapping(name, value, features, default))
        number = f"{features.n_columns}; a column 'qid' is no feature"
        expected = f"a sequence with one value per feature ({number}), or a dict by name or index"
        values = _elements(name, _of_text(value, are_groups=False), expected)
        entries = [self._checked(name, entry) for entry in values]
        if len(entries) == features.n_columns:
            entries += [entries[source] for source in features.sources]
        if len(entries) != features.number:
            refuse(name, value, expected, got=f"{len(entries)} values")
        return self.as_type(entries)

    def _from_mapping(
        self,
        name: str,
        given: Mapping[str | int, object],
        features: Features,
        default: object,
    ) -> list[Any]:
        by_index = {}
        for feature, entry in given.items():
            by_index[features.index(name, feature)] = self._checked(name, entry)
        entries = [by_index.get(i, default) for i in range(features.n_columns)]
        for i, source in enumerate(features.sources, features.n_columns):
            entries.append(by_index.get(i, entries[source]))
        return entries

    def _checked(self, name: str, entry: object) -> Any:
        if not self.accepts(entry):
            refuse(f"each value of {name}", entry, self.description)
        return self.convert(entry)


def feature_groups(
    name: str, value: object, features: Features, others: Parameters
) -> list[list[int]]:
    """Groups of features, from a list of lists of names or indices.

    Added features are in the groups of their columns.
    """
    expected = "a list of lists of features by name or index, such as [[0, 1], [2, 3]]"
    listed = _elements(name, _of_text(value, are_groups=True), expected)
    given = [_elements(name, group, expected) for group in listed]
    groups = []
    for names in given:
        columns = [features.index(name, feature) for feature in names]
        group = list(columns)
        for i, source in enumerate(features.sources, features.n_columns):
            if source in columns and i not in columns:
                group.append(i)
        groups.append(group)
    return groups


def feature_choice(
    name: str, value: object, features: Features, others: Parameters
) -> list[int] | str:
    """Indices of features from names or indices, or "auto"."""
    if isinstance(value, str) and value == "auto":
        return value
    choice = _elements(name, value, "'auto' or a list of features by name or index")
    return [features.index(name, feature) for feature in choice]


def number_that_is_missing(
    name: str, value: float, features: Features, others: Parameters
) -> float | None:
    """The number that means a missing value; None for NaN, which always means one."""
    is_float = isinstance(value, (float, np.floating))
    if is_float and math.isnan(value):
        return None
    if not is_number(value) and not (is_float and math.isinf(value)):
        refuse(name, value, "a number or NaN", ". Replace other values by NaN")
    if features.categorical:
        # XGBoost would compare the number with the codes of categories too.
        raise ValueError(
            f"{name}={value!r} is not for columns with categories: replace {value!r} by NaN"
        )
    return float(value)


def feature_types(name: str, value: object, features: Features, others: Parameters) -> list[str]:
    """XGBoost's types of all features: "c" for categorical ones; all others are numbers.

    For features that a dict does not have, the types of the columns count. Those that are added are
    numbers.
    """
    types = ["q"] * features.number
    for i in features.categorical:
        types[i] = "c"
    given = _FEATURE_TYPE(name, value, features, others)[: features.n_columns]
    for i, kind in enumerate(given):
        types[i] = kind or types[i]
    return types


_TYPES = ("q", "c", "int", "float", "i")
_FEATURE_TYPE = ValuePerFeature(
    f"one of {', '.join(_TYPES)}", lambda entry: entry in _TYPES, None, convert=str
)


def number_per_feature(default: float) -> ValuePerFeature:
    """A finite number per feature."""
    return ValuePerFeature("a finite number", is_number, default)


def monotone_constraints(as_type: Callable[[list[Any]], Any]) -> ValuePerFeature:
    """The direction in which scores may change with each feature."""
    return ValuePerFeature(
        "1 (scores do not fall), -1 (they do not rise) or 0",
        lambda value: is_number(value) and value in (-1, 0, 1),
        default=0,
        convert=int,
        as_type=as_type,
    )


def resolve_features(
    parameters: Parameters, rules: Mapping[str, FeatureParameter], features: Features
) -> dict[str, Any]:
    """The parameters, with those that concern features in the form that the boosting library takes.

    Parameters
    ----------
    parameters : mapping of str to object
        Native parameters by canonical name.
    rules : mapping of str to FeatureParameter
        Those that concern features. None as their value leaves the choice to the library.
    features : Features

    Raises
    ------
    ValueError
        As :data:`FeatureParameter`.
    """
    resolved = dict(parameters)
    for name in rules.keys() & parameters.keys():
        value = parameters[name]
        if value is not None:
            value = rules[name](name, value, features, parameters)
        resolved[name] = value
        if value is None:
            del resolved[name]
    return resolved


def check_category_kinds(
    X: FeatureBlocks, kinds: Sequence[str], expected: str, *, may_be_empty: bool
) -> None:
    """Raise ValueError for a column of a DataFrame whose categories the library does not take.

    Parameters
    ----------
    X : ndarray, sparse matrix, DataFrame, FeatureStream or list of ndarray
        Features, shape (n_documents, n_features).
    kinds : sequence of str
        The kinds of categories that the library takes, as pandas names them.
    expected : str
        The library and these kinds, for the message.
    may_be_empty : bool
        Whether all values of the column may be missing.
    """
    if not is_pandas(X):
        return
    frame: Any = X
    for name, dtype in frame.dtypes.items():
        if not isinstance(dtype, pd.CategoricalDtype):
            continue
        kind = dtype.categories.inferred_type
        if kind in kinds or (may_be_empty and not len(dtype.categories)):
            continue
        found = (
            f"categories of the kind {kind!r}" if len(dtype.categories) else "only missing values"
        )
        raise ValueError(f"the column {name!r} of X has {found}: {expected} as categories")


def check_codes(
    parameter: str,
    X: FeatureBlocks,
    indices: Sequence[int],
    smallest: float = -math.inf,
    missing: float = math.nan,
) -> None:
    """Raise ValueError if a categorical feature has values that are no codes of categories.

    The libraries cut off their fractions, and so would train on something else if the wrong feature
    is called categorical.

    Parameters
    ----------
    parameter : str
        Name of the parameter that says which features are categorical.
    X : ndarray, sparse matrix, DataFrame, FeatureStream or list of ndarray
        Features, shape (n_documents, n_features).
    indices : sequence of int
        The categorical features. Columns of a DataFrame with a categorical type are not checked.
    smallest : float, optional
        The smallest integer that is a code.
    missing : float, optional
        A number besides NaN that is a missing value.
    """
    if isinstance(X, FeatureStream):
        if indices:
            for block in X.blocks():
                check_codes(parameter, block, indices, smallest, missing)
        return
    for i in indices:
        values = _column(X, i)
        is_code = (values % 1 == 0) & (values >= smallest)
        wrong = values[~is_code & ~np.isnan(values) & (values != missing)]
        if len(wrong):
            feature = str(i)
            if is_pandas(X):
                frame: Any = X
                feature = repr(frame.columns[i])
            subject = f"{parameter} says that the feature {feature} is categorical, so its values"
            codes = "integers"
            if math.isfinite(smallest):
                codes += f" of at least {smallest:g}"
            refuse(subject, wrong[0], codes, got=f"{wrong[0]:g}")


def _column(X: FeatureBlocks, index: int) -> Floats:
    """The values of one feature; an empty array for a categorical type.

    Of a sparse matrix, these are the values that it stores.
    """
    if isinstance(X, list):
        return np.concatenate([block[:, index] for block in X]).astype(np.float64)
    matrix: Any = X
    if issparse(X):
        return matrix[:, [index]].data.astype(np.float64)
    if not is_pandas(X):
        return matrix[:, index].astype(np.float64)
    column = matrix.iloc[:, index]
    if hasattr(column, "cat"):
        return np.empty(0)
    return column.to_numpy(np.float64, na_value=np.nan)


def _of_text(value: object, are_groups: bool) -> object:
    """The value of a text such as "(1,-1)" or "[0,1],[2]", which the libraries take.

    What is no such text is returned unchanged.
    """
    if not isinstance(value, str):
        return value
    with suppress(ValueError, SyntaxError):
        elements = ast.literal_eval(f"[{value}]")
        if len(elements) != 1 or not _is_list(elements[0]):
            return elements
        # The text has brackets, unless they are those of a single group.
        if not are_groups or all(map(_is_list, elements[0])):
            return elements[0]
        return elements
    return value


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple))


def _elements(name: str, value: object, expected: str) -> list[Any]:
    """The elements of a sequence, a set or an array of one dimension."""
    elements = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(elements, Set):
        return sorted(elements, key=str)
    if not isinstance(elements, Sequence) or isinstance(elements, (str, bytes)):
        refuse(name, value, expected)
    return list(elements)
