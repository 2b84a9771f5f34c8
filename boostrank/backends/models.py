"""Checks of trained models, and model files with a checksum, which shows whether a file is
damaged.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from pathlib import Path
from typing import Any

from boostrank.backends.base import import_backend
from boostrank.inputs.checks import warn
from boostrank.inputs.files import as_path, write_atomically
from boostrank.inputs.frames import is_pandas

#: Name of the field of a model file that contains its checksum.
CHECKSUM_FIELD = "boostrank_sha256"
#: Name of the field that contains the note on features of lists.
NOTE_FIELD = "boostrank_query_features"
#: The checksum is the SHA-256 of the file with this value in the field.
BLANK_CHECKSUM = "0" * 64
# The format of the file determines the few characters between the name of the field and its value.
_CHECKSUM = re.compile(CHECKSUM_FIELD.encode() + rb".{1,20}?([0-9a-f]{64})", re.DOTALL)


def write_with_checksum(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a model whose checksum field contains :data:`BLANK_CHECKSUM`, with the checksum in that
    field.
    """
    field = _CHECKSUM.search(content)
    assert field is not None
    complete = content[: field.start(1)] + _checksum(content, field) + content[field.end(1) :]
    write_atomically(path, lambda name: Path(name).write_bytes(complete))


def read_with_checksum(path: str | os.PathLike[str]) -> tuple[bytes, bool]:
    """Read a model file, and whether it has a checksum; files that the backends wrote themselves
    have none.

    Content with a checksum is complete, as a booster wrote it, and needs no other check.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the content does not have the checksum of the file.
    """
    with open(as_path(path), "rb") as file:
        content = file.read()
    field = _CHECKSUM.search(content)
    if field is not None and _checksum(content, field) != field.group(1):
        raise ValueError(
            f"{os.fspath(path)!r} is not as boostrank wrote it: it was cut, damaged or edited. "
            f"Take the original or save the model again; to keep an edit on purpose, remove "
            f"{CHECKSUM_FIELD} and its value from the file"
        )
    return content, field is not None


def _checksum(content: bytes, field: re.Match[bytes]) -> bytes:
    """The checksum of a content with :data:`BLANK_CHECKSUM` in the field."""
    view = memoryview(content)
    checksum = hashlib.sha256(view[: field.start(1)])
    checksum.update(BLANK_CHECKSUM.encode())
    checksum.update(view[field.end(1) :])
    return checksum.hexdigest().encode()


def compressed_state(booster: Any) -> dict[str, Any]:
    """The state of a booster in a pickle: its long texts and arrays of bytes are compressed to
    bytes.
    """
    state = booster.__getstate__()
    long = {
        name: value
        for name, value in state.items()
        if isinstance(value, (str, bytearray)) and len(value) > 999
    }
    contents = {
        name: value.encode() if isinstance(value, str) else value for name, value in long.items()
    }
    return {
        **state,
        **{name: zlib.compress(content, level=1) for name, content in contents.items()},
    }


def booster_of_state(library: str, state: dict[str, Any]) -> Any:
    """The booster of what :func:`compressed_state` returned; LightGBM's model is a text there."""
    restore: Any = bytes.decode if library == "LightGBM" else bytearray
    contents = {
        name: restore(zlib.decompress(value))
        for name, value in state.items()
        if isinstance(value, bytes)
    }
    booster_class = import_backend(library.lower()).Booster
    booster = booster_class.__new__(booster_class)
    booster.__setstate__({**state, **contents})
    return booster


def require_same_categories(before: list[list[Any]], X: Any) -> None:
    """Raise ValueError if columns of features do not have the categories, a list for each, of an
    earlier model.
    """
    dtypes = X.dtypes if is_pandas(X) else []
    now = [dtype.categories.tolist() for dtype in dtypes if hasattr(dtype, "categories")]
    if before != now:
        raise ValueError(
            "init_model was trained on columns with other categories, or with the same in another "
            "sequence: give the "
            f"columns of X the categories of that training, {str(before)[:200]}; got "
            f"{str(now)[:200]}"
        )


def warn_without_splits(sameness: str) -> None:
    """Warn that every document gets the same score; `sameness` is the cause if it lies in the
    labels, else empty.
    """
    causes = (
        "The causes may be: all features are constant; all labels of a query are equal, in every "
        "query; or a split needs more than the data have: lower min_child_weight, "
        "min_child_samples (LightGBM) or gamma (XGBoost)"
    )
    if sameness:
        causes = f"The cause is that {sameness}"
    warn(f"no tree has a split, so every document gets the same score. {causes}")
