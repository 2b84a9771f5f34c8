"""Who beats whom: rankers on the same folds, with a paired test over queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from boostrank.datasets import Fold
from boostrank.dcg import DCG, Discount, Gain, Ties
from boostrank.metrics import Empty, ndcg_score
from boostrank.model_selection import with_validation
from boostrank.segments import Floats
from boostrank.significance import bootstrap_interval, effect_size, holm, permutation_test

if TYPE_CHECKING:
    import pandas as pd


class Comparison(NamedTuple):
    """Result of :func:`compare`.

    Attributes
    ----------
    table : DataFrame
        A row per ranker and metric: mean over queries, mean of each fold, difference to the baseline, p-value of
        :func:`boostrank.permutation_test`, wins, ties, losses, `p_holm` (p-value by :func:`boostrank.holm` over the
        rankers compared in this metric), `low` and `high` (95% of :func:`boostrank.bootstrap_interval`), `effect`
        (:func:`boostrank.effect_size`), and the mean number of boosting rounds. The baseline's tests are NaN.
    per_query : DataFrame
        A row per ranker, fold and query, a column per metric.
    baseline : str
    """

    table: pd.DataFrame
    per_query: pd.DataFrame
    baseline: str


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
        From :func:`boostrank.read_letor_folds` or :func:`boostrank.query_folds`. Where a fold has no validation
        queries, a fifth of its training queries is set apart as such.
    baseline : str, optional
        Name of a ranker; the first by default.
    cutoffs : sequence of int or None, default (1, 5, 10)
        NDCG@k for each; None is NDCG over all ranks.
    gain, discount, ties, empty
        Of the evaluation; see :func:`boostrank.ndcg_score`.
    extra_metrics : mapping of name to function, optional
        ``function(fold, scores)`` gives further values per test query, in order of first appearance.
    n_permutations, random_state
        Of :func:`boostrank.permutation_test`, which pools the queries of all folds; `random_state` also of the
        bootstrap.
    progress : callable, optional
        Called with the names of fold and ranker before each training.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from boostrank import Dataset, LightGBMRanker, make_ranking, query_folds
    >>> folds = query_folds(Dataset(*make_ranking(n_queries=60, random_state=0)), n_splits=3)
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
    rows: list[dict[Any, Any]] = []
    for metric in metrics:
        values = {name: by_ranker[name][metric].to_numpy() for name in rankers}
        tests = _tests(values, baseline, n_permutations, random_state)
        for name in rankers:
            head = {"ranker": name, "metric": metric, "mean": np.nanmean(values[name])}
            means = folds[name][metric].mean().to_dict()
            rows.append(head | means | tests[name] | {"rounds": folds[name]["rounds"].first().mean()})
    return pd.DataFrame(rows)


def _tests(
    values: dict[str, Floats], baseline: str, n_permutations: int, random_state: Any
) -> dict[str, dict[str, Any]]:
    """What is tested of each ranker in one metric; NaN for the baseline, which is not tested against itself."""
    stack, right = np.stack(list(values.values())), values[baseline]
    # All rankers at once: they share the resamples.
    ends = bootstrap_interval(stack, right, random_state=random_state)
    tests = {}
    for name, low, high in zip(values, ends.low, ends.high, strict=True):
        test = permutation_test(values[name], right, n_permutations=n_permutations, random_state=random_state)
        tests[name] = test._asdict() | {
            "p_holm": np.nan,
            "low": low,
            "high": high,
            "effect": effect_size(values[name], right),
        }
    tests[baseline] |= dict.fromkeys(("p_value", "low", "high", "effect"), np.nan)
    for row, p_holm in zip(tests.values(), holm([row["p_value"] for row in tests.values()]), strict=True):
        row["p_holm"] = p_holm
    return tests
