"""Parse blocks of LETOR lines.

A block of lines is read as one array of bytes: separators are found and numbers computed for all its tokens together.
The fast pass only accepts or refuses a block; a refused block is read again line by line to name the line that is
broken.
"""

from __future__ import annotations

import contextlib
import gzip
import itertools
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
PathLike = str | os.PathLike[str]

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
class Rules:
    """What the lines of a file must keep to, and what to read of them."""

    n_features: int | None
    zero_based: bool
    dtype: Any
    comments: bool = False

    @property
    def last_index(self) -> int:
        """Largest index that a feature may have."""
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


class Part:
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


def _columns(text: _Text, starts: Array, ends: Array, rules: Rules) -> Array:
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


def _parse(block: bytes, rules: Rules, part: Part) -> None:
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


def show(text: bytes, length: int) -> str:
    """Text for an error message, in quotes, shortened to `length` characters."""
    shown = text[: length + 1].decode(errors="backslashreplace")
    return repr(shown if len(shown) <= length else shown[: length - 3] + "...")


def _feature_fault(token: bytes, rules: Rules, seen: set[int]) -> str:
    """Return what is wrong with one index:value, or nothing."""
    shown, (index, _, value) = show(token, 40), token.partition(b":")
    if not index or not value or b":" in value:
        return f"{shown} is not index:value"
    if index == b"qid":
        return f"{shown} is not right behind the label, or is a second qid,"
    if not re.fullmatch(rb"\d+", index):
        return f"{show(index, 40)} is not a feature index (a whole number)"
    column = int(index) if len(index) < 20 else _MAX_INDEX + 1
    if column < 1 and not rules.zero_based:
        return "index 0 (pass zero_based=True if the first feature of this file is 0)"
    if column > rules.last_index:
        limit = "an int32" if rules.n_features is None else f"n_features={rules.n_features}"
        return f"index {show(index, 40)} is above {rules.last_index}, the last that {limit} allows,"
    if column in seen:
        return f"index {column} comes twice"
    seen.add(column)
    if not re.fullmatch(_NUMBER, value):
        return f"{show(value, 40)} is not a number"
    with np.errstate(over="ignore"):
        fits = np.isinf(float(value)) or not np.isinf(rules.dtype.type(float(value)))
    return "" if fits else f"{show(value, 40)} does not fit in {rules.dtype}"


def _fault(line: bytes, rules: Rules, has_qid: bool | None) -> str:
    """Return what is wrong with a line that is not blank and has no comment, or nothing."""
    if control := re.search(rb"[\x00-\x08\x0b-\x1f]", line):
        return f"byte 0x{control[0][0]:02x}: this is not plain text with line ends \\n or \\r\\n,"
    label, *features = line.split()
    if b":" in label:
        return f"no label before {show(label, 40)}"
    if not re.fullmatch(_NUMBER, label):
        return f"{show(label, 40)} is not a number"
    found = bool(features) and features[0].startswith(b"qid:")
    if has_qid is not None and found != has_qid:
        return "a qid, but the lines before have none," if found else "no qid, but the lines before have one,"
    if found and (len(features[0]) == 4 or features[0].count(b":") > 1):
        return f"{show(features[0], 40)} is not qid:ID"
    seen: set[int] = set()
    return next(filter(None, (_feature_fault(token, rules, seen) for token in features[found:])), "")


def _raise_fault(block: bytes, first_line: int, rules: Rules, part: Part) -> None:
    """Raise the error of the first broken line of a block that the fast pass refused."""
    has_qid = part.has_qid
    for number, line in enumerate(block.split(b"\n"), first_line):
        line = line.removesuffix(b"\r")
        data = b"\r" if b"\r" in line else line.partition(b"#")[0]
        if not data.strip(b" \t"):
            continue
        if fault := _fault(data, rules, has_qid):
            raise ValueError(f"{part.name}, line {number}: {fault} in {show(line, 60)}; {_FORMAT}")
        has_qid = b"qid:" in data
    raise AssertionError(f"{part.name}, lines {first_line} to {number}: refused without a reason; report it")


def make_rules(n_features: Any, sparse: Any, dtype: Any, zero_based: Any, comments: bool = False) -> Rules:
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
    return Rules(limit, bool(zero_based), np.dtype(dtype), comments)


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


def read_part(path: PathLike, rules: Rules) -> Part:
    """Parse a whole file, block by block."""
    part, line = Part(os.fspath(path), rules.dtype), 1
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
