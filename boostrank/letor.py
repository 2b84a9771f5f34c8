"""Read and write LETOR / SVMlight ranking files: ``label qid:ID index:value ... # comment``.

A block of lines is read as one array of bytes: separators are found and numbers computed for all its
tokens together. The fast pass only accepts or refuses a block; a refused block is read again line by
line to name the line that is broken.
"""

from __future__ import annotations

import contextlib
import gzip
import itertools
import os
import re
import uuid
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy import sparse as sp

Array = npt.NDArray[Any]
PathLike = str | os.PathLike[str]
Sizes = PathLike | npt.ArrayLike | None
Sparse = bool | Literal["auto"]

__all__ = ["Fold", "Ranking", "read_letor", "read_letor_folds", "write_letor"]

_BLOCK = 1 << 20  # bytes: the temporary arrays of a block (some 10 times its size) stay in the cache
_MAX_INDEX = 2**31 - 1  # LightGBM, XGBoost and scipy count columns in int32
_PLAIN_ENDS = bytes.maketrans(b"\t\r", b"  ")
_NUMBER = rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|(?i:nan|inf|infinity))"
_NUMBERS = re.compile(rb"(?:%b )*+" % _NUMBER)
_FORMAT = "expected 'label qid:ID index:value ... # comment'"
_POWERS = 10.0 ** np.arange(17)
_PAD = b" " * 15 + b"\n"  # so that 16 bytes can be loaded before the end of the first token


class _BrokenBlockError(Exception):
    """The fast pass refuses a block; `_raise_fault` finds out why."""


class _Text(NamedTuple):
    raw: bytes
    codes: Array  # uint8, one per byte
    words: Array  # uint64, the eight bytes from each byte on; the first is the lowest


@dataclass(frozen=True)
class _Rules:
    n_features: int | None
    zero_based: bool
    dtype: Any
    comments: bool = False

    @property
    def last_index(self) -> int:
        return (self.n_features or _MAX_INDEX) - self.zero_based


