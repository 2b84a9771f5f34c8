"""The rankers on a Dask cluster of two worker processes on this machine."""

import inspect
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import spearmanr
from sklearn.base import clone

import boostrank as br
from boostrank.dcg import DCG
from boostrank.objective import Objective, bind, get_loss
from boostrank.queries import Queries
from boostrank.surrogates import SURROGATES, Softmax

pytest.importorskip("distributed")
import dask
import dask.array as da
import dask.dataframe as dd
from boostrank.dask.sharing import Meeting, SharedNDCG, agree, joined
from distributed import Client, LocalCluster, get_client, get_worker, wait

import boostrank.dask as bd
from boostrank.dask.partitions import bring_together, choose_homes
from boostrank.dask.rows import plain_ids
from boostrank.dask.workers import _gather

RANKERS = [bd.LightGBMRanker, bd.XGBoostRanker]
LOCAL = {bd.LightGBMRanker: br.LightGBMRanker, bd.XGBoostRanker: br.XGBoostRanker}
both = pytest.mark.parametrize("ranker_class", RANKERS)


def make_cluster():
    quiet = {"distributed.admin.low-level-log-length": 0}
    with dask.config.set(quiet):
        return LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=logging.CRITICAL
        )


@pytest.fixture(scope="module")
def client():
    with make_cluster() as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def data():
    X, y, qid = br.make_ranking(n_queries=150, random_state=3)
    # Few values for each feature: then bins do not depend on which worker finds them.
    return np.clip(np.round(2 * X) / 2, -2, 2), y, qid


# LightGBM's workers guess the number of rows of a leaf from its Hessian, and leave rare values out of their bins. With
# these settings neither matters, and the trees are those of one process.
EXACT = {"min_child_samples": 1, "min_child_weight": 10.0, "min_data_in_bin": 1}


def small(ranker_class, objective="softmax", **parameters):
    exact = EXACT if issubclass(ranker_class, br.LightGBMRanker) else {}
    return ranker_class(objective, **{"n_estimators": 12, "random_state": 0, "n_jobs": 1, **exact, **parameters})


