"""Model files: sealed against damage."""

from __future__ import annotations

import hashlib
import os
import re

from boostrank.files import write_atomically

#: Name of the field of a model file that holds the SHA-256 of the file with zeros in place of it.
SEAL = "boostrank_sha256"
OPEN_SEAL = "0" * 64
_SEAL = re.compile(SEAL.encode() + rb"(.{1,20}?)([0-9a-f]{64})", re.DOTALL)


def require_file(path: str | os.PathLike[str]) -> str:
    """The path of an existing file as a string."""
    if not os.path.isfile(path):
        raise FileNotFoundError(f"no model file at {os.fspath(path)!r}")
    return os.fspath(path)


def write_sealed(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a model whose seal is open (:data:`OPEN_SEAL`), with its checksum in that place."""
    seal = _SEAL.search(content)
    assert seal is not None
    sealed = content[: seal.start(2)] + _checksum(content) + content[seal.end(2) :]

    def write(name: str) -> None:
        with open(name, "wb") as file:
            file.write(sealed)

    write_atomically(path, write)


def read_sealed(path: str | os.PathLike[str]) -> bytes:
    """Read a model file, and check its seal if it has one; those that the backends wrote themselves have none.

    Raises
    ------
    FileNotFoundError, ValueError
        If there is no such file, or it is not as it was written.
    """
    with open(require_file(path), "rb") as file:
        content = file.read()
    seal = _SEAL.search(content)
    if seal is not None:
        opened = content[: seal.start(2)] + OPEN_SEAL.encode() + content[seal.end(2) :]
        if _checksum(opened) != seal.group(2):
            raise ValueError(
                f"{os.fspath(path)!r} is not as boostrank wrote it: it was cut, damaged or edited. Take the original "
                f"or save the model again; to keep an edit on purpose, remove {SEAL} and what it holds from the file"
            )
    return content


def _checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