class _Growing:
    """An array that grows at its end, in place where realloc can move pages instead of copying."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self.values: Array = np.empty(1024, dtype)
        self.size = 0

    def append(self, more: Array) -> None:
        end = self.size + more.size
        if end > self.values.size:
            self.values.resize(max(end, self.values.size * 9 // 8), refcheck=False)
        self.values[self.size : end] = more
        self.size = end

    def finish(self) -> Array:
        self.values.resize(self.size, refcheck=False)
        return self.values


class _Part:
    """What one file holds, before the number of features and dense or sparse are decided."""

    def __init__(self, name: str, dtype: npt.DTypeLike) -> None:
        self.name = name
        self.rows = self.width = 0
        self.has_qid: bool | None = None  # known from the first document on
        self.labels: list[Array] = []
        self.runs: list[tuple[bytes, int]] = []  # successive qid texts and how many rows have them
        self.comments: list[str] = []
        self.counts: list[Array] = []  # features in each row
        self.regular: int | None = None  # n if all rows have just the columns 0 to n - 1, which are not kept
        self.indices = _Growing(np.int32)
        self.data = _Growing(dtype)

    def append(self, counts: Array, indices: Array, data: Array) -> None:
        """Add the features of rows; refuse a column that is repeated in a row."""
        n, shape = int(counts[0]), (len(counts), int(counts[0]))
        same = (counts == n).all() and (indices.reshape(shape) == np.arange(n, dtype=np.int32)).all()
        regular = n if same else None
        if not self.rows:
            self.regular = regular
        elif self.regular is not None and self.regular != regular:
            self.indices.append(np.tile(np.arange(self.regular, dtype=np.int32), self.rows))
            self.regular = None
        if self.regular is None:
            indices, data = _sort_rows(counts, indices, data)
            self.indices.append(indices)
        self.data.append(data)
        self.counts.append(counts)
        self.rows += len(counts)
        self.width = max(self.width, int(indices.max(initial=-1)) + 1)


def _sort_rows(counts: Array, indices: Array, data: Array) -> tuple[Array, Array]:
    """Order each row by column; refuse repeated columns."""
    rows = np.repeat(np.arange(len(counts)), counts)
    same_row = rows[1:] == rows[:-1]
    if (same_row & (indices[1:] <= indices[:-1])).any():
        order = np.lexsort((indices, rows))
        indices, data = indices[order], data[order]
        if (same_row & (indices[1:] == indices[:-1])).any():
            raise _BrokenBlockError
    return indices, data


def _load(text: _Text, ends: Array, lengths: Array) -> Array:
    """Return the at most 8 bytes before each end, xor '0', digits becoming 0..9, with leading zeros."""
    unused = ((8 - lengths) * 8).astype(np.uint64)
    return ((text.words[ends - 8] ^ np.uint64(0x3030303030303030)) >> unused) << unused


def _digits(word: Array) -> tuple[Array, Array]:
    """Return the number that 8 bytes spell (first digit lowest), and whether all are 0..9."""
    good = ((word | (word + np.uint64(0x0606060606060606))) & np.uint64(0xF0F0F0F0F0F0F0F0)) == 0
    mask = np.uint64(0x00FF00FF00FF00FF)  # join neighbours: digits to pairs to fours to eight
    word = (word & mask) * np.uint64(10) + ((word >> np.uint64(8)) & mask)
    mask = np.uint64(0x0000FFFF0000FFFF)
    word = (word & mask) * np.uint64(100) + ((word >> np.uint64(16)) & mask)
    return (word & np.uint64(0xFFFFFFFF)) * np.uint64(10_000) + (word >> np.uint64(32)), good


def _decimals(text: _Text, ends: Array, lengths: Array) -> tuple[Array, Array, Array, Array]:
    """Return the digits of at most 8 bytes as a number, has a dot, digits after it, is well formed."""
    word, one, eight = _load(text, ends, lengths), np.uint64(1), np.uint64(8)
    # '.' ^ '0' is 0x1E, and bit 4 is 0 in all digits. dot: 1 in the dot's byte, or 0 where there is none.
    # A second dot stays among the bytes after the first one and is no digit there.
    dot = (word & np.uint64(0x1010101010101010)) >> np.uint64(4)
    good = (word & (dot * np.uint64(0xFF))) == dot * np.uint64(0x1E)
    after = ~((dot << eight) - one)  # the bytes behind the dot; without a dot none
    has_dot = dot != 0
    value, all_digits = _digits(((word & (dot - one)) << (has_dot * eight)) | (word & after))
    return value, has_dot, np.bitwise_count(after) >> 3, good & all_digits


def _numbers(text: _Text, starts: Array, ends: Array) -> Array:
    """Return what float() makes of tokens.

    Of up to 16 bytes all bits are right: with a dot these are m / 10**k with two exact numbers (m < 10**15,
    k <= 15), without a dot nothing is divided; either way there is one rounding. Others go to float().
    """
    head = text.codes[starts]
    minus = head == ord("-")
    lengths = ends - starts - (minus | (head == ord("+")))
    value, has_dot, places, good = _decimals(text, ends, np.minimum(lengths, 8))
    good &= (lengths > has_dot) & (lengths <= 16)
    wide = np.flatnonzero((lengths > 8) & good)
    if wide.size:
        dotted, more = has_dot[wide], lengths[wide] - 8
        upper, upper_dot, upper_places, upper_good = _decimals(text, ends[wide] - 8, more)
        value[wide] += upper * _POWERS.astype(np.uint64)[8 - dotted]
        places[wide] += upper_places + np.uint8(8) * upper_dot
        good[wide] &= upper_good & ~(dotted & upper_dot)
    numbers = value / _POWERS[places]
    np.negative(numbers, out=numbers, where=minus)
    slow = np.flatnonzero(~good)  # exponents, many digits, nan, inf, and what is no number
    if slow.size:
        tokens = [text.raw[a:b] for a, b in zip(starts[slow].tolist(), ends[slow].tolist(), strict=True)]
        if not _NUMBERS.fullmatch(b" ".join([*tokens, b""])):
            raise _BrokenBlockError
        numbers[slow] = [float(token) for token in tokens]
    return numbers


def _columns(text: _Text, starts: Array, ends: Array, rules: _Rules) -> Array:
    """Return feature indices counted from 0, int32."""
    lengths = ends - starts
    values, good = _digits(_load(text, ends, np.minimum(lengths, 8)))
    good &= lengths <= 8
    for i in np.flatnonzero(~good).tolist():
        token = text.raw[starts[i] : ends[i]]
        if not re.fullmatch(rb"\d{1,19}", token):  # 19 digits: fits in uint64
            raise _BrokenBlockError
        values[i] = int(token)
    first = 0 if rules.zero_based else 1
    if values.size and (values.min() < first or values.max() > rules.last_index):
        raise _BrokenBlockError
    return values.astype(np.int32) - np.int32(first)


def _split(text: _Text) -> tuple[Array, Array, Array, Array, Array]:
    """Return starts, ends and is-key of all tokens; first token and number of tokens of each line."""
    edges = np.flatnonzero((text.codes[15:] <= ord(" ")) | (text.codes[15:] == ord(":"))) + 15
    kinds = text.codes[edges]
    colon, newline = kinds == ord(":"), kinds == ord("\n")
    before, after, filled = colon[:-1], colon[1:], np.diff(edges) > 1
    if not (colon | newline | (kinds == ord(" "))).all():
        raise _BrokenBlockError  # a control character
    if (before & after).any() or (~filled & (before | after)).any():
        raise _BrokenBlockError  # 3:4:5, or nothing on one side of a colon
    starts, ends, is_key = edges[:-1][filled] + 1, edges[1:][filled], after[filled]
    tokens_before = np.searchsorted(starts, edges[newline])
    firsts, counts = tokens_before[:-1], np.diff(tokens_before)
    firsts_used, bare = firsts[counts > 0], ~(is_key | before[filled])
    if bare.sum() != firsts_used.size or not bare[firsts_used].all():
        raise _BrokenBlockError  # a label is missing, or a word is neither a label nor index:value
    return starts, ends, is_key, firsts, counts


def _lines_with_qid(text: _Text, starts: Array, ends: Array, is_key: Array, seconds: Array) -> Array:
    """Return which of the lines' second tokens are the word qid before a colon."""
    at = starts[seconds]
    spelled = [text.codes[at + i] == letter for i, letter in enumerate(b"qid")]
    return np.logical_and.reduce([is_key[seconds], ends[seconds] - at == 3, *spelled])


