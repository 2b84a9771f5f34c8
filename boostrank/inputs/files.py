"""Write files atomically, write through to what is no regular file, and read files that may be compressed."""

from __future__ import annotations

import contextlib
import errno
import gzip
import os
import re
import shutil
import stat
import sys
import tempfile
import uuid
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

_DESCRIPTOR = re.compile(r"(?:/proc/[^/]+(?:/task/[0-9]+)?|/dev)/fd/([0-9]+)")
_MAX_LINKS = 40


def write_atomically(path: str | os.PathLike[str], write: Callable[[str], object]) -> None:
    """Write a file such that `path` never names an incomplete file.

    `write` gets the path of a temporary file in the same folder, whose name ends like that of `path`. After it returns,
    the temporary file replaces `path`, with the mode and the owner of the file that it replaces; if it raises, `path`
    is unchanged and the temporary file is deleted. If `path` is a symbolic link, the file that it points to is
    replaced, and the link stays.

    A pipe, a device, or an open file such as ``/dev/stdout`` is not replaced: the complete content is written to it.
    So it is with a file whose owner the process may not restore.
    """
    descriptor = _open_descriptor(path)
    target = os.path.realpath(path)
    old = os.stat(target) if descriptor is None and os.path.exists(target) else None
    if old is not None and stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(f"{os.fspath(path)!r} is a folder, not a file to write to")
    if descriptor is not None or (old is not None and not stat.S_ISREG(old.st_mode)):
        with tempfile.TemporaryDirectory() as folder:
            temporary = os.path.join(folder, os.path.basename(os.fspath(path)))
            write(temporary)
            _write_through(temporary, target if descriptor is None else descriptor)
        return
    folder, name = os.path.split(target)
    if not os.path.isdir(folder):
        # Not the error of the temporary file, whose name the caller does not know.
        raise FileNotFoundError(errno.ENOENT, f"the folder to write {name!r} to does not exist", folder)
    temporary = os.path.join(folder, f".{uuid.uuid4().hex[:16]}.{name[-200:]}")
    try:
        # The content of a file that only its owner may read is never in one that others may read.
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if old is None else 0o600))
        write(temporary)
        if old is None or _restore_owner_and_mode(temporary, old):
            os.replace(temporary, target)
        else:
            _write_through(temporary, target)
            os.unlink(temporary)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.strerror and error.filename in (None, temporary):
            # A full disk names no file, and nobody knows the temporary one.
            error.filename = os.fspath(path)
        raise


@contextlib.contextmanager
def open_decompressed(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file to read its bytes; they are decompressed if its content, not its name, is that of gzip.

    Raises
    ------
    ValueError
        While the file is read, if its gzip data is damaged or incomplete.
    """
    with open(path, "rb") as raw:
        stream: Any = gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == b"\x1f\x8b" else raw
        try:
            with stream:
                yield stream
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(
                f"{os.fspath(path)}: the gzip data is damaged or cut off ({error}); copy or download the file again"
            ) from error


def read_decompressed(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """The bytes of a file as :func:`open_decompressed` reads them, and a zero byte at the end.

    For a large file, an array takes a third of the time of ``bytes``, since the system maps its memory in larger pages.
    """
    with open_decompressed(path) as file:
        # It is 0 for a pipe.
        size = 0 if isinstance(file, gzip.GzipFile) else os.fstat(file.fileno()).st_size
        content = np.empty(size + 1, dtype=np.uint8)
        n_read = file.readinto(content[:size].data) if size else 0  # type: ignore[attr-defined]
        rest = file.read()
    content[n_read] = 0
    return np.frombuffer(content[:n_read].tobytes() + rest + b"\0", np.uint8) if rest else content[: n_read + 1]


def _open_descriptor(path: str | os.PathLike[str]) -> int | None:
    """The number of the open file that `path` stands for, as /dev/stdout does for 1; None if it stands for none."""
    current = os.path.abspath(path)
    for _ in range(_MAX_LINKS):
        folder, name = os.path.split(current)
        current = os.path.join(os.path.realpath(folder), name)
        if match := _DESCRIPTOR.fullmatch(current):
            return int(match[1])
        if not os.path.islink(current):
            return None
        current = os.path.abspath(os.path.join(os.path.dirname(current), os.readlink(current)))
    return None


def _restore_owner_and_mode(path: str, old: os.stat_result) -> bool:
    """Give a file the owner and the mode of another; return whether this is permitted."""
    new = os.stat(path)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.chown(path, old.st_uid, old.st_gid)
        except PermissionError:
            return False
    os.chmod(path, stat.S_IMODE(old.st_mode))
    return True


def _write_through(source: str, target: str | int) -> None:
    """Write the content of a file to an open file, or to what is there under a path."""
    if isinstance(target, int):
        # What was printed before comes first.
        sys.stdout.flush()
        target = os.dup(target)
    receiver: IO[bytes]
    with open(source, "rb") as content, open(target, "wb") as receiver:
        shutil.copyfileobj(content, receiver)
