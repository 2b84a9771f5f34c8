"""Tables with faults: messages name the file, the column, the row and the option that helps."""

import re

import numpy as np
import pandas as pd
import pytest

from boostrank.cli.documents import ColumnOptions, read_documents

N = 60
RANDOM = np.random.default_rng(0)
BASE = pd.DataFrame(
    {
        "qid": np.repeat(np.arange(6), 10),
        "label": np.arange(N) % 3,
        "price": RANDOM.normal(size=N).round(3),
        "clicks": RANDOM.poisson(3, N),
    }
)


def changed(name, row, value):
    """The base table with another value in a row."""
    column = BASE[name].astype(object)
    column[row] = value
    return BASE.assign(**{name: column})


def read(frame, path, sep=",", **options):
    frame.to_csv(path, index=False, sep=sep)
    return read_documents(path, ColumnOptions(**options))


def words(*texts):
    return np.resize(texts, N)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (
            BASE.assign(label=words("bad", "good", "fair")),
            "labels must be numbers, but of 60 rows, some have texts: 'label' ('bad' in 20, 'good' "
            "in 20, 'fair' in 20; the first in row 1). Write grades in their place: 0 for the "
            "least relevant, then 1, 2, and so on",
        ),
        (
            changed("label", 5, "unknown"),
            "'label' ('unknown' in 1; the first in row 6). Give these documents labels, or leave "
            "them out",
        ),
        (
            BASE.assign(label=words("0,5", "1,5")),
            "'label' ('0,5' in 30, '1,5' in 30; the first in row 1). 'label' has decimal commas: "
            "write 0.5 in place of 0,5",
        ),
        (
            BASE.assign(label=[f"title {i}" for i in range(N)]),
            "Name the column of the labels with --label",
        ),
        (
            changed("label", 5, ""),
            "the label (column 'label') is missing in row 6 (missing in 1 of 60): give the "
            "document a label, or leave it out",
        ),
        (
            changed("label", 5, -1),
            "the label (column 'label') is -1 in row 6 (negative in 1 of 60), and must be 0 or "
            "more: shift the labels",
        ),
        (changed("label", 5, "inf"), "the label (column 'label') is inf in row 6"),
    ],
)
def test_labels_that_are_no_grades(tmp_path, frame, message):
    with pytest.raises(ValueError, match=re.escape(f"{tmp_path / 't.csv'}: ")) as error:
        read(frame, tmp_path / "t.csv")
    assert message in str(error.value)


def test_labels_of_other_files(run, tmp_path):
    frame = BASE.assign(label=words("bad", "good"))
    pytest.importorskip("pyarrow")
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"texts: 'label' \('bad' in 30, 'good' in 30; the first"):
        read_documents(tmp_path / "t.parquet", ColumnOptions())
    (tmp_path / "t.txt").write_text("1 qid:1 1:0.5\n-1 qid:1 1:0.5\n")
    error = run("fit", tmp_path / "t.txt", tmp_path / "m", code=2)
    assert f"{tmp_path / 't.txt'}: the label is -1 in document 2 (negative in 1 of 2)" in error
    BASE.assign(label=BASE["label"] - 1).to_csv(tmp_path / "t.csv", index=False)
    # XGBoost looks only at which label is larger.
    pairs = ["--objective", "rank:pairwise", "--backend", "xgboost", "--rounds", 2]
    assert "60 documents" in run("fit", tmp_path / "t.csv", tmp_path / "m", *pairs)