def _parse(block: bytes, rules: _Rules, part: _Part) -> None:
    """Add the documents of a block of whole lines to the part; the fast pass."""
    if b"\r" in block and block.count(b"\r") != block.count(b"\r\n"):
        raise _BrokenBlockError  # lines that end in \r alone would run into one, or into a comment
    halves = [line.partition(b"#") for line in block.split(b"\n")] if b"#" in block else []
    block = b"\n".join([half[0] for half in halves]) if halves else block
    raw = _PAD + block.translate(_PLAIN_ENDS)
    text = _Text(raw, np.frombuffer(raw, np.uint8), np.ndarray((len(raw) - 7,), "<u8", raw, 0, (1,)))
    starts, ends, is_key, firsts, counts = _split(text)
    lines = np.flatnonzero(counts)
    if not lines.size:
        return
    firsts, counts = firsts[lines], counts[lines]
    seconds = firsts[counts > 1] + 1
    qids = seconds[_lines_with_qid(text, starts, ends, is_key, seconds)]
    has_qid = qids.size > 0
    if qids.size not in (0, lines.size) or part.has_qid not in (None, has_qid):
        raise _BrokenBlockError  # a qid in some lines only
    is_key[qids] = False
    keys = np.flatnonzero(is_key)
    labels = _numbers(text, starts[firsts], ends[firsts])
    indices = _columns(text, starts[keys], ends[keys], rules)
    data = _numbers(text, ends[keys] + 1, ends[keys + 1])
    try:
        with np.errstate(over="raise"):
            data = data.astype(rules.dtype, copy=False)
    except FloatingPointError:
        raise _BrokenBlockError from None
    part.has_qid = has_qid
    part.append((counts - 1) // 2 - has_qid, indices, data)
    part.labels.append(labels)
    ids = [raw[a:b] for a, b in zip(starts[qids + 1].tolist(), ends[qids + 1].tolist(), strict=True)]
    part.runs += [(value, sum(1 for _ in run)) for value, run in itertools.groupby(ids)]
    if rules.comments:
        notes = [halves[i][2].strip() for i in lines.tolist()] if halves else [b""] * lines.size
        part.comments += [note.decode(errors="backslashreplace") for note in notes]


def _show(text: bytes, length: int) -> str:
    shown = text[: length + 1].decode(errors="backslashreplace")
    return repr(shown if len(shown) <= length else shown[: length - 3] + "...")


def _feature_fault(token: bytes, rules: _Rules, seen: set[int]) -> str:
    """Return what is wrong with one index:value, or nothing."""
    shown, (index, _, value) = _show(token, 40), token.partition(b":")
    if not index or not value or b":" in value:
        return f"{shown} is not index:value"
    if index == b"qid":
        return f"{shown} is not right behind the label, or is a second qid,"
    if not re.fullmatch(rb"\d+", index):
        return f"{_show(index, 40)} is not a feature index (a whole number)"
    column = int(index) if len(index) < 20 else _MAX_INDEX + 1
    if column < 1 and not rules.zero_based:
        return "index 0 (pass zero_based=True if the first feature of this file is 0)"
    if column > rules.last_index:
        limit = "an int32" if rules.n_features is None else f"n_features={rules.n_features}"
        return f"index {_show(index, 40)} is above {rules.last_index}, the last that {limit} allows,"
    if column in seen:
        return f"index {column} comes twice"
    seen.add(column)
    if not re.fullmatch(_NUMBER, value):
        return f"{_show(value, 40)} is not a number"
    with np.errstate(over="ignore"):
        fits = np.isinf(float(value)) or not np.isinf(rules.dtype.type(float(value)))
    return "" if fits else f"{_show(value, 40)} does not fit in {rules.dtype}"


def _fault(line: bytes, rules: _Rules, has_qid: bool | None) -> str:
    """Return what is wrong with a line that is not blank and has no comment, or nothing."""
    if control := re.search(rb"[\x00-\x08\x0b-\x1f]", line):
        return f"byte 0x{control[0][0]:02x}: this is not plain text with line ends \\n or \\r\\n,"
    label, *features = line.split()
    if b":" in label:
        return f"no label before {_show(label, 40)}"
    if not re.fullmatch(_NUMBER, label):
        return f"{_show(label, 40)} is not a number"
    found = bool(features) and features[0].startswith(b"qid:")
    if has_qid is not None and found != has_qid:
        return "a qid, but the lines before have none," if found else "no qid, but the lines before have one,"
    if found and (len(features[0]) == 4 or features[0].count(b":") > 1):
        return f"{_show(features[0], 40)} is not qid:ID"
    seen: set[int] = set()
    return next(filter(None, (_feature_fault(token, rules, seen) for token in features[found:])), "")


def _raise_fault(block: bytes, first_line: int, rules: _Rules, part: _Part) -> None:
    """Raise the error of the first broken line of a block that the fast pass refused."""
    has_qid = part.has_qid
    for number, line in enumerate(block.split(b"\n"), first_line):
        line = line.removesuffix(b"\r")
        data = b"\r" if b"\r" in line else line.partition(b"#")[0]
        if not data.strip(b" \t"):
            continue
        if fault := _fault(data, rules, has_qid):
            raise ValueError(f"{part.name}, line {number}: {fault} in {_show(line, 60)}; {_FORMAT}")
        has_qid = b"qid:" in data
    raise AssertionError(f"{part.name}, lines {first_line} to {number}: refused without a reason; report it")


def _make_rules(n_features: Any, sparse: Any, dtype: Any, zero_based: Any, comments: bool = False) -> _Rules:
    """Check the reading options."""
    whole = isinstance(n_features, (int, np.integer)) and not isinstance(n_features, bool)
    if n_features is not None and not (whole and 1 <= n_features <= _MAX_INDEX):
        raise ValueError(f"n_features must be None or a whole number from 1 to {_MAX_INDEX}; got {n_features!r}")
    if not (isinstance(sparse, (bool, np.bool)) or (isinstance(sparse, str) and sparse == "auto")):
        raise ValueError(f"sparse must be 'auto', True or False; got {sparse!r}")
    if not isinstance(zero_based, (bool, np.bool)):
        raise ValueError(f"zero_based must be True or False (no guess is made); got {zero_based!r}")
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be numpy.float64 or numpy.float32; got {dtype!r}")
    limit = None if n_features is None else int(n_features)
    return _Rules(limit, bool(zero_based), np.dtype(dtype), comments)


def _blocks(name: str) -> Iterator[bytes]:
    """Yield whole lines, some megabytes at a time; gzip is known by its first bytes, not by its name."""
    with open(name, "rb") as raw, contextlib.ExitStack() as stack:
        zipped = raw.peek(2)[:2] == b"\x1f\x8b"
        stream = stack.enter_context(gzip.GzipFile(fileobj=raw)) if zipped else raw
        try:
            while block := stream.read(_BLOCK):
                block += stream.readline()
                yield block if block.endswith(b"\n") else block + b"\n"
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            message = f"{name}: the gzip data is damaged or cut off ({error}); copy or download the file again"
            raise ValueError(message) from error


def _read_part(path: PathLike, rules: _Rules) -> _Part:
    part, line = _Part(os.fspath(path), rules.dtype), 1
    if os.path.isdir(path):
        message = f"{part.name} is a folder; read_letor reads one file, read_letor_folds a folder of folds"
        raise IsADirectoryError(message)
    for block in _blocks(part.name):
        block = block.removeprefix(b"\xef\xbb\xbf") if line == 1 else block  # a byte order mark
        try:
            _parse(block, rules, part)
        except _BrokenBlockError:
            _raise_fault(block, line, rules, part)
        line += block.count(b"\n")
    if not part.rows:
        raise ValueError(f"{part.name} holds no documents ({line - 1} lines); {_FORMAT}")
    return part


class Ranking(NamedTuple):
    """Documents of many queries, one row each.

    Attributes
    ----------
    X : ndarray or scipy.sparse.csr_matrix, shape (n_documents, n_features), float64 or float32
        Features.
    y : ndarray, shape (n_documents,), float64
        Relevance labels.
    qid : ndarray, shape (n_documents,), int64 or str
        Query of each document.
    """

    X: npt.NDArray[Any] | sp.csr_matrix
    y: npt.NDArray[np.float64]
    qid: npt.NDArray[Any]


class Fold(NamedTuple):
    """One fold of a cross-validation that was cut in advance.

    Attributes
    ----------
    name : str
        Name of the fold's folder.
    train, test : Ranking
        Documents to learn from, and to measure on.
    validation : Ranking or None
        Documents to tune on; None where the fold has no such file.
    """

    name: str
    train: Ranking
    validation: Ranking | None
    test: Ranking


def _read_sizes(source: PathLike | npt.ArrayLike) -> tuple[str, list[int]]:
    """Return what to call the query sizes in errors, and the sizes."""
    if not isinstance(source, (str, os.PathLike)):
        sizes = np.asarray(source)
        if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 1).any():
            raise ValueError(f"sizes must be whole numbers >= 1, one for each query, or a path; got {source!r}")
        return "sizes", sizes.tolist()
    lines = Path(source).read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        if line.strip() and not re.fullmatch(rb"0*[1-9]\d{0,15}", line.strip()):
            message = f"{os.fspath(source)}, line {number}: expected one query size >= 1, got {_show(line, 40)}"
            raise ValueError(message)
    return os.fspath(source), [int(line) for line in lines if line.strip()]


