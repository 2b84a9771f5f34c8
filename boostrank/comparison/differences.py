"""Means over queries of rankers or runs, with paired tests and intervals of their differences to a baseline."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from boostrank.inputs.arrays import Floats
from boostrank.metrics.query_groups import ALL_QUERIES, GROUP, as_groups
from boostrank.queries.weights import weighted_means
from boostrank.significance import PairedTest, confidence_interval, corrected_resampled_t_test, effect_size, holm
from boostrank.significance.paired_tests import randomization_test

# Columns of a table of differences that are results of tests.
COUNTS = ("wins", "ties", "losses")
TESTS = ("difference", "p_value", *COUNTS, "skewness", "p_holm", "low", "high", "effect")
# The baseline is not tested against itself.
UNTESTED = ("p_value", "skewness", "low", "high", "effect")


def difference_table(
    per_query: pd.DataFrame, measures: Iterable[str], kind: str, baseline: str, **settings: Any
) -> pd.DataFrame:
    """The attribute `table` of a :class:`boostrank.comparison.Comparison`, from its attribute `per_query`.

    Parameters
    ----------
    per_query : DataFrame
        Rows of the same queries, in the same sequence, for each name in the column `kind`. With a column "repetition",
        the means of folds are tested in place of the values of queries.
    measures : iterable of str
        Columns of `per_query`.
    kind, baseline
        Those of the comparison.
    **settings
        Further arguments of :func:`paired_test`.
    """
    rows_of = rows_by_name(per_query, kind)
    weights = rows_of[baseline]["weight"].to_numpy() if "weight" in per_query else None
    table: list[dict[Any, Any]] = []
    for measure in measures:
        values = {name: rows[measure].to_numpy() for name, rows in rows_of.items()}
        tests = _tests(values, baseline, weights, settings)
        for name, rows in rows_of.items():
            counted = np.ones(len(rows)) if weights is None else weights
            mean, by_fold, of_training = float(weighted_means(values[name], counted).mean[0]), {}, {}
            if "fold" in rows:
                folds = rows.groupby("fold", sort=False)
                by_fold, seconds = folds[measure].mean().to_dict(), folds["seconds"].first().median()
                of_training = {"rounds": folds["rounds"].first().mean(), "seconds": seconds}
            table.append({kind: name, "metric": measure, "mean": mean, **by_fold, **tests[name], **of_training})
    return _with_holm(pd.DataFrame(table))


def group_table(per_query: pd.DataFrame, table: pd.DataFrame, kind: str, **settings: Any) -> pd.DataFrame:
    """The attribute `groups` of a :class:`boostrank.comparison.Comparison`, from `per_query` and `table`.

    The column "group" of `per_query` has the groups. `settings` are further arguments of :func:`difference_table`.
    """
    tables = []
    for group in as_groups(per_query[GROUP]).categories:
        rows = per_query[per_query[GROUP] == group]
        of_group = difference_table(rows, table["metric"].unique(), kind=kind, **settings)
        tables.append(_with_group(of_group, group, rows, kind))
    by_group = _with_holm(pd.concat(tables, ignore_index=True))
    return pd.concat([by_group, _with_group(table, ALL_QUERIES, per_query, kind)], ignore_index=True)


def rows_by_name(per_query: pd.DataFrame, kind: str, unit: str = "fold") -> dict[Any, pd.DataFrame]:
    """The rows of each ranker or run; where folds are repeated, their means over each `unit`: "fold" or "query"."""
    if "repetition" in per_query:
        per_query = per_query.groupby([kind, unit], sort=False).mean(numeric_only=True).reset_index()
    return {name: rows.reset_index(drop=True) for name, rows in per_query.groupby(kind, sort=False)}


def paired_test(values: Floats, baseline: Floats, weights: Any, repeats: int, **settings: Any) -> PairedTest:
    """The test of the values of queries, or, if `repeats` is not 0, of folds that were drawn so often."""
    if repeats == 0:
        return randomization_test(values, baseline, weights, **settings)
    return corrected_resampled_t_test(values, baseline, test_to_train=repeats / (len(values) - repeats))


def _tests(values: dict[str, Floats], baseline: str, weights: Floats | None, settings: Any) -> dict[str, Any]:
    """The columns :data:`TESTS` of each ranker or run in one measure; "p_holm" is not known yet."""
    matrix, of_baseline = np.stack(list(values.values())), values[baseline]
    skipped = np.isnan(matrix).all(axis=0)
    if (skipped if weights is None else skipped | (weights == 0)).all():
        return {name: dict.fromkeys(TESTS, np.nan) | dict.fromkeys(COUNTS, 0) for name in values}
    tests = {}
    for name, of_name in values.items():
        test = paired_test(of_name, of_baseline, weights, **settings)
        # Test queries of one of k folds by its other queries, 1 / (k - 1); 0 if folds are not repeated.
        ratio = settings["repeats"] / (len(of_name) - settings["repeats"])
        low, high = confidence_interval(of_name, of_baseline, sample_weight=weights, test_to_train=ratio)
        effect = effect_size(of_name, of_baseline, sample_weight=weights)
        tests[name] = {**test._asdict(), "p_holm": np.nan, "low": low, "high": high, "effect": effect}
    tests[baseline].update(dict.fromkeys(UNTESTED, np.nan))
    return tests


def _with_holm(table: pd.DataFrame) -> pd.DataFrame:
    """The p-values of each measure, corrected for their number, in the column "p_holm"."""
    return table.assign(p_holm=table.groupby("metric", sort=False)["p_value"].transform(holm))


def _with_group(table: pd.DataFrame, group: Any, per_query: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Insert the columns "group" and "queries", the number of queries in the mean."""
    counted = per_query[per_query["weight"] > 0] if "weight" in per_query else per_query
    counts = counted.groupby(kind).count()
    numbers = [counts[metric].get(name, 0) for name, metric in zip(table[kind], table["metric"], strict=True)]
    added = pd.DataFrame({GROUP: np.full(len(table), group, dtype=object), "queries": numbers})
    return pd.concat([added, table], axis=1)
