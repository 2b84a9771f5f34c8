"""Find out why a block of LETOR lines is invalid, and raise an error that names the line and its fault.

This is the slow way to read a line. It runs only after the fast parser has refused a block.
"""

from __future__ import annotations

import re
from typing import NoReturn

import numpy as np

from boostrank.datasets.letor_format import LINE_FORM, MAX_INDEX, NUMBER, ReadOptions, quote


def raise_fault(block: bytes, first_line: int, options: ReadOptions, name: str, has_qid: bool | None) -> NoReturn:
    """Raise ValueError for the first invalid line of a block that the fast parser refused.

    Parameters
    ----------
    block : bytes
        Complete lines.
    first_line : int
        Number of the first line of the block in its file, counted from 1.
    options : ReadOptions
    name : str
        Name of the file.
    has_qid : bool or None
        Whether the documents before this block have a qid; None if there are none.
    """
    lines = block.split(b"\n")
    for number, ended in enumerate(lines, first_line):
        line = ended.removesuffix(b"\r")
        content = b"\r" if b"\r" in line else line.partition(b"#")[0]
        if not content.strip(b" \t"):
            continue
        if fault := _line_fault(content, options, has_qid):
            raise ValueError(f"{name}, line {number}: {fault} (in the line {quote(line, 60)}); {LINE_FORM}")
        has_qid = b"qid:" in content
    last_line = first_line + len(lines) - 1
    raise AssertionError(
        f"{name}: the fast parser refused lines {first_line} to {last_line}, but each line is valid; "
        "please report this as a defect of boostrank"
    )


def _line_fault(line: bytes, options: ReadOptions, has_qid: bool | None) -> str:
    """Describe the fault of a line that is not blank and has no comment; empty if it is valid."""
    if control := re.search(rb"[\x00-\x08\x0b-\x1f]", line):
        return f"it has the byte 0x{control[0][0]:02x}, so this is not plain text with line ends \\n or \\r\\n"
    label, *features = line.split()
    if b":" in label:
        return f"there is no label before {quote(label, 40)}"
    if not re.fullmatch(NUMBER, label):
        return f"{quote(label, 40)} is not a number"
    found = bool(features) and features[0].startswith(b"qid:")
    if has_qid is not None and found != has_qid:
        return "it has a qid, but the lines before have none" if found else "it has no qid, but the lines before do"
    if found and (len(features[0]) == 4 or features[0].count(b":") > 1):
        return f"{quote(features[0], 40)} is not qid:ID"
    seen: set[int] = set()
    return next(filter(None, (_feature_fault(token, options, seen) for token in features[found:])), "")


def _feature_fault(token: bytes, options: ReadOptions, seen: set[int]) -> str:
    """Describe the fault of one index:value, or return an empty text; add its index to `seen`."""
    shown, (index, _, value) = quote(token, 40), token.partition(b":")
    if not index or not value or b":" in value:
        return f"{shown} is not index:value"
    if index == b"qid":
        return f"{shown} does not follow the label directly, or is a second qid"
    if not re.fullmatch(rb"\d+", index):
        return f"{quote(index, 40)} is not a feature index, which must be an integer"
    column = int(index) if len(index) < 20 else MAX_INDEX + 1
    if column < 1 and not options.zero_based:
        return "it has the index 0; pass zero_based=True if the first feature of this file has index 0"
    if column > options.max_index:
        limit = "an int32" if options.n_features is None else f"n_features={options.n_features}"
        return f"index {quote(index, 40)} is above {options.max_index}, the largest index that {limit} allows"
    if column in seen:
        return f"index {column} occurs twice"
    seen.add(column)
    if not re.fullmatch(NUMBER, value):
        return f"{quote(value, 40)} is not a number"
    with np.errstate(over="ignore"):
        fits = np.isinf(float(value)) or not np.isinf(options.dtype.type(float(value)))
    return "" if fits else f"{quote(value, 40)} is too large for {options.dtype}"