def _find_sizes(name: str) -> str | None:
    stems = dict.fromkeys([name, name.removesuffix(".gz")])
    return next((s + end for s in stems for end in (".query", ".group") if os.path.isfile(s + end)), None)


def _apply_sizes(part: _Part, source: Sizes) -> None:
    """Number the queries by their sizes, or check the sizes against the qids of the lines."""
    source = _find_sizes(part.name) if source is None else source
    if source is None:
        if part.has_qid:
            return
        message = f"{part.name}: no line has a qid, and there is no {part.name}.query or .group; pass sizes="
        raise ValueError(message)
    name, sizes = _read_sizes(source)
    if sum(sizes) != part.rows:
        message = f"{name}: the {len(sizes)} query sizes sum to {sum(sizes)}, but {part.name} has {part.rows}"
        raise ValueError(f"{message} documents; they belong to different files or one is cut off")
    if not part.has_qid:
        part.runs = [(b"%d" % i, size) for i, size in enumerate(sizes)]
        return
    runs = [sum(n for _, n in run) for _, run in itertools.groupby(part.runs, key=lambda run: run[0])]
    if runs != sizes:
        i = next(i for i, pair in enumerate(zip(runs, sizes, strict=False)) if pair[0] != pair[1])
        message = f"{name}: query {i + 1} has size {sizes[i]}, but by the qids of {part.name} it has {runs[i]}"
        raise ValueError(f"{message} documents; remove or correct the one that is wrong")


