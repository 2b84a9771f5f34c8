"""Reading and writing LETOR files: against a line-by-line oracle, scikit-learn, and real data."""

import gzip
import io
import math
import os
import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse as sp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from boostrank.datasets import Dataset, Fold, letor_parser, read_letor, read_letor_folds, write_letor

DATA = Path(__file__).parents[2] / "shared" / "data"
real_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the real data sets are not in {DATA}")
fuzz = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])

NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:nan|inf|infinity)"
LABEL = re.compile(f"(?:{NUMBER})", re.I)
FEATURE = re.compile(f"([0-9]+):({NUMBER})", re.I)


def oracle_line(line, qids_so_far):
    """Parse one line in the slow, obvious way: (label, qid or None, features); None if it is blank."""
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
        assert 1 <= int(match[1]) < 2**31
        assert int(match[1]) not in features
        features[int(match[1])] = float(match[2])
    return float(words[0]), qid and qid[1], features


def oracle(text):
    """Return the number of the first broken line (or None), and the documents before it."""
    documents = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            document = oracle_line(line, [d[1] for d in documents])
        except AssertionError:
            return number, documents
        documents += [document] if document else []
    return None, documents


def same(a, b):
    """Whether two arrays have the same bits, so that -0.0 is not 0.0; all nan are alike."""
    a, b = (x.toarray() if sp.issparse(x) else np.asarray(x) for x in (a, b))
    signs = np.isnan(a) | (np.signbit(a) == np.signbit(b))
    return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, equal_nan=True) and signs.all()


