"""Partitions of whole queries: which rows move to which worker."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from cluster_samples import aligned_sizes, small
from distributed import get_worker

import boostrank as br
from boostrank.clusters.dask.partitions import _holders, colocate_queries
from boostrank.clusters.rows import as_rows


def test_nothing_moves_where_partitions_hold_whole_queries(client, place, data):
    # Tests below share these arrays, and may leave copies on both workers.
    X, y, qid = place(data, aligned_sizes(data[2], 4))
    before = client.who_has(X)
    partitions = colocate_queries(client, X, y, qid)
    keys = [key for (key,) in X.__dask_keys__()]
    assert [rows[0].key for _, rows in partitions.rows] == keys
    small(br.dask.XGBoostRanker, n_estimators=1).fit(X, y, qid)
    # Dask may remove a copy of a partition, but there is no copy on another worker.
    assert all(set(workers) <= set(before[key]) for key, workers in client.who_has(X).items())
    assert all(
        worker in before[key] for (worker, _), key in zip(partitions.rows, keys, strict=True)
    )


def contents(client, partitions):
    """The worker, labels, query ids and first feature of each partition, from the worker that it is
    said to be on."""

    def look(columns):
        rows = as_rows(columns)
        return get_worker().address, rows.relevance, rows.qid, np.asarray(rows.X)[:, 0]

    selected = partitions.select()
    return client.gather(
        [
            client.submit(look, rows, workers=[worker], allow_other_workers=False, pure=False)
            for (worker, rows), is_selected in selected
            if is_selected.any()
        ]
    )


def test_no_query_is_on_two_workers_and_no_row_is_lost(client, partitioned):
    partitions = colocate_queries(client, *partitioned)
    X, y, qid = (column.compute() for column in partitioned)
    found = contents(client, partitions)
    queries = [set(part[2].tolist()) for part in found]
    assert (
        sum(len(part) for part in queries)
        == len(set.union(*queries))
        == partitions.n_queries
        == 150
    )
    rows = sorted(
        zip(*(np.concatenate([part[i] for part in found]) for i in (1, 2, 3)), strict=True)
    )
    assert rows == sorted(zip(y, qid, X[:, 0], strict=True))
    assert len({worker for worker, *_ in found}) == 2
    # The client knows which query is where.
    by_first_appearance = pd.unique(qid)
    held = [numbers for numbers in partitions.queries if len(numbers)]
    for numbers, part in zip(held, found, strict=True):
        assert by_first_appearance[numbers].tolist() == pd.unique(part[2]).tolist()


def test_blocks_that_dask_computes_again_are_waited_for():
    # Where a validation set is the training data, a finished future may have no holder for a
    # moment.
    futures = [
        SimpleNamespace(key="a", status="finished"),
        SimpleNamespace(key="b", status="finished"),
    ]
    answers = iter([{"a": ["w2"]}, {"a": ["w2"], "b": []}, {"a": ["w2"], "b": ["w3", "w1"]}])
    client = SimpleNamespace(who_has=lambda futures: next(answers))
    assert _holders(client, futures) == ["w2", "w1"]
    futures[1].status = "lost"
    with pytest.raises(
        RuntimeError, match="a worker was lost with data that Dask cannot compute again"
    ):
        _holders(SimpleNamespace(who_has=lambda futures: {"a": ["w2"]}), futures)
