"""Checks of settings: counts, numbers in a range, names out of a list, and random states.

Messages have the name of the setting, or of the part of the data.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")


def refuse(name: str, value: object, expected: str, advice: str = "", *, got: str = "") -> NoReturn:
    """Raise ValueError for a value of a setting or argument that is not the `expected` one.

    `got` describes a value that is too long to be shown.

    Examples
    --------
    >>> refuse("k", 0, "an integer of at least 1")
    Traceback (most recent call last):
    ValueError: k must be an integer of at least 1; got 0
    """
    raise ValueError(f"{name} must be {expected}; got {got or repr(value)}{advice}")


def refuse_first(bad: NDArray[np.bool_], message: Callable[[int], str]) -> None:
    """Raise ValueError for the first element that is bad, if one is.

    The message is a function of its number.

    Examples
    --------
    >>> refuse_first(np.array([False, True]), lambda i: f"position[{i}] is 0")
    Traceback (most recent call last):
    ValueError: position[1] is 0
    """
    if bad.any():
        raise ValueError(message(int(np.argmax(bad))))


@contextmanager
def named_part(name: str) -> Iterator[None]:
    """Put the name of a part of the data before the message of a ValueError that it causes.

    A part is such as a fold.

    Errors of subclasses are raised unchanged: those of XGBoost may follow from an interrupt.

    Examples
    --------
    >>> with named_part("fold 2"):
    ...     raise ValueError("the log has no impression")
    Traceback (most recent call last):
    ValueError: fold 2: the log has no impression
    """
    try:
        yield
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        raise ValueError(f"{name}: {error}") from error


def is_count(value: object) -> TypeGuard[int]:
    """Whether a value is an integer, and no truth value."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a finite real number, and no truth value."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    # The comparison works for integers beyond float64 too.
    number: Any = value
    return bool(-math.inf < number < math.inf)


def is_finite_text(text: str) -> bool:
    """Whether a text is a finite decimal number, as files have them.

    ``float`` would take "1_0" for 10 too.

    Examples
    --------
    >>> [is_finite_text(text) for text in ("-1.5e3", "1_0", "inf", "one")]
    [True, False, False, False]
    """
    try:
        return text.isascii() and "_" not in text and math.isfinite(float(text))
    except ValueError:
        return False


def check_count(
    name: str, value: object, smallest: int | None = 1, *, optional: bool = False
) -> None:
    """Raise ValueError for a value that is not an integer of at least `smallest`.

    None is valid if it is `optional`.
    """
    if not (
        (optional and value is None)
        or (is_count(value) and (smallest is None or value >= smallest))
    ):
        limit = ""
        if smallest is not None:
            limit = f" of at least {smallest}"
        refuse(name, value, f"{'None or ' * optional}an integer{limit}")


def check_number(
    name: str,
    value: object,
    *,
    above: float = -math.inf,
    below: float = math.inf,
    smallest: float = -math.inf,
    largest: float = math.inf,
    optional: bool = False,
) -> None:
    """Raise ValueError for a value that is not a finite number within the limits.

    None is valid if it is `optional`.

    The limits are ``above < value < below`` and ``smallest <= value <= largest``.
    """
    if (optional and value is None) or (
        is_number(value) and above < value < below and smallest <= value <= largest
    ):
        return
    limits = [f"above {above:g}"] * (above > -math.inf)
    limits += [f"of at least {smallest:g}"] * (smallest > -math.inf)
    limits += [f"below {below:g}"] * (below < math.inf)
    limits += [f"of at most {largest:g}"] * (largest < math.inf)
    refuse(name, value, f"{'None or ' * optional}a finite number {' and '.join(limits)}".rstrip())


def plain_number(value: Any) -> Any:
    """A scalar of NumPy as a number of Python; another value is returned unchanged.

    Examples
    --------
    >>> plain_number(np.int64(3)), plain_number("gain")
    (3, 'gain')
    """
    return value.item() if isinstance(value, np.generic) else value


