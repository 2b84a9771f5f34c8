"""Data sets and rankers that several benchmarks share."""

from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import boostrank as br
from boostrank.model_selection import with_validation

RANKERS = {"lightgbm": br.LightGBMRanker, "xgboost": br.XGBoostRanker}
#: The LambdaMART of each library.
LAMBDAMART = {"lightgbm": "lambdarank", "xgboost": "rank:ndcg"}
#: Number of features and mean number of documents of a query in MSLR-WEB10K.
N_FEATURES, N_DOCUMENTS = 136, 120
SYNTHETIC_QUERIES = 600
#: Name of the synthetic data set.
SYNTHETIC = "synthetic"
#: Shares of the documents whose grade is at least 1, 2, 3 and 4 in web search.
WEB_SHARES = (0.48, 0.16, 0.03, 0.01)
N_INTERACTIONS, N_QUERY_FEATURES = 25, 8


def leaf_parameters(library, leaves):
    """Parameters of a library for trees of at most `leaves` leaves, the best leaf first."""
    if library == "lightgbm":
        return {"num_leaves": leaves}
    return {"max_leaves": leaves, "max_depth": 0, "grow_policy": "lossguide"}


#: With these, no queries and features are drawn, and trees of all objectives need equal work.
EQUAL_TREES = {"colsample_bynode": 1.0, "subsample_queries": 1.0}


def make_ranker(library, objective, leaves, **settings):
    """An unfitted ranker whose trees have at most `leaves` leaves, the best leaf first."""
    return RANKERS[library](objective, **leaf_parameters(library, leaves), **settings)


def make_queries(n_documents, length=N_DOCUMENTS):
    """Queries of `length` documents, 136 float32 features and labels 0 to 4, as a Dataset."""
    random = np.random.default_rng(0)
    n_queries = n_documents // length
    X = random.standard_normal((n_queries * length, N_FEATURES), dtype=np.float32)
    y = np.clip(np.round(X[:, 0] + random.standard_normal(len(X), dtype=np.float32) - 0.5), 0, 4)
    return br.Dataset(X, y, np.repeat(np.arange(n_queries), length))


def make_interactions(n_queries, noise, seed, *, n_documents=60, n_features=60):
    """Queries with interactions of features, and grades as rare as in web search, as a Dataset.

    The first eight features are those of the query. The quality of a document is a sum of linear
    terms of 60% of the other features, of products with conditions on two features, and of a
    periodic and a piecewise linear term. Its grade is that of the quality plus normal noise and a
    level of the query. The function is the same for each seed.

    Parameters
    ----------
    noise : float
        Standard deviation of the noise of a document, where that of the quality is 1.
    """
    random = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), n_documents)
    X = random.standard_normal((len(qid), n_features), dtype=np.float32)
    X[:, :N_QUERY_FEATURES] = random.standard_normal(
        (n_queries, N_QUERY_FEATURES), dtype=np.float32
    )[qid]
    quality = _quality_with_interactions(X)
    seen = (
        quality / quality.std()
        + noise * random.standard_normal(len(qid))
        + random.standard_normal(n_queries)[qid]
    )
    return br.Dataset(X, grades(seen, WEB_SHARES), qid)


def _quality_with_interactions(X):
    function = np.random.default_rng(123)
    weights = function.standard_normal(X.shape[1]) * (function.random(X.shape[1]) < 0.6)
    weights[:N_QUERY_FEATURES] = 0.0
    quality = X @ (weights / np.linalg.norm(weights))
    for _ in range(N_INTERACTIONS):
        first, second, third = function.integers(0, X.shape[1], 3)
        counts = (X[:, first] > function.standard_normal()) & (X[:, second] > 0)
        quality += 0.35 * counts * X[:, third]
    return quality + 0.5 * np.sin(2 * X[:, 10]) + 0.5 * np.maximum(X[:, 11], X[:, 12])


def make_offsets(n_queries, seed, *, n_documents=20):
    """Queries with labels of one feature, up to an offset of each query, as a Dataset.

    The feature is the quality of a document plus three times a normal offset of its query. The
    grade is that of the quality alone. Five more features are noise.
    """
    random = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), n_documents)
    quality = random.standard_normal(len(qid))
    seen = quality + 3 * random.standard_normal(n_queries)[qid]
    return br.Dataset(
        np.column_stack([seen, random.standard_normal((len(qid), 5))]),
        np.digitize(quality, [-0.5, 0.5, 1.2, 2.0]),
        qid,
    )


def grades(values, shares):
    """Grades 0, 1, ... by value.

    The n-th of `shares` is that of the documents with a grade of n or more.
    """
    return np.digitize(values, np.quantile(values, 1.0 - np.array(shares)))


def ragged_sizes(n_queries, mean, random):
    """Sizes of queries, uniform from a sixth of `mean` to as much above it.

    They are 20 to 220 for a mean of 120.
    """
    low = max(1, mean // 6)
    return random.integers(low, 2 * mean - low + 1, n_queries)


def data_name(data):
    """Name of a data set: that of its folder or file, or "synthetic"; "EAL" for EAL/all.txt.gz."""
    path = Path(data)
    return path.parent.name if path.name == "all.txt.gz" else path.name


def join(first, second):
    """The queries of two data sets, which must have no query id in common."""
    if common := set(first.qid) & set(second.qid):
        raise ValueError(
            f"the data sets to join have {len(common)} query ids in common, such as "
            f"{common.pop()!r}"
        )
    stack = partial(sp.vstack, format="csr") if sp.issparse(first.X) else np.concatenate
    return br.Dataset(
        stack([first.X, second.X]), np.append(first.y, second.y), np.append(first.qid, second.qid)
    )


def training_queries(fold):
    """All queries of a fold that are not for testing."""
    return join(fold.train, fold.validation)


@lru_cache(maxsize=2)
def read_folds(data):
    """Folds with validation queries.

    Parameters
    ----------
    data : str
        A folder of LETOR folds, LightGBM's example folder or one LETOR file (each cut into five
        folds), or "synthetic".
    """
    path = Path(data)
    if data == SYNTHETIC:
        folds = br.query_folds(
            br.Dataset(*br.make_ranking(SYNTHETIC_QUERIES, random_state=0)), random_state=0
        )
    elif path.is_file():
        folds = br.query_folds(br.read_letor(path), random_state=0)
    elif (path / "rank.train").exists():
        folds = br.query_folds(read_example(path), random_state=0)
    else:
        folds = br.read_letor_folds(path)
    return [with_validation(fold, random_state=0) for fold in folds]


def read_example(folder):
    """All queries of LightGBM's example folder, as a dense matrix.

    XGBoost reads zeros of a sparse one as missing.
    """
    train = br.read_letor(folder / "rank.train", sparse=False)
    test = br.read_letor(folder / "rank.test", sparse=False, n_features=train.X.shape[1])
    # The files have no query ids: the queries of both are numbered from 0.
    return join(train, test._replace(qid=test.qid + train.qid.max() + 1))
