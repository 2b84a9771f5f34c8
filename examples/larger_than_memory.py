"""Train on more rows than fit into memory: XGBoost's external memory, with boostrank's objective and metric.

python examples/larger_than_memory.py [--blocks N] [--rows N] [--in-memory] [--limit MB]

The data are in files of whole queries. XGBoost reads one file after the other through an iterator, keeps bins of the
features on disk, and reads parts of them back while it trains; labels and query ids stay in memory. For comparison,
--in-memory loads everything first. With --limit, the operating system refuses the training more memory than that.
(LightGBM's Sequence reads features from disk in batches too, but then keeps their bins in memory.)
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import xgboost

import boostrank as br

N_FEATURES, QUERY = 100, 50


def write_block(path, number, n_rows):
    """Write one file of synthetic queries. In practice the files exist: .npz, Parquet, LETOR or others."""
    random = np.random.default_rng(number)
    X = random.standard_normal((n_rows, N_FEATURES), dtype=np.float32)
    y = np.clip(np.round(X[:, 0] + 0.5 * random.standard_normal(n_rows)), 0, 4)
    # Whole queries, their ids increasing over all blocks: XGBoost refuses others.
    qid = (number * n_rows + np.arange(n_rows)) // QUERY
    np.savez(path, X=X, y=y, qid=qid)


class Blocks(xgboost.DataIter):
    """Iterator that gives XGBoost one file at a time."""

    def __init__(self, paths, cache):
        self.paths, self.next_block = paths, 0
        super().__init__(cache_prefix=str(cache))

    def reset(self):
        """Begin again with the first file: XGBoost reads the data several times."""
        self.next_block = 0

    def next(self, input_data):
        """Give XGBoost the next file; return False after the last one."""
        if self.next_block == len(self.paths):
            return False
        block = np.load(self.paths[self.next_block])
        input_data(data=block["X"], label=block["y"], qid=block["qid"])
        self.next_block += 1
        return True


def memory(field):
    """Memory of this process in MB: "VmHWM" is the peak of the resident memory, "VmData" the private memory."""
    status = Path("/proc/self/status")  # Linux
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines()) if status.exists() else {}
    return int(lines.get(field, "0 kB").split()[0]) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=8, help="number of files")
    parser.add_argument("--rows", type=int, default=50_000, help="number of rows of a file")
    parser.add_argument("--in-memory", action="store_true", help="load all files before the training")
    parser.add_argument("--limit", type=int, metavar="MB", help="memory that the training may use, in MB")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"block{number}.npz") for number in range(arguments.blocks)]
        for number, path in enumerate(paths):
            write_block(path, number, arguments.rows)
        before = memory("VmHWM")
        if arguments.limit is not None:
            import resource  # Windows does not have it.

            max_bytes = int((memory("VmData") + arguments.limit) * 2**20)
            resource.setrlimit(resource.RLIMIT_DATA, (max_bytes, max_bytes))
        if arguments.in_memory:
            blocks = [np.load(path) for path in paths]
            X, y, qid = (np.concatenate([block[name] for block in blocks]) for name in ("X", "y", "qid"))
            dtrain = xgboost.QuantileDMatrix(X, label=y, qid=qid)
        else:
            dtrain = xgboost.ExtMemQuantileDMatrix(Blocks(paths, Path(folder, "cache")))
        parameters = {"base_score": 0, "disable_default_eval_metric": True, "max_depth": 4, "eta": 0.3}
        booster = xgboost.train(parameters, dtrain, 10, obj=br.xgboost_objective("softmax", k=10))
        features = arguments.blocks * arguments.rows * N_FEATURES * 4 / 2**20
        grown = memory("VmHWM") - before
        print(f"{dtrain.num_row():,} rows, {features:.0f} MB of features; peak memory grew by {grown:.0f} MB")
        # Predictions too are made for one file at a time.
        last = np.load(paths[-1])
        scores = booster.predict(xgboost.DMatrix(last["X"]), output_margin=True)
        print(f"NDCG@10 on the last block: {br.ndcg_score(last['y'], scores, last['qid'], k=10):.4f}")
        del dtrain


if __name__ == "__main__":
    main()
