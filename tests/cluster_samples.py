"""Data and rankers of the tests of clusters, with which several workers train the model of one
process."""

import numpy as np
from loss_defaults import PLAIN

import boostrank as br
from boostrank.queries.queries import Queries

# LightGBM's workers estimate the number of rows of a leaf from its Hessian, and leave rare values
# out of their bins. In one process, LightGBM does not try a feature below a leaf in which no split
# by it has a gain, which with a penalty may be so although a split further down has one. With these
# settings none of this matters, and the trees are those of one process.
EXACT = {"min_child_samples": 1, "min_child_weight": 10.0, "min_data_in_bin": 1, "reg_lambda": 0.0}


def make_data(n_queries):
    """Features, labels and query ids, with few values for each feature: then bins do not depend on
    the worker."""
    X, y, qid = br.make_ranking(n_queries=n_queries, random_state=3)
    return np.clip(np.round(2 * X) / 2, -2, 2), y, qid


def small(ranker_class, objective="softmax", **parameters):
    """A ranker of this class, on a cluster or local, with few rounds of plain trees and one
    thread."""
    exact = EXACT if ranker_class.__name__ == "LightGBMRanker" else {}
    settings = {"n_estimators": 4, "random_state": 0, "n_jobs": 1, **PLAIN, **exact}
    return ranker_class(objective, **settings | parameters)


def small_local(ranker_class, *arguments, **parameters):
    """The same for the local class of a class on a cluster."""
    return small(getattr(br, ranker_class.__name__), *arguments, **parameters)


def assert_close(scores, expected, rtol=1e-5, atol=1e-6):
    """Equal up to the rounding of sums over workers."""
    np.testing.assert_allclose(scores, expected, rtol=rtol, atol=atol)


def even_sizes(n_rows, n_parts):
    """Sizes of partitions with nearly equal numbers of rows."""
    return np.diff(np.linspace(0, n_rows, n_parts + 1).astype(int))


def aligned_sizes(qid, n_parts):
    """Sizes of partitions that begin and end with queries."""
    indptr = Queries.from_qid(qid).indptr
    return np.diff(indptr[np.linspace(0, len(indptr) - 1, n_parts + 1).round().astype(int)])


def place_on(client, columns, sizes):
    """Persisted dask Arrays with partitions of these sizes, the first on the first worker and the
    last on the last."""
    import dask.array as da
    from distributed import wait

    workers = sorted(client.nthreads())
    # With new names: those of an earlier test that are still in memory may lie on another worker.
    pieces = [np.split(column, np.cumsum(sizes)[:-1]) for column in columns]
    blocks = [[da.from_array(part, chunks=-1, name=False) for part in parts] for parts in pieces]
    for i in range(len(sizes)):
        worker = workers[i * len(workers) // len(sizes)]
        persisted = client.persist(
            [column[i] for column in blocks], workers=[worker], allow_other_workers=True
        )
        for column, block in zip(blocks, persisted, strict=True):
            column[i] = block
    arrays = client.persist([da.concatenate(column) for column in blocks])
    with client.as_current():
        wait(arrays)
    return arrays
