"""Parse LETOR files, in blocks of lines.

The compiled library parses blocks in several threads, and refuses a block with an invalid line.
Blocks that it refuses, and all blocks if it is not there, are parsed line by line in Python. This
is slower, and names an invalid line.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from boostrank.inputs.checks import check_flag, is_count, refuse
from boostrank.inputs.files import as_path, open_decompressed
from boostrank.queries.threads import for_each, n_threads
from boostrank.text.letor_lines import letor_lines

Array = npt.NDArray[Any]
PathLike = str | os.PathLike[str]
Sparse = bool | Literal["auto"]

MAX_INDEX = 2**31 - 1  # LightGBM, XGBoost and scipy store column numbers as int32.
LINE_FORM = "a line must have the form 'label qid:ID index:value ... # comment'"
MAX_FLOAT32 = float(np.finfo(np.float32).max)
BLOCK_BYTES = 1 << 19
# With this number, threads wait little for each other and use little memory.
BLOCKS_PER_THREAD = 4
#: A line without its comment: label, query id, and the values of columns, sorted by these.
Document = tuple[float, bytes | None, dict[int, float]]
_NUMBER = rb"[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|(?i:nan|inf|infinity))"
_FEATURE = re.compile(rb"(\d+):(%b)" % _NUMBER)


@dataclass(frozen=True)
class ReadOptions:
    """Checked options of :func:`~boostrank.datasets.read_letor`.

    Attributes
    ----------
    n_features : int or None
        Number of columns; None for as many as the largest index needs.
    sparse : {"auto", True, False}
        Whether X is a CSR matrix; "auto" decides by the number of values in the file.
    zero_based : bool
        Whether the first feature has index 0 rather than 1.
    dtype : numpy.dtype
        Type of the features, float32 or float64.
    """

    n_features: int | None
    sparse: Sparse
    zero_based: bool
    dtype: np.dtype[Any]

    def __post_init__(self) -> None:
        n_features = self.n_features
        if n_features is not None and not (is_count(n_features) and 1 <= n_features <= MAX_INDEX):
            refuse("n_features", n_features, f"None or an integer from 1 to {MAX_INDEX}")
        is_auto = isinstance(self.sparse, str) and self.sparse == "auto"
        if not is_auto and not isinstance(self.sparse, (bool, np.bool)):
            refuse("sparse", self.sparse, "'auto', True or False")
        check_flag("zero_based", self.zero_based)
        if self.dtype not in (np.float32, np.float64):
            refuse("dtype", self.dtype, "numpy.float64 or numpy.float32")

    @property
    def first_index(self) -> int:
        """Smallest index that a feature may have in the file."""
        return 0 if self.zero_based else 1

    @property
    def max_index(self) -> int:
        """Largest index that a feature may have in the file."""
        return (self.n_features or MAX_INDEX) - self.zero_based


class ParsedBlock(NamedTuple):
    """The documents of a block of lines.

    Attributes
    ----------
    labels : ndarray of float64, shape (n_rows,)
    counts : ndarray of int, shape (n_rows,)
        Number of features in each row.
    indices, data : ndarray, shape (n_features_listed,)
        Column (int32) and value of each feature, sorted by row, then column.
    n_regular : int or None
        n if each row has exactly the columns 0 to n - 1.
    has_qid : bool
    qid_runs : list of (bytes, int)
        Texts of successive qids, and how many successive rows have each.
    n_lines : int
        Number of lines, with and without documents.
    """

    labels: Array
    counts: Array
    indices: Array
    data: Array
    n_regular: int | None
    has_qid: bool
    qid_runs: list[tuple[bytes, int]]
    n_lines: int


class ParsedFile:
    """The content of one file, before the number of features, and whether X is dense, are decided.

    Attributes
    ----------
    name : str
        Path of the file.
    n_rows : int
        Number of documents.
    width : int
        Number of columns that the largest index of the file needs.
    has_qid : bool or None
        Whether the lines have a qid; None before the first document.
    labels : list of ndarray
        Labels, an array per block.
    qid_runs : list of (bytes, int)
        Texts of successive qids, and how many successive rows have each.
    counts : list of ndarray
        Number of features in each row, an array per block.
    n_regular : int or None
        n if each row has exactly the columns 0 to n - 1; `indices` is then empty, to save memory.
    indices, data : ndarray, shape (n_features_listed,)
        Column and value of each feature, sorted by row, then column.
    """

    def __init__(self, name: str, dtype: npt.DTypeLike) -> None:
        self.name = name
        self.n_rows = self.width = 0
        self.has_qid: bool | None = None
        self.labels: list[Array] = []
        self.qid_runs: list[tuple[bytes, int]] = []
        self.counts: list[Array] = []
        self.n_regular: int | None = None
        # They grow in place where the system can move pages instead of copying.
        self._indices = bytearray()
        self._data = bytearray()
        self._dtype = dtype

    @property
    def indices(self) -> Array:
        """Column of each feature."""
        return np.frombuffer(self._indices, np.int32)

    @property
    def data(self) -> Array:
        """Value of each feature."""
        return np.frombuffer(self._data, self._dtype)

    def append(self, block: ParsedBlock) -> None:
        """Add the documents of a block."""
        if not len(block.labels):
            return
        if not self.n_rows:
            self.n_regular = block.n_regular
        elif self.n_regular is not None and self.n_regular != block.n_regular:
            self._indices += np.tile(np.arange(self.n_regular, dtype=np.int32), self.n_rows).data
            self.n_regular = None
        if self.n_regular is None:
            self._indices += np.ascontiguousarray(block.indices).data
        self._data += np.ascontiguousarray(block.data).data
        self.labels.append(block.labels)
        self.counts.append(block.counts)
        self.qid_runs += block.qid_runs
        self.has_qid = block.has_qid
        self.n_rows += len(block.labels)
        self.width = max(self.width, int(block.indices.max(initial=-1)) + 1)


def parse_file(path: PathLike, options: ReadOptions) -> ParsedFile:
    """Parse a whole file, block by block."""
    parsed = ParsedFile(as_path(path), options.dtype)
    line = 1
    if os.path.isdir(path):
        raise IsADirectoryError(
            f"{parsed.name} is a folder, not a LETOR file; read_letor_folds reads folders of folds"
        )
    for text, block in _parsed_blocks(_blocks(parsed.name), options):
        if block is None or (len(block.labels) and parsed.has_qid not in (None, block.has_qid)):
            block = parse_lines(text, options, parsed.name, line, parsed.has_qid)
        parsed.append(block)
        line += block.n_lines
    if not parsed.n_rows:
        raise ValueError(f"{parsed.name} has {line - 1} lines, but no documents; {LINE_FORM}")
    return parsed


def _blocks(name: str) -> Iterator[bytes]:
    """Yield complete lines, about `BLOCK_BYTES` at a time."""
    with open_decompressed(name) as stream:
        byte_order_mark = b"\xef\xbb\xbf"
        while block := stream.read(BLOCK_BYTES):
            block = (block + stream.readline()).removeprefix(byte_order_mark)
            byte_order_mark = b""
            if not block.endswith(b"\n"):
                block += b"\n"
            yield block


def _parsed_blocks(
    blocks: Iterator[bytes], options: ReadOptions
) -> Iterator[tuple[bytes, ParsedBlock | None]]:
    """Yield blocks as text and as parsed in C; None if a block has an invalid line.

    It is None too without the compiled library.
    """
    texts = list(itertools.islice(blocks, 2))
    # To find the number of processors takes longer than to read one block.
    n_blocks = 2 if len(texts) < 2 else BLOCKS_PER_THREAD * n_threads()
    texts += itertools.islice(blocks, n_blocks - len(texts))
    while texts:
        parsed, following = _parse_and_read(texts, blocks, n_blocks, options)
        yield from zip(texts, parsed, strict=True)
        texts = following


def _parse_and_read(
    texts: list[bytes], blocks: Iterator[bytes], n_blocks: int, options: ReadOptions
) -> tuple[list[ParsedBlock | None], list[bytes]]:
    """Parse blocks by threads, while one thread reads the blocks that follow."""
    parsed: list[ParsedBlock | None] = [None] * len(texts)
    following: list[bytes] = []

    def work(item: int) -> None:
        if item == len(texts):
            following.extend(itertools.islice(blocks, n_blocks))
        else:
            parsed[item] = parse_compiled(texts[item], options)

    for_each(work, [0, len(texts), *range(1, len(texts))])
    return parsed, following


def parse_compiled(block: bytes, options: ReadOptions) -> ParsedBlock | None:
    """Parse complete lines in C; None if a line is invalid, or without the compiled library."""
    lines = letor_lines(block, options.first_index, options.max_index)
    if lines is None:
        return None
    for place, start, end in lines.slow.tolist():
        number = float(block[start:end])
        if place < 0:
            lines.labels[-1 - place] = number
        else:
            lines.values[place] = number
    if _overflows(lines.values, options.dtype):
        return None
    sizes = lines.sizes
    columns = lines.columns
    data = lines.values.astype(options.dtype, copy=False)
    if not lines.is_sorted:
        rows = np.repeat(np.arange(len(sizes)), sizes)
        permutation = np.lexsort((columns, rows))
        columns = columns[permutation]
        data = data[permutation]
        if ((rows[1:] == rows[:-1]) & (columns[1:] == columns[:-1])).any():
            return None
    qid_runs = [(block[start:end], count) for start, end, count in lines.runs.tolist()]
    n_regular = None if lines.width < 0 else lines.width
    return ParsedBlock(
        lines.labels, sizes, columns, data, n_regular, lines.has_qid, qid_runs, lines.n_lines
    )


def parse_lines(
    block: bytes, options: ReadOptions, name: str, first_line: int = 1, has_qid: bool | None = None
) -> ParsedBlock:
    """Parse complete lines one by one in Python.

    Parameters
    ----------
    block : bytes
        Complete lines.
    options : ReadOptions
    name : str
        Name of the file.
    first_line : int
        Number of the first line of the block in its file, counted from 1.
    has_qid : bool or None
        Whether the documents before this block have a qid; None if there are none.

    Raises
    ------
    ValueError
        If a line is invalid.
    """
    documents: list[Document] = []
    lines = block.split(b"\n")[:-1]
    for number, ended in enumerate(lines, first_line):
        line = ended.removesuffix(b"\r")
        content = b"\r" if b"\r" in line else line.partition(b"#")[0]
        if not content.strip(b" \t"):
            continue
        document = _parse_line(content, options, has_qid)
        if isinstance(document, str):
            raise ValueError(
                f"{name}, line {number}: {document} (in the line {quote(line, 60)}); {LINE_FORM}"
            )
        documents.append(document)
        has_qid = document[1] is not None
    labels = np.array([label for label, _, _ in documents])
    rows = [row for _, _, row in documents]
    sizes = np.array([len(row) for row in rows], int)
    indices = np.array([column for row in rows for column in row], np.int32)
    data = np.array([value for row in rows for value in row.values()], np.float64)
    widest = int(sizes.max(initial=0))
    is_regular = {tuple(row) for row in rows} == {tuple(range(widest))}
    qids = itertools.groupby(qid for _, qid, _ in documents)
    return ParsedBlock(
        labels,
        sizes,
        indices,
        data.astype(options.dtype),
        widest if is_regular else None,
        bool(has_qid),
        [(qid, len(list(run))) for qid, run in qids if qid is not None],
        len(lines),
    )


def _parse_line(line: bytes, options: ReadOptions, has_qid: bool | None) -> Document | str:
    """The document of a line without its comment; or, as a text, its first fault."""
    control = re.search(rb"[\x00-\x08\x0b-\x1f]", line)
    if control:
        code = f"0x{control[0][0]:02x}"
        return f"it has the byte {code}, so this is not plain text with line ends \\n or \\r\\n"
    label, *features = line.split()
    if not re.fullmatch(_NUMBER, label):
        return f"{quote(label, 40)} is not a number"
    starts_with_qid = bool(features) and features[0].startswith(b"qid:")
    if has_qid and not starts_with_qid:
        return "it has no qid, but the lines before do"
    if starts_with_qid and has_qid is False:
        return "it has a qid, but the lines before have none"
    if starts_with_qid and (len(features[0]) == 4 or features[0].count(b":") > 1):
        return f"{quote(features[0], 40)} is not qid:ID"
    qid = None
    if starts_with_qid:
        qid = features.pop(0)[4:]
    values: dict[int, float] = {}
    for token in features:
        fault = _add_feature(token, options, values)
        if fault:
            return fault
    return float(label), qid, dict(sorted(values.items()))


def _add_feature(token: bytes, options: ReadOptions, values: dict[int, float]) -> str:
    """Add the value of a feature to `values`, by its column; or return the fault of the feature."""
    match = _FEATURE.fullmatch(token)
    if match is None:
        return f"{quote(token, 40)} is not index:value, an integer and a number"
    text, value = match.groups()
    # Python refuses to convert texts of more than some thousand digits.
    index = MAX_INDEX + 1 if len(text) >= 20 else int(text)
    number = float(value)
    if index < options.first_index:
        advice = "pass zero_based=True if the first feature of this file has index 0"
        return f"it has the index 0; {advice}"
    if index > options.max_index:
        limit = "an int32"
        if options.n_features is not None:
            limit = f"n_features={options.n_features}"
        largest = f"{options.max_index}, the largest index that {limit} allows"
        return f"index {quote(text, 40)} is above {largest}"
    column = index - options.first_index
    if column in values:
        return f"index {index} occurs twice"
    if abs(number) > MAX_FLOAT32 and _overflows(np.array([number]), options.dtype):
        return f"{quote(value, 40)} is too large for {options.dtype}"
    values[column] = number
    return ""


def _overflows(values: Array, dtype: np.dtype[Any]) -> bool:
    """Whether a finite value becomes infinite as `dtype`."""
    if values.dtype == dtype:
        return False
    with np.errstate(over="ignore"):
        n_infinite = np.isinf(values.astype(dtype)).sum()
    return bool(n_infinite > np.isinf(values).sum())


def quote(text: bytes, max_length: int) -> str:
    """Put text of a file in quotes for an error message, shortened to `max_length` characters."""
    shown = text[: max_length + 1].decode(errors="backslashreplace")
    if len(shown) > max_length:
        shown = shown[: max_length - 3] + "..."
    return repr(shown)


def is_int64(text: bytes) -> bool:
    """Whether a qid is an integer of int64 in its usual form.

    Other forms of the same number are other qids.
    """
    return bool(re.fullmatch(rb"0|-?[1-9]\d{0,18}", text)) and -(2**63) <= int(text) < 2**63
