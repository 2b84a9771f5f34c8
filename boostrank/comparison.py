"""Who beats whom: rankers on the same folds, with a paired test over queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from boostrank.dcg import DCG, Discount, Gain, Ties
from boostrank.letor import Fold, Ranking
from boostrank.metrics import Empty, ndcg_score
from boostrank.model_selection import QueryKFold, split_queries
from boostrank.queries import Floats

if TYPE_CHECKING:
    import pandas as pd

# Signs are drawn in chunks of about this many numbers, so that memory stays bounded.
CHUNK = 4_000_000


class PairedTest(NamedTuple):
    """Difference of two rankers on the same queries, and how surprising it is if neither is better."""

    difference: float
    p_value: float
    wins: int
    ties: int
    losses: int


def permutation_test(
    values: ArrayLike, baseline: ArrayLike, *, n_permutations: int = 10_000, random_state: Any = 0
) -> PairedTest:
    """Paired randomization test of a mean difference over queries.

    If the two rankers were alike, each query's difference could as well have the other sign. The p-value is the share
    of sign assignments whose mean difference is at least as far from zero as the one seen: over all assignments when
    these are no more than `n_permutations`, otherwise over random ones, the observed one counted in.

    Parameters
    ----------
    values, baseline : array-like, shape (n_queries,)
        A metric per query; queries that are NaN in both (skipped) are left out.
    n_permutations : int, default 10,000
    random_state : int, Generator or None

    Returns
    -------
    PairedTest
        Mean difference `values` minus `baseline`, two-sided p-value, and the number of queries won, tied and lost.

    Raises
    ------
    ValueError
        If the shapes differ, a value is NaN on one side only, or nothing is left.

    References
    ----------
    Smucker, Allan and Carterette, "A comparison of statistical significance tests for information retrieval
    evaluation", CIKM 2007.

    Examples
    --------
    >>> permutation_test([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.5, 0.9])
    PairedTest(difference=0.2, p_value=0.25, wins=3, ties=1, losses=0)
    """
    left, right = np.asarray(values, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if left.shape != right.shape or left.ndim != 1:
        raise ValueError(f"values and baseline must be paired by query; got shapes {left.shape} and {right.shape}")
    if (np.isnan(left) != np.isnan(right)).any():
        raise ValueError("a query is NaN on one side only: evaluate both sides on the same queries")
    differences = (left - right)[~np.isnan(left)]
    if len(differences) == 0:
        raise ValueError("there is no query to compare")
    # Differences within rounding are ties: both sides sum the same gains in another order.
    differences[np.abs(differences) < 1e-12] = 0.0
    decisive = differences[differences != 0]
    observed = abs(decisive.sum()) * (1.0 - 1e-12)
    if 2 ** min(len(decisive), 62) <= n_permutations:
        extreme = total = 0
        for signs in _sign_chunks(len(decisive), None, None):
            extreme, total = extreme + int((np.abs(signs @ decisive) >= observed).sum()), total + len(signs)
    else:
        extreme = total = 1
        for signs in _sign_chunks(len(decisive), n_permutations, random_state):
            extreme, total = extreme + int((np.abs(signs @ decisive) >= observed).sum()), total + len(signs)
    wins = int((differences > 0).sum())
    return PairedTest(
        float(round(differences.mean(), 12)),
        extreme / total,
        wins,
        len(differences) - len(decisive),
        len(decisive) - wins,
    )


class Comparison(NamedTuple):
    """Result of :func:`compare`.

    Attributes
    ----------
    table : DataFrame
        A row per ranker and metric: mean over queries, mean of each fold, difference to the baseline, p-value, wins,
        ties, losses, and the mean number of boosting rounds.
    per_query : DataFrame
        A row per ranker, fold and query, a column per metric.
    baseline : str
    """

    table: pd.DataFrame
    per_query: pd.DataFrame
    baseline: str


def query_folds(data: Ranking, n_splits: int = 5, *, random_state: Any = 0) -> list[Fold]:
    """Folds of one data set by query: a part to test on, the next one to validate on, and the rest to train on.

    Examples
    --------
    >>> from boostrank import Ranking, make_ranking
    >>> folds = query_folds(Ranking(*make_ranking(n_queries=10, random_state=0)), n_splits=5)
    >>> len(folds), folds[0].name, len(set(folds[0].test.qid))
    (5, 'Fold1', 2)
    """
    if n_splits < 3:
        raise ValueError(f"n_splits must be at least 3, to train, validate and test on; got {n_splits}")
    splitter = QueryKFold(n_splits, shuffle=True, random_state=random_state)
    tests = [test for _, test in splitter.split(data.qid, groups=data.qid)]
    folds = []
    for i, test in enumerate(tests):
        validation = tests[(i + 1) % n_splits]
        train = np.setdiff1d(np.arange(len(data.qid)), np.concatenate([test, validation]))
        folds.append(Fold(f"Fold{i + 1}", *(take_rows(data, rows) for rows in (train, validation, test))))
    return folds


def take_rows(data: Ranking, rows: Any) -> Ranking:
    """These rows of a data set."""
    return Ranking(_safe_indexing(data.X, rows), np.asarray(data.y)[rows], np.asarray(data.qid)[rows])


def with_validation(fold: Fold, *, fraction: float = 0.2, random_state: Any = 0) -> Fold:
    """The fold itself, or, if it has no validation part, with one carved out of its training queries."""
    if fold.validation is not None:
        return fold
    keep, hold_out = split_queries(fold.train.qid, fraction, random_state)
    return fold._replace(train=take_rows(fold.train, keep), validation=take_rows(fold.train, hold_out))


def compare(
    rankers: Mapping[str, Any],
    folds: Iterable[Fold],
    *,
    baseline: str | None = None,
    cutoffs: Sequence[int | None] = (1, 5, 10),
    gain: Gain = "exp2",
    discount: Discount = "log2",
    ties: Ties = "average",
    empty: Empty = "zero",
    extra_metrics: Mapping[str, Callable[[Fold, Floats], Floats]] | None = None,
    n_permutations: int = 10_000,
    random_state: Any = 0,
    progress: Callable[[str, str], None] | None = None,
) -> Comparison:
    """Train every ranker on every fold, and test NDCG on the folds' test queries against a baseline.

    Rankers get the fold's validation queries as `eval_set`, and so choose their number of rounds there when they have
    `early_stopping_rounds`. Test queries are only scored.

    Parameters
    ----------
    rankers : mapping of name to LightGBMRanker or XGBoostRanker
        Unfitted; they are cloned.
    folds : iterable of Fold
        From :func:`boostrank.read_letor_folds` or :func:`query_folds`. A fold without validation queries has a fifth
        of its training queries set apart as such.
    baseline : str, optional
        Name of a ranker; the first by default.
    cutoffs : sequence of int or None, default (1, 5, 10)
        NDCG@k for each; None is NDCG over all ranks.
    gain, discount, ties, empty
        Of the evaluation; see :func:`boostrank.ndcg_score`.
    extra_metrics : mapping of name to function, optional
        ``function(fold, scores)`` gives further values per test query, in order of first appearance.
    n_permutations, random_state
        Of :func:`permutation_test`, which pools the queries of all folds.
    progress : callable, optional
        Called with the names of fold and ranker before each training.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from boostrank import LightGBMRanker, Ranking, compare, make_ranking
    >>> folds = query_folds(Ranking(*make_ranking(n_queries=60, random_state=0)), n_splits=3)
    >>> rankers = {name: LightGBMRanker(name, n_estimators=10) for name in ("lambdarank", "softmax")}
    >>> compare(rankers, folds, cutoffs=[10]).table["ranker"].tolist()
    ['lambdarank', 'softmax']
    """
    import pandas as pd

    baseline = next(iter(rankers)) if baseline is None else baseline
    if baseline not in rankers:
        raise ValueError(f"baseline must be one of the rankers {', '.join(rankers)}; got {baseline!r}")
    metrics = {str(DCG(k)): k for k in cutoffs}
    parts = []
    for fold in (with_validation(fold, random_state=random_state) for fold in folds):
        test = fold.test
        for name, ranker in rankers.items():
            if progress is not None:
                progress(fold.name, name)
            fitted = clone(ranker).fit(*fold.train, eval_set=[tuple(fold.validation)])  # type: ignore[arg-type]
            scores = fitted.predict(test.X)
            score = partial(ndcg_score, test.y, scores, test.qid, per_query=True)
            values: dict[str, Any] = {
                metric: score(k=k, gain=gain, discount=discount, ties=ties, empty=empty)
                for metric, k in metrics.items()
            }
            values |= {metric: function(fold, scores) for metric, function in (extra_metrics or {}).items()}
            query = pd.unique(pd.Series(test.qid))
            parts.append(
                pd.DataFrame(
                    {"ranker": name, "fold": fold.name, "query": query, "rounds": fitted.best_iteration_, **values}
                )
            )
    per_query = pd.concat(parts, ignore_index=True)
    columns = [*metrics, *(extra_metrics or {})]
    table = _summary(per_query, columns, list(rankers), baseline, n_permutations, random_state)
    return Comparison(table, per_query, baseline)


def _summary(
    per_query: pd.DataFrame,
    metrics: list[str],
    rankers: list[str],
    baseline: str,
    n_permutations: int,
    random_state: Any,
) -> pd.DataFrame:
    import pandas as pd

    by_ranker = {name: per_query[per_query["ranker"] == name] for name in rankers}
    folds = {name: rows.groupby("fold", sort=False) for name, rows in by_ranker.items()}
    rows = []
    for metric in metrics:
        for name in rankers:
            values = by_ranker[name][metric].to_numpy()
            test = permutation_test(
                values, by_ranker[baseline][metric].to_numpy(), n_permutations=n_permutations, random_state=random_state
            )
            row: dict[Any, Any] = {"ranker": name, "metric": metric, "mean": np.nanmean(values)}
            row |= folds[name][metric].mean().to_dict()
            row |= test._asdict() | {"rounds": folds[name]["rounds"].first().mean()}
            rows.append(row | ({"p_value": np.nan} if name == baseline else {}))
    return pd.DataFrame(rows)


def _sign_chunks(n: int, n_permutations: int | None, random_state: Any) -> Iterator[Floats]:
    """Rows of signs, +1 or -1: all of them, or so many random ones."""
    total = 2**n if n_permutations is None else n_permutations
    rows = max(1, CHUNK // max(n, 1))
    random = np.random.default_rng(random_state)
    for start in range(0, total, rows):
        stop = min(start + rows, total)
        if n_permutations is None:
            bits: NDArray[Any] = (np.arange(start, stop)[:, None] >> np.arange(n)) & 1
        else:
            packed: NDArray[np.uint8] = random.integers(0, 256, size=(stop - start, -(-n // 8)), dtype=np.uint8)
            bits = np.unpackbits(packed, axis=1, count=n)
        yield 1.0 - 2.0 * bits