def _is_int64(text: bytes) -> bool:
    return bool(re.fullmatch(rb"[+-]?\d{1,4000}", text)) and -(2**63) <= int(text) < 2**63


def _dense(part: _Part, width: int) -> Array:
    data, shape = part.data.finish(), (part.rows, width)
    if part.regular == width:
        return data.reshape(shape)
    try:
        X = np.zeros(shape, data.dtype)
    except (MemoryError, ValueError):  # ValueError: more bytes than can be addressed
        message = f"a dense array of {shape[0]} x {shape[1]} features does not fit in memory; pass sparse=True"
        raise MemoryError(message) from None
    if part.regular is not None:
        X[:, : part.regular] = data.reshape(part.rows, part.regular)
        return X
    indices, row, start = part.indices.finish(), 0, 0
    for counts in part.counts:  # block by block, for the row numbers of all values would be large
        rows = np.repeat(np.arange(row, row + len(counts)), counts)
        listed = slice(start, start + rows.size)
        X[rows, indices[listed]] = data[listed]
        row, start = row + len(counts), listed.stop
    return X


def _csr(part: _Part, width: int) -> sp.csr_matrix:
    from scipy import sparse as sp

    columns = part.indices.finish()
    if part.regular is not None:
        columns = np.tile(np.arange(part.regular, dtype=np.int32), part.rows)
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(part.counts))])
    return sp.csr_matrix((part.data.finish(), columns, indptr), shape=(part.rows, width))