def put(folder, content, name="data.txt"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(folder, content, **options):
    return read_letor(put(folder, content), **options)


@pytest.fixture(params=[1 << 20, 40])
def block(request, monkeypatch):
    """Read in blocks of the usual size, and of a line or two."""
    monkeypatch.setattr(letor_parser, "_BLOCK", request.param)


WORDS_TEXT = """\
1 -1 +2.5 0.25 nan -inf 1e-3 x 1_0 . + 1e 0x1 ++1 1e400 --1 1.2.3 Infinity infinit qid:3 qid:3 qid:3 qid:a
qid: qid:: qid:1:2 qid :7 1:0.5 2:1e-3 3: : :: :5 3:4:5 0:1 1.5:2 -1:2 +2:1 4:nan 5:inf 6:. 6:-.5 7:5. 8:-0 x:1
9:12345678.1234567 9:0.12345678901234567 9:1234567.8.1 9:.1234567.8 10:1_0 10:0x10 11:1e400 11:5e-324 12:nana
13:99999999 14:9999999999999999 15:9007199254740993 16:123456789012345678901234567890 00000000017:1 ١:1 18:١
2147483648:1 99999999999999999999999999:1 2147483647:2 19:/ 19:1/ 19:1;2 19:123456789;2 19:- 20:+1 # #c #c:1 é"""
WORDS = [*re.split(r"\s", WORDS_TEXT), "\r", "\x0b", "\x00", "\xa0"]
GOOD = ["1:0.5", "2:3", "3:-1", "4:0", "5:1e3", "00000000017:1", "#c", "\t", ""]


@st.composite
def nearly_valid_files(draw):
    """Lines of which most are right, so that faults come at all places."""
    lines = []
    for _ in range(draw(st.integers(1, 5))):
        words = [draw(st.sampled_from(["1", "0", "-2.5"])), "qid:3", *draw(st.lists(st.sampled_from(GOOD), max_size=4))]
        for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
            at = draw(st.integers(0, len(words)))
            words[at : at + draw(st.integers(0, 1))] = [draw(st.sampled_from(WORDS))]
        lines.append(draw(st.sampled_from([" ", "  ", "\t"])).join(words) + draw(st.sampled_from(["", "", " ", "\r"])))
    return "\n".join(lines) + draw(st.sampled_from(["", "\n", "\n\n"]))


@given(text=nearly_valid_files())
@settings(fuzz, max_examples=350)
def test_oracle_and_reader_agree_on_what_is_broken_and_on_all_values(tmp_path, block, text):
    broken, documents = oracle(text)
    if broken:
        with pytest.raises(ValueError, match=rf"data\.txt, line {broken}: .+ in .+; expected 'label qid:ID"):
            read(tmp_path, text)
    elif not documents:
        with pytest.raises(ValueError, match="holds no documents"):
            read(tmp_path, text)
    else:
        sizes = None if documents[0][1] else [len(documents)]
        X, y, qid = read(tmp_path, text, sparse=True, sizes=sizes)
        assert same(y, [d[0] for d in documents])
        assert [str(q) for q in qid] == [d[1] or "0" for d in documents]
        for i, (_, _, features) in enumerate(documents):
            row = slice(X.indptr[i], X.indptr[i + 1])
            assert X.indices[row].tolist() == [index - 1 for index in sorted(features)]
            assert same(X.data[row], np.array([features[j] for j in sorted(features)], float))


def random_decimals(rng, n):
    """Texts of up to 22 digits with a dot anywhere or nowhere, signed or not, some with an exponent."""
    for _ in range(n):
        digits = "".join(rng.choice(list("0123456789"), rng.integers(1, 23)))
        at = int(rng.integers(0, len(digits) + 1))
        dotted = digits if rng.random() < 0.3 else f"{digits[:at]}.{digits[at:]}"
        yield rng.choice(["", "", "-", "+"]) + dotted + rng.choice(["", "", "", "", "e-7", "E+12"])


def test_numbers_are_those_of_float_to_the_last_bit(tmp_path):
    rng = np.random.default_rng(0)
    texts = [*random_decimals(rng, 12_000), *map(repr, rng.normal(size=2000).tolist())]
    texts += [f"{x:.6f}" for x in rng.normal(size=2000)] + ["9007199254740991.", "9007199254740993", "9007199254740995"]
    X, y, _ = read(tmp_path, "".join(f"{t} qid:1 1:{t}\n" for t in texts))
    expected = np.array([float(t) for t in texts])
    assert same(X[:, 0], expected)
    assert same(y, expected)
    narrow = read(tmp_path, "".join(f"{t} qid:1 1:{t}\n" for t in texts), dtype=np.float32).X
    assert same(narrow[:, 0], expected.astype(np.float32))


NO_NUMBERS = re.split(
    r"\s",
    """. + - +. ++1 1- 1.2.3 1.2.345678 12345678.9.1 1234.5678.12345 1.2345678.1234567 e5 1e 1e+ 1e1.5 0x10 1_0
1/2 1;2 123456789/ 1,5 na nan() infinit - 1-2 12345678-1 1.-2 1.12345678-1 ١ ½ 12345678١ 1234567890123456.7.8""",
)


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_float_or_the_format_refuses_is_no_number(tmp_path, text):
    for line in (f"{text} qid:1 1:1", f"1 qid:1 1:{text}"):
        with pytest.raises(ValueError, match=rf"line 2: '{re.escape(text)}' is not a number|line 2: '\\\\x"):
            read(tmp_path, f"1 qid:1 1:0.5\n{line}\n")


@pytest.mark.parametrize("share", [1.0, 0.6, 0.1])
def test_agrees_with_scikit_learn(tmp_path, block, share):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 30)) * (rng.random((120, 30)) < share)
    X[:, -1] = 1  # so that both find 30 columns
    y, qid = rng.integers(0, 5, 120), np.repeat(rng.integers(0, 10**15, 12), 10)
    buffer = io.BytesIO()
    dump_svmlight_file(X, y, buffer, zero_based=False, query_id=qid)
    theirs = load_svmlight_file(io.BytesIO(buffer.getvalue()), query_id=True)
    ours = read(tmp_path, buffer.getvalue())
    assert sp.issparse(ours.X) == (share == 0.1)
    assert same(ours.X, theirs[0])
    assert same(ours.y, theirs[1])
    assert ours.qid.dtype == np.int64
    assert np.array_equal(ours.qid, theirs[2])
    assert same(read(tmp_path, buffer.getvalue(), sparse=True).X, read(tmp_path, buffer.getvalue(), sparse=False).X)


