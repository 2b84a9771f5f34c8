"""Means over queries of rankers or runs, with paired tests of their differences to a baseline."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from boostrank.inputs.arrays import Floats
from boostrank.queries.segments import Values
from boostrank.queries.weights import weighted_means
from boostrank.significance import (
    PairedTest,
    confidence_interval,
    corrected_resampled_t_test,
    effect_size,
    holm,
)
from boostrank.significance.paired_tests import randomization_test

#: Column of the group of each query.
GROUP = "group"
# The baseline is not tested against itself.
UNTESTED = ("p_value", "skewness", "low", "high", "effect")


def difference_table(
    per_query: pd.DataFrame, measures: Iterable[str], kind: str, baseline: str, **settings: Any
) -> pd.DataFrame:
    """The `table` of a :class:`boostrank.comparison.Comparison`, from its `per_query`.

    Parameters
    ----------
    per_query : DataFrame
        Rows of the same queries, in the same sequence, for each name in the column `kind`. With a
        column "repetition", the means of folds are tested in place of the values of queries. With a
        column "group" the tests, intervals and effects are by group.
    measures : iterable of str
        Columns of `per_query`.
    kind, baseline
        Those of the comparison.
    **settings
        Further arguments of :func:`paired_test`.
    """
    rows_of = rows_by_name(per_query, kind)
    settings["groups"] = groups_of(rows_of[baseline])
    table: list[dict[Any, Any]] = []
    for measure in measures:
        values = {name: rows[measure].to_numpy() for name, rows in rows_of.items()}
        for name, rows in rows_of.items():
            means = weighted_means(values[name], np.ones(len(rows))).mean
            row: dict[Any, Any] = {kind: name, "metric": measure, "mean": float(means[0])}
            tests = _tests(values[name], values[baseline], **settings)
            if name == baseline:
                tests.update(dict.fromkeys(UNTESTED, np.nan))
            if "fold" not in rows:
                table.append(row | tests)
                continue
            folds = rows.groupby("fold", sort=False)
            trainings = folds[["rounds", "seconds"]].first()
            row |= folds[measure].mean().to_dict() | tests
            row["rounds"] = trainings["rounds"].mean()
            row["seconds"] = trainings["seconds"].median()
            table.append(row)
    frame = pd.DataFrame(table)
    return frame.assign(p_holm=frame.groupby("metric", sort=False)["p_value"].transform(holm))


def rows_by_name(per_query: pd.DataFrame, kind: str, unit: str = "fold") -> dict[Any, pd.DataFrame]:
    """The rows of each ranker or run.

    Where folds are repeated, they are the means over each `unit`, "fold" or "query".
    """
    if "repetition" in per_query:
        groups = per_query.groupby([kind, unit], sort=False)
        per_query = groups.mean(numeric_only=True).reset_index()
        # The mean number of groups is none.
        per_query = per_query.drop(columns=GROUP, errors="ignore")
    return {name: rows.reset_index(drop=True) for name, rows in per_query.groupby(kind, sort=False)}


def groups_of(rows: pd.DataFrame) -> Values | None:
    """The group of each query in the rows of a ranker or run; None if there are no groups."""
    return rows[GROUP].to_numpy() if GROUP in rows else None


def paired_test(
    values: Floats, baseline: Floats, repeats: int, groups: Values | None, **settings: Any
) -> PairedTest:
    """The test of the values of queries, or of folds that were drawn `repeats` times, if not 0.

    The values of queries are tested by groups, if these are not None.
    """
    if repeats == 0:
        return randomization_test(values, baseline, None, groups, **settings)
    test_to_train = repeats / (len(values) - repeats)
    return corrected_resampled_t_test(values, baseline, test_to_train=test_to_train)


def _tests(
    values: Floats, baseline: Floats, repeats: int, groups: Values | None, **settings: Any
) -> dict[str, float]:
    """The columns of a ranker or run in one measure from tests, except "p_holm"."""
    test = paired_test(values, baseline, repeats, groups, **settings)
    # Test queries of one of k folds by its other queries, 1 / (k - 1); 0 if folds are not repeated.
    test_to_train = repeats / (len(values) - repeats)
    low, high = confidence_interval(values, baseline, groups=groups, test_to_train=test_to_train)
    return {
        **test._asdict(),
        "p_holm": np.nan,
        "low": low,
        "high": high,
        "effect": effect_size(values, baseline, groups=groups),
    }