def _rankings(parts: list[_Part], rules: _Rules, sparse: Sparse) -> list[Ranking]:
    """Return the parts with one number of features, one kind of array and one kind of qid for all."""
    width = rules.n_features or max(part.width for part in parts)
    cells, stored = sum(part.rows for part in parts) * width, sum(part.data.size for part in parts)
    dense = 2 * stored >= cells if sparse == "auto" else not sparse
    whole = all(_is_int64(text) for part in parts for text, _ in part.runs)
    rankings = []
    for part in parts:
        X = _dense(part, width) if dense else _csr(part, width)
        texts, counts = zip(*part.runs, strict=True)
        ids = np.array([int(t) if whole else t.decode(errors="backslashreplace") for t in texts])
        rankings.append(Ranking(X, np.concatenate(part.labels), np.repeat(ids, counts)))
    return rankings


@overload
def read_letor(
    path: PathLike,
    *,
    sizes: Sizes = None,
    n_features: int | None = None,
    sparse: Sparse = "auto",
    dtype: npt.DTypeLike = np.float64,
    zero_based: bool = False,
    comments: Literal[False] = False,
) -> Ranking: ...
@overload
def read_letor(
    path: PathLike,
    *,
    sizes: Sizes = None,
    n_features: int | None = None,
    sparse: Sparse = "auto",
    dtype: npt.DTypeLike = np.float64,
    zero_based: bool = False,
    comments: Literal[True],
) -> tuple[Array | sp.csr_matrix, Array, Array, list[str]]: ...
def read_letor(
    path: PathLike,
    *,
    sizes: Sizes = None,
    n_features: int | None = None,
    sparse: Sparse = "auto",
    dtype: npt.DTypeLike = np.float64,
    zero_based: bool = False,
    comments: bool = False,
) -> Ranking | tuple[Array | sp.csr_matrix, Array, Array, list[str]]:
    r"""Read one LETOR / SVMlight file: ``label qid:ID index:value ... # comment``, one document a line.

    Every number is exactly what ``float`` makes of its text (for float32 then rounded once more); labels
    and values may be ``nan`` or ``inf``. Features a line does not list are 0. Fields are separated by
    spaces or tabs, in any order of the indices; lines end in ``\n`` or ``\r\n``. Blank lines and lines
    with only a comment are no documents. Gzip data is recognized by content. Peak memory is that of the
    result and some 30 megabytes; for a dense result of lines that leave features out also 12 bytes for
    each value in the file.

    Parameters
    ----------
    path : str or os.PathLike
        File to read.
    sizes : str, os.PathLike or array of int, shape (n_queries,), optional
        Number of documents of each query, in the order of the lines; or a file with one such number a
        line. By default ``<path>.query`` or ``<path>.group`` if there is one (for ``x.gz`` also
        ``x.query`` and ``x.group``). Lines without qid need it, and their queries are numbered from 0.
        If the lines have qids, these are used and must agree with the sizes.
    n_features : int, optional
        Number of columns of X; by default as many as the largest index needs. Give it where several
        files must match: sparse files need not all use the last feature.
    sparse : {"auto", True, False}, default "auto"
        Return X as CSR matrix or as array; "auto" chooses the array if the file lists at least half of
        the n_documents · n_features values. CSR keeps zeros that the file lists.
    dtype : {numpy.float64, numpy.float32}, default numpy.float64
        Type of X.
    zero_based : bool, default False
        Whether the first feature has index 0 rather than 1. It is never guessed: a zero-based file need
        not use index 0, and a guess made file by file would shift its columns against the other files.
    comments : bool, default False
        Also return the comments.

    Returns
    -------
    Ranking or tuple
        ``(X, y, qid)``: y is float64; qid is int64 if all qids are whole numbers in its range, else str.
        With ``comments=True`` the tuple ``(X, y, qid, comments)``, one stripped str for each document
        (empty where there is none; bytes that are not UTF-8 are shown as ``\xff``).

    Raises
    ------
    ValueError
        If an option is wrong; a line is broken (the message names file, line and fault); an index is
        repeated in a line or outside its range; there are no documents; some lines have a qid and others
        not; sizes are needed and missing, or disagree with the lines; or gzip data is damaged.
    OSError
        If the file cannot be opened or is a folder.
    MemoryError
        If the dense array does not fit in memory.

    See Also
    --------
    read_letor_folds : Read files that must have the same columns.
    write_letor : Write such a file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.txt")
    ...     _ = path.write_text("2 qid:7 1:0.5 2:1 # doc a\n0 qid:7 2:3\n1 qid:9 1:nan\n")
    ...     X, y, qid = read_letor(path)
    >>> X
    array([[0.5, 1. ],
           [0. , 3. ],
           [nan, 0. ]])
    >>> y, qid
    (array([2., 0., 1.]), array([7, 7, 9]))
    """
    rules = _make_rules(n_features, sparse, dtype, zero_based, comments)
    part = _read_part(path, rules)
    _apply_sizes(part, sizes)
    ranking = _rankings([part], rules, sparse)[0]
    return (*ranking, part.comments) if comments else ranking


