"""The parser of LETOR files against a slow parser, and against ``float``."""

import gzip
import math
import re
import tracemalloc

import numpy as np
import pytest
from cases import for_each
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from letor_oracle import oracle, put, read, same

from boostrank.datasets import letor_parser, read_letor
from boostrank.datasets.letor_parser import ReadOptions, parse_compiled, parse_lines
from boostrank.kernels.library import is_available
from boostrank.queries.threads import use_threads

WORDS_TEXT = """\
1 -1 +2.5 0.25 nan -inf 1e-3 x 1_0 . + 1e 0x1 ++1 1e400 --1 1.2.3 Infinity infinit qid:3 qid:3
qid:3 qid:a qid: qid:: qid:1:2 qid :7 1:0.5 2:1e-3 3: : :: :5 3:4:5 0:1 1.5:2 -1:2 +2:1 4:nan 5:inf
6:. 6:-.5 7:5. 8:-0 x:1 9:12345678.1234567 9:0.12345678901234567 9:1234567.8.1 9:.1234567.8 10:1_0
10:0x10 11:1e400 11:5e-324 12:nana 13:99999999 14:9999999999999999 15:9007199254740993
16:123456789012345678901234567890 00000000017:1 ١:1 18:١ 2147483648:1 99999999999999999999999999:1
2147483647:2 19:/ 19:1/ 19:1;2 19:123456789;2 19:- 20:+1 # #c #c:1 é"""
WORDS = [*re.split(r"\s", WORDS_TEXT), "\r", "\x0b", "\x00", "\xa0"]
GOOD = ["1:0.5", "2:3", "3:-1", "4:0", "5:1e3", "00000000017:1", "#c", "\t", ""]


@st.composite
def nearly_valid_files(draw):
    """Draw lines of which most are valid, so that faults occur at all places."""
    lines = []
    for _ in range(draw(st.integers(1, 5))):
        words = [
            draw(st.sampled_from(["1", "0", "-2.5"])),
            "qid:3",
            *draw(st.lists(st.sampled_from(GOOD), max_size=4)),
        ]
        for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
            at = draw(st.integers(0, len(words)))
            words[at : at + draw(st.integers(0, 1))] = [draw(st.sampled_from(WORDS))]
        lines.append(
            draw(st.sampled_from([" ", "  ", "\t"])).join(words)
            + draw(st.sampled_from(["", "", " ", "\r"]))
        )
    return "\n".join(lines) + draw(st.sampled_from(["", "\n", "\n\n"]))


@given(text=nearly_valid_files())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_slow_and_fast_parser_agree_on_invalid_lines_and_on_all_values(
    tmp_path, block, implementation, text
):
    broken, documents = oracle(text)
    if broken:
        with pytest.raises(
            ValueError,
            match=rf"data\.txt, line {broken}: .+ \(in the line .+\); a line must have the",
        ):
            read(tmp_path, text)
    elif not documents:
        with pytest.raises(ValueError, match="but no documents"):
            read(tmp_path, text)
    else:
        sizes = tmp_path / "data.txt.query"
        sizes.unlink(missing_ok=True)
        if not documents[0][1]:
            sizes.write_text(str(len(documents)))
        X, y, qid = read(tmp_path, text, sparse=True)
        assert same(y, [d[0] for d in documents])
        assert [str(q) for q in qid] == [d[1] or "0" for d in documents]
        for i, (_, _, features) in enumerate(documents):
            row = slice(X.indptr[i], X.indptr[i + 1])
            assert X.indices[row].tolist() == [index - 1 for index in sorted(features)]
            assert same(X.data[row], np.array([features[j] for j in sorted(features)], float))


def random_decimals(rng, n):
    """Yield texts of 1 to 22 digits with a dot anywhere or nowhere, signed or not, some with an
    exponent."""
    for _ in range(n):
        digits = "".join(rng.choice(list("0123456789"), rng.integers(1, 23)))
        at = int(rng.integers(0, len(digits) + 1))
        dotted = digits if rng.random() < 0.3 else f"{digits[:at]}.{digits[at:]}"
        yield rng.choice(["", "", "-", "+"]) + dotted + rng.choice(["", "", "", "", "e-7", "E+12"])


def numbers_half_way(rng, n):
    """Yield texts of numbers that are half way between two of float64, and of their neighbours."""
    for _ in range(n):
        odd, power = 2 * int(rng.integers(1 << 52, 1 << 53)) + 1, int(rng.integers(-5, 3))
        digits = odd * 5**-power * 10 ** max(power, 0) if power < 0 else odd << power
        for digit in (digits - 1, digits, digits + 1):
            yield f"{digit}e{min(power, 0)}"


