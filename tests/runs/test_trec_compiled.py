"""TREC files read in C: tables and errors are those of the parser in Python."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boostrank.kernels import library
from boostrank.runs import read_qrels, read_run
from boostrank.runs.trec_files import COLUMNS, parse_compiled
from boostrank.runs.trec_tables import number_documents, number_queries

needs_library = pytest.mark.skipif(
    not library.is_available(), reason="boostrank was installed without a C compiler"
)
IDS = [
    "q",
    "q1",
    "007",
    "7",
    "NA",
    "true",
    "d\u00e9",
    '"',
    "x" * 7,
    "x" * 8,
    "x" * 15,
    "x" * 16,
    "x" * 40,
    "d\0",
]
NUMBERS = [
    "1",
    "-2",
    "+3",
    "0",
    "2.5",
    "-.5",
    "5.",
    "1e3",
    "1e-400",
    "1e400",
    "nan",
    "inf",
    "True",
    "0x1",
    "1_0",
]
NUMBERS += [
    "--1",
    "123456789012345678",
    "1234567890123456789",
    "1.000000000000000055511151231",
    "1e",
    "1e+",
    "",
    "²",
]
BLANKS = [" ", "\t", "  ", " \t ", "\x0b", "\u00a0"]
ENDS = ["\n", "\r\n", "\n\n", " \n", "\r", "\r\r\n", ""]


def as_bytes(content):
    """The content of a file in the form of the parser."""
    return np.frombuffer(content + b"\0", np.uint8)


def outcome(read, path, monkeypatch, value):
    monkeypatch.setenv("BOOSTRANK_COMPILED", value)
    try:
        return read(path)
    except ValueError as error:
        return str(error)


@pytest.mark.slow
@needs_library
@settings(max_examples=80)
@given(data=st.data(), kind=st.sampled_from(["run", "qrels"]))
def test_tables_and_errors_are_those_of_python(data, kind, tmp_path_factory):
    read, number = (read_run, "score") if kind == "run" else (read_qrels, "relevance")
    rare = data.draw(st.booleans())
    ids, blanks, ends = (
        st.sampled_from(IDS),
        st.sampled_from(BLANKS[: 6 if rare else 4]),
        st.sampled_from(ENDS[: 7 if rare else 4]),
    )
    numbers = st.sampled_from(NUMBERS if rare else NUMBERS[: 3 if kind == "qrels" else 9])
    text = data.draw(st.sampled_from(["", "\ufeff", "\n", " "]))
    for _ in range(data.draw(st.integers(0, 8))):
        fields = [
            data.draw(numbers) if name == number else data.draw(ids) for name in COLUMNS[kind]
        ]
        fields = fields[: len(fields) - (rare and data.draw(st.integers(0, 9)) == 0)]
        text += (
            "".join(field + data.draw(blanks) for field in fields[:-1])
            + fields[-1]
            + data.draw(ends)
        )
    path = tmp_path_factory.getbasetemp() / f"{kind}.txt"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        ours, expected = (outcome(read, path, patch, value) for value in ("1", "0"))
    if isinstance(expected, str):
        assert ours == expected
    else:
        pd.testing.assert_frame_equal(ours, expected)
        assert ours.attrs == expected.attrs


@needs_library
def test_valid_files_are_read_in_c_and_others_are_refused():
    line = b"q Q0 d 1 2 t\n"
    for content, is_read in (
        (line, True),
        (line[:-1] + b"\r\n", True),
        (line[:-1], True),
        (line.replace(b"d", "\u00e9".encode()), True),
        (line + b"q Q0 e 1 2 t\nr Q0 e 1 2 t\n", True),
        (b"\n \n" + line, True),
        (b"", False),
        (line + line, False),
        (line + b"r Q0 d 1 2 t\n" + line, False),
        (line.replace(b"2", b"inf"), False),
        (line[:-1] + b"\r" + line.replace(b"d", b"e"), False),
        (line.replace(b"d", b"\xff"), False),
        (line.replace(b"d", b"d\0"), True),
        (line.replace(b"2", b"2\0"), False),
    ):
        table = parse_compiled(as_bytes(content), "run")
        assert (table is not None) == is_read, content
    table = parse_compiled(as_bytes(b"q 0 d 1\nq 1 d 1\n"), "qrels")
    assert table["iteration"].tolist() == ["0", "1"]
    assert parse_compiled(as_bytes(b"q 0 d 1\nq 0 d 2\n"), "qrels") is None


@needs_library
@pytest.mark.parametrize("n_documents", [1, 511, 512, 513, 5000])
def test_duplicates_are_found_in_queries_of_all_sizes(n_documents):
    random = np.random.default_rng(n_documents)
    documents = [f"d{number}" for number in random.choice(10**6, n_documents, replace=False)]
    lines = [f"{query} Q0 {document} 1 2 t\n" for query in ("a", "b") for document in documents]
    content = "".join(lines)
    assert len(parse_compiled(as_bytes(content.encode()), "run")) == 2 * n_documents
    for place in (0, n_documents // 2, n_documents - 1):
        changed = (content + lines[n_documents + place]).encode()
        assert parse_compiled(as_bytes(changed), "run") is None


@needs_library
@given(
    rows=st.lists(
        st.tuples(st.sampled_from(IDS[:5]), st.sampled_from([*IDS, ""])), min_size=2, max_size=60
    ),
    start=st.integers(0, 5),
    end=st.integers(1, 60),
)
def test_numbers_of_texts_are_those_of_pandas(rows, start, end):
    """The table is a part of another one, and the other one has more rows than the first space for
    keys."""
    part = pd.DataFrame(rows, columns=["query_id", "doc_id"])
    many = pd.DataFrame(
        {"query_id": "q", "doc_id": [f"{number}{'-' * (number % 9)}" for number in range(1300)]}
    )
    for tables in (
        [part.iloc[min(start, len(part) - 1) :]],
        [part.iloc[:end], part],
        [part, many, part],
    ):
        results = []
        with pytest.MonkeyPatch.context() as patch:
            for value in ("1", "0"):
                patch.setenv("BOOSTRANK_COMPILED", value)
                numbered = number_queries(*tables)
                results.append([*numbered, *number_documents(numbered, *tables)[1]])
        for ours, expected in zip(*results, strict=True):
            np.testing.assert_array_equal(ours, expected)
        *_, numbers, firsts, sizes = results[0]
        both = pd.concat(tables)
        pairs = list(zip(both["query_id"], both["doc_id"], strict=True))
        assert [pairs[firsts[number]] for number in numbers] == pairs
        assert len(set(pairs)) == len(firsts) == sizes.sum()
