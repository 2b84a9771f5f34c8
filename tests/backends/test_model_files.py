"""Model files without a checksum: those of the libraries load, and damaged ones do not end the
process.

The libraries follow the lengths and positions in a file as they are. So the files are loaded in a
process of its own."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import boostrank as br

LOAD = r"""
import sys, pathlib
import boostrank as br
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    print(path.name, file=sys.stderr)
    try:
        (br.LightGBMRanker() if path.suffix == ".txt" else br.XGBoostRanker()).load_model(path)
        print("\nEND", path.name, "loaded")
    except ValueError as error:
        print("\nEND", path.name, "ValueError")
"""


@pytest.fixture(scope="module")
def frame():
    X, y, qid = br.make_ranking(n_queries=8, random_state=0)
    kinds = pd.Categorical(np.array(list("abcdef"))[y.astype(int)])
    return pd.DataFrame(X[:, :3], columns=["größe", "b", "c"]).assign(kind=kinds), y, qid


@pytest.fixture(scope="module")
def models(frame):
    """Rankers on a frame with categories, with the model as the library itself writes it, by the
    suffix of the file."""
    options = {"n_estimators": 3, "n_jobs": 1}
    lightgbm = br.LightGBMRanker(
        **options, num_leaves=5, min_child_samples=3, min_data_per_group=1, cat_smooth=0
    )
    lightgbm.fit(*frame)
    xgboost = br.XGBoostRanker(**options, booster="dart", max_depth=3, min_child_weight=1).fit(
        *frame
    )
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


OTHERS = {
    "nested.json": b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "no-object.json": b'{"learner":1}',
    "two-objects.json": b'{"a":1}{}',
    "zeros.ubj": b"{L" + b"\0" * 100,
}


def test_damaged_files_and_files_of_something_else_are_errors(models, tmp_path):
    random, contents = np.random.default_rng(0), dict(OTHERS)
    for suffix, (_, whole) in models.items():
        last = whole.rindex(b"}" if suffix != ".txt" else b"\nend of parameters")
        contents |= {f"cut-{i}{suffix}": whole[:i] for i in random.integers(0, last, 10)}
        if suffix != ".ubj":
            contents |= {
                f"appended-{i}{suffix}": whole[:i] + whole
                for i in random.integers(last // 2, last, 10)
            }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-c", LOAD, tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-1000:]
    outcomes = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("END ")]
    assert outcomes == [[name, "ValueError"] for name in sorted(contents)]
