"""LETOR files and tables: which columns are read, errors, and the same results from all formats."""

import gzip
import re
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from letor_oracle import write_letor
from pandas._libs.parsers import STR_NA_VALUES

import boostrank as br
from boostrank.cli.documents import ColumnOptions, read_documents, read_scores

NAMES = ["price", "colour", "title match", "age"]


@pytest.fixture(scope="module")
def table(data):
    """The first features as a table, with query ids that are texts, and rows in random sequence."""
    X, y, qid = data
    frame = pd.DataFrame(X[:, :4].copy(), columns=NAMES)
    frame.insert(1, "query", [f"q {i}" for i in qid])
    frame["grade"] = y.astype(int)
    frame.loc[::7, "price"] = np.nan
    return frame.sample(frac=1.0, random_state=0).reset_index(drop=True)


@pytest.fixture(scope="module")
def files(table, tmp_path_factory):
    """The table in all formats, and as a LETOR file."""
    folder = tmp_path_factory.mktemp("tables")
    table.to_csv(folder / "t.csv", index=False)
    table.to_csv(folder / "t.csv.gz", index=False)
    table.to_csv(folder / "t.tsv", index=False, sep="\t")
    table.to_csv(folder / "with index;.csv", sep=";", encoding="utf-8-sig")
    pytest.importorskip("pyarrow")
    table.to_parquet(folder / "t.parquet")
    table.set_index("query").to_parquet(folder / "index.pq")
    write_letor(
        folder / "t.txt",
        table[NAMES].to_numpy(),
        table["grade"].to_numpy(),
        pd.factorize(table["query"])[0],
    )
    return folder


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["t.csv.gz", "t.tsv", "with index;.csv", "t.parquet", "index.pq"])
def test_all_formats_have_the_same_documents(files, table, name):
    X, y, qid = read_documents(files / name, ColumnOptions())
    pd.testing.assert_frame_equal(X, table[NAMES])
    assert y.tolist() == table["grade"].tolist()
    assert qid.tolist() == table["query"].tolist()


@pytest.mark.filterwarnings("ignore:.* look the same")
@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["3", "-1", "0"], [3, -1, 0]),
        (["3", "007", "NA"], ["3", "007", "NA"]),
        (["3.0", "3", "null"], ["3.0", "3", "null"]),
        ([str(2**62), str(2**62 + 1), "1"], [str(2**62), str(2**62 + 1), "1"]),
    ],
)
def test_query_ids_keep_their_text(tmp_path, ids, expected):
    rows = "".join(f"{query},1,0.5\n" for query in ids)
    assert (
        read_documents(written(tmp_path / "t.csv", f"qid,label,x\n{rows}"), ColumnOptions())[
            2
        ].tolist()
        == expected
    )


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (np.array([2**64 - 100, 2**64 - 99, 3], np.uint64), [2**64 - 100, 2**64 - 99, 3]),
        (
            1e19 + 1e17 * np.arange(3),
            "is 1e+19 in row 1, and float64 can tell apart only whole numbers up to 900",
        ),
        (
            np.array([3, 16777218], np.float32),
            "in row 2, and float32 can tell apart only whole numbers up to 16777216",
        ),
        ([0.5, 1.0], "is 0.5 in row 1, and"),
        (pd.Categorical(["a", None, "b"]), "the query id (column 'qid') is missing in row 2"),
        ([b"a", b"\xff"], "t.parquet cannot be read as a table: 'utf-8' codec can't decode"),
        ([[1.000000001], [1.000000002]], "is no number, text or date in row 1"),
    ],
)
def test_query_ids_of_parquet_are_those_of_the_file_or_an_error(tmp_path, ids, expected):
    pytest.importorskip("pyarrow")
    pd.DataFrame({"qid": ids, "label": 1, "x": 2.5}).to_parquet(tmp_path / "t.parquet")
    with (
        pytest.raises(ValueError, match=re.escape(expected))
        if isinstance(expected, str)
        else nullcontext()
    ):
        assert read_documents(tmp_path / "t.parquet", ColumnOptions())[2].tolist() == expected


@pytest.mark.filterwarnings("error")
def test_numbers_of_text_are_rounded_correctly(tmp_path):
    random = np.random.default_rng(0)
    texts = [
        f"{a}.{b}e{c}"
        for a, b, c in random.integers([0, 0, -300], [10**18, 10**18, 280], (3000, 3)).tolist()
    ]
    # Numbers between two floats: the tie, and the least digit above it.
    texts += [f"{2**53 + 2 * i + 1}.{end}" for i in range(500) for end in ("0", "0" * 30 + "1")]
    rows = "".join(f"1,0,{text}\n" for text in texts)
    X, _, _ = read_documents(written(tmp_path / "t.csv", f"qid,label,x\n{rows}"), ColumnOptions())
    assert X["x"].tolist() == [float(text) for text in texts]