ANY_FLOAT = st.floats(allow_subnormal=True) | st.integers(-9, 9).map(float)
LINE_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=6).map(str.strip)
QID_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters=":#"), min_size=1)


@st.composite
def rankings(draw):
    n, m = draw(st.integers(1, 7)), draw(st.integers(1, 5))
    X = draw(hnp.arrays(np.float64, (n, m), elements=ANY_FLOAT))
    qid = draw(hnp.arrays(np.int64, n) | st.lists(QID_TEXT, min_size=n, max_size=n).map(np.array))
    note = st.lists(LINE_TEXT, min_size=n, max_size=n)
    return X, draw(hnp.arrays(np.float64, n, elements=ANY_FLOAT)), qid, draw(note)


@given(data=rankings(), kind=st.sampled_from([np.asarray, sp.csr_matrix, sp.coo_array]), zero_based=st.booleans())
@settings(fuzz, max_examples=150)
@pytest.mark.parametrize("name", ["data.txt", "data.txt.gz"])
def test_written_rankings_are_read_back_exactly(tmp_path, name, data, kind, zero_based):
    X, y, qid, comments = data
    path, X = tmp_path / name, kind(X)
    write_letor(path, X, y, qid, comments=comments, zero_based=zero_based)
    back = read_letor(path, n_features=X.shape[1], comments=True, zero_based=zero_based, sparse=sp.issparse(X))
    assert same(back[0], X)
    assert same(back[1], y)
    whole = all(re.fullmatch(r"[+-]?[0-9]+", str(q)) and -(2**63) <= int(q) < 2**63 for q in qid)
    assert back[2].tolist() == [int(q) if whole else q for q in qid.tolist()]
    assert back[3] == [c.strip(" \t\r\n\x0b\x0c") for c in comments]
    assert os.listdir(tmp_path) == [name]
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")


def test_written_text(tmp_path):
    X = np.array([[0.0, 1.5], [-0.0, 3.0]], np.float32)
    write_letor(tmp_path / "a", X, [1, 0.5], np.array(["u", "v-1"]), comments=["", "doc # 2"])
    assert (tmp_path / "a").read_text() == "1 qid:u 1:0 2:1.5\n0.5 qid:v-1 1:-0 2:3 # doc # 2\n"
    stored = sp.csr_matrix(([4.0, 0.0, 5.0], ([0, 0, 1], [2, 0, 1])), shape=(3, 3))
    write_letor(tmp_path / "a", stored, [1, 2, 3], [9, 9, 8], zero_based=True)
    assert (tmp_path / "a").read_text() == "1 qid:9 0:0 2:4\n2 qid:9 1:5\n3 qid:8\n"
    assert read_letor(tmp_path / "a", zero_based=True, sparse=True).X.nnz == 3
    disordered = sp.csr_matrix(([4.0, 1.0, 2.0, 5.0], [2, 0, 2, 1], [0, 3, 4]), shape=(2, 3))
    write_letor(tmp_path / "a", disordered, [1, 2], [9, 9])
    assert (tmp_path / "a").read_text() == "1 qid:9 1:1 3:6\n2 qid:9 2:5\n"
    assert disordered.nnz == 4  # what the caller has stays as it was
    tenth = np.full((1, 1), 0.1, np.float32)
    write_letor(tmp_path / "a", tenth, [1], [1])
    assert read_letor(tmp_path / "a").X[0, 0] == tenth.astype(np.float64)[0, 0] != 0.1


