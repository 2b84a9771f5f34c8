"""The identity of the training of a ranker on a fold: the data, the settings of the ranker, and the versions."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import joblib
import numpy as np
from scipy import sparse

from boostrank.clicks import ClickLabels
from boostrank.core import compiled
from boostrank.datasets import Dataset, Fold

# Packages whose code is identified by their version, by the name of their distribution.
DISTRIBUTIONS = {
    "catboost": "catboost",
    "lightgbm": "lightgbm",
    "numpy": "numpy",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "xgboost": "xgboost",
}
# Parameters that change how long a training takes and what it prints, and not its model.
WITHOUT_INFLUENCE = frozenset(
    ("n_jobs", "nthread", "num_threads", "thread_count", "verbose", "verbosity", "silent", "logging_level")
)


class UnknownIdentityError(ValueError):
    """A setting of which nobody can say whether it is the same as in an earlier run, such as a lambda expression."""


def data_hash(fold: Fold) -> str:
    """A hash of the rows of a fold to train on, to validate on and to test on: features, labels and query ids.

    Raises UnknownIdentityError for clicks with a click model of a user whose identity is not known.
    """
    return str(joblib.hash([_arrays(part) for part in fold[1:] if part is not None], hash_name="sha1"))


def settings(estimator: Any) -> Any:
    """The class and the parameters of an estimator as values of JSON, which are equal if the settings are equal.

    Parameters of parameters are included, and classes and functions that are not of a known package come with a hash of
    the file that defines them. Parameters in :data:`WITHOUT_INFLUENCE` are left out.

    Raises
    ------
    UnknownIdentityError
        For a parameter whose value does not identify what it does, such as a function that uses variables of another
        function.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> described = settings(Ridge(alpha=2.0))
    >>> described["class"], described["parameters"]["alpha"]
    ('sklearn.linear_model._ridge.Ridge', 2.0)
    """
    if isinstance(estimator, type):
        return _code(estimator)
    if hasattr(estimator, "get_params"):
        parameters = estimator.get_params(deep=False).items()
        chosen = {name: settings(value) for name, value in parameters if name not in WITHOUT_INFLUENCE}
        return {"class": _code(type(estimator)), "parameters": chosen}
    return _value(estimator)


@cache
def versions() -> dict[str, str]:
    """Versions of the packages that trainings use; that of boostrank is a hash of its code."""
    found = {}
    for distribution in DISTRIBUTIONS.values():
        try:
            found[distribution] = importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    # Between two releases, the code changes and the version does not.
    package = Path(__file__).parents[1]
    code = hashlib.sha1(usedforsecurity=False)
    # With the compiled library, sums are rounded in another way than without it.
    library = sorted(package.glob("core/compiled/_kernels.*")) if compiled.is_available() else []
    for path in [*sorted(package.rglob("*.py")), *library]:
        code.update(str(path.relative_to(package)).encode() + path.read_bytes())
    return {**found, "boostrank": code.hexdigest()}


def _arrays(data: Dataset) -> tuple[Any, ...]:
    """The arrays that a data set consists of, in one form for all matrices of the same content."""
    X = data.X
    if sparse.issparse(X):
        # A matrix remembers whether its indices are sorted once it was asked, which is no difference of the data.
        X = X.tocsr()
        return X.shape, X.data, X.indices, X.indptr, _labels(data.y), data.qid
    return (np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X), _labels(data.y), data.qid


def _labels(y: Any) -> Any:
    """Labels in one form for all of the same content: clicks remember what was computed from them, and names."""
    if not isinstance(y, ClickLabels):
        return y
    log = y.log
    columns = [log.qid, log.row, log.position, log.clicks, log.impressions]
    sessions = None if log.sessions is None else log.sessions.indptr
    others = [getattr(y, field.name) for field in dataclasses.fields(y) if field.name != "log"]
    return columns, sessions, settings(others)


def _value(value: Any) -> Any:
    """A value of JSON for the value of a parameter; see :func:`settings`."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [settings(element) for element in value]
    if isinstance(value, Mapping):
        return {str(key): settings(element) for key, element in value.items()}
    if isinstance(value, np.generic) and not value.dtype.hasobject:
        return value.item()
    if isinstance(value, (bytes, np.ndarray, np.random.RandomState, np.random.Generator)):
        return {"class": _code(type(value)), "hash": joblib.hash(value, hash_name="sha1")}
    if isinstance(value, (np.ufunc, BuiltinFunctionType)) and not _is_method(value):
        return {"function": value.__name__}
    if isinstance(value, FunctionType):
        if value.__closure__ or "<lambda>" in value.__qualname__:
            raise UnknownIdentityError(f"the function {value.__qualname__} may depend on more than its code")
        return {"function": _code(value), "defaults": settings([value.__defaults__, value.__kwdefaults__])}
    if dataclasses.is_dataclass(value):
        state: Any = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    else:
        # All that an object consists of is in its pickled form; `__dict__` has not the function of a partial.
        try:
            state = value.__reduce_ex__(2)
        except TypeError as error:
            raise UnknownIdentityError(str(error)) from error
        if isinstance(state, str):
            raise UnknownIdentityError(f"{state} is identified by its name only")
        state = [list(part) if isinstance(part, Iterator) else part for part in state]
    return {"class": _code(type(value)), "state": settings(state)}


def _is_method(function: Any) -> bool:
    return not isinstance(getattr(function, "__self__", None), (ModuleType, type(None)))


def _code(thing: Any) -> str:
    """The name of a class or a function, with a hash of the file that defines it if its package has no version."""
    name = f"{thing.__module__}.{thing.__qualname__}"
    package = thing.__module__.partition(".")[0]
    if package in ("boostrank", *DISTRIBUTIONS) or package in sys.stdlib_module_names - {"__main__"}:
        return name
    file = getattr(sys.modules.get(thing.__module__), "__file__", None)
    if file is None or not Path(file).is_file():
        raise UnknownIdentityError(f"{name} is defined in no file")
    return f"{name} {hashlib.sha1(Path(file).read_bytes(), usedforsecurity=False).hexdigest()}"
