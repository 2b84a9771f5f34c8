"""Parse blocks of LETOR lines with vectorized operations.

A block of complete lines is read as one array of bytes: the separators of all its tokens are found together, and so
are the numbers.
"""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

import numpy as np

from boostrank.datasets.letor_format import NUMBER, Array, ReadOptions
from boostrank.datasets.parsed_file import ParsedBlock, RefusedBlockError, as_type, regular_width, sort_columns

_BLANKS_TO_SPACES = bytes.maketrans(b"\t\r", b"  ")
_NUMBERS = re.compile(rb"(?:%b )*+" % NUMBER)
_POWERS = 10.0 ** np.arange(17)
_PADDING = b" " * 15 + b"\n"  # So that there are 16 bytes to load before the end of the first token.


class _Text(NamedTuple):
    """The bytes of a block, in three forms.

    Attributes
    ----------
    raw : bytes
    codes : ndarray of uint8
        One per byte.
    words : ndarray of uint64
        The eight bytes that begin at each byte; the first of them is the lowest.
    """

    raw: bytes
    codes: Array
    words: Array


def parse_with_numpy(block: bytes, options: ReadOptions) -> ParsedBlock:
    """Parse complete lines with vectorized operations; raise RefusedBlockError if a line is invalid."""
    if b"\r" in block and block.count(b"\r") != block.count(b"\r\n"):
        raise RefusedBlockError  # A line that ends in \r alone would be joined to the next line or to a comment.
    n_lines = block.count(b"\n")
    halves = [line.partition(b"#") for line in block.split(b"\n")] if b"#" in block else []
    block = b"\n".join([half[0] for half in halves]) if halves else block
    raw = _PADDING + block.translate(_BLANKS_TO_SPACES)
    text = _Text(raw, np.frombuffer(raw, np.uint8), np.ndarray((len(raw) - 7,), "<u8", raw, 0, (1,)))
    starts, ends, is_key, firsts, counts = _split(text)
    lines = np.flatnonzero(counts)
    if not lines.size:
        return ParsedBlock.empty(options.dtype, n_lines)
    firsts, counts = firsts[lines], counts[lines]
    seconds = firsts[counts > 1] + 1
    qids = seconds[_is_qid(text, starts, ends, is_key, seconds)]
    has_qid = qids.size > 0
    if qids.size not in (0, lines.size):
        raise RefusedBlockError  # Some lines have a qid, others have none.
    is_key[qids] = False
    keys = np.flatnonzero(is_key)
    labels = _numbers(text, starts[firsts], ends[firsts])
    indices = _columns(text, starts[keys], ends[keys], options)
    data = _numbers(text, ends[keys] + 1, ends[keys + 1])
    data = as_type(data, options.dtype)
    sizes = (counts - 1) // 2 - has_qid
    indices, data = sort_columns(sizes, indices, data)
    ids = [raw[a:b] for a, b in zip(starts[qids + 1].tolist(), ends[qids + 1].tolist(), strict=True)]
    qid_runs = [(value, sum(1 for _ in run)) for value, run in itertools.groupby(ids)]
    comments: list[str] = []
    if options.comments:
        texts = [halves[i][2].strip() for i in lines.tolist()] if halves else [b""] * lines.size
        comments = [text.decode(errors="backslashreplace") for text in texts]
    return ParsedBlock(
        labels, sizes, indices, data, regular_width(sizes, indices), has_qid, qid_runs, comments, n_lines
    )


def _split(text: _Text) -> tuple[Array, Array, Array, Array, Array]:
    """Split a block into tokens.

    Returns
    -------
    starts, ends : ndarray of int, shape (n_tokens,)
        Where each token starts, and one more than where it ends.
    is_key : ndarray of bool, shape (n_tokens,)
        Whether a colon follows the token.
    firsts, counts : ndarray of int, shape (n_lines,)
        The first token of each line, and the number of its tokens.
    """
    codes = text.codes
    edges = np.flatnonzero((codes[15:] <= ord(" ")) | (codes[15:] == ord(":"))) + 15
    kinds = codes[edges]
    colon, newline = kinds == ord(":"), kinds == ord("\n")
    before, after, filled = colon[:-1], colon[1:], np.diff(edges) > 1
    if not (colon | newline | (kinds == ord(" "))).all():
        raise RefusedBlockError  # A control character.
    if (before & after).any() or (~filled & (before | after)).any():
        raise RefusedBlockError  # A token such as 3:4:5, or nothing on one side of a colon.
    starts, ends, is_key = edges[:-1][filled] + 1, edges[1:][filled], after[filled]
    tokens_before = np.searchsorted(starts, edges[newline])
    firsts, counts = tokens_before[:-1], np.diff(tokens_before)
    firsts_used, without_colon = firsts[counts > 0], ~(is_key | before[filled])
    if without_colon.sum() != firsts_used.size or not without_colon[firsts_used].all():
        raise RefusedBlockError  # A label is missing, or a word is neither a label nor index:value.
    return starts, ends, is_key, firsts, counts


def _is_qid(text: _Text, starts: Array, ends: Array, is_key: Array, seconds: Array) -> Array:
    """Return whether each of the tokens `seconds` is the word qid before a colon."""
    at = starts[seconds]
    letters_agree = [text.codes[at + i] == letter for i, letter in enumerate(b"qid")]
    return np.logical_and.reduce([is_key[seconds], ends[seconds] - at == 3, *letters_agree])


