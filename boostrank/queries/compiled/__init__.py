"""Compiled functions for what NumPy is too slow for, such as sums over the pairs of documents of each query.

The library is written in C and built when boostrank is installed, if there is a compiler. Without it, callers compute
the same with NumPy, up to rounding, and take several times as long. ``boostrank --version`` says whether it is there.
The environment variable ``BOOSTRANK_COMPILED=0`` makes Python ignore it.

Functions of this package get arrays that are checked by their callers, grouped by query, and write nothing but their
results. They keep no state, and release Python's lock, so that threads can call them at the same time. They raise
RuntimeError if the library is not there, and MemoryError.
"""

from __future__ import annotations

import ctypes
import os
from functools import lru_cache
from importlib.util import find_spec
from itertools import starmap
from typing import Any

import numpy as np

from boostrank.inputs.warnings import warn

# Number of the version of the functions' arguments, as in module.c.
INTERFACE = 4


_FLOATS, _FLOAT32S, _INTS = np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.int64)
_INT32, _UINT64, _UINT8 = np.dtype(np.int32), np.dtype(np.uint64), np.dtype(np.uint8)
_COUNT, _NUMBER = ctypes.c_int64, ctypes.c_double
_ARGUMENTS: dict[str, list[Any]] = {
    "pairwise_logistic": [_FLOATS, _FLOATS, _INTS, _COUNT, _FLOATS, _FLOATS],
    "pairwise_squared_hinge": [_FLOATS, _FLOATS, _INTS, _INTS, _COUNT, _FLOATS, _FLOATS],
    "rank_weighted": [_FLOATS, _FLOATS, _INTS, _INTS, _COUNT, _FLOATS, _COUNT, _COUNT, _NUMBER, _FLOATS, _FLOATS],
    "query_loss": [
        *(_COUNT, _FLOATS, _FLOATS, _NUMBER, _FLOATS, _FLOATS, _COUNT, _NUMBER),
        *(_INTS, _COUNT, _FLOAT32S, _FLOAT32S),
    ],
    "elementary": [_FLOATS, _COUNT, _FLOATS, _FLOATS],
    "first_ranks": [_FLOATS, _INTS, _COUNT, _INTS, _INTS, _INTS],
    "ranked_measure": [_COUNT, _FLOATS, _INTS, _FLOATS, _INTS, _COUNT, _INTS, _COUNT, _FLOATS, _FLOATS],
    "text_numbers": [_UINT8, _INTS, _COUNT, _INTS, _COUNT, _INTS, _INTS, _INTS, _INTS],
    "trec_lines": [
        *(_UINT8, _COUNT, _INTS, _COUNT, _COUNT, _COUNT, _UINT64),
        *(_UINT8, _INTS, _FLOATS, _INTS, _INTS, _INTS, _INTS),
    ],
    "letor_lines": [
        *(ctypes.c_char_p, _COUNT, _COUNT, _COUNT, _UINT64),
        *(_FLOATS, _INTS, _INT32, _FLOATS, _INTS, _INTS, _INTS, _INTS),
    ],
}


def is_available() -> bool:
    """Whether the compiled library is there, and may be used."""
    return os.environ.get("BOOSTRANK_COMPILED") != "0" and _library() is not None


def status() -> str:
    """Whether the compiled library is used: ``"used"``, or a text that begins with ``"not used"`` and says why."""
    if os.environ.get("BOOSTRANK_COMPILED") == "0":
        return "not used (BOOSTRANK_COMPILED=0)"
    return "used" if _library() is not None else "not used (boostrank was installed without it)"


def call(name: str, *arguments: object) -> int:
    """Call a function of the library; returns its result if this is not negative."""
    library = _library()
    if library is None:
        raise RuntimeError(f"the compiled function {name} is not there: boostrank was installed without a C compiler")
    # If ctypes converted them in the call, an interrupt of the conversion would become another error.
    converted = starmap(_converted, zip(arguments, _ARGUMENTS[name], strict=True))
    result = int(getattr(library, name)(*converted))
    if result < 0:
        raise MemoryError(f"there is no memory for {name}")
    return result


def _converted(argument: Any, kind: Any) -> Any:
    """An argument as ctypes takes it; for an array, of which `kind` is the dtype, its address.

    Raises TypeError for an array of another type or layout, which the library would misread. ``np.ctypeslib.ndpointer``
    does the same, but makes reference cycles, in whose search Python would need several milliseconds each time.
    """
    if not isinstance(kind, np.dtype):
        return kind(argument)
    is_array = isinstance(argument, np.ndarray) and argument.dtype == kind and argument.ndim == 1
    if not (is_array and argument.flags.c_contiguous):
        raise TypeError(f"an argument must be a contiguous array of {kind} with one dimension")
    return ctypes.c_void_p(argument.ctypes.data)


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL | None:
    """The library; None if it is not there, or, with a warning, if it belongs to another version of boostrank."""
    spec = find_spec("boostrank.queries.compiled._kernels")
    if spec is None or spec.origin is None:
        return None
    try:
        library = ctypes.CDLL(spec.origin)
        for name in ("boostrank_interface", *_ARGUMENTS):
            getattr(library, name).restype = ctypes.c_int64
        version = library.boostrank_interface()
        fault = "" if version == INTERFACE else f"interface {version}, not {INTERFACE}"
    except (OSError, AttributeError) as error:
        fault = str(error)
    if not fault:
        return library
    warn(
        f"{spec.origin} does not fit this version of boostrank ({fault}): NumPy is used in its place, which takes "
        "longer; install boostrank again",
        RuntimeWarning,
    )
    return None