def on_dask(data, sizes):
    """Persisted arrays with partitions of these sizes, the first on the first worker and the last on the last."""
    client, ends = get_client(), np.cumsum(sizes)
    workers = sorted(client.nthreads())
    arrays = []
    for column in data:
        blocks = [da.from_array(part, chunks=-1) for part in np.split(column, ends[:-1])]
        places = [workers[i * len(workers) // len(blocks)] for i in range(len(blocks))]
        blocks = [client.persist(b, workers=[w], allow_other_workers=True) for b, w in zip(blocks, places, strict=True)]
        arrays.append(da.concatenate(blocks))
    arrays = dask.persist(*arrays)
    wait(arrays)
    return arrays


def aligned_sizes(qid, n_parts):
    indptr = Queries.from_qid(qid).indptr
    ends = indptr[np.linspace(0, len(indptr) - 1, n_parts + 1).round().astype(int)]
    return np.diff(ends)


def shuffled(data):
    """Rows in an order that cuts queries apart, but leaves the order of queries and within queries as it is."""
    X, y, qid = data
    order = np.lexsort((qid, Queries.from_qid(qid).positions))
    return X[order], y[order], qid[order]


PARTITIONINGS = {
    "aligned": lambda data: (data, aligned_sizes(data[2], 4)),
    "cut": lambda data: (data, even_sizes(len(data[1]), 5)),
    "shuffled": lambda data: (shuffled(data), even_sizes(len(data[1]), 3)),
}
partitionings = pytest.mark.parametrize("partitioning", PARTITIONINGS)


def even_sizes(n, n_parts):
    return np.diff(np.linspace(0, n, n_parts + 1).astype(int))


def contents(client, partitions):
    """Worker, labels, ids and first feature of each partition, from the worker that it is said to be on."""

    def look(rows):
        X, y, qid, *_ = rows
        return get_worker().address, np.asarray(y), plain_ids(qid), np.asarray(X)[:, 0]

    futures = [
        client.submit(look, part.rows, workers=[part.worker], allow_other_workers=False, pure=False)
        for part in partitions.parts
    ]
    return client.gather(futures)


# Partitions


@partitionings
@pytest.mark.parametrize("kind", [np.int64, np.float64, str])
def test_no_query_is_on_two_workers_and_no_row_is_lost(client, data, partitioning, kind):
    (X, y, qid), sizes = PARTITIONINGS[partitioning](data)
    ids = qid.astype(kind) if kind is not str else np.array([f"q{i}" for i in qid])
    together = bring_together(client, *on_dask((X, y, ids), sizes))
    found = contents(client, together)
    queries = [set(part[2].tolist()) for part in found]
    assert sum(len(part) for part in queries) == len(set.union(*queries)) == together.n_queries == 150
    got = sorted(zip(*(np.concatenate([part[i] for part in found]) for i in (1, 2, 3)), strict=True))
    assert got == sorted(zip(y, plain_ids(ids), X[:, 0], strict=True))
    assert len({worker for worker, *_ in found}) == 2
    # The client knows which query is where.
    order = pd.unique(plain_ids(ids))
    for part, held in zip(together.parts, found, strict=True):
        assert order[part.queries].tolist() == pd.unique(held[2]).tolist()


def test_where_partitions_are_aligned_nothing_moves(client, data):
    X, y, qid = on_dask(data, aligned_sizes(data[2], 4))
    before = client.who_has(X)
    together = bring_together(client, X, y, qid)
    assert together.n_moved == 0
    assert [part.rows[0].key for part in together.parts] == [key for (key,) in X.__dask_keys__()]
    small(bd.XGBoostRanker, n_estimators=2).fit(X, y, qid)
    assert client.who_has(X) == before
    assert all((part.worker,) == before[part.rows[0].key] for part in together.parts)


def test_only_rows_of_queries_that_are_cut_move(client):
    qid = np.repeat([0, 1, 2, 3], [10, 10, 10, 10])
    X, y = np.arange(40.0)[:, None], np.zeros(40)
    together = bring_together(client, *on_dask((X, y, qid), [17, 6, 17]))
    # Of query 1 three rows go to the left; of query 2 three to the right, which leaves nothing in the middle.
    assert together.n_moved == 3 + 3
    assert [part[3].tolist() for part in contents(client, together)] == [list(range(20)), list(range(20, 40))]


def test_a_query_larger_than_a_partition_becomes_one_partition(client):
    qid = np.repeat([7, 8, 9], [30, 200, 30])
    rows = np.arange(260.0)[:, None], np.arange(260) % 3, qid
    together = bring_together(client, *on_dask(rows, even_sizes(260, 10)))
    assert sorted(len(part[2]) for part in contents(client, together) if 8 in part[2])[0] >= 200
    assert small(bd.LightGBMRanker, min_child_samples=5).fit(*on_dask(rows, even_sizes(260, 10))).n_features_in_ == 1


def test_homes_follow_most_rows_and_do_not_pile_up():
    # Query 0 lies mostly in partition 1; queries 1 and 2 are whole.
    home = choose_homes(np.array([0, 1, 0, 2]), np.array([0, 0, 1, 1]), np.array([2, 50, 9, 40]), 2)
    assert home.tolist() == [1, 0, 1]
    # Every query has six rows in partition 0 and four in each of the others, which would end up empty.
    n, n_parts = 200, 5
    query, part = np.tile(np.arange(n), n_parts), np.repeat(np.arange(n_parts), n)
    home = choose_homes(query, part, np.where(part == 0, 6, 4), n_parts)
    assert np.bincount(home, minlength=n_parts).tolist() == [40] * 5
    assert (np.diff(home) >= 0).all()


def test_ids_of_any_type_are_compared_by_equality():
    whole = [np.array([3.0, 1.0]), np.array([3, 1], dtype=object), np.array([3, 1], np.int8)]
    for ids in (*whole, pd.Series([3, 1], dtype="Int64"), np.array([[3], [1]])):
        assert plain_ids(ids).tolist() == [3, 1]
        assert plain_ids(ids).dtype == np.int64
    assert plain_ids(pd.Series(["b", "a"])).tolist() == plain_ids(np.array(["b", "a"])).tolist() == ["b", "a"]
    for wrong, message in ([1.5, 2.0], "not whole, such as 1.5"), ([1.0, np.nan], "missing"):
        with pytest.raises(ValueError, match=message):
            plain_ids(np.array(wrong))


# What workers share


def together(function, shards):
    """Results of a function of each shard, at once in as many threads, which are workers to XGBoost's collective."""
    meeting = Meeting("127.0.0.1", len(shards))

    def work(rank):
        with joined(meeting.address, rank):
            return function(shards[rank])

    with ThreadPoolExecutor(len(shards)) as pool:
        return list(pool.map(work, range(len(shards))))


@pytest.mark.parametrize("objective", [*SURROGATES, Softmax(hessian="exact"), "edge-logistic"])
@pytest.mark.parametrize("weighted", [False, True])
def test_start_and_scale_are_those_of_all_data(objective, weighted):
    random = np.random.default_rng(0)
    sizes = random.integers(1, 12, 60)
    # Shards that differ as much as can be: in size, in labels, in weights.
    y = np.concatenate([random.integers(0, 2 + i // 20, size) for i, size in enumerate(sizes)])
    weights = random.random(60) * np.repeat([1.0, 5.0], [15, 45]) if weighted else None
    loss = get_loss(objective)

    def make(start, stop):
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        part = None if weights is None else weights[start:stop]
        return bind(loss, y[indptr[start] : indptr[stop]], Queries.from_sizes(sizes[start:stop]), weights=part)

    whole, shards = make(0, 60), [make(0, 15), make(15, 60)]
    if objective in ("poisson", "softmax"):
        assert shards[0].scale != pytest.approx(whole.scale, rel=1e-3)
    together(agree, shards)
    for shard in shards:
        assert shard.offset == pytest.approx(whole.offset, rel=1e-9, abs=1e-12)
        assert shard.scale == pytest.approx(whole.scale, rel=1e-6)
    scores = random.normal(size=int(sizes.sum()))
    parts = np.split(scores, [int(sizes[:15].sum())])
    for kind in range(2):
        got = np.concatenate([shard.gradient_hessian(part)[kind] for shard, part in zip(shards, parts, strict=True)])
        np.testing.assert_allclose(got, whole.gradient_hessian(scores)[kind], rtol=1e-5, atol=1e-7)


def test_a_worker_whose_weights_are_all_zero_follows_the_others():
    queries = Queries.from_sizes([2, 2])
    idle, busy = (Objective("poisson", y, queries) for y in ([0, 1, 0, 3], [1, 1, 2, 0]))
    idle.weights = np.zeros(4)
    together(agree, [idle, busy])
    alone = Objective("poisson", [1, 1, 2, 0], queries)
    assert idle.offset == busy.offset == pytest.approx(alone.offset)
    assert idle.scale == busy.scale == pytest.approx(alone.scale, rel=1e-6)


def test_shared_ndcg_is_that_of_all_queries():
    random = np.random.default_rng(1)
    sizes, y, scores = random.integers(1, 9, 30), random.integers(0, 4, 300), random.random(300)
    n = int(sizes.sum())
    first = int(sizes[:7].sum())
    parts = [
        (SharedNDCG(y[:first], Queries.from_sizes(sizes[:7]), DCG(5)), scores[:first]),
        (SharedNDCG(y[first:n], Queries.from_sizes(sizes[7:]), DCG(5)), scores[first:n]),
        (SharedNDCG([0], Queries.from_sizes([1]), DCG(5), present=False), scores[:1]),
    ]
    means = together(lambda part: part[0].mean(part[1]), parts)
    expected = br.ndcg_score(y[:n], scores[:n], np.repeat(np.arange(30), sizes), k=5)
    assert means == [pytest.approx(expected, abs=1e-12)] * 3


# Training


@both
def test_any_partitioning_gives_the_local_model(ranker_class, client, data):
    X, y, qid = data
    expected = small(LOCAL[ranker_class], k=10).fit(X, y, qid).predict(X)
    for make in PARTITIONINGS.values():
        rows, sizes = make(data)
        ranker = small(ranker_class, k=10).fit(*on_dask(rows, sizes))
        np.testing.assert_allclose(ranker.to_local().predict(X), expected, rtol=1e-5, atol=1e-6)


@both
def test_the_model_is_close_to_the_local_one(ranker_class, client):
    X, y, qid = br.make_ranking(n_queries=300, n_documents=(20, 60), random_state=0)
    settings = {"n_estimators": 20, "random_state": 0, "n_jobs": 1, "learning_rate": 0.1, "k": 10}
    local = LOCAL[ranker_class](**settings).fit(X, y, qid).predict(X)
    for sizes in (even_sizes(len(y), 2), even_sizes(len(y), 7)):
        rows = on_dask((X, y, qid), sizes)
        scores = ranker_class(**settings).fit(*rows).predict(rows[0]).compute()
        assert spearmanr(scores, local).statistic > 0.99


@pytest.mark.parametrize(
    ("ranker_class", "objective"),
    [(ranker, name) for ranker in RANKERS for name in ("softmax", "pnorm", "edge-logistic")]
    + [(bd.LightGBMRanker, "rank_xendcg"), (bd.XGBoostRanker, "rank:pairwise")],
)
def test_objectives_learn(ranker_class, objective, client, data):
    rows = on_dask(data, even_sizes(len(data[1]), 3))
    ranker = small(ranker_class, objective, k=10, n_jobs=None).fit(*rows)
    assert ranker.score(*rows) > 0.75


def test_native_objectives_are_those_of_the_backends_own_dask(client, data):
    # The same partitions on the same workers: the models must not differ at all.
    import lightgbm as lgb
    import xgboost.dask as dxgb

    sizes = aligned_sizes(data[2], 2)
    X, y, qid = on_dask(data, sizes)
    ours = small(bd.XGBoostRanker, "rank:ndcg").fit(X, y, qid)
    theirs = dxgb.train(
        client,
        {"objective": "rank:ndcg", "eta": 0.1, "max_depth": 6, "seed": seed(ours), "base_score": 0.0, "nthread": 1},
        dxgb.DaskQuantileDMatrix(client, X, y, qid=qid),
        12,
    )
    scores = dxgb.predict(client, theirs["booster"], X).compute()
    np.testing.assert_array_equal(ours.predict(X).compute(), scores)

    n_queries = [len(np.unique(part)) for part in np.split(data[2], np.cumsum(sizes)[:-1])]
    groups = on_dask((Queries.from_qid(data[2]).sizes[:, None],), n_queries)[0][:, 0]
    ours = small(bd.LightGBMRanker, "lambdarank").fit(X, y, qid)
    settings = {"n_estimators": 12, "seed": seed(ours), "deterministic": True, "force_col_wise": True, "verbosity": -1}
    theirs = lgb.DaskLGBMRanker(client=client, metric="None", **settings, **EXACT)
    with pytest.warns(UserWarning, match="n_jobs will be ignored"):
        theirs.fit(X, y.astype(int), group=groups)
    np.testing.assert_array_equal(ours.predict(X).compute(), theirs.predict(X).compute())


def seed(ranker):
    return ranker._parameters(np.random.RandomState(0))["seed"]


@both
def test_frames_carry_queries_names_and_index(ranker_class, client, data):
    X, y, qid = data
    names = [f"feature{i}" for i in range(X.shape[1])]
    expected = small(LOCAL[ranker_class]).fit(pd.DataFrame(X, columns=names), y, qid)
    frame = pd.DataFrame(X, columns=names).assign(y=y, qid=[f"q{i}" for i in qid])
    frame.index = np.arange(len(frame)) + 5
    column = dd.from_pandas(frame, npartitions=3)
    ranker = small(ranker_class).fit(column.drop(columns="y"), column["y"])
    assert ranker.feature_names_in_.tolist() == names
    scores = ranker.predict(column.drop(columns="y"))
    assert isinstance(scores, dd.Series)
    assert scores.compute().index.equals(frame.index)
    np.testing.assert_allclose(scores.compute(), expected.predict(frame[names]), rtol=1e-5, atol=1e-6)
    index = dd.from_pandas(frame.drop(columns="qid").set_index(pd.Index(qid, name="qid")), npartitions=2, sort=False)
    again = small(ranker_class).fit(index[names], index["y"])
    np.testing.assert_allclose(again.predict(index[names]).compute(), scores.compute(), rtol=1e-5, atol=1e-6)
    assert again.score(index[names], index["y"]) == pytest.approx(expected.score(frame[names], y, qid), abs=1e-6)


@both
def test_weights_of_queries_and_of_documents(ranker_class, client, data):
    X, y, qid = shuffled(data)
    weights = np.where(np.arange(150) < 40, 0.0, np.arange(150) % 4 + 0.5)
    local = small(LOCAL[ranker_class]).fit(X, y, qid, sample_weight=weights)
    sizes = even_sizes(len(y), 3)
    per_document = Queries.from_qid(qid)
    per_document = per_document.ungroup(per_document.repeat(weights))
    *rows, dask_weights = on_dask((X, y, qid, per_document), sizes)
    unweighted = small(ranker_class).fit(*rows).to_local().predict(X)
    for given in (weights, da.from_array(weights, chunks=70), dask_weights):
        scores = small(ranker_class).fit(*rows, sample_weight=given).to_local().predict(X)
        np.testing.assert_allclose(scores, local.predict(X), rtol=1e-4, atol=1e-5)
        assert not np.allclose(scores, unweighted, atol=1e-3)


@pytest.mark.parametrize(
    ("ranker_class", "native"), [(bd.LightGBMRanker, "lambdarank"), (bd.XGBoostRanker, "rank:ndcg")]
)
def test_native_objectives_take_weights(ranker_class, native, client, data):
    # XGBoost divides weights by their mean on each worker: that is the same here.
    X, y, qid = data
    half = np.arange(75) % 5 + 0.5
    weights = np.concatenate([half, half[::-1]])
    rows = on_dask(data, aligned_sizes(qid, 4))
    scores = small(ranker_class, native).fit(*rows, sample_weight=weights).to_local().predict(X)
    local = small(LOCAL[ranker_class], native).fit(X, y, qid, sample_weight=weights).predict(X)
    np.testing.assert_allclose(scores, local, rtol=1e-4, atol=1e-5)
    assert not np.allclose(small(LOCAL[ranker_class], native).fit(X, y, qid).predict(X), local, atol=1e-2)


@both
def test_a_partition_without_weight_is_no_error(ranker_class, client, data):
    X, y, qid = data
    n_first = int(aligned_sizes(qid, 2)[0])
    weights = (np.arange(len(y)) >= n_first).astype(float)
    rows = on_dask((X, y, qid, weights), aligned_sizes(qid, 2))
    local = small(LOCAL[ranker_class]).fit(X, y, qid, sample_weight=weights).predict(X)
    scores = small(ranker_class).fit(*rows[:3], sample_weight=rows[3]).to_local().predict(X)
    np.testing.assert_allclose(scores, local, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="zero everywhere"):
        small(ranker_class).fit(*rows[:3], sample_weight=rows[3] * 0)


@both
def test_early_stopping_goes_by_the_ndcg_of_all_queries(ranker_class, client, data):
    X, y, qid = data
    keep, hold_out = br.split_queries(qid, 0.4, random_state=0)
    train, valid = ([part[rows] for part in (X, y, qid)] for rows in (keep, hold_out))
    few = [part[:40] for part in train]
    settings = {"n_estimators": 200, "early_stopping_rounds": 4, "learning_rate": 0.5, "k": 5}
    local = small(LOCAL[ranker_class], **settings).fit(*train, eval_set=[few, valid])
    # The first set is on one worker alone; the second on both, cut through its queries.
    sets = [on_dask(few, [40]), on_dask(valid, even_sizes(len(hold_out), 3))]
    ranker = small(ranker_class, **settings).fit(*on_dask(train, even_sizes(len(keep), 3)), eval_set=sets)
    assert ranker.best_iteration_ == local.best_iteration_ < 196
    for name, metrics in local.evals_result_.items():
        np.testing.assert_allclose(ranker.evals_result_[name]["ndcg@5"], metrics["ndcg@5"], atol=1e-9)
    assert ranker.score(*sets[1]) == pytest.approx(max(ranker.evals_result_["valid_1"]["ndcg@5"]), abs=1e-9)


@both
def test_the_queries_held_out_are_those_of_the_local_ranker(ranker_class, client, data):
    settings = {"n_estimators": 60, "early_stopping_rounds": 4, "validation_fraction": 0.3, "learning_rate": 0.5}
    rows = on_dask(data, even_sizes(len(data[1]), 3))
    for refit in (False, True):
        local = small(LOCAL[ranker_class], refit=refit, **settings).fit(*data)
        ranker = small(ranker_class, refit=refit, **settings).fit(*rows)
        assert ranker.best_iteration_ == local.best_iteration_ < 56
        np.testing.assert_allclose(ranker.to_local().predict(data[0]), local.predict(data[0]), rtol=1e-4, atol=1e-5)


def test_sparse_and_integer_features(client, data):
    X, y, qid = data
    X = np.where(X > 1, np.round(X), 0.0)
    expected = small(br.XGBoostRanker).fit(X, y, qid).predict(X)
    rows = on_dask((X, y, qid), even_sizes(len(y), 3))
    for features in (rows[0].map_blocks(csr_matrix), rows[0].astype(np.int32)):
        if features.dtype == np.int32:
            ranker = small(bd.LightGBMRanker).fit(features, *rows[1:])
            local = small(br.LightGBMRanker).fit(X, y, qid).predict(X)
            np.testing.assert_allclose(ranker.predict(features).compute(), local, rtol=1e-5, atol=1e-6)
        else:
            small(bd.LightGBMRanker, n_estimators=2).fit(features, *rows[1:])
        ranker = small(bd.XGBoostRanker).fit(rows[0].astype(np.int32), *rows[1:])
        np.testing.assert_allclose(ranker.to_local().predict(X), expected, rtol=1e-5, atol=1e-6)


def test_columns_in_several_chunks_and_labels_with_other_chunks(client, data):
    X, y, qid = data
    rows = (
        da.from_array(X, chunks=(1000, 4)),
        da.from_array(y[:, None], chunks=(700, 1)),
        da.from_array(qid, chunks=-1),
    )
    ranker = small(bd.XGBoostRanker).fit(*rows)
    local = small(br.XGBoostRanker).fit(X, y, qid)
    np.testing.assert_allclose(ranker.predict(rows[0]).compute(), local.predict(X), rtol=1e-5, atol=1e-6)


# Predictions and scores


@both
def test_predict_is_lazy(ranker_class, client, data):
    rows = on_dask(data, even_sizes(len(data[1]), 2))
    ranker = small(ranker_class, n_estimators=3).fit(*rows)

    def explode(block):
        raise ZeroDivisionError

    scores = ranker.predict(rows[0].map_blocks(explode, meta=np.empty((0, 10))))
    assert scores.shape == (len(data[1]),)
    assert scores.dtype == np.float64
    with pytest.raises(ZeroDivisionError):
        scores.compute()
    some = rows[0][rows[0][:, 0] > 100]
    assert ranker.predict(some).compute().shape == (0,)
    np.testing.assert_array_equal(ranker.predict(data[0][:50]), ranker.predict(rows[0])[:50].compute())


@partitionings
def test_score_is_that_of_whole_queries(client, data, partitioning):
    (X, y, qid), sizes = PARTITIONINGS[partitioning](data)
    rows = on_dask((X, y, qid), sizes)
    ranker = small(bd.LightGBMRanker, k=5, gain="linear").fit(*rows)
    expected = br.ndcg_score(y, ranker.to_local().predict(X), qid, k=5, gain="linear")
    assert ranker.score(*rows) == pytest.approx(expected, abs=1e-12)
    assert ranker.score(X, y, qid) == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ValueError, match="got no qid"):
        ranker.score(*rows[:2])


@both
def test_parameters_and_attributes_are_those_of_the_local_ranker(ranker_class, client, data, tmp_path):
    local_class = LOCAL[ranker_class]
    assert inspect.signature(ranker_class) == inspect.signature(local_class)
    rows = on_dask(data, even_sizes(len(data[1]), 2))
    ranker = small(ranker_class, "softmax", client=client)
    assert "client" not in ranker.get_params()
    assert clone(ranker).get_params() == ranker.get_params() == small(local_class, "softmax").get_params()
    ranker.fit(*rows)
    assert ranker.client is client
    local = small(local_class, "softmax").fit(*data)
    assert vars(local).keys() - vars(ranker).keys() == {"_train_sizes"}
    assert ranker.feature_importances_.shape == local.feature_importances_.shape
    expected = ranker.to_local().predict(data[0])
    assert type(ranker.to_local()) is local_class
    ranker.save_model(tmp_path / "model.json")
    for same in (local_class().load_model(tmp_path / "model.json"), pickle.loads(pickle.dumps(ranker))):
        np.testing.assert_array_equal(same.predict(data[0]), expected)
    assert ranker_class().load_model(tmp_path / "model.json").predict(rows[0]).compute() == pytest.approx(expected)


# What goes wrong


@both
def test_bad_data_are_errors_that_name_them(ranker_class, client, data):
    workers = set(client.nthreads())
    X, y, qid = on_dask(data, even_sizes(len(data[1]), 2))
    ranker = small(ranker_class)
    cases = [
        ((X, y, qid + 0.5), ValueError, "partition [01]: qid holds numbers that are not whole"),
        ((X, y, da.where(qid == 149, np.nan, qid)), ValueError, "partition 1: qid must not be missing"),
        ((X, -y, qid), ValueError, "negative"),
        ((X, da.where(y > 3, np.nan, y), qid), ValueError, "finite"),
        ((da.where(X > 1, np.inf, X), y, qid), ValueError, "infinity"),
        ((X, y.rechunk(-1)[:-1], qid), ValueError, "y has 1 partitions, but X has 2"),
        ((X, y, None), ValueError, "got no qid"),
        ((X, data[1], qid), TypeError, "y must be a dask"),
        (data, TypeError, "X must be a dask Array.*use the ranker of boostrank itself"),
        ((X[:, 0], y, qid), ValueError, "two dimensions"),
        ((X[:0], y[:0], qid[:0]), ValueError, "no rows"),
    ]
    for arguments, error, message in cases:
        with pytest.raises(error, match=message):
            ranker.fit(*arguments)
    with pytest.raises(ValueError, match="one weight per query \\(150\\)"):
        ranker.fit(X, y, qid, sample_weight=np.ones(151))
    with pytest.raises(ValueError, match="eval_set got no qid"):
        ranker.fit(X, y, qid, eval_set=[(X, y)])
    with pytest.raises(ValueError, match="features"):
        ranker.fit(X, y, qid, eval_set=[(X[:, :5], y, qid)])
    native = "lambdarank" if ranker_class is bd.LightGBMRanker else "rank:map"
    with pytest.raises(ValueError, match=f"{native} takes"):
        small(ranker_class, native).fit(
            X, da.where(da.arange(len(y), chunks=y.chunks) == 0, 0.5, da.minimum(y, 1)), qid
        )
    assert not hasattr(ranker, "booster_")
    assert set(client.nthreads()) == workers
    with pytest.raises(ValueError, match="features"):
        ranker.fit(X, y, qid).predict(X[:, :5])


def test_frames_must_agree_in_names_and_categories(client, data):
    frame = pd.DataFrame(data[0]).rename(columns=str).assign(y=data[1], qid=data[2])
    frame["0"] = (frame["0"] > 0).map({True: "a", False: "b"}).astype("category")
    rows = dd.from_pandas(frame, npartitions=2)
    X, y = rows.drop(columns="y"), rows["y"]
    ranker = small(bd.LightGBMRanker).fit(X, y)
    local = small(br.LightGBMRanker).fit(frame.drop(columns="y"), frame["y"])
    np.testing.assert_allclose(ranker.predict(X).compute(), local.predict(frame.drop(columns="y")), atol=1e-6)
    with pytest.raises(ValueError, match="feature names"):
        ranker.predict(X.rename(columns={"1": "one"}))
    with pytest.raises(ValueError, match="categories of \\['0'\\]"):
        ranker.fit(X.assign(**{"0": X["0"].cat.as_unknown()}), y)


def test_network_parameters_of_lightgbm(client, data):
    rows = on_dask(data, even_sizes(len(data[1]), 2))
    for name, value in (("machines", "127.0.0.1:1"), ("num_machines", 3), ("tree_learner", "feature")):
        with pytest.raises(ValueError, match=name):
            small(bd.LightGBMRanker, **{name: value}).fit(*rows)
    assert small(bd.LightGBMRanker, tree_learner="voting").fit(*rows).score(*rows) > 0.7
    with pytest.raises(OSError, match="in use"):
        # Two workers of one machine cannot have the same port.
        small(bd.LightGBMRanker, local_listen_port=free_port()).fit(*rows)


def free_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


@both
def test_one_worker_may_have_all_the_data(ranker_class, client, data):
    rows = on_dask(data, [len(data[1])])
    ranker = small(ranker_class).fit(*rows, eval_set=[on_dask(data, even_sizes(len(data[1]), 4))])
    expected = small(LOCAL[ranker_class]).fit(*data).predict(data[0])
    np.testing.assert_allclose(ranker.predict(rows[0]).compute(), expected, rtol=1e-5, atol=1e-6)
    assert ranker.evals_result_["valid_0"]["ndcg"][-1] == pytest.approx(ranker.score(*rows), abs=1e-9)


class Overflowing(Softmax):
    """Fails after some rounds, on the worker that has query 149 alone."""

    def gradient_hessian(self, scores, targets, queries):
        gradient, hessian = super().gradient_hessian(scores, targets, queries)
        if scores.any() and 149 in queries.ids:
            gradient[-1] = np.inf
        return gradient, hessian


@pytest.fixture
def sent_by_value():
    # Workers cannot import this module.
    import cloudpickle

    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    yield
    cloudpickle.unregister_pickle_by_value(module)


@both
@pytest.mark.usefixtures("sent_by_value")
def test_the_error_of_one_worker_is_the_error_of_the_fit(ranker_class, client, data):
    rows = on_dask(data, aligned_sizes(data[2], 2))
    start = time.perf_counter()
    with pytest.raises(FloatingPointError, match="query '149'"):
        small(ranker_class, Overflowing()).fit(*rows)
    assert time.perf_counter() - start < 100
    assert small(ranker_class).fit(*rows).score(*rows) > 0.7


class Slow(Softmax):
    """Takes time for every round, and tells that it runs."""

    def gradient_hessian(self, scores, targets, queries):
        if scores.any():
            time.sleep(0.05)
            get_worker().boosting = True
        return super().gradient_hessian(scores, targets, queries)


#: Rounds of a training that is to be stopped: it takes longer than the time limits below if it is not.
LONG = 3_000


def wait_for_boosting(client):
    end = time.perf_counter() + 60
    while not all(client.run(lambda dask_worker: getattr(dask_worker, "boosting", False)).values()):
        assert time.perf_counter() < end, "the training does not start"
        time.sleep(0.1)
    client.run(lambda dask_worker: setattr(dask_worker, "boosting", False))


@pytest.fixture
def interruptible():
    # A shell that starts a process in the background makes it ignore interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("sent_by_value", "interruptible")
def test_an_interrupt_frees_the_workers(client, data):
    rows = on_dask(data, aligned_sizes(data[2], 2))

    def interrupt():
        wait_for_boosting(client)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        small(bd.LightGBMRanker, Slow(), n_estimators=LONG).fit(*rows)
    thread.join()
    start = time.perf_counter()
    assert small(bd.LightGBMRanker).fit(*rows).score(*rows) > 0.7
    assert time.perf_counter() - start < 100


@pytest.mark.usefixtures("sent_by_value")
def test_a_lost_worker_is_an_error_and_the_cluster_stays_usable(data):
    with make_cluster() as cluster, Client(cluster) as client:
        for ranker_class in RANKERS:
            rows = on_dask(data, aligned_sizes(data[2], 2))
            ranker = small(ranker_class, client=client)

            def kill(client=client):
                wait_for_boosting(client)
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

            thread = threading.Thread(target=kill)
            thread.start()
            start = time.perf_counter()
            with pytest.raises(RuntimeError, match=r"worker tcp://.* was lost while it trained"):
                small(ranker_class, Slow(), n_estimators=LONG).fit(*rows)
            assert time.perf_counter() - start < 100
            thread.join()
            assert ranker.fit(*rows).score(*rows) > 0.7
            client.wait_for_workers(2)
            # Else Dask would find the same arrays where they are now, on one worker.
            del rows


def test_results_on_a_lost_worker_are_an_error():
    with make_cluster() as cluster, Client(cluster) as client:
        worker = min(client.nthreads())
        result = client.submit(os.getpid, workers=[worker], allow_other_workers=False)
        os.kill(result.result(), signal.SIGKILL)
        while worker in client.nthreads():
            time.sleep(0.1)
        with pytest.raises(RuntimeError, match=f"worker {worker} was lost"):
            _gather(client, [result], [worker])


class Waiting(Slow):
    """Waits on the worker that does not have query 0, long beyond the end of the other."""

    def gradient_hessian(self, scores, targets, queries):
        if scores.any() and 0 not in queries.ids:
            get_worker().boosting = True
            time.sleep(300)
        return super().gradient_hessian(scores, targets, queries)


@pytest.mark.usefixtures("sent_by_value")
def test_a_worker_that_does_not_stop_is_restarted(data, monkeypatch):
    monkeypatch.setattr("boostrank.dask.workers.LAST_WORDS", 1.0)
    with make_cluster() as cluster, Client(cluster) as client:
        rows = on_dask(data, aligned_sizes(data[2], 2))
        holder = client.who_has(rows[0])[rows[0].__dask_keys__()[0][0]][0]
        victim = client.run(os.getpid)[holder]

        def kill():
            wait_for_boosting(client)
            os.kill(victim, signal.SIGKILL)

        thread = threading.Thread(target=kill)
        thread.start()
        start = time.perf_counter()
        with pytest.raises(RuntimeError, match="was lost while it trained"):
            small(bd.LightGBMRanker, Waiting(), n_estimators=LONG, client=client).fit(*rows)
        thread.join()
        assert small(bd.LightGBMRanker).fit(*rows).score(*rows) > 0.7
        assert time.perf_counter() - start < 100


def test_without_a_client_there_is_an_error_that_says_how_to_make_one(data):
    code = """
import dask.array as da, boostrank as br, boostrank.dask as bd
rows = [da.from_array(part) for part in br.make_ranking(n_queries=5, random_state=0)]
try:
    bd.LightGBMRanker().fit(*rows)
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "client = distributed.Client()" in done.stdout


def test_without_dask_there_is_an_error_that_says_what_to_install():
    code = "import sys; sys.modules['distributed'] = None; import boostrank.dask"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'boostrank[dask]'" in done.stderr