@pytest.mark.filterwarnings("ignore::boostrank.queries.id_columns.IdWarning")
def test_missing_values_of_text_files(run, tmp_path):
    texts = [text for text in STR_NA_VALUES if text]
    rows = "".join(f"{text},1,{text},{text},5\n" for text in texts)
    path = written(tmp_path / "t.csv", f"qid,label,x,c,NA\n{rows}a,0,1,b,7\n")
    X, _, qid = read_documents(path, ColumnOptions(categorical=["c"]))
    assert qid.tolist() == [*texts, "a"]
    assert X.count().tolist() == [1, 1, len(qid)]
    # Marks of one file. Beside missing values, integers beyond int64 are texts for pandas.
    rows = "".join(f"{i % 9},{i % 2},{i},{i},{i},{2**64 - 1}\n" for i in range(1, 400))
    written(path, f"qid,label,x,y,z,big\n1,0,?,\\N,red,\n{rows}2,1,?,-,blue,1\n")
    error = run("fit", path, tmp_path / "m", code=2)
    assert (
        "of 401 rows, some have texts: 'x' ('?' in 2; the first in row 1), 'y' ('\\\\N' in 1, '-' "
        "in 1; the" in error
    )
    assert (
        "use --missing '?,\\N,-,red,blue'. Leave out what is no feature (--drop z), or make it"
        in error
    )
    marks, quick = ["--missing", "?", "--missing", "\\N,-"], ["--drop", "z", "--rounds", 2]
    run("fit", path, tmp_path / "m", *quick, *marks, "--validation", path)
    run(
        "compare",
        path,
        *quick,
        *marks,
        "--objectives",
        "softmax",
        "--backend",
        "lightgbm",
        "--folds",
        3,
    )
    export = [
        "export",
        tmp_path / "m",
        "--format",
        "vespa",
        "--output",
        tmp_path / "m.json",
        *marks,
    ]
    assert "on 401 rows" in run(*export, "--check", path)
    assert "--missing needs --check" in run(*export, code=2)
    numbers = [np.nan, *range(1, 400), np.nan]
    X = pd.DataFrame({"x": numbers, "y": numbers, "big": [np.nan, *[2.0**64] * 399, 1.0]})
    scores = br.LightGBMRanker().load_model(tmp_path / "m").predict(X)
    assert list(map(float, run("predict", tmp_path / "m", path, *marks).split())) == scores.tolist()


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "PATH is empty: its first line must have the names of the columns"),
        (
            "1,2,3\n4,5,6\n",
            {},
            "PATH: its first line must have the names of the columns, and it has numbers; got "
            "'1,2,3'",
        ),
        (
            "qid,label,x\n",
            {},
            "PATH: below the first line there must be rows with as many fields; there are none",
        ),
        (
            "qid,label,x,x\n1,2,3,4\n",
            {},
            "different names of the columns, and 'x' stands there 2 times; got 'qid,label,x,x'",
        ),
        ("qid,label,x\n1,2,3\n1,2,3,4\n", {}, "Expected 3 fields in line 3, saw 4"),
        (
            "qid,label,x\n1,2,3,4\n1,2,3,4\n",
            {},
            "there must be rows with as many fields; they have more",
        ),
        ("qid,label,x\n1,2,3\n,2,3\n", {}, "PATH: the query id (column 'qid') is missing in row 2"),
        (
            "qid,label,x,y\n1,2,3,4\n1,2,red,4\n",
            {},
            "'x' ('red' in 1; the first in row 2). Leave out what is no",
        ),
        (
            "qid,label,x,Grade\n1,2,3,4\n",
            {},
            "the column 'Grade' looks like an id or a label, not a feature",
        ),
        (
            "qid,label,x,grade\n1,2,3,4\n",
            {},
            "PATH has several of the columns 'label', 'grade': name one with --label",
        ),
        (
            "Query,label,x\n1,2,3\n",
            {},
            "PATH has no column 'query_id', 'query', 'qid', 'q_id': name one with --qid;",
        ),
        (
            "qid,y,x\n1,2,3\n",
            {"label": "Y"},
            "--label: PATH has no column 'Y' (did you mean 'y'?); its columns are",
        ),
        (
            "qid,label,x\n1,2,3\n",
            {"qid": "x", "features": ["x"]},
            "the column 'x' looks like an id",
        ),
        ("qid,label,x,session\n1,2,3,4\n", {"qid": "session"}, "the column 'qid' looks like an id"),
    ],
)
def test_errors_say_what_is_wrong_and_where(tmp_path, text, options, message):
    path = written(tmp_path / "t.csv", text)
    with pytest.raises(ValueError, match=re.escape(message.replace("PATH", str(path)))):
        read_documents(path, ColumnOptions(**options))


