"""The compiled library: whether it is there, and calls of its functions.

The library is written in C and built when boostrank is installed, if there is a compiler.
``boostrank --version`` says whether it is there. The environment variable ``BOOSTRANK_COMPILED=0``
makes Python ignore it.

Its functions get arrays that are checked by their callers, grouped by query, and write nothing but
their results. They keep no state, and release Python's lock, so that threads can call them at the
same time. They may raise MemoryError.
"""

from __future__ import annotations

import ctypes
import os
from functools import lru_cache
from importlib.util import find_spec
from itertools import starmap

import numpy as np
from numpy.typing import NDArray

from boostrank.inputs.arrays import Floats
from boostrank.inputs.warnings import warn
from boostrank.queries.segments import BLOCK_ROWS, Segments

# Number of the version of the functions' arguments, as in module.c.
INTERFACE = 6
# Compiled functions have no temporary arrays, so that blocks may be larger than those of NumPy, and
# calls are fewer.
COMPILED_BLOCK_ROWS = 4 * BLOCK_ROWS

#: An argument in C: an array of this type, an integer, a number, or bytes.
ArgumentType = (
    np.dtype[np.generic] | type[ctypes.c_int64] | type[ctypes.c_double] | type[ctypes.c_char_p]
)
Argument = NDArray[np.generic] | float | bytes

_FLOATS = np.dtype(np.float64)
_FLOAT32S = np.dtype(np.float32)
_INTS = np.dtype(np.int64)
_INT32 = np.dtype(np.int32)
_UINT64 = np.dtype(np.uint64)
_UINT8 = np.dtype(np.uint8)
_COUNT = ctypes.c_int64
_NUMBER = ctypes.c_double
_ARGUMENTS: dict[str, list[ArgumentType]] = {
    "pairwise_logistic": [_FLOATS, _FLOATS, _INTS, _COUNT, _FLOATS, _FLOATS],
    "pairwise_squared_hinge": [_FLOATS, _FLOATS, _INTS, _INTS, _COUNT, _FLOATS, _FLOATS],
    "rank_weighted": [
        *(_FLOATS, _FLOATS, _INTS, _INTS, _COUNT),
        *(_FLOATS, _COUNT, _COUNT, _NUMBER, _FLOATS, _FLOATS),
    ],
    "query_loss": [
        *(_COUNT, _FLOATS, _FLOATS, _NUMBER, _FLOATS, _FLOATS, _COUNT, _NUMBER),
        *(_INTS, _COUNT, _FLOAT32S, _FLOAT32S),
    ],
    "elementary": [_FLOATS, _COUNT, _FLOATS, _FLOATS],
    "first_ranks": [_FLOATS, _INTS, _COUNT, _INTS, _INTS, _INTS],
    "ranked_measure": [
        *(_COUNT, _FLOATS, _INTS, _FLOATS, _INTS, _COUNT),
        *(_INTS, _COUNT, _FLOATS, _FLOATS),
    ],
    "list_features": [_UINT8, _COUNT, _COUNT, _INTS, _COUNT, _INTS, _INTS, _COUNT, _FLOAT32S],
    "text_numbers": [_UINT8, _INTS, _COUNT, _INTS, _COUNT, _INTS, _INTS, _INTS, _INTS],
    "trec_lines": [
        *(_UINT8, _COUNT, _INTS, _COUNT, _COUNT, _COUNT, _UINT64),
        *(_UINT8, _INTS, _FLOATS, _INTS, _INTS, _INTS, _INTS),
    ],
    "letor_lines": [
        *(ctypes.c_char_p, _COUNT, _COUNT, _COUNT, _UINT64),
        *(_FLOATS, _INTS, _INT32, _FLOATS, _INTS, _INTS, _INTS),
    ],
}


def is_available() -> bool:
    """Whether the compiled library is there, and may be used."""
    return os.environ.get("BOOSTRANK_COMPILED") != "0" and _library() is not None


def status() -> str:
    """Whether the library is used: ``"used"``, or a text that begins with ``"not used"``.

    The text says why.
    """
    if os.environ.get("BOOSTRANK_COMPILED") == "0":
        return "not used (BOOSTRANK_COMPILED=0)"
    if _library() is None:
        return "not used (boostrank was installed without it)"
    return "used"


def block_rows() -> int:
    """Number of rows that a function which has a form in C processes at a time."""
    if is_available():
        return COMPILED_BLOCK_ROWS
    return BLOCK_ROWS


def call(name: str, *arguments: Argument) -> int:
    """Call a function of the library, which must be there.

    Returns its result, which is not negative; raises MemoryError if it is.
    """
    # If ctypes converted them in the call, an interrupt of the conversion would become another
    # error.
    converted = starmap(_converted, zip(arguments, _ARGUMENTS[name], strict=True))
    result = int(getattr(_library(), name)(*converted))
    if result < 0:
        raise MemoryError(f"there is no memory for {name}")
    return result


def as_documents(values: Floats, queries: Segments) -> Floats:
    """Values of documents as the library reads them.

    Their number is checked, since it would read beyond their end.
    """
    if values.shape != (queries.n_rows,):
        raise ValueError(
            f"there are values of the shape {values.shape} for {queries.n_rows} documents"
        )
    return np.ascontiguousarray(values, dtype=np.float64)


def _converted(argument: Argument, kind: ArgumentType) -> object:
    """An argument as ctypes takes it; for an array, of which `kind` is the dtype, its address.

    Raises TypeError for an array of another type or layout, which the library would misread.
    ``np.ctypeslib.ndpointer`` does the same, but makes reference cycles, in whose search Python
    would need several milliseconds each time.
    """
    if not isinstance(kind, np.dtype):
        return kind(argument)  # type: ignore[arg-type]
    if (
        not isinstance(argument, np.ndarray)
        or argument.dtype != kind
        or argument.ndim != 1
        or not argument.flags.c_contiguous
    ):
        raise TypeError(f"an argument must be a contiguous array of {kind} with one dimension")
    return ctypes.c_void_p(argument.ctypes.data)


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL | None:
    """The library; None if it is not there.

    It is None too, with a warning, if it belongs to another version of boostrank.
    """
    spec = find_spec("boostrank.kernels._kernels")
    if spec is None or spec.origin is None:
        return None
    try:
        library = ctypes.CDLL(spec.origin)
        for name in ("boostrank_interface", *_ARGUMENTS):
            getattr(library, name).restype = ctypes.c_int64
        version = library.boostrank_interface()
    except (OSError, AttributeError) as error:
        fault = str(error)
    else:
        if version == INTERFACE:
            return library
        fault = f"interface {version}, not {INTERFACE}"
    warn(
        f"{spec.origin} does not fit this version of boostrank ({fault}): NumPy is used in its "
        "place, which takes longer; install boostrank again",
        RuntimeWarning,
    )
    return None