@pytest.mark.parametrize(
    ("columns", "advice"),
    [
        ({"x": words("0,5", "1,25")}, "'x' has decimal commas: write 0.5 in place of 0,5"),
        (
            {"x": words("1,299.00", "12")},
            "'x' has thousands separators: write 1299.00 in place of 1,299.00",
        ),
        (
            {"x": words("1.299,00", "0,5")},
            "'x' has thousands separators and decimal commas: write 1299.00 in place of 1.299,00",
        ),
        ({"x": words("$12.50", "$3")}, "beside the numbers: write 12.50 in place of $12.50"),
        ({"x": words("12 kg", "3 kg")}, "beside the numbers: write 12 in place of 12 kg"),
        (
            {"shop": words("a", "b"), "colour": words("red", "blue")},
            "Leave out what is no feature (--drop shop,colour), or make it categories "
            "(--categorical shop,colour)",
        ),
        (
            {"the shop": words("a", "b")},
            "(--drop 'the shop'), or make it categories (--categorical 'the shop')",
        ),
        (
            {"sku": [f"D{i}" for i in range(N)], "shop": words("a", "b")},
            "'sku' looks like an id. Leave out what is no feature (--drop sku,shop), or make it "
            "categories (--categorical shop)",
        ),
        ({"x": words("?", "1", "2")}, "If texts mark missing values, use --missing '?'"),
        ({"x": words("?", "red")}, "use --missing '?'. Leave out what is no feature (--drop x)"),
        (
            {"x": words("?", "-", "a", "b", "c", "d")},
            "use --missing '?,-'. Leave out what is no feature (--drop x)",
        ),
        ({"x": "?"}, "use --missing '?'. Leave out what is no feature (--drop x)"),
        (
            {"day": [f"{1 + i % 28}.1.2024" for i in range(N)]},
            "(--drop day), or make numbers of dates, such as days since a fixed date",
        ),
        (
            {"day": [f"Jan {1 + i % 28}, 2024" for i in range(N)]},
            "(--drop day), or make numbers of dates, such as days since a fixed date",
        ),
    ],
)
def test_features_that_are_texts(tmp_path, columns, advice):
    with pytest.raises(ValueError, match="features must be numbers, but of 60 rows") as error:
        read(BASE.assign(**columns), tmp_path / "t.csv", sep=";")
    assert str(error.value).endswith(advice) or f"{advice}, or" in str(error.value)
    assert "the first in row" in str(error.value)


def test_few_texts_among_numbers(tmp_path):
    path = tmp_path / "t.csv"
    with pytest.raises(ValueError, match="have texts") as error:
        read(changed("price", 3, "$5"), path)
    assert "--missing" not in str(error.value)
    assert "beside the numbers: write 5 in place of $5" in str(error.value)
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    BASE.assign(x=words("?", "1", "2")).to_parquet(path)
    with pytest.raises(ValueError, match=r"\. If texts mark missing values, write nulls in their"):
        read_documents(path, ColumnOptions())


def test_a_model_keeps_its_features_whatever_texts_a_file_has(run, tmp_path):
    BASE.to_csv(tmp_path / "t.csv", index=False)
    run("fit", tmp_path / "t.csv", tmp_path / "m", "--rounds", 2)
    changed("price", 3, "cheap").to_csv(tmp_path / "new.csv", index=False)
    error = run("predict", tmp_path / "m", tmp_path / "new.csv", code=2)
    assert "'price' ('cheap' in 1; the first in row 4)" in error
    assert "use --missing cheap. The model was trained on numbers in their place" in error
    assert "--drop" not in error
    BASE.assign(price=words("0,5", "1,25")).to_csv(tmp_path / "new.csv", index=False)
    error = run("predict", tmp_path / "m", tmp_path / "new.csv", code=2)
    assert "in their place. 'price' has decimal commas: write 0.5 in place of 0,5" in error


def test_rows_with_too_few_fields_are_named(run, tmp_path):
    path = tmp_path / "t.csv"
    BASE.to_csv(path, index=False)
    lines = path.read_text().splitlines()
    lines[9] = lines[9].rpartition(",")[0]
    lines[20] = lines[20].split(",")[0] + ",1"
    path.write_text("\n".join([*lines[:5], "", *lines[5:]]))
    fault = (
        "row 9 (line 11) has 3 of the 4 fields of the first line, the first of 2 such rows: the "
        "others count as missing"
    )
    with pytest.warns(UserWarning, match=re.escape(fault)):
        X, _, _ = read_documents(path, ColumnOptions())
    assert np.isnan(X["clicks"][[8, 19]]).all()
    assert X["clicks"].count() == N - 2
    # Also where the last column is none of the features, as in predict.
    names = lines[0].split(",")
    lines[0] = ",".join([*names[:-1], "other"])
    like = pd.DataFrame({name: [] for name in names[2:-1]})
    path.write_text("\n".join([*lines[:5], "", *lines[5:]]))
    with pytest.warns(UserWarning, match=re.escape(fault)):
        read_documents(path, ColumnOptions(), like=like, roles=("features",))
    # Empty fields are missing values, and no fault.
    changed("clicks", 3, "").to_csv(path, index=False)
    assert read_documents(path, ColumnOptions())[0]["clicks"].count() == N - 1


@pytest.mark.parametrize(
    ("head", "separator"),
    [("qid;label;price, in EUR", ";"), ("qid|label|price", "|"), ("qid, label, price", ", ")],
)
def test_the_separator_is_that_of_the_first_line(tmp_path, head, separator):
    rows = [["7 a", "1", "0.5"], ["7 a", "0", "1.5"]]
    path = tmp_path / "t.csv"
    path.write_text("\n".join([head, *(separator.join(row) for row in rows)]))
    X, y, qid = read_documents(path, ColumnOptions())
    assert X.to_numpy().tolist() == [[0.5], [1.5]]
    assert (y.tolist(), qid.tolist()) == ([1, 0], ["7 a", "7 a"])