def test_gzip_of_the_same_data_has_the_same_bytes(tmp_path, monkeypatch):
    for name, now in (("a.gz", 1e9), ("b.gz", 1.5e9)):
        monkeypatch.setattr("time.time", lambda now=now: now)
        write_letor(tmp_path / name, [[1.0]], [1], [1])
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.zeros((0, 2))}, r"X must be 2-D numbers with >= 1 row"),
        ({"X": np.zeros(2)}, r"X must be 2-D numbers .* shape \(2,\)"),
        ({"X": np.array([["a"], ["b"]])}, "X must be 2-D numbers"),
        ({"y": [1.0]}, r"X has 2 rows, .* y has shape \(1,\)"),
        ({"qid": [1, 1, 1]}, r"X has 2 rows, .* qid \(3,\)"),
        ({"comments": ["a"]}, "X has 2 rows, .* 1 comments"),
        ({"comments": ["a", "b\nc"]}, r"comments must be str of one line; got 'b\\nc' in row 1"),
        ({"qid": ["a", "b c"]}, "qid must be whole numbers, .* got 'b c' in row 1"),
        ({"qid": ["a", ""]}, "got '' in row 1"),
        ({"qid": ["a#", "b"]}, "got 'a#' in row 0"),
        ({"qid": [1.0, 2.0]}, "qid must be whole numbers, .* got 1.0 in row 0"),
        ({"X": np.array([[1], ["b"]], object)}, "could not convert"),
    ],
)
def test_write_refuses_and_leaves_the_old_file(tmp_path, change, message):
    path = put(tmp_path, "old")
    with pytest.raises(ValueError, match=message):
        write_letor(path, **{"X": np.zeros((2, 1)), "y": [1, 2], "qid": [1, 1], **change})
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["data.txt"]


FAULTS = [
    ("qid:1 1:2", "no label before 'qid:1'"),
    ("1:2 2:3", "no label before '1:2'"),
    ("abc qid:1 1:2", "'abc' is not a number in 'abc qid:1 1:2'"),
    ("1 1:2", "no qid, but the lines before have one"),
    ("1", "no qid, but"),
    ("1 qid: 1:2", "'qid:' is not qid:ID"),
    ("1 qid:1:2 1:2", "'qid:1:2' is not qid:ID"),
    ("1 1:2 qid:1", "no qid, but the lines before have one"),
    ("1 qid:1 1:2 qid:1", "'qid:1' is not right behind the label, or is a second qid"),
    ("1 qid:1 3:", "'3:' is not index:value"),
    ("1 qid:1 :5", "':5' is not index:value"),
    ("1 qid:1 3:4:5", "'3:4:5' is not index:value"),
    ("1 qid:1 3", "'3' is not index:value"),
    ("1 qid:1 1.5:2", r"'1\.5' is not a feature index \(a whole number\)"),
    ("1 qid:1 -1:2", "'-1' is not a feature index"),
    ("1 qid:1 0:2", r"index 0 \(pass zero_based=True if the first feature of this file is 0\)"),
    ("1 qid:1 1099511627776:2", "index '1099511627776' is above 2147483647, the last that an int32 allows"),
    ("1 qid:1 2:1 1:1 2:1", "index 2 comes twice"),
    ("1 qid:1 2:1,5", "'1,5' is not a number"),
    ("1 qid:1 2:0.5\x00", "byte 0x00: this is not plain text"),
    ("1 qid:1 2:0.5\r1 qid:1 2:0.5", "byte 0x0d"),
    ("1 qid:1 2:0.5\r3:0.5", "byte 0x0d"),
    ("1 qid:1 2:0.5 # a\r1 qid:1 2:0.5 # b", "byte 0x0d"),
    ("1 qid:1 1:" + "9" * 900 + "x", r"'9{37}\.\.\.' is not a number in '1 qid:1 1:9+\.\.\.'; expected 'label"),
    (b"1 qid:1 1:\xff", r"'\\\\xff' is not a number"),
]


@pytest.mark.parametrize(("line", "message"), FAULTS)
def test_a_broken_line_is_named(tmp_path, block, line, message):
    line = line if isinstance(line, bytes) else line.encode()
    content = b"# head\n\n2 qid:1 1:1 2:2 # doc\r\n" + line + b"\n1 qid:1 1:x\n"
    with pytest.raises(ValueError, match=rf"data\.txt, line 4: {message}"):
        read(tmp_path, content)


def test_a_label_too_many_does_not_make_up_for_one_that_is_missing(tmp_path):
    with pytest.raises(ValueError, match=r"line 1: '2' is not index:value"):
        read(tmp_path, "1 2 1:1\n1:2 1:3\n", sizes=[2])


