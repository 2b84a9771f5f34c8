"""Importance of features on folds of whole queries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse as sp
from sklearn.utils import _safe_indexing

from boostrank.inputs.arrays import Floats, Ints, as_array
from boostrank.inputs.checks import EstimatorSeed, as_random_state, check_count
from boostrank.inputs.table import is_pandas, to_pandas
from boostrank.metrics import Measure, get_measure
from boostrank.metrics.registry import MeasureLike
from boostrank.metrics.scorers import Estimator, call_with_qid, labels_as_read
from boostrank.model_selection.cross_validation import cross_validate
from boostrank.model_selection.time_split import without_time
from boostrank.ndcg.labels import Labels
from boostrank.queries.queries import Features, Queries, find_qid, require_qid


def feature_importance(
    ranker: Estimator,
    X: Features,
    y: ArrayLike | Labels,
    qid: ArrayLike | None = None,
    *,
    measure: MeasureLike = "ndcg@10",
    n_repeats: int = 5,
    random_state: EstimatorSeed = 0,
    **options: Any,
) -> pd.DataFrame:
    """Train a ranker on folds of whole queries, and measure the importance of features to them.

    The importance is the mean decrease of a measure on the queries of the test fold when the values
    of the feature are permuted at random *within each query*: it is in units of the measure, does
    not count what holds only for training queries, and can be compared between rankers. A
    permutation over all rows would give documents values of other queries, which may be in other
    ranges, so that it measures something else. A feature that has the same value for all documents
    of a query has the importance 0. Features that the model can replace by each other have little
    importance each, although without all of them the ranker would be worse.

    Parameters
    ----------
    ranker, X, y, qid, **options
        As in :func:`boostrank.cross_validate`, with `cv` and `params` among the options.
    measure : str, Measure or callable, default "ndcg@10"
        As in :func:`boostrank.get_measure`.
    n_repeats : int, default 5
        Number of permutations of each feature.
    random_state : int, RandomState or None, default 0
        Seed of the permutations.

    Returns
    -------
    DataFrame, shape (n_folds, n_features)
        The columns are the names of the features, or their numbers if they have no names.

    Raises
    ------
    ValueError
        As :func:`boostrank.cross_validate`.

    References
    ----------
    Breiman, "Random forests", Machine Learning 2001, section 10. Strobl, Boulesteix, Zeileis and
    Hothorn, "Bias in random forest variable importance measures", BMC Bioinformatics 2007, for the
    bias of gains and of permutations.

    Examples
    --------
    >>> import boostrank as br
    >>> data = br.make_ranking(n_queries=40, n_features=5, random_state=0)
    >>> br.feature_importance(br.LightGBMRanker(n_estimators=5, n_jobs=1), *data, cv=3).shape
    (3, 5)
    """
    check_count("n_repeats", n_repeats)
    measure = get_measure(measure)
    X, qid = find_qid(X, qid, y)
    qid = require_qid(qid, "feature_importance")
    X = to_pandas(X)
    if not (is_pandas(X) or sp.issparse(X)):
        X = as_array(X, "X", keep_shape=True)
    if not isinstance(y, Labels):
        y = as_array(y, "y")
    options |= {"return_estimator": True, "return_indices": True}
    result = cross_validate(ranker, X, y, qid, scoring=measure, **options)
    X = without_time(X, options.get("cv"))
    y = labels_as_read(result["estimator"], y)
    random = as_random_state(random_state)
    rows = []
    for fitted, test in zip(result["estimator"], result["indices"]["test"], strict=True):
        X_test, y_test, qid_test = (_safe_indexing(values, test) for values in (X, y, qid))
        rows.append(_decreases(fitted, X_test, y_test, qid_test, measure, n_repeats, random))
    names = X.columns if is_pandas(X) else range(X.shape[1])
    return pd.DataFrame(rows, columns=list(names))


def permutation_within(queries: Queries, random: np.random.RandomState) -> Ints:
    """Random permutation of the rows, in which each row is replaced by one of the same query.

    Examples
    --------
    >>> queries = Queries.from_qid(["a", "b", "a", "b"])
    >>> permutation_within(queries, np.random.RandomState(0)).tolist()
    [0, 3, 2, 1]
    """
    grouped = queries.group(np.arange(queries.n_documents))
    keys = random.random_sample(len(grouped))
    number = queries.repeat(np.arange(queries.n_queries))
    return queries.ungroup(grouped[np.lexsort((keys, number))])


def _decreases(
    fitted: Estimator,
    X: Features,
    y: ArrayLike | Labels,
    qid: NDArray[np.generic],
    measure: Measure,
    n_repeats: int,
    random: np.random.RandomState,
) -> Floats:
    """Mean decrease of the measure by each feature, shape (n_features,)."""
    queries = Queries.from_qid(qid)
    permutations = np.stack([permutation_within(queries, random) for _ in range(n_repeats)])
    scores = call_with_qid(fitted, "predict", qid, X)
    value = float(measure(y, scores, qid))
    # One prediction for all permutations of a feature, because each call of a library takes some
    # time.
    copies = _safe_indexing(X, np.tile(np.arange(len(qid)), n_repeats))
    # The lists of all permutations, each with ids of its own.
    number = queries.ungroup(queries.repeat(np.arange(queries.n_queries)))
    lists = np.arange(n_repeats)[:, None] * queries.n_queries + number
    means = []
    for j in range(X.shape[1]):
        changed = _with_feature(copies, j, X, permutations.ravel())
        predictions = call_with_qid(fitted, "predict", lists.ravel(), changed)
        values = [
            float(measure(y, scores, qid)) for scores in predictions.reshape(permutations.shape)
        ]
        means.append(np.mean(values))
    return value - np.array(means)


def _with_feature(copies: Features, j: int, X: Features, rows: Ints) -> Features:
    """A copy of `copies`, with the values of feature `j` taken from rows of `X`."""
    if hasattr(X, "tocsc"):
        columns = copies.tocsc()
        values = X.tocsc()[:, [j]][rows]
        return sp.hstack([columns[:, :j], values, columns[:, j + 1 :]], format="csr")
    changed = copies.copy()
    if is_pandas(X):
        # Columns may have equal names, and types that NumPy does not have.
        changed.isetitem(j, X.iloc[rows, j].set_axis(changed.index))
    else:
        changed[:, j] = X[rows, j]
    return changed