def test_query_ids_that_look_the_same_are_two_with_a_warning(tmp_path):
    with pytest.warns(UserWarning, match=r"'qid'\) has '7' and '7.0', which look the same"):
        read(BASE.assign(qid=words("7", "7.0", "007")), tmp_path / "t.csv")
    frame = BASE.assign(qid=words("shoe", "shoe ", "007", '7,"a"'))
    with pytest.warns(UserWarning, match=r"'qid'\) has 'shoe' and 'shoe ', which look the same"):
        _, _, qid = read(frame, tmp_path / "t.csv")
    assert qid[:4].tolist() == ["shoe", "shoe ", "007", '7,"a"']


def test_dropped_columns_are_no_features(tmp_path):
    frame = BASE.assign(docid=[f"D{i}" for i in range(N)])
    X, _, _ = read(frame, tmp_path / "t.csv", features=["price,docid"], drop=["docid"])
    assert list(X) == ["price"]
    with pytest.raises(ValueError, match=r"has no features: each of its columns 'qid', .*--drop"):
        read(frame, tmp_path / "t.csv", features=["docid"], drop=["docid"])
    with pytest.raises(ValueError, match=r"--categorical: these are no features: 'docid'"):
        read(frame, tmp_path / "t.csv", categorical=["docid"], drop=["docid"])


NUMBERS = np.arange(N)
SUSPECTS = {
    "doc_id": (words(3, 4, 5), "'doc_id' (its name) looks like an id"),
    "docid": (words(3, 4, 5), "'docid' (its name) looks like an id"),
    "id": (words(3, 4, 5), "'id' (its name) looks like an id"),
    "product_id": (words(3, 4, 5), "'product_id' (its name) looks like an id"),
    "row": (words(3, 4, 5), "'row' (its name) looks like an id"),
    "serial": (
        RANDOM.permutation(1000)[:N],
        "'serial' (a different value in each row) looks like an id",
    ),
    "place": (
        NUMBERS % 10 * 3,
        "'place' (values that rise with the rows of each query) looks like an id",
    ),
    "day": (20240101 + NUMBERS % 28, "'day' looks like a date, read as a number"),
    "created": (1_700_000_000 + NUMBERS % 9, "'created' looks like a date"),
}


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", SUSPECTS)
def test_numbers_that_are_ids_or_dates_are_named(run, tmp_path, name):
    values, message = SUSPECTS[name]
    path = tmp_path / "t.csv"
    BASE.assign(**{name: values}).to_csv(path, index=False)
    fit = ["fit", path, tmp_path / "m", "--rounds", 2]
    lines = run(*fit, errors=True).splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"warning: {path}: {message}")
    assert f"Leave out what is no feature (--drop {name})" in lines[0]
    for option in (["--drop", name], ["--features", f"price,{name}"]):
        assert run(*fit, *option, errors=True) == ""
    compare = ["--objectives", "softmax", "--backend", "lightgbm", "--rounds", 2, "--folds", 2]
    assert message in run("compare", path, *compare, errors=True)


@pytest.mark.filterwarnings("default")
def test_one_warning_names_all_columns_of_a_kind(run, tmp_path):
    path = tmp_path / "t.csv"
    columns = {name: values for name, (values, _) in SUSPECTS.items()}
    sku = [f"D{i}" for i in range(N)]
    BASE.assign(**columns, sku=sku).to_csv(path, index=False)
    ids, dates = run(
        "fit", path, tmp_path / "m", "--rounds", 2, "--categorical", "sku", errors=True
    ).splitlines()
    assert "'sku' (a category of its own in each row) look like ids" in ids
    assert "(--drop doc_id,docid,id,product_id,row,serial,place,sku)" in ids
    assert "'day', 'created' look like dates, read as a number" in dates


@pytest.mark.filterwarnings("error")
def test_ordinary_features_are_no_ids(run, tmp_path):
    columns = {
        "views": RANDOM.lognormal(5, 2, N).astype(int),
        "year": RANDOM.integers(1990, 2024, N),
        "stars": RANDOM.integers(1, 6, N),
        "idf": RANDOM.integers(1, 99, N),
        "paid": RANDOM.integers(0, 2, N),
        "valid": 1,
        "n_ids": RANDOM.integers(1, 6, N),
        "time": RANDOM.integers(0, 100, N),
    }
    path = tmp_path / "t.csv"
    BASE.assign(**columns).to_csv(path, index=False)
    out = run("fit", path, tmp_path / "m", "--rounds", 2)
    assert out.startswith(f"features: price, clicks, {', '.join(columns)}\n")
    many = {f"x{i}": RANDOM.normal(size=N) for i in range(60)}
    BASE.assign(**many).to_csv(path, index=False)
    out = run("fit", path, tmp_path / "m", "--rounds", 2)
    assert re.match(r"features: price, clicks, x0, .*, x37, \.\.\. \(62 in all\)\n", out)