@pytest.mark.parametrize(
    ("options", "line", "message"),
    [
        ({"n_features": 2}, "3:1", "index '3' is above 2, the last that n_features=2 allows"),
        ({"n_features": 2, "zero_based": True}, "2:1", "index '2' is above 1, the last that n_features=2 allows"),
        ({"dtype": np.float32}, "1:1e39", "'1e39' does not fit in float32"),
    ],
)
def test_a_line_outside_what_the_options_allow_is_named(tmp_path, options, line, message):
    with pytest.raises(ValueError, match=f"line 2: {message}"):
        read(tmp_path, f"1 qid:1 1:1\n1 qid:1 {line}\n", **options)


def test_a_qid_after_lines_without_is_named_across_blocks(tmp_path, block):
    with pytest.raises(ValueError, match="line 3: a qid, but the lines before have none"):
        read(tmp_path, "1 1:0.123456789 2:0.123456789\n" * 2 + "1 qid:1 1:1\n")


def test_layout_of_text_does_not_matter(tmp_path, block):
    plain = read(tmp_path, "1 qid:3 1:0.5 2:2\n-1.5 qid:3 1:1\n0 qid:4\n", sparse=False)
    other = read(
        tmp_path,
        b"\xef\xbb\xbf# head\r\n\r\n 1\tqid:3  2:2 1:5e-1 \r\n\n-1.5 qid:3 1:+1.#\xff\r\n0 qid:004",
    )
    assert plain.X.tolist() == [[0.5, 2], [1, 0], [0, 0]]
    assert plain.y.tolist() == [1, -1.5, 0]
    assert plain.qid.tolist() == [3, 3, 4]
    assert same(other.X, plain.X)
    assert same(other.y, plain.y)
    assert other.qid.tolist() == [3, 3, 4]


def test_indices_count_from_one_unless_told(tmp_path):
    assert read(tmp_path, "1 qid:1 0:5 1:6\n", zero_based=True).X.tolist() == [[5, 6]]
    assert read(tmp_path, "1 qid:1 1:6\n", zero_based=True, sparse=False).X.tolist() == [[0, 6]]
    assert read(tmp_path, "1 qid:1 1:6\n").X.tolist() == [[6]]
    assert read(tmp_path, "1 qid:1 1:6\n", n_features=3, sparse=False).X.tolist() == [[6, 0, 0]]
    assert read(tmp_path, "1 qid:1 0:5 2:6\n", n_features=3, zero_based=True).X.tolist() == [[5, 0, 6]]


def test_rows_that_stop_being_regular_keep_their_values(tmp_path, monkeypatch):
    monkeypatch.setattr(letor_parser, "_BLOCK", 1)  # each line is a block
    lines = ["1 qid:1 1:1 2:2\n", "1 qid:1 1:3 2:4\n", "1 qid:1 1:5 2:6 3:7\n", "1 qid:1 3:8\n", "1 qid:1\n"]
    expected = [[1, 2, 0], [3, 4, 0], [5, 6, 7], [0, 0, 8], [0, 0, 0]]
    for sparse in (True, False):
        for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [3, 0, 2, 1, 4]):
            X = read(tmp_path, "".join(lines[i] for i in order), sparse=sparse).X
            assert same(X, np.array([expected[i] for i in order], float))
            assert not sparse or (X.nnz == 8 and X.has_canonical_format)


def test_a_column_no_file_lists_costs_no_memory_but_a_dense_array_of_it_is_refused(tmp_path):
    content = "1 qid:1 2147483647:1\n" + "1 qid:1\n" * 70_000
    assert read(tmp_path, content).X.shape == (70_001, 2**31 - 1)
    with pytest.raises(MemoryError, match="70001 x 2147483647 features does not fit in memory; pass sparse=True"):
        read(tmp_path, content, sparse=False)


