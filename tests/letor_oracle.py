"""A slow, obvious parser of LETOR files, and helpers to write and compare such files."""

import re

import numpy as np
from scipy import sparse as sp

from boostrank.datasets import read_letor

NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:nan|inf|infinity)"
LABEL = re.compile(f"(?:{NUMBER})", re.I)
FEATURE = re.compile(f"([0-9]+):({NUMBER})", re.I)


def oracle_line(line, qids_so_far):
    """Parse one line: (label, qid or None, features), or None if it is blank; an invalid line fails
    an assertion."""
    assert "\r" not in line.removesuffix("\r")
    words = re.split("[ \t]+", line.removesuffix("\r").partition("#")[0].strip(" \t"))
    if words == [""]:
        return None
    assert LABEL.fullmatch(words[0])
    qid = re.fullmatch(r"qid:([^:\x00-\x20]+)", words[1]) if len(words) > 1 else None
    assert not qids_so_far or (qids_so_far[0] is None) == (qid is None)
    features = {}
    for word in words[2 if qid else 1 :]:
        match = FEATURE.fullmatch(word)
        assert match
        assert int(match[1]) in range(1, 2**31)
        assert int(match[1]) not in features
        features[int(match[1])] = float(match[2])
    return float(words[0]), qid and qid[1], features


def oracle(text):
    """Return the number of the first invalid line (or None), and the documents before it."""
    documents = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            document = oracle_line(line, [d[1] for d in documents])
        except AssertionError:
            return number, documents
        documents += [document] if document else []
    return None, documents


def same(a, b):
    """Whether two arrays have the same values bit for bit (-0.0 differs from 0.0); all nan are
    equal."""
    a, b = (x.toarray() if sp.issparse(x) else np.asarray(x) for x in (a, b))
    signs = np.isnan(a) | (np.signbit(a) == np.signbit(b))
    return (
        a.dtype == b.dtype
        and a.shape == b.shape
        and np.array_equal(a, b, equal_nan=True)
        and signs.all()
    )


def put(folder, content, name="data.txt"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def write_letor(path, X, y, qid):
    """Write all values with the digits that identify them."""
    rows = zip(y.tolist(), qid.tolist(), X.tolist(), strict=True)
    texts = (
        (f"{label} qid:{query}", [f"{i}:{value}" for i, value in enumerate(row, 1)])
        for label, query, row in rows
    )
    path.write_text("".join(" ".join([head, *features]) + "\n" for head, features in texts))


def read(folder, content, **options):
    return read_letor(put(folder, content), **options)
