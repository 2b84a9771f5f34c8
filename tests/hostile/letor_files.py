"""Hostile LETOR files: each with the labels, ids and features that it means, or the fault and its line."""

from __future__ import annotations

import gzip
from typing import NamedTuple

from hostile.outcomes import Fault

NAN, INF = float("nan"), float("inf")


class Rows(NamedTuple):
    """The meaning of a file."""

    y: list
    qid: list
    X: list


TWO = Rows([1.0, 0.0], [7, 7], [[0.5, 1.0], [0.0, 3.0]])
TEXT = b"1 qid:7 1:0.5 2:1\n0 qid:7 2:3\n"
FILES = {
    "plain": (TEXT, TWO),
    "windows-line-ends": (TEXT.replace(b"\n", b"\r\n"), TWO),
    "no-end-of-the-last-line": (TEXT[:-1], TWO),
    "blank-lines": (b"\n\n" + TEXT.replace(b"\n", b"\n  \n\t\n"), TWO),
    "tabs-and-many-spaces": (TEXT.replace(b" ", b" \t  "), TWO),
    "byte-order-mark": (b"\xef\xbb\xbf" + TEXT, TWO),
    "compressed": (gzip.compress(TEXT), TWO),
    "comments": (b"# head\n1 qid:7 1:0.5 2:1 # 9:9 qid:3\n0 qid:7 2:3#x\n", TWO),
    "turned-indices": (b"1 qid:7 2:1 1:0.5\n0 qid:7 2:3\n", TWO),
    "exponents": (b"1e0 qid:7 1:5E-1 2:+1\n-0 qid:7 2:.3e1\n", TWO),
    "explicit-zeros": (b"1 qid:7 1:0.5 2:1\n0 qid:7 1:-0 2:3\n", TWO),
    "nan-and-infinity": (
        b"1 qid:7 1:NaN 2:-inf\n0 qid:7 1:Infinity 2:0\n",
        Rows([1.0, 0.0], [7, 7], [[NAN, -INF], [INF, 0.0]]),
    ),
    "text-ids": (b"1 qid:a/b-c 1:1\n0 qid:A/b-c 1:2\n", Rows([1.0, 0.0], ["a/b-c", "A/b-c"], [[1.0], [2.0]])),
    "ids-with-leading-zeros": (b"1 qid:07 1:1\n0 qid:7 1:2\n", Rows([1.0, 0.0], ["07", "7"], [[1.0], [2.0]])),
    "ids-with-signs": (b"1 qid:+7 1:1\n0 qid:-7 1:2\n", Rows([1.0, 0.0], ["+7", "-7"], [[1.0], [2.0]])),
    "ids-beyond-int64": (
        b"1 qid:9223372036854775808 1:1\n0 qid:9223372036854775809 1:2\n",
        Rows([1.0, 0.0], ["9223372036854775808", "9223372036854775809"], [[1.0], [2.0]]),
    ),
    "ids-near-the-end-of-int64": (
        b"1 qid:9223372036854775807 1:1\n0 qid:-9223372036854775808 1:2\n",
        Rows([1.0, 0.0], [2**63 - 1, -(2**63)], [[1.0], [2.0]]),
    ),
    "interleaved-ids": (b"1 qid:2 1:1\n0 qid:1 1:2\n2 qid:2 1:3\n", Rows([1.0, 0, 2], [2, 1, 2], [[1.0], [2], [3]])),
    "accents": (
        "1 qid:\u00e9 1:1\n0 qid:e\u0301 1:2\n".encode(),
        Rows([1.0, 0], ["\u00e9", "e\u0301"], [[1.0], [2.0]]),
    ),
    "exact-decimals": (b"0.1 qid:7 1:0.30000000000000004 2:5e-324\n", Rows([0.1], [7], [[0.1 + 0.2, 5e-324]])),
    "many-digits": (b"1 qid:7 1:" + b"0" * 400 + b"1." + b"0" * 400 + b"1\n", Rows([1.0], [7], [[1.0]])),
    "empty": (b"", Fault("no documents")),
    "only-comments": (b"# 1 qid:1 1:1\n\n", Fault("no documents")),
    "no-ids": (b"1 1:1\n0 1:2\n", Fault("qid")),
    "ids-in-some-lines": (TEXT + b"1 1:1\n", Fault("line 3")),
    "ids-after-features": (b"1 1:1 qid:7\n", Fault("line 1")),
    "two-ids": (b"1 qid:7 qid:8 1:1\n", Fault("line 1")),
    "empty-id": (b"1 qid: 1:1\n", Fault("line 1")),
    "id-with-colon": (b"1 qid:a:b 1:1\n", Fault("line 1")),
    "no-label": (b"qid:7 1:1\n", Fault("line 1")),
    "label-that-is-no-number": (TEXT + b"high qid:7 1:1\n", Fault("line 3")),
    "label-with-comma": (b"1,5 qid:7 1:1\n", Fault("line 1")),
    "label-with-underscore": (b"1_0 qid:7 1:1\n", Fault("line 1")),
    "hexadecimal": (b"0x1 qid:7 1:1\n", Fault("line 1")),
    "value-that-is-no-number": (TEXT + b"1 qid:7 1:x\n", Fault("line 3")),
    "value-with-underscore": (b"1 qid:7 1:1_000\n", Fault("line 1")),
    "value-with-another-alphabet": ("1 qid:7 1:\u0661\n".encode(), Fault("line 1")),
    "no-value": (b"1 qid:7 1:\n", Fault("line 1")),
    "no-colon": (b"1 qid:7 5\n", Fault("line 1")),
    "two-colons": (b"1 qid:7 1:2:3\n", Fault("line 1")),
    "index-zero": (b"1 qid:7 0:1\n", Fault("line 1")),
    "negative-index": (b"1 qid:7 -1:1\n", Fault("line 1")),
    "index-twice": (TEXT + b"1 qid:7 1:1 1:2\n", Fault("line 3")),
    "index-twice-with-zeros": (b"1 qid:7 1:1 01:2\n", Fault("line 1")),
    "index-beyond-int32": (b"1 qid:7 2147483648:1\n", Fault("line 1")),
    "index-beyond-int64": (b"1 qid:7 9223372036854775809:1\n", Fault("line 1")),
    "index-that-is-no-number": (b"1 qid:7 a:1\n", Fault("line 1")),
    "nul-byte": (TEXT + b"1 qid:7\x00 1:1\n", Fault("line 3")),
    "old-mac-line-ends": (TEXT.replace(b"\n", b"\r"), Fault("line 1")),
    "two-bytes-per-letter": (TEXT.decode().encode("utf-16"), Fault("line 1")),
    "cut-compression": (gzip.compress(TEXT * 99)[:-9], Fault("damaged|cut")),
    "damaged-compression": (gzip.compress(TEXT)[:12] + b"\xff" * 8 + gzip.compress(TEXT)[20:], Fault("damaged|cut")),
}
