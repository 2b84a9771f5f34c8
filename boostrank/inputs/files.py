"""Write files atomically or through to no regular file, and read compressed files."""

from __future__ import annotations

import contextlib
import gzip
import os
import shutil
import stat
import sys
import tempfile
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

#: First bytes of a Parquet file.
_PARQUET_MARK = b"PAR1"


def as_path(path: object) -> str:
    """The path of a file as text; TypeError for what is no path.

    Python would open the file with the number 0.

    Examples
    --------
    >>> as_path(bytearray(b"model"))
    Traceback (most recent call last):
    TypeError: the path of a file must be a str or os.PathLike; got bytearray(b'model')
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"the path of a file must be a str or os.PathLike; got {path!r:.100}")
    return os.fspath(path)


def write_atomically(path: str | os.PathLike[str], write: Callable[[str], object]) -> None:
    """Write a file such that `path` never names an incomplete file.

    `write` gets the path of a temporary file in the same folder, whose name ends like that of
    `path`. After it returns, the temporary file replaces `path`, with the mode of the file that it
    replaces; if it raises, `path` is unchanged and the temporary file is deleted. If `path` is a
    symbolic link, the file that it points to is replaced, and the link stays. Other hard links of a
    file keep its old content.

    A pipe or a device is not replaced: the complete content is written to it.
    """
    try:
        old = os.stat(as_path(path))
    except FileNotFoundError:
        old = None
    if old is not None and not stat.S_ISREG(old.st_mode):
        with tempfile.TemporaryDirectory() as temporary_folder:
            temporary = os.path.join(temporary_folder, os.path.basename(path))
            write(temporary)
            sys.stdout.flush()  # What was printed before comes first.
            with open(temporary, "rb") as content, open(path, "wb") as file:
                shutil.copyfileobj(content, file)
        return
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{uuid.uuid4().hex[:16]}.{name[-200:]}")
    try:
        # The content of a file that only its owner may read is never in one that others may read.
        os.close(
            os.open(
                temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if old is None else 0o600
            )
        )
        write(temporary)
        if old is not None:
            os.chmod(temporary, stat.S_IMODE(old.st_mode))
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.strerror and error.filename in (None, temporary):
            # The error of a full disk names no file, and the caller does not know the temporary
            # one.
            error.filename = os.fspath(path)
        raise


def write_lines(path: str | os.PathLike[str], lines: Iterable[str]) -> None:
    """Write lines in UTF-8 as :func:`write_atomically`.

    They are compressed by gzip if the name of the file ends in ".gz".
    """

    def write(temporary: str) -> None:
        with open(temporary, "wb") as raw, contextlib.ExitStack() as stack:
            stream: Any = raw
            if temporary.endswith(
                ".gz"
            ):  # No name and no time in the header: equal data give equal bytes.
                stream = stack.enter_context(gzip.GzipFile("", "wb", fileobj=raw, mtime=0))
            stream.writelines(line.encode() for line in lines)

    write_atomically(path, write)


@contextlib.contextmanager
def open_decompressed(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file of text to read its bytes.

    They are decompressed if its content, not its name, is that of gzip.

    Raises
    ------
    ValueError
        If the content is that of Parquet; and while the file is read, if its gzip data is damaged
        or incomplete.
    """
    with open(as_path(path), "rb") as raw:
        mark = raw.peek(4)[:4]
        if mark == _PARQUET_MARK:
            raise ValueError(
                f"{os.fspath(path)!r} is a Parquet file, and not text: read it by "
                f"pandas.read_parquet"
            )
        stream: Any = gzip.GzipFile(fileobj=raw) if mark[:2] == b"\x1f\x8b" else raw
        try:
            with stream:
                yield stream
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(
                f"{os.fspath(path)}: the gzip data is damaged or cut off ({error}); copy or "
                f"download the file again"
            ) from error


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Whether the content of a file, not its name, is that of Parquet."""
    with open(as_path(path), "rb") as file:
        return file.read(len(_PARQUET_MARK)) == _PARQUET_MARK
