"""Model files without a checksum: those of the libraries load, and cut, repeated or nested ones do not end the process.

The libraries follow the lengths and positions in a file as they are. So the files are loaded in a process of its own.
"""

import json
import struct
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from cases import for_each

import boostrank as br

LOAD = r"""
import sys, pathlib
import numpy as np, pandas as pd
import boostrank as br
X = pd.read_pickle(sys.argv[1])
for path in sorted(pathlib.Path(sys.argv[2]).iterdir()):
    ranker = br.LightGBMRanker() if path.suffix == ".txt" else br.XGBoostRanker()
    print(path.name, file=sys.stderr)
    try:
        print("\nEND", path.name, "scores", *ranker.load_model(path).predict(X))
    except ValueError as error:
        print("\nEND", path.name, "ValueError", str(error).splitlines()[0])
"""


@pytest.fixture(scope="module")
def frame():
    X, y, qid = br.make_ranking(n_queries=8, random_state=0)
    kinds = pd.Categorical(np.array(list("abcdef"))[y.astype(int)])
    return pd.DataFrame(X[:, :3], columns=["größe", "b", "c"]).assign(kind=kinds), y, qid


@pytest.fixture(scope="module")
def models(frame):
    """Rankers on a frame with categories, with the model as the library itself writes it, by the suffix of the file."""
    options = {"n_estimators": 3, "n_jobs": 1}
    lightgbm = br.LightGBMRanker(**options, num_leaves=5, min_child_samples=3, min_data_per_group=1, cat_smooth=0)
    lightgbm.fit(*frame)
    xgboost = br.XGBoostRanker(**options, booster="dart", max_depth=3, min_child_weight=1).fit(*frame)
    return {
        ".txt": (lightgbm, lightgbm.booster_.model_to_string().encode()),
        ".json": (xgboost, bytes(xgboost.booster_.save_raw("json"))),
        ".ubj": (xgboost, bytes(xgboost.booster_.save_raw("ubj"))),
    }


@pytest.mark.parametrize("suffix", [".txt", ".json", ".ubj"])
def test_models_of_the_libraries_load(models, frame, suffix, tmp_path):
    ranker, content = models[suffix]
    contents = [content]
    if suffix == ".json":
        contents.append(json.dumps(json.loads(content), indent=1, ensure_ascii=False).encode())
    for one in contents:
        (tmp_path / "model").write_bytes(one)
        loaded = type(ranker)().load_model(tmp_path / "model")
        np.testing.assert_array_equal(loaded.predict(frame[0]), ranker.predict(frame[0]))


NESTED = {
    "arrays.json": b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "objects.json": b'{"a":' * 200_000 + b"1" + b"}" * 200_000,
    "few-arrays.json": b'{"a":' + b"[" * 900 + b"]" * 900 + b"}",
    "arrays.ubj": b"{L" + struct.pack(">q", 1) + b"a" + b"[" * 200_000 + b"]" * 200_000 + b"}",
}
OTHERS = {
    "empty-learner.json": b'{"learner":{}}',
    "no-object.json": b'{"learner":1}',
    "two-objects.json": b'{"a":1}{}',
    "length-beyond-the-file.ubj": b"{L\x7f" + b"\xff" * 7 + b"a}",
    "negative-length.ubj": b"{L" + b"\xff" * 8 + b"a}",
    "array-beyond-the-file.ubj": b"{L\0\0\0\0\0\0\0\1a[$l#L\0\0\0\0\0\0\0\1}",
    "unknown-value.ubj": b"{L\0\0\0\0\0\0\0\1aQ}",
    "more-after-the-end.ubj": b"{L\0\0\0\0\0\0\0\1aT}T}",
}


def test_damaged_and_nested_files_and_files_of_something_else_are_errors(models, frame, tmp_path):
    random, contents, expected = np.random.default_rng(0), NESTED | OTHERS, {}
    for suffix, (ranker, whole) in models.items():
        last = whole.rindex(b"}" if suffix != ".txt" else b"\nend of parameters")
        contents |= {f"cut-{i}{suffix}": whole[:i] for i in random.integers(0, last, 5)}
        contents |= {f"appended-{i}{suffix}": whole[:i] + whole for i in random.integers(20, last, 12)}
        contents |= {f"lacking-{i}-{j}{suffix}": whole[:i] + whole[j:] for i, j in random.integers(20, last, (15, 2))}
        expected[suffix] = " ".join(["scores", *map(str, ranker.predict(frame[0]))])
    files, features = tmp_path / "files", tmp_path / "features.pickle"
    files.mkdir()
    frame[0].to_pickle(features)
    for name, content in contents.items():
        (files / name).write_bytes(content)
    done = subprocess.run([sys.executable, "-c", LOAD, features, files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-1000:]
    outcomes = [line.split(" ", 2)[1:] for line in done.stdout.splitlines() if line.startswith("END ")]
    assert [name for name, _ in outcomes] == sorted(contents)
    for name, outcome in outcomes:
        # A file may lack a part that no prediction needs.
        is_whole = name.startswith("lacking") and outcome == expected[name[name.rindex(".") :]]
        assert outcome.startswith("ValueError") or is_whole, name


@for_each(
    ("old", "new"),
    [
        (b"tree_sizes=", b"tree_sizes=1 "),
        (b"is_linear=0\n", b"is_linear=0\r\n"),
        (b"num_class=1", b"num_class=1\0"),
        (b"[boosting: gbdt]", b"[boosting]"),
        (b"\nend of trees", b"\nend"),
        (b"max_feature_idx=3\n", b"max_feature_idx=3\nmax_feature_idx=3\n"),
    ],
)
def test_lightgbm_files_of_wrong_lines_are_errors(models, tmp_path, old, new):
    content = models[".txt"][1]
    assert old in content
    (tmp_path / "model.txt").write_bytes(content.replace(old, new, 1))
    with pytest.raises(ValueError, match=r"model\.txt' cannot be loaded as a ranker of LightGBM: it is not a complete"):
        br.LightGBMRanker().load_model(tmp_path / "model.txt")
