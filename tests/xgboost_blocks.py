"""Features in files, read one file at a time by XGBoost; run as a script, training with limited memory.

python xgboost_blocks.py FOLDER MEGABYTES

Prints the number of rounds that were trained with all features in memory, and with external memory, or "out of memory".
"""

import sys
from pathlib import Path

import numpy as np
import xgboost as xgb

import boostrank as br


class Blocks(xgb.DataIter):
    """The files FOLDER/0.npy, FOLDER/1.npy, ..., each with relevance and query ids in a file beside it."""

    def __init__(self, folder):
        self.paths = sorted(Path(folder).glob("*.features.npy"))
        self.next_path = 0
        super().__init__(cache_prefix=str(Path(folder) / "cache"))

    def reset(self):
        self.next_path = 0

    def next(self, input_data):
        if self.next_path == len(self.paths):
            return False
        X, y, qid = read_block(self.paths[self.next_path])
        input_data(data=X, label=y, qid=qid)
        self.next_path += 1
        return True


def write_block(folder, number, X, y, qid):
    np.save(Path(folder) / f"{number:02d}.features.npy", X)
    np.save(Path(folder) / f"{number:02d}.labels.npy", np.stack([y, qid]))


def read_block(path):
    y, qid = np.load(str(path).replace("features", "labels"))
    return np.load(path, mmap_mode="r"), y, qid


def train(make_data):
    parameters = {"base_score": 0, "disable_default_eval_metric": True, "max_depth": 4, "nthread": 1}
    try:
        return xgb.train(parameters, make_data(), 2, obj=br.xgboost_objective("softmax", k=10)).num_boosted_rounds()
    except (MemoryError, xgb.core.XGBoostError) as error:
        if not isinstance(error, MemoryError) and "bad_alloc" not in str(error):
            raise
        return "out of memory"


def main(folder, megabytes):
    import resource

    def in_memory():
        X, y, qid = (np.concatenate(parts) for parts in zip(*map(read_block, Blocks(folder).paths), strict=True))
        return xgb.QuantileDMatrix(X, label=y, qid=qid, nthread=1)

    with open("/proc/self/status") as status:
        used = next(int(line.split()[1]) for line in status if line.startswith("VmData")) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (used + int(megabytes) * 2**20,) * 2)
    rounds = train(in_memory), train(lambda: xgb.ExtMemQuantileDMatrix(Blocks(folder), nthread=1))
    sys.stdout.write(f"in memory: {rounds[0]}\nexternal memory: {rounds[1]}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