def check_flag(name: str, value: object) -> None:
    """Raise ValueError for a value that is neither True nor False."""
    if not isinstance(value, (bool, np.bool_)):
        refuse(name, value, "True or False")


def did_you_mean(
    name: object, known: Iterable[str], shown: Mapping[str, str] = MappingProxyType({})
) -> str:
    """The question that follows an unknown name in a message, with the most similar known name.

    It is empty if none is similar.

    Parameters
    ----------
    name : object
    known : iterable of str
    shown : mapping of str to str
        What is proposed in place of a known name, such as the name of which it is an alias.

    Examples
    --------
    >>> did_you_mean("softmx", ["softmax", "squared"]), did_you_mean("auc", ["softmax", "squared"])
    (" (did you mean 'softmax'?)", '')
    """
    in_lower_case = {known_name.strip().lower(): known_name for known_name in known}
    if not isinstance(name, str) or not (
        similar := difflib.get_close_matches(name.strip().lower(), in_lower_case, 1)
    ):
        return ""
    nearest = in_lower_case[similar[0]]
    return f" (did you mean {shown.get(nearest, nearest)!r}?)"


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Raise ValueError for a value that is not one of the names in `choices`."""
    if not isinstance(value, str) or value not in choices:
        refuse(name, value, f"one of {', '.join(choices)}", did_you_mean(value, choices))


def setting(default: T, check: Callable[..., None], **limits: object) -> T:
    """Make a field of a dataclass whose value :func:`check_settings` checks.

    Parameters
    ----------
    default : object
    check : callable
        Function of the name and the value, such as :func:`check_number`, that raises ValueError.
    **limits
        Further arguments of the function.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Reader:
    ...     patience: float = setting(0.8, check_number, above=0, below=1)
    ...     def __post_init__(self):
    ...         check_settings(self)
    >>> Reader(patience=1)
    Traceback (most recent call last):
    ValueError: patience must be a finite number above 0 and below 1; got 1
    """
    return dataclasses.field(
        default=default, metadata={"check": functools.partial(check, **limits)}
    )


def check_settings(settings: DataclassInstance) -> None:
    """Check the fields of a dataclass that :func:`setting` made, in their sequence.

    A subclass that gives a field another default must make it by :func:`setting` again.
    """
    for field in dataclasses.fields(settings):
        if "check" in field.metadata:
            field.metadata["check"](field.name, getattr(settings, field.name))


#: The argument `random_state` of functions that draw by a Generator of NumPy.
Seed: TypeAlias = int | np.random.Generator | None
#: That of estimators, which draw as scikit-learn does.
EstimatorSeed: TypeAlias = int | np.random.RandomState | None


def as_random_state(random_state: EstimatorSeed) -> np.random.RandomState:
    """A RandomState, which scikit-learn uses: from None, a seed, or itself.

    Examples
    --------
    >>> as_random_state(0).randint(10)
    5
    >>> as_random_state("a")
    Traceback (most recent call last):
    ValueError: random_state must be None, an integer from 0 to 2**32 - 1 or a RandomState; got 'a'
    """
    from sklearn.utils import check_random_state

    # NumPy takes True and False for the seeds 1 and 0.
    if not isinstance(random_state, (bool, np.bool_)):
        with suppress(ValueError):
            return check_random_state(random_state)
    raise ValueError(
        "random_state must be None, an integer from 0 to 2**32 - 1 or a RandomState; got "
        f"{random_state!r}"
    )


def as_generator(random_state: Seed) -> np.random.Generator:
    """A Generator of NumPy: from None, a seed, or itself.

    Examples
    --------
    >>> int(as_generator(0).integers(10))
    8
    >>> as_generator(-1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: random_state must be None, an integer of at least 0 or a numpy.random.Generator...
    """
    if not isinstance(random_state, (bool, np.bool_)):
        with suppress(TypeError, ValueError):
            return np.random.default_rng(random_state)
    raise ValueError(
        "random_state must be None, an integer of at least 0 or a numpy.random.Generator; got "
        f"{random_state!r}"
    )
