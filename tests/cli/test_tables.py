"""Tables in CSV, TSV and Parquet files: which columns are read, errors, and the same results as from LETOR files."""

import gzip
import re

import numpy as np
import pandas as pd
import pytest

import boostrank as br
from boostrank.cli.documents import ModelFeatures, read_documents, read_scores
from boostrank.cli.tables import ColumnOptions

NAMES = ["price", "colour", "title match", "age"]


@pytest.fixture(scope="module")
def table(data):
    """The first features as a table, with query ids that are texts, and rows in random sequence."""
    X, y, qid = data
    frame = pd.DataFrame(X[:, :4], columns=NAMES)
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
    table.set_index("query").to_parquet(folder / "t.data")
    ids = pd.factorize(table["query"])[0]
    br.write_letor(folder / "t.txt", table[NAMES].to_numpy(), table["grade"], ids)
    return folder


@pytest.mark.parametrize("name", ["t.csv.gz", "t.tsv", "with index;.csv", "t.parquet", "t.data"])
def test_all_formats_have_the_same_documents(files, table, name):
    documents = read_documents(files / name, ColumnOptions())
    pd.testing.assert_frame_equal(documents.X, table[NAMES])
    assert documents.y.tolist() == table["grade"].tolist()
    assert documents.y.dtype == np.float64
    assert documents.qid.tolist() == table["query"].tolist()
    assert documents.feature_names == NAMES


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["3", "-1", "0"], [3, -1, 0]),
        (["3", "007", "NA"], ["3", "007", "NA"]),
        ([str(2**62), str(2**62 + 1), "1"], [str(2**62), str(2**62 + 1), "1"]),
    ],
)
def test_query_ids_keep_their_text(tmp_path, ids, expected):
    rows = "".join(f"{each},1,0.5\n" for each in ids)
    assert read_documents(written(tmp_path / "t.csv", f"qid,label,x\n{rows}"), ColumnOptions()).qid.tolist() == expected


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "the file is empty"),
        ("qid,label,x,x\n1,2,3,4\n", {}, "two columns have the name 'x'"),
        ("qid,label,x\n1,2,3\n1,2,3,4\n", {}, "line 3: expected 3 fields as in the first line; got 4"),
        ('qid,label,x\n"a,b",2,3\n"c\nd",2\n', {}, "line 4: expected 3 fields as in the first line; got 2"),
        ("qid,label,x\n1,2,3\n1,good,3\n", {}, "the label (column 'label') must be a number; row 2 has 'good'"),
        ("qid,label,x\n1,2,3\n,2,3\n", {}, "the query id (column 'qid') is missing in row 2"),
        ("qid,label,x,y\n1,2,3,4\n1,2,red,4\n", {}, "row 2 of 'x' has 'red'. Leave out what is no feature (--drop x)"),
        ("qid,label,x,doc_id\n1,2,3,4\n", {}, "the column 'doc_id' looks like an id or a label, not a feature"),
        ("qid,label,x,grade\n1,2,3,4\n", {}, "has the columns 'label' and 'grade': say with --label which"),
        ("qid,y,x\n1,2,3\n", {"label": "Y"}, "--label: PATH has no column 'Y' (did you mean 'y'?); its columns are"),
        ("qid,label,x\n1,2,3\n", {"qid": "x", "features": ["x"]}, "the column 'x' is given twice, by --qid and --feat"),
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
        ("latin.csv", "it is not text in UTF-8; save it in this encoding, as with iconv"),
        ("cut.csv", "the gzip data is damaged or cut off"),
        ("t.parquet", "is no complete Parquet file"),
    ):
        with pytest.raises(ValueError, match=message):
            read_documents(tmp_path / name, ColumnOptions())
    with pytest.raises(ValueError, match="line 1") as caught:
        read_documents(tmp_path / "t.txt", ColumnOptions())
    assert caught.value.__notes__ == ["if this is a table, its name must end in .csv, .tsv or .parquet"]


def test_labels_that_are_not_needed(tmp_path):
    model = ModelFeatures(1, ["x"])
    for labels, expected in ((("2", "0"), [2.0, 0.0]), (("2", ""), None), (("2", "?"), None)):
        path = written(tmp_path / "t.csv", f"x,label,qid\n4,{labels[0]},1\n5,{labels[1]},2\n")
        documents = read_documents(path, ColumnOptions(), model=model, needs_qid=False, needs_label=False)
        assert (None if documents.y is None else documents.y.tolist()) == expected
        assert documents.qid is None
    with pytest.raises(ValueError, match=r"the label \(column 'label'\) must be a number"):
        read_documents(path, ColumnOptions(label="label"), model=model, needs_qid=False, needs_label=False)


