"""Shared by the tests of rankers on Dask: clusters of two worker processes, small data, and rankers
with few rounds."""

import logging
import os
from contextlib import closing, contextmanager

import dask
import numpy as np
import pytest
from cluster_samples import aligned_sizes, even_sizes, make_data, place_on
from distributed import Client, LocalCluster
from distributed.utils import get_mp_context

import boostrank as br
from boostrank.queries.queries import Queries

# Worker processes are forked from a process that has imported these libraries, so that they start
# in less than a second. The list must be set after the first call of `get_mp_context`, which sets a
# list of its own.
dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
get_mp_context().set_forkserver_preload(
    ["distributed", "dask.dataframe", "lightgbm", "xgboost", "boostrank.clusters.dask"]
)

# Where Dask moves or copies partitions on its own, both may get to one worker, which then trains
# alone.
dask.config.set(
    {
        "distributed.scheduler.work-stealing": False,
        "distributed.scheduler.active-memory-manager.start": False,
    }
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Tests on a cluster are slow: most of their time is communication."""
    for item in items:
        if "client" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@contextmanager
def _started_client():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        closing(Client(cluster, set_as_default=False)) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def client():
    """The client of the cluster that tests share; Dask finds it, so that rankers need not be given
    it."""
    with _started_client() as client, client.as_current():
        # See tests/conftest.py.
        assert set(client.run(os.environ.get, "OMP_NUM_THREADS").values()) == {
            os.environ["OMP_NUM_THREADS"]
        }
        yield client


@pytest.fixture(scope="module")
def own_client():
    """The client of a cluster whose workers tests may kill; rankers must be given it."""
    with _started_client() as client:
        yield client


@pytest.fixture(scope="session")
def data():
    return make_data(150)


@pytest.fixture(params=["LightGBMRanker", "XGBoostRanker"], scope="session")
def ranker_class(request):
    return getattr(br.dask, request.param)


@pytest.fixture(scope="session")
def place(client):
    """A function that makes persisted arrays on the shared cluster; see :func:`place_on`. Tests
    share equal arrays."""
    placed = {}

    def place(columns, sizes):
        key = (*map(id, columns), *map(int, sizes))
        if key not in placed:
            # With the columns, so that no others get their ids.
            placed[key] = columns, place_on(client, columns, sizes)
        return list(placed[key][1])

    return place


@pytest.fixture(scope="session")
def rows(place, data):
    """The data on the shared cluster, in three partitions that cut queries."""
    return place(data, even_sizes(len(data[1]), 3))


@pytest.fixture(scope="session")
def interleaved(data):
    """The data with all queries cut apart, but queries and the rows within a query in the same
    sequence as before."""
    X, y, qid = data
    rows = np.lexsort((qid, Queries.from_qid(qid).positions))
    return X[rows], y[rows], qid[rows]


@pytest.fixture(
    params=["whole queries", "queries cut at the ends", "all queries cut"], scope="session"
)
def partitioned(request, place, data, interleaved):
    """The data on the shared cluster, partitioned in one of three ways."""
    if request.param == "whole queries":
        return place(data, aligned_sizes(data[2], 4))
    if request.param == "queries cut at the ends":
        return place(data, even_sizes(len(data[1]), 5))
    return place(interleaved, even_sizes(len(data[1]), 3))
