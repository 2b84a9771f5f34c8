"""Tables of a comparison: means, and paired tests of the differences to a baseline."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from boostrank.core.weights import weighted_means
from boostrank.inputs.arrays import Floats
from boostrank.metrics.query_groups import ALL_QUERIES
from boostrank.significance import bootstrap_interval, effect_size, holm, permutation_test

if TYPE_CHECKING:
    import pandas as pd


#: Names of columns beside those of measures.
COLUMNS = ("ranker", "run", "fold", "query", "rounds", "group", "weight")


def check_measure_names(measures: Iterable[str]) -> None:
    """Raise ValueError for a measure that has the name of another column of a comparison."""
    for name in measures:
        if name in COLUMNS:
            raise ValueError(f"a measure is called {name!r}, which is the name of another column: rename it")


def summarize(
    per_query: pd.DataFrame,
    measures: list[str],
    names: list[str],
    baseline: str,
    n_permutations: int,
    random_state: Any,
    kind: str = "ranker",
) -> pd.DataFrame:
    """The attribute `table` of a :class:`Comparison`, from its attribute `per_query` and names of rankers or runs."""
    import pandas as pd

    by_name = {name: per_query[per_query[kind] == name] for name in names}
    weights = by_name[baseline]["weight"].to_numpy() if "weight" in per_query else None
    rows: list[dict[Any, Any]] = []
    for measure in measures:
        values = {name: by_name[name][measure].to_numpy() for name in names}
        tests = _tests(values, baseline, weights, n_permutations, random_state)
        for name in names:
            row: dict[Any, Any] = {kind: name, "metric": measure, "mean": _mean(values[name], weights)}
            folds = by_name[name].groupby("fold", sort=False) if "fold" in per_query else None
            if folds is not None:
                row.update(folds[measure].mean().to_dict())
            row.update(tests[name])
            if folds is not None:
                row["rounds"] = folds["rounds"].first().mean()
            rows.append(row)
    return pd.DataFrame(rows)


def summarize_groups(
    per_query: pd.DataFrame,
    table: pd.DataFrame,
    groups: list[Any],
    baseline: str,
    n_permutations: int,
    random_state: Any,
    kind: str,
) -> pd.DataFrame:
    """The attribute `groups` of a :class:`Comparison`, from its attributes `per_query` and `table`."""
    import pandas as pd

    measures, names = list(table["metric"].unique()), list(table[kind].unique())
    parts = []
    for group in groups:
        rows = per_query[per_query["group"] == group]
        part = summarize(rows, measures, names, baseline, n_permutations, random_state, kind)
        parts.append(_with_group(part, group, rows, kind))
    result = pd.concat(parts, ignore_index=True)
    for _, rows in result.groupby("metric"):
        result.loc[rows.index, "p_holm"] = holm(rows["p_value"])
    return pd.concat([result, _with_group(table, ALL_QUERIES, per_query, kind)], ignore_index=True)


def _with_group(table: pd.DataFrame, group: Any, per_query: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Insert the columns "group" and "queries", the number of queries in the mean."""
    counted = per_query[per_query["weight"] > 0] if "weight" in per_query else per_query
    counts = counted.groupby(kind).count()
    numbers = [counts[metric].get(name, 0) for name, metric in zip(table[kind], table["metric"], strict=True)]
    table = table.copy()
    table.insert(0, "group", np.full(len(table), group, dtype=object))
    table.insert(1, "queries", numbers)
    return table


def _mean(values: Floats, weights: Floats | None) -> float:
    """Weighted mean of the values that are not NaN; NaN if there is none."""
    ones = np.ones(len(values))
    return float(weighted_means(values, ones if weights is None else weights).mean[0])


def _tests(
    values: dict[str, Floats], baseline: str, weights: Floats | None, n_permutations: int, random_state: Any
) -> dict[str, dict[str, Any]]:
    """The columns of a comparison that are results of tests, for each ranker or run in one measure."""
    rows, of_baseline = np.stack(list(values.values())), values[baseline]
    skipped = np.isnan(rows).all(axis=0)
    if (skipped if weights is None else skipped | (weights == 0)).all():
        nothing = {**dict.fromkeys(("difference", "p_value"), np.nan), **dict.fromkeys(("wins", "ties", "losses"), 0)}
        return {name: {**nothing, **dict.fromkeys(("p_holm", "low", "high", "effect"), np.nan)} for name in values}
    # In one call for all rankers the bootstrap draws its resamples only once.
    ends = bootstrap_interval(rows, of_baseline, random_state=random_state, sample_weight=weights)
    tests: dict[str, dict[str, Any]] = {}
    for name, low, high in zip(values, ends.low, ends.high, strict=True):
        test = permutation_test(
            values[name],
            of_baseline,
            n_permutations=n_permutations,
            random_state=random_state,
            sample_weight=weights,
        )
        effect = effect_size(values[name], of_baseline, sample_weight=weights)
        tests[name] = {**test._asdict(), "p_holm": np.nan, "low": low, "high": high, "effect": effect}
    # The baseline is not tested against itself.
    tests[baseline].update(dict.fromkeys(("p_value", "low", "high", "effect"), np.nan))
    for row, p_holm in zip(tests.values(), holm([row["p_value"] for row in tests.values()]), strict=True):
        row["p_holm"] = p_holm
    return tests