def test_numbers_are_those_of_float_to_the_last_bit(tmp_path, implementation):
    rng = np.random.default_rng(0)
    texts = [*random_decimals(rng, 2_000), *map(repr, rng.normal(size=500).tolist())]
    bits = rng.integers(0, 1 << 63, 1500, dtype=np.uint64)
    texts += map(repr, bits.view(np.float64).tolist())
    texts += [
        f"{m}e{e}" for m, e in zip(bits.tolist(), rng.integers(-70, 70, 1500).tolist(), strict=True)
    ]
    texts += [
        *numbers_half_way(rng, 300),
        *(f"{2**n - 1}" for n in range(50, 64)),
        "1.99999999999999999",
    ]
    texts += [f"{x:.6f}" for x in rng.normal(size=500)] + [
        "9007199254740991.",
        "9007199254740993",
        "9007199254740995",
    ]
    X, y, _ = read(tmp_path, "".join(f"{t} qid:1 1:{t}\n" for t in texts))
    expected = np.array([float(t) for t in texts])
    assert same(X[:, 0], expected)
    assert same(y, expected)
    fits = [text for text in texts if not 1e38 < abs(float(text)) < math.inf]
    narrow = read(tmp_path, "".join(f"0 qid:1 1:{t}\n" for t in fits), dtype=np.float32).X
    assert same(narrow[:, 0], np.array(fits, np.float64).astype(np.float32))


NO_NUMBERS = re.split(
    r"\s",
    """. + - +. ++1 1- 1.2.3 1.2.345678 12345678.9.1 1234.5678.12345 1.2345678.1234567 e5 1e 1e+
1e1.5 0x10 1_0 1/2 1;2 123456789/ 1,5 na nan() infinit - 1-2 12345678-1 1.-2 1.12345678-1 ١ ½
12345678١ 1234567890123456.7.8""",
)


@for_each("text", NO_NUMBERS)
def test_tokens_that_are_no_numbers_are_errors(tmp_path, implementation, text):
    for line in (f"{text} qid:1 1:1", f"1 qid:1 1:{text}"):
        with pytest.raises(
            ValueError, match=rf"line 2: '(1:)?({re.escape(text)}|\\\\x.*)' is not (a number|index)"
        ):
            read(tmp_path, f"1 qid:1 1:0.5\n{line}\n")


#: Lines, their faults, and options if they are not the default ones.
FAULTS = [
    ("qid:1 1:2", "'qid:1' is not a number"),
    ("abc qid:1 1:2", r"'abc' is not a number \(in the line 'abc qid:1 1:2'\)"),
    ("1 1:2", "it has no qid, but the lines before do"),
    ("1 qid: 1:2", "'qid:' is not qid:ID"),
    ("1 qid:1:2 1:2", "'qid:1:2' is not qid:ID"),
    ("1 qid:1 1:2 qid:1", "'qid:1' is not index:value, an integer and a number"),
    ("1 qid:1 3:", "'3:' is not index:value"),
    ("1 qid:1 3:4:5", "'3:4:5' is not index:value"),
    ("1 qid:1 1.5:2", r"'1\.5:2' is not index:value"),
    (
        "1 qid:1 0:2",
        "it has the index 0; pass zero_based=True if the first feature of this file has index 0",
    ),
    (
        "1 qid:1 1099511627776:2",
        "index '1099511627776' is above 2147483647, the largest index that an int32 allows",
    ),
    ("1 qid:1 2:1 1:1 2:1", "index 2 occurs twice"),
    ("1 qid:1 2:0.5\x00", "it has the byte 0x00, so this is not plain text"),
    ("1 qid:1 2:0.5\r1 qid:1 2:0.5", "it has the byte 0x0d"),
    ("1 qid:1 2:0.5 # a\r1 qid:1 2:0.5 # b", "it has the byte 0x0d"),
    (
        "1 qid:1 1:" + "9" * 900 + "x",
        r"'1:9{35}\.\.\.' is not index:value, an integer and a number "
        r"\(in the line '1 qid:1 1:9+\.\.\.'\); a line",
    ),
    (b"1 qid:1 1:\xff", r"'1:\\\\xff' is not index:value"),
    (
        "1 qid:1 3:1",
        "index '3' is above 2, the largest index that n_features=2 allows",
        {"n_features": 2},
    ),
    (
        "1 qid:1 3:1",
        "index '3' is above 2, the .* n_features=3 allows",
        {"n_features": 3, "zero_based": True},
    ),
    ("1 qid:1 1:1e39", "'1e39' is too large for float32", {"dtype": np.float32}),
]


@for_each(("line", "message", "options"), [(*fault, {})[:3] for fault in FAULTS])
def test_an_invalid_line_is_named_with_its_fault(
    tmp_path, block, implementation, line, message, options
):
    line = line if isinstance(line, bytes) else line.encode()
    content = b"# head\n\n2 qid:1 1:1 2:2 # doc\r\n" + line + b"\n1 qid:1 1:x\n"
    with pytest.raises(ValueError, match=rf"data\.txt, line 4: {message}"):
        read(tmp_path, content, **options)


def test_a_qid_after_lines_without_is_named_across_blocks(tmp_path, block, implementation):
    with pytest.raises(ValueError, match="line 3: it has a qid, but the lines before have none"):
        read(tmp_path, "1 1:0.123456789 2:0.123456789\n" * 2 + "1 qid:1 1:1\n")