HEAD = "qid,label,price\n"


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("t.xlsx", "PK", [], "t.xlsx: files that end in .xlsx are not read. Save the table as CSV"),
        ("t.csv.zip", "PK", [], "t.csv.zip: files that end in .zip are not read"),
        ("t.csv", "qid label price\n7 1 0.5\n", [], "first line are separated by commas, semi"),
        ("t.tsv", f"{HEAD}7,1,0.5\n", [], "Names in the first line are separated by tabs"),
        ("t.csv", f"{HEAD}7,1,2,3\n", [], "they have more. A field with a comma needs quotes, as"),
        ("t.csv", f"{HEAD}7,1,2\n7,1,2,3\n", [], "saw 4. A field with a comma needs quotes, as in"),
        ("t.csv", f'{HEAD}7,1,"2\n7,1,2\n', [], "each quote must be closed"),
        (
            "t.csv",
            f"{HEAD}7,1,2\n",
            ["--qid", "label"],
            "has no column 'label', 'relevance', 'grade' besides 'label', which another option",
        ),
        (
            "t.csv",
            f"{HEAD}7,1,2\n",
            ["--qid", "qid", "--label", "qid"],
            "--qid and --label name the same column, 'qid'",
        ),
        (
            "t.csv",
            f"{HEAD}7,1,2\n7,0,inf\n",
            ["--backend", "xgboost"],
            "t.csv: 'price' is inf in row 2, or too large a number, which XGBoost does not take. "
            "If it marks a missing value, use --missing inf",
        ),
    ],
)
def test_files_of_newcomers(run, tmp_path, name, text, options, message):
    (tmp_path / name).write_text(text)
    assert message in run("fit", tmp_path / name, tmp_path / "m", *options, code=2)


def test_names_of_files_and_columns_in_other_letters(tmp_path):
    path = tmp_path / "T.CSV"
    path.write_text("qid ,label, price \nshoe,1,0.5\nshoe,0,NA\n")
    X, y, qid = read_documents(path, ColumnOptions())
    assert list(X) == ["price"]
    np.testing.assert_array_equal(X["price"], [0.5, np.nan])
    assert (y.tolist(), qid.tolist()) == ([1, 0], ["shoe", "shoe"])


def test_files_to_read_are_not_written_over(run, tmp_path):
    path = tmp_path / "t.csv"
    BASE.to_csv(path, index=False)
    content = path.read_text()
    model = tmp_path / "m"
    error = run("fit", path, path, code=2)
    assert f"MODEL: {path} is a file to read, and would be lost" in error
    error = run("fit", path, tmp_path / "test.csv", code=2)
    assert "test.csv has the name of a table. It is the file to write the model to" in error
    run("fit", path, model, "--rounds", 2)
    assert "--output: " in run("predict", model, path, "--output", path, code=2)
    assert "MODEL comes first, as fit wrote it" in run("predict", path, model, code=2)
    assert path.read_text() == content


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("s.txt", "0,5", "line 4: '0,5' is not a finite score: it has decimal commas; write 0.5"),
        ("s.txt", "score", "'score' is not a finite score. A file with one score a line has no"),
        ("s.csv", "", "s.csv: the score (column 'score') is nan in row 4, and must be a finite"),
        ("s.csv", "high", "s.csv: the score (column 'score') is high in row 4"),
    ],
)
def test_scores_that_are_no_numbers(run, tmp_path, name, line, message):
    BASE.to_csv(tmp_path / "t.csv", index=False)
    lines = [str(i / 7) for i in range(N)]
    lines[3] = line
    if name == "s.csv":
        lines = [
            "qid,score",
            *(f"{qid},{line}" for qid, line in zip(BASE["qid"], lines, strict=True)),
        ]
    (tmp_path / name).write_text("\n".join(lines))
    assert message in run("evaluate", tmp_path / "t.csv", tmp_path / name, code=2)


@pytest.mark.filterwarnings("default")
def test_features_without_values_are_named(run, tmp_path):
    path = tmp_path / "t.csv"
    BASE.assign(empty=np.nan).to_csv(path, index=False)
    warning = run("fit", path, tmp_path / "m", "--rounds", 2, errors=True)
    assert warning == (
        f"warning: {path}: no row has a value of the feature 'empty', so that nothing is learned\n"
    )
