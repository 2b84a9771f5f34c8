"""The data of a training: arrays that need no conversion are not copied."""

import numpy as np

import boostrank as br
from boostrank.training.data import training_data


def test_a_memory_map_is_not_copied(tmp_path):
    X, y, qid = br.make_ranking(n_queries=5, random_state=0)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    data, _ = training_data("ranker", mapped, y, qid, None, None, takes_infinity=True)
    assert np.shares_memory(data.X, mapped)
