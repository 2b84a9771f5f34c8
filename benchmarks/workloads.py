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


def leaf_parameters(library, leaves):
    """Parameters with which a library grows trees of at most `leaves` leaves, the best leaf first."""
    if library == "lightgbm":
        return {"num_leaves": leaves}
    return {"max_leaves": leaves, "max_depth": 0, "grow_policy": "lossguide"}


#: With these, no queries and features are drawn, and trees of all objectives need equal work.
EQUAL_TREES = {"colsample_bynode": 1.0, "subsample_queries": 1.0}


def make_ranker(library, objective, leaves, **settings):
    """An unfitted ranker whose trees have at most `leaves` leaves, the best leaf first."""
    return RANKERS[library](objective, **leaf_parameters(library, leaves), **settings)


def make_queries(n_documents, length=N_DOCUMENTS):
    """Queries of `length` documents each, with 136 float32 features and labels 0 to 4, as a Dataset."""
    random = np.random.default_rng(0)
    n_queries = n_documents // length
    X = random.standard_normal((n_queries * length, N_FEATURES), dtype=np.float32)
    y = np.clip(np.round(X[:, 0] + random.standard_normal(len(X), dtype=np.float32) - 0.5), 0, 4)
    return br.Dataset(X, y, np.repeat(np.arange(n_queries), length))


def ragged_sizes(n_queries, mean, random):
    """Sizes of queries, uniform from a sixth of `mean` to as much above it: 20 to 220 for a mean of 120."""
    low = max(1, mean // 6)
    return random.integers(low, 2 * mean - low + 1, n_queries)


def data_name(data):
    """Name of a data set: that of its folder or file, or "synthetic"; "EAL" for EAL/all.txt.gz."""
    path = Path(data)
    return path.parent.name if path.name == "all.txt.gz" else path.name


def join(first, second):
    """The queries of two data sets, which must have no query id in common."""
    if common := set(first.qid) & set(second.qid):
        raise ValueError(f"the data sets to join have {len(common)} query ids in common, such as {common.pop()!r}")
    stack = partial(sp.vstack, format="csr") if sp.issparse(first.X) else np.concatenate
    return br.Dataset(stack([first.X, second.X]), np.append(first.y, second.y), np.append(first.qid, second.qid))


def training_queries(fold):
    """All queries of a fold that are not for testing."""
    return join(fold.train, fold.validation)


@lru_cache(maxsize=2)
def read_folds(data):
    """Folds with validation queries.

    Parameters
    ----------
    data : str
        A folder of LETOR folds, LightGBM's example folder or one LETOR file (each cut into five folds), or "synthetic".
    """
    path = Path(data)
    if data == SYNTHETIC:
        folds = br.query_folds(br.Dataset(*br.make_ranking(SYNTHETIC_QUERIES, random_state=0)), random_state=0)
    elif path.is_file():
        folds = br.query_folds(br.read_letor(path), random_state=0)
    elif (path / "rank.train").exists():
        folds = br.query_folds(read_example(path), random_state=0)
    else:
        folds = br.read_letor_folds(path)
    return [with_validation(fold, random_state=0) for fold in folds]


def read_example(folder):
    """All queries of LightGBM's example folder, as a dense matrix: XGBoost reads zeros of a sparse one as missing."""
    train = br.read_letor(folder / "rank.train", sparse=False)
    test = br.read_letor(folder / "rank.test", sparse=False, n_features=train.X.shape[1])
    # The files have no query ids: the queries of both are numbered from 0.
    return join(train, test._replace(qid=test.qid + train.qid.max() + 1))