def _find_part(folder: Path, *stems: str) -> Path | None:
    paths = (folder / (stem + ending) for stem in stems for ending in (".txt", ".txt.gz"))
    return next((path for path in paths if path.is_file()), None)


def _find_folds(directory: Path) -> list[tuple[Path, list[Path | None]]]:
    """Return the folders of the folds in natural order, each with its train, validation and test file."""
    if not directory.is_dir():
        raise NotADirectoryError(f"{directory} is not a folder; expected one that holds Fold1, Fold2, ...")
    numbers = {f: re.fullmatch(r"fold[ _-]?(\d+)", f.name, re.I) for f in directory.iterdir() if f.is_dir()}
    folders = sorted((int(match[1]), folder) for folder, match in numbers.items() if match)
    if not folders:
        held = ", ".join(sorted(f.name for f in directory.iterdir())[:8]) or "nothing"
        raise FileNotFoundError(f"{directory} has no folders Fold1, Fold2, ... (or fold1, ...); it has {held}")
    found = []
    for _, folder in folders:
        train, test = _find_part(folder, "train"), _find_part(folder, "test")
        if train is None or test is None:
            missing = "train" if train is None else "test"
            raise FileNotFoundError(f"{folder} has neither {missing}.txt nor {missing}.txt.gz; a fold needs one")
        found.append((folder, [train, _find_part(folder, "vali", "valid", "validation"), test]))
    return found


def read_letor_folds(
    directory: PathLike,
    *,
    n_features: int | None = None,
    sparse: Sparse = "auto",
    dtype: npt.DTypeLike = np.float64,
    zero_based: bool = False,
) -> list[Fold]:
    r"""Read folds cut in advance: ``Fold1/train.txt``, ``Fold1/vali.txt``, ``Fold1/test.txt``, ``Fold2/...``.

    All parts of all folds get the same number of features, all are arrays or all CSR, and all qids are
    int64 or all str. Folders may also be named ``fold1``, ``fold_1`` or ``fold-1``; the validation file
    ``valid.txt`` or ``validation.txt``, and it may be absent; any file may end in ``.txt.gz``. Lines
    without qid need a file of query sizes beside theirs, as in :func:`read_letor`.

    Parameters
    ----------
    directory : str or os.PathLike
        Folder that holds the folders of the folds.
    n_features : int, optional
        Number of columns; by default as many as the largest index of all files needs.
    sparse : {"auto", True, False}, default "auto"
        As in :func:`read_letor`; "auto" decides by the share of listed values in all files together.
    dtype : {numpy.float64, numpy.float32}, default numpy.float64
        Type of the features.
    zero_based : bool, default False
        Whether the first feature has index 0 rather than 1.

    Returns
    -------
    list of Fold
        In natural order: Fold10 follows Fold9.

    Raises
    ------
    NotADirectoryError
        If the directory is none.
    FileNotFoundError
        If it has no folds, or a fold has no train or no test file.
    ValueError
        As :func:`read_letor`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fold = pathlib.Path(folder, "Fold1")
    ...     fold.mkdir()
    ...     _ = (fold / "train.txt").write_text("1 qid:1 1:0.5 3:2\n0 qid:1 1:0.25\n")
    ...     _ = (fold / "test.txt").write_text("1 qid:2 1:0.5 2:0.5\n")
    ...     folds = read_letor_folds(folder)
    >>> [(fold.name, fold.train.X.shape, fold.validation, fold.test.X.shape) for fold in folds]
    [('Fold1', (2, 3), None, (1, 3))]
    """
    rules = _make_rules(n_features, sparse, dtype, zero_based)
    found = _find_folds(Path(directory))
    parts = [_read_part(path, rules) for _, files in found for path in files if path]
    for part in parts:
        _apply_sizes(part, None)
    rankings = iter(_rankings(parts, rules, sparse))
    folds = []
    for folder, files in found:
        train, validation, test = (next(rankings) if path else None for path in files)
        assert train is not None
        assert test is not None
        folds.append(Fold(folder.name, train, validation, test))
    return folds


def _number_text(value: float) -> str:
    return repr(value).removesuffix(".0")  # -0.0 becomes -0, which is read as -0.0