def test_columns_of_parquet_with_other_types_of_numbers(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    columns = {
        "qid": pa.array([2.0, 2.0, 5.0]),
        "label": pa.array([0, 1, 2], pa.int8()),
        "flag": pa.array([True, None, False]),
        "half": pa.array(np.array([0.5, 1, 2], np.float16)),
        "money": pa.array([1, 2, None], pa.int64()).cast(pa.decimal128(22, 2)),
        "count": pa.array([1, None, 3]),
        "shop": pa.array(["a", None, "b"]).dictionary_encode(),
    }
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    documents = read_documents(tmp_path / "t.parquet", ColumnOptions())
    assert documents.qid.tolist() == [2, 2, 5]
    assert documents.X.dtypes.astype(str).tolist() == ["float64", "float64", "float64", "float64", "category"]
    expected = [[1, 0.5, 1, 1], [np.nan, 1, 2, np.nan], [0, 2, np.nan, 3]]
    np.testing.assert_array_equal(documents.X.iloc[:, :4].to_numpy(float), expected)
    parquet.write_table(pa.table({**columns, "qid": pa.array([2.5, 2, 5])}), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"the query id \(column 'qid'\) is neither an integer nor a text in row 1"):
        read_documents(tmp_path / "t.parquet", ColumnOptions())


@pytest.mark.parametrize("backend", ["lightgbm", "xgboost"])
@pytest.mark.filterwarnings("default")
def test_a_model_of_a_table_is_that_of_a_letor_file_and_keeps_names(run, files, table, tmp_path, backend):
    quick = ["--rounds", 3, "--backend", backend, "--threads", 1]
    run("fit", files / "t.csv", tmp_path / "table", *quick, "--validation", files / "t.tsv")
    run("fit", files / "t.txt", tmp_path / "letor", *quick, "--validation", files / "t.txt")
    lines = run("predict", tmp_path / "letor", files / "t.txt").splitlines()
    # Other columns and another sequence of the columns change nothing, and labels are not needed.
    shuffled = table[["age", "title match", "colour", "price"]].assign(note="text", qid="", label="?")
    shuffled.to_csv(tmp_path / "other.csv", index=False)
    for name in (files / "t.csv", files / "t.parquet", tmp_path / "other.csv"):
        assert run("predict", tmp_path / "table", name).splitlines() == lines
    ranker = br.LightGBMRanker() if backend == "lightgbm" else br.XGBoostRanker()
    assert ModelFeatures.of(ranker.load_model(tmp_path / "table")) == (4, NAMES, {})
    error = run("predict", tmp_path / "table", written(tmp_path / "short.csv", "price,Colour,age\n1,2,3\n"), code=2)
    assert "lacks 2 of the 4 features of the model: 'colour' and 'title match' (did you mean 'Colour'?)" in error
    error = run("predict", tmp_path / "table", files / "t.csv", "--drop", "age", code=2)
    assert "--drop needs a model without names of features" in error
    # Without names on one side, the sequence decides, and a warning says so.
    assert run("predict", tmp_path / "table", files / "t.txt").splitlines() == lines
    warning = run("predict", tmp_path / "letor", files / "t.csv", errors=True)
    assert "the features of the model have no names" in warning
    error = run("predict", tmp_path / "letor", files / "t.csv", "--drop", "age", code=2)
    assert "3 features" in error


@pytest.mark.slow
def test_tables_of_scores_are_written_and_evaluated(run, files, table, tmp_path):
    run("fit", files / "t.csv", tmp_path / "m", "--rounds", 3, "--threads", 1)
    expected = [float(line) for line in run("predict", tmp_path / "m", files / "t.csv").splitlines()]
    outs = []
    for name in ("s.csv", "s.tsv", "s.parquet", "s.txt"):
        keep = [] if name == "s.txt" else ["--keep", "title match,age"]
        assert run("predict", tmp_path / "m", files / "t.parquet", "--output", tmp_path / name, *keep) == ""
        outs.append(run("evaluate", files / "t.csv", tmp_path / name))
    written_table = pd.read_csv(tmp_path / "s.csv")
    assert list(written_table.columns) == ["qid", "title match", "age", "score"]
    assert written_table["qid"].tolist() == table["query"].tolist()
    assert written_table["score"].tolist() == expected
    value = br.ndcg_score(table["grade"], expected, table["query"], k=5)
    assert all(f"{value:.6f}" in out for out in outs)
    written_table.iloc[::-1].to_csv(tmp_path / "reversed.csv", index=False)
    error = run("evaluate", files / "t.csv", tmp_path / "reversed.csv", code=2)
    assert "the scores must have the sequence of the documents" in error
    assert "must have a column 'score'" in run("evaluate", files / "t.csv", files / "t.csv", code=2)
    error = run("predict", tmp_path / "m", files / "t.csv", "--keep", "age", code=2)
    assert "--keep needs --output with a name that ends in .csv" in error


@pytest.mark.parametrize("backend", ["lightgbm", "xgboost"])
@pytest.mark.filterwarnings("default")
def test_categories_are_those_of_the_training(run, tmp_path, backend):
    X, y, qid = br.make_ranking(n_queries=30, random_state=0)
    shops = np.array(["b", "7", "c"])[np.arange(len(y)) % 3]
    frame = pd.DataFrame({"qid": qid, "label": y, "shop": shops, "x": X[:, 0]})
    # Only the category says which documents are relevant.
    frame["label"] = np.where(shops == "7", 2, np.where(shops == "b", 1, 0))
    frame.to_csv(tmp_path / "t.csv", index=False)
    quick = ["--rounds", 10, "--backend", backend, "--threads", 1]
    error = run("fit", tmp_path / "t.csv", tmp_path / "m", *quick, code=2)
    assert "the column 'shop' does not consist of numbers: row 1 of 'shop' has 'b'" in error
    run("fit", tmp_path / "t.csv", tmp_path / "m", *quick, "--categorical", "shop", "--validation", tmp_path / "t.csv")
    run("predict", tmp_path / "m", tmp_path / "t.csv", "--output", tmp_path / "s.csv")
    scores = pd.read_csv(tmp_path / "s.csv")["score"].to_numpy()
    assert br.ndcg_score(frame["label"], scores, qid) == 1.0
    # A file with fewer categories in another sequence.
    frame.iloc[1:3].to_csv(tmp_path / "two.csv", index=False)
    np.testing.assert_allclose(
        [float(x) for x in run("predict", tmp_path / "m", tmp_path / "two.csv").split()], scores[1:3]
    )
    frame.assign(shop="apples").to_csv(tmp_path / "new.csv", index=False)
    warning = run("predict", tmp_path / "m", tmp_path / "new.csv", errors=True)
    assert "the model does not know 'apples' in the column 'shop': these values count as missing" in warning


@pytest.mark.slow
def test_compare_divides_the_queries_of_a_table(run, files, tmp_path):
    quick = ["--rounds", 2, "--folds", 3, "--objectives", "lambdarank,softmax", "--backend", "lightgbm"]
    out = run("compare", files / "t.csv", *quick, "--measures", "ndcg@5", "--qid", "query", "--label", "grade")
    assert "ndcg@5, compared with lightgbm lambdarank" in out
    assert out == run("compare", files / "t.parquet", *quick, "--measures", "ndcg@5")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("qid,label,a\n1,0,inf\n", "the feature 'a' is infinite in row 1; leave the field empty if it is missing"),
        ("QID,label,a\n1,0,2\n", "name the column of the query ids with --qid, such as --qid QID; its"),
        ("qid, label,a\n1,0,2\n", "of the labels with --label, such as --label ' label'; its"),
    ],
)
def test_messages_say_what_to_do(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        read_documents(written(tmp_path / "t.csv", content), ColumnOptions())


def test_names_in_quotes_may_have_several_lines(tmp_path):
    documents = read_documents(written(tmp_path / "t.csv", 'qid,label,"a\nb",c\n1,0,2,3\n1,1,4,5\n'), ColumnOptions())
    assert documents.feature_names == ["a\nb", "c"]
    assert documents.X["c"].tolist() == [3, 5]


def test_letor_files_for_models_with_names_and_categories(tmp_path):
    path = written(tmp_path / "t.txt", "0 qid:1 1:5 2:6\n1 qid:1 2:7\n")
    with pytest.warns(UserWarning, match="feature 1 is taken for 'a'"):
        X = read_documents(path, ColumnOptions(), model=ModelFeatures(2, ["a", "b"])).X
    assert X.to_dict("list") == {"a": [5, 0], "b": [6, 7]}
    with pytest.raises(ValueError, match="has numbers only, and 'b' of the model is a category: use a table"):
        read_documents(path, ColumnOptions(), model=ModelFeatures(2, ["a", "b"], {"b": ["x"]}))


def test_scores_of_a_table_need_the_ids_of_the_documents(tmp_path):
    path = written(tmp_path / "s.csv", "qid,score\n7,0.5\n8,0.25\n")
    assert read_scores(path, np.array([7, 8])).tolist() == [0.5, 0.25]
    with pytest.raises(ValueError, match="row 2 has the query id '8', and this document '9'"):
        read_scores(path, np.array([7, 9]))