def test_layout_of_text_does_not_matter(tmp_path, block, implementation):
    plain = "1 qid:3 1:0.5 2:2\n-1.5 qid:3 1:1\n0 qid:4\n"
    other = (
        b"\xef\xbb\xbf# head\r\n\r\n 1\tqid:3  2:2 1:5e-1 \r\n\n-1.5 qid:3 1:+1.#\xff\r\n0 qid:4"
    )
    for X, y, qid in (read(tmp_path, plain, sparse=False), read(tmp_path, other)):
        assert X.tolist() == [[0.5, 2], [1, 0], [0, 0]]
        assert (y.tolist(), qid.tolist()) == ([1, -1.5, 0], [3, 3, 4])


def test_rows_that_stop_being_regular_keep_their_values(tmp_path, implementation, monkeypatch):
    monkeypatch.setattr(letor_parser, "BLOCK_BYTES", 1)  # Each line is a block.
    lines = [
        "1 qid:1 1:1 2:2\n",
        "1 qid:1 1:3 2:4\n",
        "1 qid:1 1:5 2:6 3:7\n",
        "1 qid:1 3:8\n",
        "1 qid:1\n",
    ]
    expected = [[1, 2, 0], [3, 4, 0], [5, 6, 7], [0, 0, 8], [0, 0, 0]]
    for permutation in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [3, 0, 2, 1, 4]):
        for sparse in (True, False):
            X = read(tmp_path, "".join(lines[i] for i in permutation), sparse=sparse).X
            assert same(X, np.array([expected[i] for i in permutation], float))


@for_each("content", ["", "\n\n", "# only\n#comments"])
def test_a_file_without_documents(tmp_path, implementation, content):
    with pytest.raises(ValueError, match=r"data\.txt has \d lines, but no documents"):
        read(tmp_path, content)


def test_gzip_that_is_damaged(tmp_path):
    content = "".join(f"{i} qid:{i} 1:{math.sqrt(i)}\n" for i in range(3000)).encode()
    complete = gzip.compress(content)
    assert (
        read(tmp_path, complete).y.size == 3000
    )  # gzip is recognized by its content, not by its name
    wrong_sum = complete[:-8] + b"1234" + complete[-4:]
    for damaged in (
        complete[:-4],
        wrong_sum,
        complete[:2000] + b"\x00" * 200 + complete[2200:],
        complete + b"x",
    ):
        with pytest.raises(
            ValueError, match=r"data\.txt.*(gzip data is damaged or cut off|, line \d+:)"
        ):
            read(tmp_path, damaged)


def test_peak_memory_is_near_that_of_the_result(tmp_path, implementation, monkeypatch):
    monkeypatch.setattr(letor_parser, "BLOCK_BYTES", 1 << 13)
    path = put(tmp_path, ("1 qid:1 " + " ".join(f"{i}:0.25" for i in range(1, 51)) + "\n") * 2000)
    read_letor(path)
    for sparse in (False, True):
        tracemalloc.start()
        with use_threads(1):
            X = read_letor(path, sparse=sparse).X
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1.65 * (X.data.nbytes + X.indices.nbytes if sparse else X.nbytes)


@pytest.mark.skipif(not is_available(), reason="boostrank was installed without a C compiler")
@example(text=[b"1 qid:3\x0b"])
@example(text=[b"1 qid:3 ", b"0" * 20, b"7:1"])
@given(
    text=st.lists(
        st.sampled_from([b"1 qid:3 ", *(bytes([c]) for c in b"01.:+-eEinfaq \t\r\n#\x00\x0b\xff")])
    )
)
@settings(max_examples=150)
def test_compiled_parser_accepts_what_python_accepts_and_reads_the_same(text):
    options = ReadOptions(20, "auto", True, np.dtype(np.float32))
    block = b"".join(text) + b"\n"
    one = parse_compiled(block, options)
    try:
        other = parse_lines(block, options, "name")
    except ValueError:
        assert one is None
        return
    for name in ("labels", "counts", "indices", "data"):
        assert same(getattr(one, name).astype(float), getattr(other, name).astype(float))
    assert one[5:] == other[5:]
    assert one.n_regular == other.n_regular or not len(one.labels)


def test_results_and_errors_do_not_depend_on_the_number_of_threads(
    tmp_path, implementation, monkeypatch
):
    monkeypatch.setattr(letor_parser, "BLOCK_BYTES", 100)
    rng = np.random.default_rng(0)
    head = "# two lines\n\n" * 50
    lines = [
        f"{i % 3} qid:{i // 7} {i % 5 + 1}:{x} 9:{y}\n"
        for i, (x, y) in enumerate(rng.normal(size=(300, 2)))
    ]
    faulty = lines.copy()
    faulty[150], faulty[250] = "1 1:2\n", "1 qid:3 x:1\n"
    results = []
    for n_jobs in (1, 2, 5):
        with use_threads(n_jobs):
            results.append(read(tmp_path, head + "".join(lines), sparse=False))
            with pytest.raises(
                ValueError, match="line 251: it has no qid, but the lines before do"
            ):
                read(tmp_path, head + "".join(faulty))
    assert all(
        same(ours, first)
        for result in results[1:]
        for ours, first in zip(result, results[0], strict=True)
    )
    assert results[0].X[:, 8].tolist() == [float(line.split()[-1][2:]) for line in lines]
