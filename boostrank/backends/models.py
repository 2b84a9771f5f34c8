"""Checks of trained models, and model files with a checksum, which shows damage."""

from __future__ import annotations

import hashlib
import json
import os
import re
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from boostrank.backends.libraries import Booster, State, import_backend
from boostrank.inputs.files import as_path, write_atomically
from boostrank.inputs.streams import FeatureBlocks
from boostrank.inputs.table import is_pandas
from boostrank.inputs.warnings import warn

#: Name of the field of a model file that contains its checksum.
CHECKSUM_FIELD = "boostrank_sha256"
#: Names of the fields that contain notes, by what these are about.
NOTE_FIELDS = {
    "query_features": "boostrank_query_features",
    "calibration": "boostrank_calibration",
    "id_columns": "boostrank_id_columns",
}
#: The checksum is the SHA-256 of the file with this value in the field.
BLANK_CHECKSUM = "0" * 64
#: Longer values of the state of a booster are compressed in a pickle.
MAX_PLAIN_LENGTH = 999
#: Notes in a model file, each a text of one line without "=", by a name in :data:`NOTE_FIELDS`.
Notes = Mapping[str, str]
#: A model file, or its content.
ModelSource = str | os.PathLike[str] | bytes | bytearray
#: Its types, for isinstance.
SOURCES = (str, os.PathLike, bytes, bytearray)
#: The categories of one column.
Categories = list[Any]
# The format of the file determines the few characters between the name of the field and its value.
_CHECKSUM = re.compile(CHECKSUM_FIELD.encode() + rb".{1,20}?([0-9a-f]{64})", re.DOTALL)


def note_of(fields: Mapping[str, Any]) -> str:
    """The text of a note: JSON, in which "=" is written in another way."""
    return json.dumps(fields).replace("=", "\\u003d")


def write_with_checksum(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a model, with its checksum in place of the :data:`BLANK_CHECKSUM` that it contains."""
    field = _CHECKSUM.search(content)
    assert field is not None
    complete = content[: field.start(1)] + _checksum(content, field) + content[field.end(1) :]
    write_atomically(path, lambda name: Path(name).write_bytes(complete))


def source_name(source: ModelSource) -> str:
    """The name of a model file in messages; a content in memory has none."""
    if isinstance(source, (bytes, bytearray)):
        return "the model in memory"
    return repr(os.fspath(source))


def read_source(source: ModelSource) -> bytes:
    """The content of a model file, which may be given in its place."""
    if isinstance(source, (bytes, bytearray)):
        return bytes(source)
    with open(as_path(source), "rb") as file:
        return file.read()


def read_with_checksum(source: ModelSource) -> tuple[bytes, bool]:
    """Read a model file, or take its content, and say whether it has a checksum.

    Files that the boosting libraries wrote themselves have none. Content with a checksum is
    complete, as a booster wrote it, and needs no other check.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the content does not have the checksum of the file.
    """
    content = read_source(source)
    field = _CHECKSUM.search(content)
    if field is not None and _checksum(content, field) != field.group(1):
        raise ValueError(
            f"{source_name(source)} is not as boostrank wrote it: it was cut, damaged or edited. "
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


def compressed_state(booster: Booster) -> State:
    """The state of a booster in a pickle, with long texts and arrays compressed to bytes."""
    compressed = {}
    for name, value in booster.__getstate__().items():
        if isinstance(value, (str, bytearray)) and len(value) > MAX_PLAIN_LENGTH:
            content = value.encode() if isinstance(value, str) else value
            value = zlib.compress(content, level=1)
        compressed[name] = value
    return compressed


def booster_of_state(library: str, state: State) -> Any:
    """The booster of what :func:`compressed_state` returned."""
    # LightGBM's model is a text there.
    restore: Any = bytes.decode if library == "LightGBM" else bytearray
    restored = {}
    for name, value in state.items():
        if isinstance(value, bytes):
            value = restore(zlib.decompress(value))
        restored[name] = value
    booster_class = import_backend(library.lower()).Booster
    booster = booster_class.__new__(booster_class)
    booster.__setstate__(restored)
    return booster


def require_same_categories(before: Sequence[Categories], X: FeatureBlocks) -> None:
    """Raise ValueError if columns of features do not have the categories of an earlier model.

    There is a list of categories for each column of a categorical type.
    """
    now = []
    if is_pandas(X):
        frame: Any = X
        now = [dtype.categories.tolist() for dtype in frame.dtypes if hasattr(dtype, "categories")]
    if before != now:
        raise ValueError(
            "init_model was trained on columns with other categories, or with the same in another "
            "sequence: give the columns of X the categories of that training, "
            f"{str(before)[:200]}; got {str(now)[:200]}"
        )


def warn_without_splits(sameness: str) -> None:
    """Warn that every document gets the same score.

    `sameness` is the cause if it lies in the labels, otherwise empty.
    """
    causes = (
        "The causes may be: all features are constant; all labels of a query are equal, in every "
        "query; or a split needs more than the data have: lower min_child_weight, "
        "min_child_samples (LightGBM) or gamma (XGBoost)"
    )
    if sameness:
        causes = f"The cause is that {sameness}"
    warn(f"no tree has a split, so every document gets the same score. {causes}")
