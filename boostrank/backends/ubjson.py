"""Read UBJSON, the binary form of JSON in which XGBoost writes its models, with limits on every length and depth."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

#: Nesting of objects and arrays that a model may have; XGBoost's own models have less than 10 levels.
MAX_DEPTH = 32
# Numbers of XGBoost's dialect by marker, big-endian.
_NUMBERS = {
    ord(marker): np.dtype(kind)
    for marker, kind in {
        "i": ">i1",
        "U": ">u1",
        "I": ">i2",
        "u": ">u2",
        "l": ">i4",
        "m": ">u4",
        "L": ">i8",
        "M": ">u8",
        "d": ">f4",
        "D": ">f8",
    }.items()
}
_CONSTANTS = {ord("Z"): None, ord("T"): True, ord("F"): False}
_LENGTH = struct.Struct(">q")


def read_ubjson(content: bytes) -> Any:
    """Decode one UBJSON value that takes the whole of `content`; typed arrays become NumPy arrays.

    Raises
    ------
    ValueError
        If the content is not UBJSON as XGBoost writes it, is cut off or followed by more, or nested too deeply.
    """
    reader = _Reader(content)
    value = reader.value(0)
    if reader.position != len(content):
        raise ValueError(f"there are {len(content) - reader.position} bytes after the end of the model")
    return value


class _Reader:
    def __init__(self, content: bytes) -> None:
        self.content = content
        self.position = 0

    def value(self, depth: int) -> Any:
        marker = self.take(1)[0]
        if marker == ord("{"):
            return self.object(depth + 1)
        if marker == ord("["):
            return self.array(depth + 1)
        if marker == ord("S"):
            return self.text()
        if marker in _NUMBERS:
            return self.numbers(_NUMBERS[marker], 1)[0].item()
        if marker in _CONSTANTS:
            return _CONSTANTS[marker]
        raise ValueError(f"the byte 0x{marker:02x} at position {self.position - 1} is no UBJSON value of a model")

    def object(self, depth: int) -> dict[str, Any]:
        _check_depth(depth)
        found: dict[str, Any] = {}
        while self.peek() != ord("}"):
            name = self.text()
            if name in found:
                raise ValueError(f"{name[:40]!r} occurs twice in an object")
            found[name] = self.value(depth)
        self.position += 1
        return found

    def array(self, depth: int) -> Any:
        _check_depth(depth)
        if self.peek() == ord("$"):
            marker = self.take(3)
            if marker[1] not in _NUMBERS or marker[2] != ord("#"):
                raise ValueError(f"there is no typed array at position {self.position - 3}")
            return self.numbers(_NUMBERS[marker[1]], self.length())
        if self.peek() == ord("#"):
            self.position += 1
            return [self.value(depth) for _ in range(self.length())]
        found = []
        while self.peek() != ord("]"):
            found.append(self.value(depth))
        self.position += 1
        return found

    def text(self) -> str:
        try:
            return self.take(self.length()).decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"a text is not UTF-8: {error}") from None

    def length(self) -> int:
        """A length; every element takes at least one byte, so no valid one exceeds the bytes that are left."""
        if self.take(1) != b"L":
            raise ValueError(f"there is no length at position {self.position - 1}")
        (n,) = _LENGTH.unpack(self.take(8))
        if not 0 <= n <= len(self.content) - self.position:
            raise ValueError(f"the length {n} at position {self.position - 8} exceeds the file")
        return n

    def numbers(self, dtype: np.dtype[Any], n: int) -> Any:
        return np.frombuffer(self.take(n * dtype.itemsize), dtype).astype(dtype.newbyteorder("="))

    def take(self, n: int) -> bytes:
        end = self.position + n
        if end > len(self.content):
            raise ValueError("it is cut off")
        found = self.content[self.position : end]
        self.position = end
        return found

    def peek(self) -> int:
        if self.position == len(self.content):
            raise ValueError("it is cut off")
        return self.content[self.position]


def _check_depth(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")
