"""Cross-validated scores by the number of training queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from boostrank.inputs.checks import as_random_state, is_count, is_number
from boostrank.inputs.frames import find_qid, require_qid
from boostrank.model_selection.cross_validation import cross_validate, make_folds
from boostrank.queries.queries import Queries


def learning_curve(
    ranker: Any,
    X: Any,
    y: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    train_sizes: Iterable[float] = (0.1, 0.25, 0.5, 0.75, 1.0),
    cv: Any = 5,
    scoring: Any = None,
    params: Mapping[str, Any] | None = None,
    random_state: Any = 0,
    **options: Any,
) -> pd.DataFrame:
    """Cross-validate a ranker with different numbers of training queries.

    The training queries of each fold are permuted at random, and the first of them are trained on: a larger part
    contains the smaller ones, and no query is cut apart. All parts of a fold are tested on the same queries.

    Parameters
    ----------
    ranker, X, y, qid, cv, scoring, params, **options
        As in :func:`boostrank.cross_validate`. With ``return_train_score=True`` the result has the scores on the
        queries that were trained on too.
    train_sizes : iterable of float or int
        Numbers of training queries: floats in (0, 1] are fractions of the training queries of a fold, rounded, at least
        one query; integers are counts.
    random_state : int, RandomState or None, default 0
        Seed of the permutations.

    Returns
    -------
    DataFrame
        One row per size and fold, in the sequence of the sizes, with the columns train_size, as it was given,
        n_queries, the number of training queries, fold, and test_score, or test_NAME for each name if `scoring` is a
        list or a dict. test_n_estimators is the number of boosting rounds.

    Raises
    ------
    ValueError
        As :func:`boostrank.cross_validate`; and if there is no size, or one is out of range.

    Examples
    --------
    >>> import boostrank as br
    >>> data = br.make_ranking(n_queries=40, random_state=0)
    >>> table = learning_curve(br.LightGBMRanker(n_estimators=5, n_jobs=1), *data, train_sizes=[0.5, 1.0], cv=2)
    >>> table[["train_size", "n_queries", "fold"]].to_numpy().tolist()
    [[0.5, 10.0, 0.0], [0.5, 10.0, 1.0], [1.0, 20.0, 0.0], [1.0, 20.0, 1.0]]
    """
    X, qid = find_qid(X, qid, y)
    queries = Queries.from_qid(require_qid(qid, "learning_curve"))
    number = queries.ungroup(queries.repeat(np.arange(queries.n_queries)))
    folds, random = make_folds(X, y, queries, cv), as_random_state(random_state)
    permuted = [random.permutation(np.unique(number[train])) for train, _ in folds]
    sizes = _sizes(train_sizes, min(map(len, permuted)))
    rows, parts = [], []
    for size in sizes:
        for fold, (known, (train, test)) in enumerate(zip(permuted, folds, strict=True)):
            n_queries = size if is_count(size) else max(1, round(size * len(known)))
            rows.append((size, n_queries, fold))
            parts.append((train[np.isin(number[train], known[:n_queries])], test))
    scores = cross_validate(ranker, X, y, qid, cv=parts, scoring=scoring, params=params, **options)
    table = pd.DataFrame(rows, columns=["train_size", "n_queries", "fold"])
    return table.assign(**{name: values for name, values in scores.items() if name.startswith(("test_", "train_"))})


def _sizes(train_sizes: Iterable[float], n_available: int) -> list[float]:
    """The sizes, checked; `n_available` is the number of training queries of the smallest fold."""
    sizes = list(train_sizes) if isinstance(train_sizes, Iterable) else []
    if not sizes:
        raise ValueError(f"train_sizes must be a list of fractions and counts of queries; got {train_sizes!r}")
    for size in sizes:
        inside = 1 <= size <= n_available if is_count(size) else is_number(size) and 0 < size <= 1
        if not inside:
            raise ValueError(
                f"train_sizes must be fractions above 0 and up to 1.0, or integers from 1 to {n_available}, the "
                f"training queries of the smallest fold; got {size!r}"
            )
    return sizes
