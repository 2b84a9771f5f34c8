"""Generators of random numbers from arguments called random_state, with errors that name the argument."""

from __future__ import annotations

from typing import Any

import numpy as np


def as_random_state(random_state: Any) -> np.random.RandomState:
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

    try:
        return check_random_state(_not_bool(random_state))
    except ValueError as error:
        raise ValueError(
            f"random_state must be None, an integer from 0 to 2**32 - 1 or a RandomState; got {random_state!r}"
        ) from error


def as_generator(random_state: Any) -> np.random.Generator:
    """A Generator of NumPy: from None, a seed, or itself.

    Examples
    --------
    >>> int(as_generator(0).integers(10))
    8
    >>> as_generator(-1)
    Traceback (most recent call last):
    ValueError: random_state must be None, an integer of at least 0 or a numpy.random.Generator; got -1
    """
    try:
        return np.random.default_rng(_not_bool(random_state))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"random_state must be None, an integer of at least 0 or a numpy.random.Generator; got {random_state!r}"
        ) from error


def _not_bool(random_state: Any) -> Any:
    """The argument itself; raises ValueError for True and False, which NumPy takes for the seeds 1 and 0."""
    if isinstance(random_state, (bool, np.bool_)):
        raise ValueError
    return random_state
