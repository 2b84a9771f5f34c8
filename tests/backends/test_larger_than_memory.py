"""boostrank's objectives with the native interfaces for data that do not fit into memory."""

import subprocess
import sys

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

import boostrank as br
from boostrank.queries import Queries

PARAMETERS = {"base_score": 0, "disable_default_eval_metric": True, "max_depth": 4, "nthread": 1}
BLOCKS = """
import sys
import numpy as np
import xgboost as xgb

class Blocks(xgb.DataIter):
    def __init__(self, names, cache):
        self.names, self.i = names, 0
        super().__init__(cache_prefix=cache)

    def reset(self):
        self.i = 0

    def next(self, input_data):
        if self.i == len(self.names):
            return False
        y, qid = np.load(self.names[self.i] + ".labels.npy")
        input_data(data=np.load(self.names[self.i] + ".npy", mmap_mode="r"), label=y, qid=qid)
        self.i += 1
        return True
"""
CAPPED = f"""
{BLOCKS}
import resource
import boostrank as br

way, folder, n_blocks = sys.argv[1], sys.argv[2], int(sys.argv[3])
names = [f"{{folder}}/{{i}}" for i in range(n_blocks)]
objective = br.xgboost_objective("softmax", k=10)
with open("/proc/self/status") as status:
    used = next(int(line.split()[1]) for line in status if line.startswith("VmData")) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (used + int(sys.argv[4]) * 2**20,) * 2)
if way == "disk":
    data = xgb.ExtMemQuantileDMatrix(Blocks(names, folder + "/cache"), nthread=1)
else:
    X = np.concatenate([np.load(name + ".npy", mmap_mode="r") for name in names])
    y, qid = np.concatenate([np.load(name + ".labels.npy") for name in names], axis=1)
    data = xgb.QuantileDMatrix(X, label=y, qid=qid, nthread=1)
print(xgb.train({PARAMETERS}, data, 2, obj=objective).num_boosted_rounds())
del data
"""


def write(folder, n_blocks, n_queries, n_features):
    """Files of whole queries with ids that ascend over all of them; and the same in memory."""
    parts = []
    for i in range(n_blocks):
        X, y, qid = br.make_ranking(n_queries, n_features=n_features, random_state=i)
        parts.append((X.astype(np.float32), y, qid + i * n_queries))
        np.save(folder / f"{i}.npy", parts[-1][0])
        np.save(folder / f"{i}.labels.npy", np.stack(parts[-1][1:]))
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def test_the_model_from_xgboosts_external_memory_is_that_of_memory(tmp_path):
    X, y, qid = write(tmp_path, 3, 60, 10)
    names = {}
    exec(BLOCKS, names)
    blocks = names["Blocks"]([str(tmp_path / str(i)) for i in range(3)], str(tmp_path / "cache"))
    on_disk, in_memory = xgb.ExtMemQuantileDMatrix(blocks, nthread=1), xgb.QuantileDMatrix(X, label=y, qid=qid)
    histories = [{}, {}]
    scores = []
    for data, history in zip((on_disk, in_memory), histories, strict=True):
        booster = xgb.train(
            PARAMETERS,
            data,
            20,
            obj=br.xgboost_objective("softmax", k=10),
            custom_metric=br.xgboost_metric("ndcg@10"),
            evals=[(data, "train")],
            evals_result=history,
            verbose_eval=False,
        )
        scores.append(booster.inplace_predict(X))
    del on_disk, blocks, data
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-5, atol=1e-6)
    assert histories[0] == histories[1]
    assert br.ndcg_score(y, scores[0], qid, k=10) > 0.8


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
def test_external_memory_trains_where_memory_does_not_suffice(tmp_path):
    n_blocks, megabytes = 12, 170
    X, *_ = write(tmp_path, n_blocks, 2000, 50)
    assert X.nbytes > 110e6
    done = {
        way: subprocess.run(
            [sys.executable, "-c", CAPPED, way, str(tmp_path), str(n_blocks), str(megabytes)],
            capture_output=True,
            text=True,
            check=False,
        )
        for way in ("disk", "memory")
    }
    assert done["disk"].stdout == "2\n", done["disk"].stderr
    assert done["memory"].returncode != 0
    assert "bad_alloc" in done["memory"].stderr or "MemoryError" in done["memory"].stderr


def test_lightgbms_sequence_reads_features_in_batches(tmp_path):
    X, y, qid = write(tmp_path, 3, 60, 10)
    read = []

    class Block(lgb.Sequence):
        batch_size = 500

        def __init__(self, name):
            self.rows = np.load(name, mmap_mode="r")

        def __getitem__(self, chosen):
            read.append(1 if isinstance(chosen, (int, np.integer)) else len(self.rows[chosen]))
            return np.asarray(self.rows[chosen], dtype=np.float64)

        def __len__(self):
            return len(self.rows)

    sizes = Queries.from_qid(qid).sizes
    parameters = {"metric": "None", "verbosity": -1, "num_threads": 1, "deterministic": True, "force_col_wise": True}
    scores = []
    for features in ([Block(tmp_path / f"{i}.npy") for i in range(3)], X.astype(np.float64)):
        objective = br.lightgbm_objective("softmax", k=10)
        data = lgb.Dataset(features, label=y, group=sizes, params=parameters)
        scores.append(lgb.train({**parameters, "objective": objective}, data, 20).predict(X))
    np.testing.assert_array_equal(*scores)
    assert max(read) <= 500