@pytest.mark.parametrize(("listed", "dense"), [(2, True), (1, False)])
def test_auto_is_dense_from_half_of_the_values_on(tmp_path, listed, dense):
    X = read(tmp_path, "1 qid:1 " + " ".join(f"{i}:1" for i in range(1, listed + 1)) + "\n1 qid:1 4:1 1:0\n").X
    assert sp.issparse(X) != dense
    assert X.dtype == np.float64


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["10", "010", "-3", "+4"], [10, 10, -3, 4]),
        (["9223372036854775807", "9007199254740993"], [2**63 - 1, 2**53 + 1]),
        (["9223372036854775808", "7"], ["9223372036854775808", "7"]),
        (["7", "07", "abc-1", "é"], ["7", "07", "abc-1", "é"]),
        (["1_0", "1.0"], ["1_0", "1.0"]),
    ],
)
def test_qids_keep_their_digits(tmp_path, block, texts, expected):
    qid = read(tmp_path, "".join(f"1 qid:{t} 1:1 # a comment to fill the block\n" for t in texts for _ in "ab")).qid
    assert qid.tolist() == [e for e in expected for _ in "ab"]
    assert qid.dtype.kind == ("i" if isinstance(expected[0], int) else "U")


def test_different_bytes_that_are_not_utf8_stay_different_qids(tmp_path):
    assert read(tmp_path, b"1 qid:\xff 1:1\n1 qid:\xfe 1:1\n").qid.tolist() == ["\\xff", "\\xfe"]


def test_comments_belong_to_their_documents(tmp_path, block):
    content = b"# head\n1 qid:1 1:2 #docid = A # b\n\n2 qid:1 1:3\n#\n3 qid:2 1:4 # \xff\xc3\xa9 \r\n4 qid:2 1:1"
    X, y, qid, comments = read(tmp_path, content, comments=True)
    assert comments == ["docid = A # b", "", "\\xffé", ""]
    assert (X.shape, y.tolist(), qid.tolist()) == ((4, 1), [1, 2, 3, 4], [1, 1, 2, 2])
    assert isinstance(read(tmp_path, content), Dataset)


@pytest.mark.parametrize("ending", [".query", ".group"])
@pytest.mark.parametrize("name", ["rank", "rank.gz"])
def test_sizes_beside_the_file(tmp_path, ending, name):
    content = b"1 1:2\n0 1:3\n2 1:1\n"
    path = put(tmp_path, gzip.compress(content) if name.endswith("gz") else content, name)
    put(tmp_path, b"2\r\n\n1", "rank" + ending)
    ranking = read_letor(str(path))
    assert ranking.qid.tolist() == [0, 0, 1]
    assert ranking.qid.dtype == np.int64
    assert read_letor(path, sizes=[1, 2]).qid.tolist() == [0, 1, 1]
    assert read_letor(path, sizes=put(tmp_path, "3", "other")).qid.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([2, 2], r"sizes: the 2 query sizes sum to 4, but .*data\.txt has 3 documents"),
        ([1, 2], r"sizes: query 1 has size 1, but by the qids of .*data\.txt it has 2 documents"),
        ([3], r"query 1 has size 3, but .* 2 documents"),
        ([2, 1, 0], r"sizes must be whole numbers >= 1.* got \[2, 1, 0\]"),
        ([2.0, 1.0], "sizes must be whole numbers"),
        ([[2, 1]], "sizes must be whole numbers"),
        ("2\n1.0\n", r"sizes\.txt, line 2: expected one query size >= 1, got '1\.0'"),
        ("2 1\n", r"sizes\.txt, line 1: .* got '2 1'"),
        ("3\n0\n", r"sizes\.txt, line 2: .* got '0'"),
    ],
)
def test_sizes_that_do_not_fit(tmp_path, sizes, message):
    content = "1 qid:5 1:2\n0 qid:5 1:3\n2 qid:6 1:1\n"
    assert read(tmp_path, content, sizes=np.array([2, 1])).qid.tolist() == [5, 5, 6]
    sizes = put(tmp_path, sizes, "sizes.txt") if isinstance(sizes, str) else sizes
    with pytest.raises(ValueError, match=message):
        read(tmp_path, content, sizes=sizes)


def test_sizes_agree_with_a_query_that_spans_blocks(tmp_path, block):
    content = "1 qid:5 1:0.123456789 # comment\n" * 5 + "0 qid:6 1:1\n" + "0 qid:5 1:1\n"
    assert read(tmp_path, content, sizes=[5, 1, 1]).qid.tolist() == [5] * 5 + [6, 5]