def _feature_rows(X: Any, first: int) -> tuple[int, Iterator[str]]:
    """Return the number of rows, and their index:value texts one after the other."""
    kept = X.tocsr(copy=True) if hasattr(X, "tocsr") else np.asarray(X)
    if kept.ndim != 2 or min(kept.shape) < 1 or kept.dtype.kind in "cmMSUV":
        raise ValueError(f"X must be 2-D numbers with >= 1 row and column; got {kept.dtype}, shape {kept.shape}")
    names = [f"{column}:" for column in range(first, kept.shape[1] + first)]
    if isinstance(kept, np.ndarray):
        listed: Iterator[tuple[Any, Any]] = ((names, row) for row in kept)
    else:
        kept.sum_duplicates()  # also sorts
        spans = itertools.pairwise(kept.indptr.tolist())
        listed = (([names[j] for j in kept.indices[a:b].tolist()], kept.data[a:b]) for a, b in spans)
    rows = ((used, row.astype(np.float64).tolist()) for used, row in listed)
    texts = (" ".join([n + _number_text(v) for n, v in zip(used, row, strict=True)]) for used, row in rows)
    return kept.shape[0], texts


def _qid_texts(qid: npt.ArrayLike) -> list[str]:
    values = np.asarray(qid)
    whole = values.dtype.kind in "iu"
    texts = [str(value) if whole else value for value in values.ravel().tolist()]
    for row, text in enumerate(texts):
        if not isinstance(text, str) or not re.fullmatch(r"[^\s:#\x00-\x1f]+", text):
            message = f"qid must be whole numbers, or non-empty str without spaces, ':' and '#'; got {text!r}"
            raise ValueError(f"{message} in row {row}")
    return texts


def write_letor(
    path: PathLike,
    X: Any,
    y: npt.ArrayLike,
    qid: npt.ArrayLike,
    *,
    comments: Sequence[str] | None = None,
    zero_based: bool = False,
) -> None:
    r"""Write one LETOR / SVMlight file that :func:`read_letor` reads back to the same numbers.

    A dense X is written with all its values, zeros too, as LETOR files are; of a sparse X the stored
    values are written, sorted by index. Numbers are the shortest texts that are read back as the same
    float64. The path then names either the complete new file or what it named before, also if
    writing fails: the text goes to a temporary file beside it that takes its place at the end.

    Parameters
    ----------
    path : str or os.PathLike
        File to write or replace; gzip if it ends in ``.gz``.
    X : array, data frame or scipy.sparse matrix, shape (n_documents, n_features)
        Features. A sparse X whose last columns are empty needs ``n_features`` to be read back.
    y : array of float, shape (n_documents,)
        Labels.
    qid : array of int or str, shape (n_documents,)
        Queries. If all are str that spell whole numbers, they are read back as int64.
    comments : sequence of str, length n_documents, optional
        Comments, one line each; read back without spaces around them.
    zero_based : bool, default False
        Whether the first feature gets index 0 rather than 1.

    Raises
    ------
    ValueError
        If lengths differ, there is nothing to write, X or y is not numeric, or a qid or comment would
        break its line.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.txt")
    ...     write_letor(path, [[0.1, 0], [2, 3]], [1, 0], [7, 7], comments=["doc a", ""])
    ...     print(path.read_text(), end="")
    1 qid:7 1:0.1 2:0 # doc a
    0 qid:7 1:2 2:3
    """
    n, features = _feature_rows(X, 0 if zero_based else 1)
    labels, qids = np.asarray(y, np.float64), _qid_texts(qid)
    notes = [""] * n if comments is None else list(comments)
    if labels.shape != (n,) or np.shape(qid) != (n,) or len(notes) != n:
        got = f"y has shape {labels.shape}, qid {np.shape(qid)}, and there are {len(notes)} comments"
        raise ValueError(f"X has {n} rows, so y and qid must be 1-D of length {n}, as comments; {got}")
    for row, note in enumerate(notes):
        if not isinstance(note, str) or re.search(r"[\r\n]", note):
            raise ValueError(f"comments must be str of one line; got {note!r} in row {row}")
    heads = (f"{_number_text(label)} qid:{text}" for label, text in zip(labels.tolist(), qids, strict=True))
    tails = (f" # {note}" if note else "" for note in notes)
    lines = zip(heads, features, tails, strict=True)
    _replace_file(path, (f"{a} {b}".rstrip(" ") + f"{c}\n" for a, b, c in lines))


def _replace_file(path: PathLike, lines: Iterator[str]) -> None:
    """Write lines to a temporary file beside the path, then put it there."""
    target = os.path.realpath(path)
    draft = f"{target}.{uuid.uuid4().hex}.tmp"
    try:
        with contextlib.ExitStack() as stack:
            raw = stack.enter_context(open(draft, "xb"))
            stream: Any = raw
            if target.endswith(".gz"):  # without name and time: the same data give the same bytes
                stream = stack.enter_context(gzip.GzipFile("", "wb", fileobj=raw, mtime=0))
            stream.writelines(line.encode() for line in lines)
        os.replace(draft, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)
        raise
