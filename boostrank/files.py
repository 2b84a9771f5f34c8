"""Write files atomically."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable


def write_atomically(path: str | os.PathLike[str], write: Callable[[str], None]) -> None:
    """Write a file such that `path` never names an incomplete file.

    `write` gets the path of a temporary file in the same folder, with the same suffix. After it returns, the
    temporary file replaces `path`; if it raises, `path` is unchanged and the temporary file is deleted. If `path` is a
    symbolic link, the file that it points to is replaced, and the link stays.
    """
    target = os.path.realpath(path)
    stem, suffix = os.path.splitext(target)
    temporary = f"{stem}.{uuid.uuid4().hex}{suffix}"
    try:
        write(temporary)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
