"""The command `explain`: its text, its files, and queries and documents as users name them."""

import numpy as np
import pandas as pd
import pytest

import boostrank as br

SETTINGS = {"n_estimators": 5, "n_jobs": 1, "random_state": 0}


@pytest.fixture(scope="module")
def ranker(data):
    return br.LightGBMRanker(**SETTINGS).fit(*data)


@pytest.fixture(scope="module")
def model(ranker, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.txt"
    ranker.save_model(path)
    return path


def test_the_text_and_the_table(run, folder, model, ranker, data, tmp_path):
    X, y, qid = data
    out = run("explain", model, folder / "all.txt", "--query", 7, "--documents", "2,12", "--top", 3)
    found = br.explain(ranker, X, qid, query=7, ranks=(2, 12), y=y, feature_names=range(1, X.shape[1] + 1))
    lines = out.splitlines()
    n = len(found.ranking)
    assert lines[0] == f"query 7: {n} documents, ranked by score"
    # Ten documents, the one at rank 12 and the gaps; rows of the file begin with 1.
    ranked = [line.split() for line in lines[3 : lines.index("")]]
    assert ranked[0] == ["1", *_cells(found, 0)]
    assert ranked[1] == ["A", "2", *_cells(found, 1)]
    assert ranked[10:] == [["..."], ["B", "12", *_cells(found, 11)], *([["..."]] if n > 12 else [])]
    text = " ".join(out.split())
    assert found.head in text
    top = found.table.iloc[0]
    row = next(line.split() for line in lines if line.startswith(f"feature {top['feature']} "))
    assert float(row[-1]) == pytest.approx(top["difference"], abs=1e-3)
    assert f"{X.shape[1] - 3} other features" in out
    assert "row: number of the document in all.txt." in text


def _cells(found, i):
    row = found.ranking.iloc[i]
    return [str(int(row["row"]) + 1), f"{row['label']:g}", f"{row['score']:.4f}"]


def test_files(run, folder, model, ranker, data, tmp_path):
    X, _, qid = data
    files = ["--output", tmp_path / "t.csv", "--plot", tmp_path / "p.png"]
    out = run("explain", model, folder / "all.txt", "--query", 7, "--top", 4, *files)
    assert out.endswith(f"table: {tmp_path / 't.csv'}\nplot: {tmp_path / 'p.png'}\n")
    scores = np.sort(ranker.predict(X[qid == 7]))[::-1]
    table = pd.read_csv(tmp_path / "t.csv")
    assert table["difference"].sum() == pytest.approx(scores[0] - scores[1])
    assert set(table["feature"]) == set(range(1, X.shape[1] + 1))
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"
    run("explain", model, folder / "all.txt", "--query", 7, "--output", tmp_path / "t.md")
    head = "| feature | value A | value B | adds to A | adds to B | difference |"
    assert (tmp_path / "t.md").read_text().startswith(f"{head}\n|---|---|---|---:|---:|---:|\n")


def test_tables_with_names_categories_and_text_ids(run, data, tmp_path):
    X, y, qid = data
    shop = pd.Categorical(np.array(["red", "blue"])[y.astype(int) % 2])
    frame = pd.DataFrame({"price": X[:, 0], "size": X[:, 1]}).assign(shop=shop)
    ranker = br.XGBoostRanker(**SETTINGS).fit(frame, y, qid)
    ranker.save_model(tmp_path / "model.json")
    frame.assign(query=[f"shoe {i}" for i in qid], grade=y).to_csv(tmp_path / "d.csv", index=False)
    out = run("explain", tmp_path / "model.json", tmp_path / "d.csv", "--query", "shoe 7", "--documents", 1)
    assert out.startswith(f"query shoe 7: {(qid == 7).sum()} documents, ranked by score\n")
    (row,) = (line.split() for line in out.splitlines() if line.startswith("shop "))
    assert row[1] in ("red", "blue")
    assert "feature value contribution" in " ".join(out.split())
    error = run("explain", tmp_path / "model.json", tmp_path / "d.csv", "--query", "shoe7", code=2)
    assert "there is no query 'shoe7' among the 60 queries (did you mean 'shoe 7'?)" in error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "there are 60 queries; query must be the id of one of them, such as 0"),
        ("--query 77", "there is no query '77' among the 60 queries (did you mean '7'?)"),
        ("--query 7 --documents 1,999", "query 7 has the ranks 1 to"),
        ("--query 7 --documents 0,1", "--documents must be one rank or two, counted from 1, such as 1,4; got '0,1'"),
    ],
)
def test_bad_input(run, folder, model, options, message):
    path = str(folder / "all.txt")
    error = run("explain", model, path, *options.split(), code=2)
    assert message.replace("DATA", path) in " ".join(error.split())
