"""The library ranx as plain Python code: it compiles its functions for about a minute in a new
environment."""

from contextlib import contextmanager
from functools import cache
from types import FunctionType

import numpy as np
import pytest


@cache
def compiled_argsort():
    """Sorting by numba, for arrays of floats."""
    import numba

    # Its functions are compiled only if it is imported while that is allowed.
    import numba.typed

    @numba.njit
    def argsort(values):
        return np.argsort(values)

    argsort(np.zeros(2))
    return argsort


@contextmanager
def interpreted_ranx():
    """The module ranx, within whose calls no function is compiled. No other test may import it.

    Only its sorting is compiled, because it ranks tied documents in another way than that of NumPy.
    """
    numba = pytest.importorskip("numba")
    argsort = compiled_argsort()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba.config, "DISABLE_JIT", True)
        ranx = pytest.importorskip("ranx")
        from ranx.data_structures import common

        assert isinstance(common.create_and_sort, FunctionType), "another test has imported ranx"
        patch.setattr(
            common, "typed_list_argosrt", lambda values: argsort(np.array(values, dtype=float))
        )
        yield ranx