def _columns(text: _Text, starts: Array, ends: Array, options: ReadOptions) -> Array:
    """Return the columns that the index tokens name, counted from 0, int32."""
    lengths = ends - starts
    values, is_valid = _parse_digits(_load(text, ends, np.minimum(lengths, 8)))
    is_valid &= lengths <= 8
    for i in np.flatnonzero(~is_valid).tolist():
        token = text.raw[starts[i] : ends[i]]
        if not re.fullmatch(rb"\d{1,19}", token):  # 19 digits always fit in uint64.
            raise RefusedBlockError
        values[i] = int(token)
    first = 0 if options.zero_based else 1
    if values.size and (values.min() < first or values.max() > options.max_index):
        raise RefusedBlockError
    return values.astype(np.int32) - np.int32(first)


def _numbers(text: _Text, starts: Array, ends: Array) -> Array:
    """Return the numbers that tokens spell, each with all bits as ``float`` gives them.

    The fast way takes tokens of up to 16 bytes after the sign. With a dot these are m / 10**k for two numbers that
    float64 holds exactly (m < 10**15, k <= 15); without a dot nothing is divided. Either way there is one rounding.
    All other tokens, such as those with an exponent, go through ``float``.
    """
    head = text.codes[starts]
    is_negative = head == ord("-")
    lengths = ends - starts - (is_negative | (head == ord("+")))
    value, has_dot, places, is_valid = _parse_decimals(text, ends, np.minimum(lengths, 8))
    is_valid &= (lengths > has_dot) & (lengths <= 16)
    wide = np.flatnonzero((lengths > 8) & is_valid)
    if wide.size:
        lower_dot, upper_lengths = has_dot[wide], lengths[wide] - 8
        upper, upper_dot, upper_places, upper_valid = _parse_decimals(text, ends[wide] - 8, upper_lengths)
        value[wide] += upper * _POWERS.astype(np.uint64)[8 - lower_dot]
        places[wide] += upper_places + np.uint8(8) * upper_dot
        is_valid[wide] &= upper_valid & ~(lower_dot & upper_dot)
    numbers = value / _POWERS[places]
    np.negative(numbers, out=numbers, where=is_negative)
    slow = np.flatnonzero(~is_valid)  # Exponents, many digits, nan, inf, and tokens that are no numbers.
    if slow.size:
        tokens = [text.raw[a:b] for a, b in zip(starts[slow].tolist(), ends[slow].tolist(), strict=True)]
        if not _NUMBERS.fullmatch(b" ".join([*tokens, b""])):
            raise RefusedBlockError
        numbers[slow] = [float(token) for token in tokens]
    return numbers


def _load(text: _Text, ends: Array, lengths: Array) -> Array:
    """Return the last `lengths` <= 8 bytes before each end as one uint64, with zeros in front.

    The bytes are combined with "0" by exclusive or, so that the digits are the bytes 0 to 9.
    """
    unused = ((8 - lengths) * 8).astype(np.uint64)
    return ((text.words[ends - 8] ^ np.uint64(0x3030303030303030)) >> unused) << unused


def _parse_digits(word: Array) -> tuple[Array, Array]:
    """Return the number that 8 loaded bytes spell (the first digit is the lowest byte), and whether all are digits."""
    is_valid = ((word | (word + np.uint64(0x0606060606060606))) & np.uint64(0xF0F0F0F0F0F0F0F0)) == 0
    mask = np.uint64(0x00FF00FF00FF00FF)  # Combine neighbours: digits to pairs, pairs to fours, fours to eights.
    word = (word & mask) * np.uint64(10) + ((word >> np.uint64(8)) & mask)
    mask = np.uint64(0x0000FFFF0000FFFF)
    word = (word & mask) * np.uint64(100) + ((word >> np.uint64(16)) & mask)
    return (word & np.uint64(0xFFFFFFFF)) * np.uint64(10_000) + (word >> np.uint64(32)), is_valid


def _parse_decimals(text: _Text, ends: Array, lengths: Array) -> tuple[Array, Array, Array, Array]:
    """Parse the last `lengths` <= 8 bytes before each end: digits, of which one may be a dot.

    Returns
    -------
    value : ndarray of uint64
        The number that the digits spell without the dot.
    has_dot : ndarray of bool
    places : ndarray of uint8
        Number of digits after the dot.
    is_valid : ndarray of bool
        Whether there are only digits and at most one dot.
    """
    word, one, eight = _load(text, ends, lengths), np.uint64(1), np.uint64(8)
    # '.' ^ '0' is 0x1E, and bit 4 is 0 in all digits. `dot` is 1 in the byte of the first dot, and 0 without a dot.
    # A second dot is left among the bytes after the first one, where _parse_digits refuses it.
    dot = (word & np.uint64(0x1010101010101010)) >> np.uint64(4)
    is_valid = (word & (dot * np.uint64(0xFF))) == dot * np.uint64(0x1E)
    after = ~((dot << eight) - one)  # A mask of the bytes after the dot; without a dot, of no byte.
    has_dot = dot != 0
    value, all_digits = _parse_digits(((word & (dot - one)) << (has_dot * eight)) | (word & after))
    return value, has_dot, np.bitwise_count(after) >> 3, is_valid & all_digits