def test_files_that_are_no_text_or_damaged(tmp_path):
    (tmp_path / "latin.csv").write_bytes("qid,label,größe\n1,2,3\n".encode("latin-1"))
    (tmp_path / "cut.csv").write_bytes(gzip.compress(b"qid,label,x\n" + b"1,2,3\n" * 1000)[:-10])
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and no more")
    written(tmp_path / "t.txt", "qid,label,x\n1,2,3\n")
    for name, message in (
        ("latin.csv", r"latin.csv cannot be read as a table: .*A CSV file must be text in UTF-8"),
        ("cut.csv", "the gzip data is damaged or cut off"),
        ("t.parquet", "t.parquet cannot be read as a table"),
    ):
        with pytest.raises(ValueError, match=message):
            read_documents(tmp_path / name, ColumnOptions())
    with pytest.raises(ValueError, match="line 1") as caught:
        read_documents(tmp_path / "t.txt", ColumnOptions())
    assert caught.value.__notes__ == [
        "if this is a table, its name must end in .csv, .tsv or .parquet"
    ]


def test_columns_of_parquet_with_other_types_of_numbers(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    columns = {
        "qid": pa.array([2.0, 2.0, 5.0]),
        "label": pa.array([0, 1, 2], pa.int8()),
        "flag": pa.array([True, None, False]),
        "half": pa.array(np.array([0.5, 1, 2], np.float16)),
        "decimal": pa.array([1, None, 2]).cast(pa.decimal128(30, 2)),
        "size": pa.array([2**62 + 1, None, 2**62 + 2]),
    }
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    X, _, qid = read_documents(tmp_path / "t.parquet", ColumnOptions(categorical=["size"]))
    assert qid.tolist() == [2, 2, 5]
    assert X.pop("size").tolist() == [str(2**62 + 1), np.nan, str(2**62 + 2)]
    expected = [[1, 0.5, 1], [np.nan, 1, np.nan], [0, 2, 2]]
    np.testing.assert_array_equal(X.to_numpy(float), expected)


@pytest.mark.parametrize("backend", ["lightgbm", "xgboost"])
@pytest.mark.filterwarnings("default")
def test_a_model_of_a_table_is_that_of_a_letor_file_and_keeps_names(
    run, files, table, tmp_path, backend
):
    quick = ["--rounds", 3, "--backend", backend, "--threads", 1]
    run("fit", files / "t.csv", tmp_path / "table", *quick, "--validation", files / "t.tsv")
    run("fit", files / "t.txt", tmp_path / "letor", *quick, "--validation", files / "t.txt")
    lines = run("predict", tmp_path / "letor", files / "t.txt").splitlines()
    # Other columns and another sequence of the columns change nothing, and labels are not needed.
    shuffled = table[["age", "title match", "colour", "price"]].assign(
        note="text", qid="", label="?"
    )
    shuffled.to_csv(tmp_path / "other.csv", index=False)
    for name in (files / "t.csv", files / "t.parquet", tmp_path / "other.csv"):
        assert run("predict", tmp_path / "table", name).splitlines() == lines
    error = run(
        "predict",
        tmp_path / "table",
        written(tmp_path / "short.csv", "price,Colour,age\n1,2,3\n"),
        code=2,
    )
    assert (
        "lacks features of the model: 'colour', 'title match' (did you mean 'Colour'?); its "
        "columns are" in error
    )
    # Columns that fit had to leave out may be named again, and those of the model are needed.
    again = ["--drop", "note", "--features", "age,price,colour,title match"]
    assert run("predict", tmp_path / "table", tmp_path / "other.csv", *again).splitlines() == lines
    for option in (["--drop", "age"], ["--features", "age"], ["--features", again[-1] + ",note"]):
        error = run("predict", tmp_path / "table", tmp_path / "other.csv", *option, code=2)
        assert (
            "--features and --drop must leave the features of the model: 'price', 'colour', "
            in error
        )
    error = run("predict", tmp_path / "table", files / "t.csv", "--drop", "note", code=2)
    assert "--drop: " in error
    assert "has no column 'note'" in error
    # Without names on one side, the sequence decides, and a warning says so.
    assert run("predict", tmp_path / "table", files / "t.txt").splitlines() == lines
    warning = run("predict", tmp_path / "letor", files / "t.csv", errors=True)
    assert "X has feature names, but" in warning
    error = run("predict", tmp_path / "letor", files / "t.csv", "--drop", "age", code=2)
    assert "3 features" in error


def test_tables_of_scores_are_written_and_evaluated(run, files, table, tmp_path):
    run("fit", files / "t.csv", tmp_path / "m", "--rounds", 3, "--threads", 1)
    expected = [
        float(line) for line in run("predict", tmp_path / "m", files / "t.csv").splitlines()
    ]
    outs = []
    for name in ("s.csv", "s.tsv", "s.parquet", "s.txt"):
        assert run("predict", tmp_path / "m", files / "t.csv", "--output", tmp_path / name) == ""
        outs.append(run("evaluate", files / "t.csv", tmp_path / name))
    scores = pd.read_csv(tmp_path / "s.csv", dtype=str)
    assert list(scores.columns) == ["qid", "score"]
    assert scores["qid"].tolist() == table["query"].tolist()
    assert scores["score"].map(float).tolist() == expected
    value = br.ndcg_score(table["grade"], expected, table["query"], k=5)
    assert all(f"{value:.6f}" in out for out in outs)
    error = run("predict", tmp_path / "m", files / "t.csv", "--qid", "query", code=2)
    assert "--qid needs --output with a name that ends in .csv" in error
    path = written(tmp_path / "two.csv", "query_id,score\n7,0.5\n8,0.25\n")
    assert read_scores(path, np.array([7, 8])).tolist() == [0.5, 0.25]
    with pytest.raises(ValueError, match="row 2 has the query id '8', and this document '9'"):
        read_scores(path, np.array([7, 9]))
    with pytest.raises(ValueError, match=r"t\.csv has no column 'score'"):
        read_scores(files / "t.csv", np.array([7, 9]))


@pytest.mark.parametrize("backend", ["lightgbm", "xgboost"])
@pytest.mark.filterwarnings("default")
def test_categories_are_those_of_the_training(run, tmp_path, backend):
    X, y, qid = br.make_ranking(n_queries=30, random_state=0)
    shops = np.array(["b", "7", "c"])[np.arange(len(y)) % 3]
    # Only the category says which documents are relevant.
    grades = np.where(shops == "7", 2, np.where(shops == "b", 1, 0))
    frame = pd.DataFrame({"qid": qid, "label": grades, "shop": shops, "x": X[:, 0]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    quick = ["--rounds", 10, "--backend", backend, "--threads", 1]
    error = run("fit", tmp_path / "t.csv", tmp_path / "m", *quick, code=2)
    assert (
        "'shop' ('b' in 239, 'c' in 239; the first in row 1). Leave out what is no feature (--drop "
        "shop)" in error
    )
    run(
        "fit",
        tmp_path / "t.csv",
        tmp_path / "m",
        *quick,
        "--categorical",
        "shop",
        "--validation",
        tmp_path / "t.csv",
    )
    run("predict", tmp_path / "m", tmp_path / "t.csv", "--output", tmp_path / "s.csv")
    scores = pd.read_csv(tmp_path / "s.csv")["score"].to_numpy()
    assert br.ndcg_score(frame["label"], scores, qid) == 1.0
    # A file with fewer categories in another sequence.
    frame.iloc[1:3].to_csv(tmp_path / "two.csv", index=False)
    lines = run("predict", tmp_path / "m", tmp_path / "two.csv").split()
    np.testing.assert_allclose([float(line) for line in lines], scores[1:3])
    frame.assign(shop="apples").to_csv(tmp_path / "new.csv", index=False)
    warning = run("predict", tmp_path / "m", tmp_path / "new.csv", errors=True)
    assert (
        "the model does not know 'apples' in the column 'shop': these count as missing" in warning
    )
    # A model of Python may have a category whose text is a missing value elsewhere.
    like = pd.DataFrame({"shop": pd.Categorical([], ["None", "b"])})
    path = written(tmp_path / "none.csv", "shop\nNone\nNA\n?\nb\n")
    shop = read_documents(path, ColumnOptions(missing=["?"]), like=like, roles=["features"])[0][
        "shop"
    ]
    assert shop.tolist() == ["None", np.nan, np.nan, "b"]
    write_letor(tmp_path / "t.txt", X[:, :2], y, qid)
    assert "which has no categories" in run("predict", tmp_path / "m", tmp_path / "t.txt", code=2)