def test_a_sizes_file_that_disagrees_with_the_qids_is_not_ignored(tmp_path):
    put(tmp_path, "1\n1\n", "data.txt.query")
    with pytest.raises(ValueError, match=r"data\.txt\.query: query 1 has size 1, but"):
        read(tmp_path, "1 qid:5 1:2\n0 qid:5 1:3\n")


def test_neither_qid_nor_sizes(tmp_path):
    with pytest.raises(
        ValueError, match=r"no line has a qid, and there is no .*data\.txt\.query or \.group; pass sizes="
    ):
        read(tmp_path, "1 1:2\n0 1:3\n")


@pytest.mark.parametrize("content", ["", "\n\n", "# only\n#comments", "\r\n"])
def test_a_file_without_documents(tmp_path, content):
    with pytest.raises(ValueError, match=r"data\.txt holds no documents"):
        read(tmp_path, content)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(IsADirectoryError, match="read_letor_folds"):
        read_letor(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"missing\.txt"):
        read_letor(tmp_path / "missing.txt")
    with pytest.raises(ValueError, match=r"line 1: byte 0x[01].: this is not plain text"):
        read(tmp_path, bytes(range(256)) * 100)


def test_gzip_that_is_damaged(tmp_path):
    content = "".join(f"{i} qid:{i} 1:{math.sqrt(i)}\n" for i in range(3000)).encode()
    whole = gzip.compress(content)
    assert read(tmp_path, whole).y.size == 3000  # known by content, not by name
    wrong_sum = whole[:-8] + b"1234" + whole[-4:]
    for damaged in (whole[:-20], whole[:-4], wrong_sum, whole[:2000] + b"\x00" * 200 + whole[2200:], whole + b"x"):
        with pytest.raises(ValueError, match=r"data\.txt.*(gzip data is damaged or cut off|, line \d+:)"):
            read(tmp_path, damaged)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"n_features": 0}, "n_features must be None or a whole number from 1"),
        ({"n_features": 2.0}, r"n_features .* got 2\.0"),
        ({"n_features": True}, "n_features .* got True"),
        ({"sparse": "yes"}, "sparse must be 'auto', True or False; got 'yes'"),
        ({"zero_based": "auto"}, r"zero_based must be True or False \(no guess is made\); got 'auto'"),
        ({"dtype": np.int64}, r"dtype must be numpy\.float64 or numpy\.float32"),
    ],
)
def test_options_are_checked(tmp_path, option, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, "1 qid:1 1:1\n", **option)
    with pytest.raises(ValueError, match=message):
        read_letor_folds(tmp_path, **option)


def test_peak_memory_is_near_that_of_the_result(tmp_path, monkeypatch):
    monkeypatch.setattr(letor_parser, "_BLOCK", 1 << 16)
    path = put(tmp_path, ("1 qid:1 " + " ".join(f"{i}:0.25" for i in range(1, 51)) + "\n") * 8000)
    read_letor(path)
    for sparse, limit in ((False, 1.6), (True, 1.6)):
        tracemalloc.start()
        X = read_letor(path, sparse=sparse).X
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < limit * (X.data.nbytes + X.indices.nbytes if sparse else X.nbytes)


def make_folds(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())


