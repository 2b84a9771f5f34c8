"""Arrays from the arguments of public functions.

A conversion that would change or merge values is an error.
"""

from __future__ import annotations

from collections.abc import MappingView, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.inputs.checks import refuse

Floats = NDArray[np.floating[Any]]
Float32s = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def as_list(values: Any) -> list[Any]:
    """The values of an argument that may be a list or a single value; None is an empty list."""
    if values is None:
        return []
    # `to_list` is that of an Index or a Series of pandas, which this module need not import.
    is_list = isinstance(values, (list, tuple, range, np.ndarray)) or hasattr(values, "to_list")
    if is_list:
        return list(values)
    return [values]


def as_array(values: ArrayLike, name: str, *, keep_shape: bool = False) -> NDArray[Any]:
    """The values of an argument as an array, each of them as it was given.

    NumPy converts the elements of a list to one type: ``[1, "1"]`` becomes two equal strings,
    ``["a", nan]`` the string "nan", and ``[2**63, 2**63 + 1, 0.5]`` two equal floats. Such a list
    becomes an array of objects here. So do other sequences, such as a ``deque``, the views of a
    dict, and lists of tuples, which are ids. Iterators, which can be read only once, are refused.
    Columns of pyarrow and polars are read here too, because NumPy would change some of their
    values.

    Parameters
    ----------
    values : array-like
    name : str
        The name of the argument, for error messages.
    keep_shape : bool, default False
        Whether an array of shape (n, 1) is returned in this shape, and not in the shape (n,), and a
        list of tuples is an array of two dimensions.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        If a value is masked, if the rows of a nested list have different lengths, or for an object
        that is no array, such as preferences.

    Examples
    --------
    >>> as_array([1, "1"], "qid")
    array([1, '1'], dtype=object)
    >>> as_array([[1], [2]], "qid")
    array([1, 2])
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        masked = f"{name}{np.argwhere(np.ma.getmaskarray(values))[0].tolist()}"
        raise ValueError(
            f"{name} must not be masked, but {masked} is: leave it out, or give filled(nan) for "
            f"features"
        )
    try:
        if isinstance(values, (Sequence, MappingView)) and not isinstance(values, (str, bytes)):
            array = _list_as_array(list(values), name, keep_shape)
        else:
            if not isinstance(values, np.ndarray):
                values = _without_loss(values, name)
            array = np.asarray(values)
    except TypeError as error:
        raise ValueError(f"{name} must be an array; got {type(values).__name__}: {error}") from None
    if array.dtype.kind == "T":
        # pandas does not know the missing values of NumPy's texts of variable length.
        array = array.astype(object)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    column = array.ndim == 2 and array.shape[1] == 1
    if column and not keep_shape:
        return array[:, 0]
    return array


def as_floats(values: ArrayLike, name: str, *, keep_shape: bool = False) -> Floats:
    """The numbers of an argument as an array of float64. Parameters are those of :func:`as_array`.

    Raises
    ------
    ValueError
        If a value is masked, or is not a real number. Dates, durations and complex numbers, which
        NumPy would convert, are refused too.

    Examples
    --------
    >>> as_floats([True, 2], "sample_weight")
    array([1., 2.])
    """
    array = as_array(values, name, keep_shape=keep_shape)
    if array.dtype.kind in "cmMV":
        refuse(name, array, "real numbers", got=f"dtype {array.dtype}")
    try:
        # Numbers beyond the range of float64 become infinite. Callers refuse values that are not
        # finite.
        with np.errstate(over="ignore"):
            return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be numbers: {error}") from None


def check_lengths(**lengths: int) -> None:
    """Raise ValueError if one of the named lengths is not equal to the first.

    Examples
    --------
    >>> check_lengths(X=2, y=2, qid=3)
    Traceback (most recent call last):
    ValueError: qid has 3 values for the 2 rows of X
    """
    (reference, expected), *others = lengths.items()
    for name, length in others:
        if length != expected:
            raise ValueError(f"{name} has {length} values for the {expected} rows of {reference}")


def finite_numbers(values: ArrayLike, name: str, **rows: int) -> Floats:
    """The finite numbers of an argument with one number for each row, as float64.

    Parameters
    ----------
    values : array-like, shape (n_rows,)
    name : str
        The name of the argument in messages.
    **rows : int
        The number of rows, under the name of the argument that has them.

    Raises
    ------
    ValueError
        For another number of values, and for one that is not finite. The message names the value.

    Examples
    --------
    >>> finite_numbers([1, float("nan")], "scores", qid=2)
    Traceback (most recent call last):
    ValueError: scores must be one finite number for each row, but scores[1] is nan
    """
    numbers = as_floats(values, name)
    check_lengths(**rows, **{name: len(numbers)})
    finite = np.isfinite(numbers)
    if numbers.ndim != 1 or not finite.all():
        row = int(np.argmin(finite.reshape(len(numbers), -1).all(axis=1)))
        raise ValueError(
            f"{name} must be one finite number for each row, but {name}[{row}] is {numbers[row]}"
        )
    return numbers


def refuse_lazy(values: object, name: str) -> None:
    """Raise ValueError for a LazyFrame of polars, which has no data yet."""
    if type(values).__name__ == "LazyFrame":
        raise ValueError(f"{name} must be data; got a LazyFrame. Call .collect() on it first")


def _without_loss(values: Any, name: str) -> Any:
    """A column or table of pyarrow or polars as NumPy converts it without loss.

    Only null becomes NaN.

    NumPy itself gets some value for each null of a dictionary in several chunks, drops null
    characters at the end of texts of polars, and has no integers of 128 bits. Everything else is
    returned unchanged.
    """
    refuse_lazy(values, name)
    kind = type(values)
    if hasattr(kind, "column_names") or hasattr(kind, "get_columns"):
        columns = values.get_columns() if hasattr(kind, "get_columns") else values.columns
        return np.column_stack([as_array(column, name) for column in columns])
    if hasattr(kind, "combine_chunks"):
        return np.concatenate([np.asarray(chunk) for chunk in values.chunks or [values]])
    if str(getattr(values, "dtype", "")) in ("Int128", "UInt128"):
        return _list_as_array(values.to_list(), name)
    if hasattr(kind, "to_physical"):
        return values.to_numpy()
    return values


def _list_as_array(values: list[Any], name: str, keep_shape: bool = False) -> NDArray[Any]:
    types = set(map(type, values))
    if any(hasattr(kind, "as_py") for kind in types):
        return _list_as_array(
            [value.as_py() if hasattr(value, "as_py") else value for value in values], name
        )
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    if (
        tuple in types
        and not keep_shape
        and not all(type(value) is tuple and len(value) == 1 for value in values)
    ):
        return objects
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be an array with rows of equal length: {error}") from None
    if array.ndim == 2 and array.shape[1] == 1:
        return _list_as_array([value for (value,) in values], name)[:, None]
    if array.ndim != 1 or (
        len(types) == 1 and not any(issubclass(kind, (int, str, bytes)) for kind in types)
    ):
        return array
    # Strings stay objects: arrays of strings ignore null characters at the end.
    if array.dtype.kind in "biuf" and bool((objects == array).all()):
        return array
    return objects
