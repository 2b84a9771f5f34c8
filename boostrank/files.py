"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable


def write_atomically(path: str | os.PathLike[str], write: Callable[[str], None]) -> None:
    """Let `write` fill a draft beside `path`, of the same suffix, then put it there: never half a file, or a lost one.

    A link keeps pointing to the file that is replaced.
    """
    target = os.path.realpath(path)
    stem, suffix = os.path.splitext(target)
    draft = f"{stem}.{uuid.uuid4().hex}{suffix}"
    try:
        write(draft)
        os.replace(draft, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)
        raise
