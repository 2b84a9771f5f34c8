"""Random numbers from the argument `random_state`, for NumPy and for scikit-learn."""

from __future__ import annotations

from contextlib import suppress
from typing import TypeAlias

import numpy as np

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