def test_folds_share_columns_kind_and_qid_type(tmp_path):
    files = {
        "fold10/train.txt": "1 qid:1 5:1\n",
        "fold10/test.txt.gz": "1 qid:2 1:1\n",
        "Fold2/train.txt": "1 qid:3 1:1\n",
        "Fold2/valid.txt": "1 qid:4 2:1\n",
        "Fold2/test.txt": "1 qid:x 3:1 1:1 2:1\n",
        "Fold_3/train.txt": "1 1:1\n",
        "Fold_3/train.txt.query": "1\n",
        "Fold_3/validation.txt": "1 qid:5 1:1\n",
        "Fold_3/test.txt": "1 qid:6 1:1\n",
        "notes/train.txt": "not read",
    }
    make_folds(tmp_path, files)
    folds = read_letor_folds(str(tmp_path))
    assert [fold.name for fold in folds] == ["Fold2", "Fold_3", "fold10"]
    assert all(isinstance(fold, Fold) for fold in folds)
    assert folds[2].validation is None
    parts = [part for fold in folds for part in fold[1:] if part]
    assert [part.X.shape for part in parts] == [(1, 5)] * 8
    assert all(sp.issparse(part.X) for part in parts)
    assert [part.qid.tolist() for part in parts] == [["3"], ["4"], ["x"], ["0"], ["5"], ["6"], ["1"], ["2"]]
    dense = read_letor_folds(tmp_path, sparse=False, n_features=7, dtype=np.float32)
    assert dense[0].test.X.tolist() == [[1, 1, 1, 0, 0, 0, 0]]
    assert dense[0].test.X.dtype == np.float32
    with pytest.raises(ValueError, match=r"fold10.train\.txt, line 1: index '5' is above 4"):
        read_letor_folds(tmp_path, n_features=4)


def test_folds_that_are_incomplete(tmp_path):
    with pytest.raises(NotADirectoryError, match="is not a folder; expected one that holds Fold1"):
        read_letor_folds(tmp_path / "missing")
    with pytest.raises(FileNotFoundError, match=r"has no folders Fold1, Fold2, .* it has nothing"):
        read_letor_folds(tmp_path)
    make_folds(tmp_path, {"Fold1/test.txt": "1 qid:1 1:1\n"})
    with pytest.raises(FileNotFoundError, match=r"Fold1 has neither train\.txt nor train\.txt\.gz"):
        read_letor_folds(tmp_path)
    make_folds(tmp_path, {"Fold2/train.txt": "1 qid:1 1:1\n", "Fold1/train.txt": "1 qid:1 1:1\n"})
    with pytest.raises(FileNotFoundError, match=r"Fold2 has neither test\.txt nor test\.txt\.gz"):
        read_letor_folds(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"it has test\.txt, train\.txt"):
        read_letor_folds(tmp_path / "Fold1")


@real_data
def test_mq2008_folds():
    folds = read_letor_folds(DATA / "MQ2008")
    assert [fold.name for fold in folds] == [f"Fold{i}" for i in range(1, 6)]
    for fold in folds:
        parts = fold[1:]
        assert all(isinstance(part.X, np.ndarray) and part.X.shape[1] == 46 for part in parts)
        y, qid = np.concatenate([p.y for p in parts]), np.concatenate([p.qid for p in parts])
        assert np.unique(qid).size == 784
        assert np.bincount(y.astype(int)).tolist() == [12_279, 2_001, 931]
    path = DATA / "MQ2008" / "Fold1" / "test.txt"
    X, y, qid = load_svmlight_file(str(path), query_id=True)
    assert same(folds[0].test.X, X)
    assert same(folds[0].test.y, y)
    assert np.array_equal(folds[0].test.qid, qid)
    comments = read_letor(path, comments=True)[3]
    assert comments[0].startswith("docid = GX004-93-7097963 inc = 0.0428")
    assert len(comments) == y.size


@real_data
def test_clueweb09_fold():
    fold = read_letor_folds(DATA / "ClueWeb09")[0]
    y = np.concatenate([fold.train.y, fold.test.y])
    assert fold.validation is None
    assert np.unique(np.concatenate([fold.train.qid, fold.test.qid])).size == 61
    assert np.bincount(y.astype(int)).tolist() == [21_808, 3_274, 1_242, 172, 150]
    assert fold.train.X.shape[1] == 42


@real_data
def test_lightgbm_example():
    train, test = (read_letor(DATA / "lightgbm-example" / f"rank.{p}", n_features=300) for p in ("train", "test"))
    assert (train.X.shape, test.X.shape) == ((3005, 300), (768, 300))
    assert (np.unique(train.qid).size, np.unique(test.qid).size) == (201, 50)
    assert sp.issparse(train.X)
    assert same(train.X, load_svmlight_file(str(DATA / "lightgbm-example" / "rank.train"), n_features=300)[0])
