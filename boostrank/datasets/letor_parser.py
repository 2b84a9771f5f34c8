"""Parse LETOR files, in blocks of lines, by threads.

A block is parsed by the compiled library, or with NumPy. These fast parsers only accept or refuse a block. When one
is refused, :mod:`boostrank.datasets.letor_faults` reads it again, line by line, to name the invalid line.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from typing import Any

from boostrank.core.compiled import is_available
from boostrank.core.threads import for_each, n_threads
from boostrank.datasets.letor_compiled import parse_compiled
from boostrank.datasets.letor_faults import raise_fault
from boostrank.datasets.letor_format import LINE_FORM, PathLike, ReadOptions
from boostrank.datasets.letor_numpy import parse_with_numpy
from boostrank.datasets.parsed_file import ParsedBlock, ParsedFile, RefusedBlockError
from boostrank.inputs.files import open_decompressed

BLOCK_BYTES = 1 << 19  # The temporary arrays of NumPy for a block, about 10 times its size, then stay in the cache.
BLOCKS_PER_THREAD = 4  # So that threads wait little for each other, and little memory is used.


def parse_file(path: PathLike, options: ReadOptions) -> ParsedFile:
    """Parse a whole file, block by block."""
    parsed, line = ParsedFile(os.fspath(path), options.dtype), 1
    if os.path.isdir(path):
        raise IsADirectoryError(
            f"{parsed.name} is a folder, not a LETOR file; for a folder of folds there is read_letor_folds"
        )
    for blocks in _parsed_blocks(_blocks(parsed.name), options):
        for text, block in blocks:
            if block is None or not parsed.accepts(block):
                raise_fault(text, line, options, parsed.name, parsed.has_qid)
            parsed.append(block)
            line += block.n_lines
    if not parsed.n_rows:
        raise ValueError(f"{parsed.name} has {line - 1} lines, but no documents; {LINE_FORM}")
    return parsed


def _parsed_blocks(blocks: Iterator[bytes], options: ReadOptions) -> Iterator[list[tuple[bytes, ParsedBlock | None]]]:
    """Yield lists of blocks of lines, as text and as parsed; None if a block is refused.

    While the blocks of a list are parsed by threads, one thread reads those of the next list.
    """
    parse = parse_compiled if is_available() else parse_with_numpy
    length = BLOCKS_PER_THREAD * n_threads()
    texts, error = _read(blocks, length)
    while texts:
        results: list[Any] = [None] * (len(texts) + 1)

        def work(item: int, texts: list[bytes] = texts, results: list[Any] = results) -> None:
            if item == len(texts):
                results[item] = _read(blocks, length)  # Nothing after an error.
                return
            with contextlib.suppress(RefusedBlockError):
                results[item] = parse(texts[item], options)

        for_each(work, [0, len(texts), *range(1, len(texts))])
        yield list(zip(texts, results, strict=False))
        texts, later_error = results[-1]
        error = error or later_error
    if error:
        raise error


def _read(blocks: Iterator[bytes], length: int) -> tuple[list[bytes], Exception | None]:
    """Up to `length` blocks of lines, and the error that ended them: lines before it may have faults."""
    texts: list[bytes] = []
    try:
        for text in itertools.islice(blocks, length):
            texts.append(text)  # If there is an error, the blocks before it stay.
    except (OSError, ValueError) as error:
        return texts, error
    return texts, None


def _blocks(name: str) -> Iterator[bytes]:
    """Yield complete lines, about `BLOCK_BYTES` at a time."""
    with open_decompressed(name) as stream:
        first = True
        while block := stream.read(BLOCK_BYTES):
            block += stream.readline()
            block = block.removeprefix(b"\xef\xbb\xbf") if first else block  # a byte order mark
            first = False
            yield block if block.endswith(b"\n") else block + b"\n"
