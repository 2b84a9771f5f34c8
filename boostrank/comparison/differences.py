"""Means over queries of rankers or runs, with paired tests and intervals of their differences to a
baseline.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from boostrank.inputs.arrays import Floats
from boostrank.queries.weights import weighted_means
from boostrank.significance import (
    PairedTest,
    confidence_interval,
    corrected_resampled_t_test,
    effect_size,
    holm,
)
from boostrank.significance.paired_tests import randomization_test

# The baseline is not tested against itself.
UNTESTED = ("p_value", "skewness", "low", "high", "effect")


def difference_table(
    per_query: pd.DataFrame, measures: Iterable[str], kind: str, baseline: str, **settings: Any
) -> pd.DataFrame:
    """The attribute `table` of a :class:`boostrank.comparison.Comparison`, from its attribute
    `per_query`.

    Parameters
    ----------
    per_query : DataFrame
        Rows of the same queries, in the same sequence, for each name in the column `kind`. With a
        column "repetition", the means of folds are tested in place of the values of queries.
    measures : iterable of str
        Columns of `per_query`.
    kind, baseline
        Those of the comparison.
    **settings
        Further arguments of :func:`paired_test`.
    """
    rows_of = rows_by_name(per_query, kind)
    table: list[dict[Any, Any]] = []
    for measure in measures:
        values = {name: rows[measure].to_numpy() for name, rows in rows_of.items()}
        for name, rows in rows_of.items():
            tests = _tests(values[name], values[baseline], **settings)
            if name == baseline:
                tests.update(dict.fromkeys(UNTESTED, np.nan))
            mean, by_fold, of_training = (
                float(weighted_means(values[name], np.ones(len(rows))).mean[0]),
                {},
                {},
            )
            if "fold" in rows:
                folds = rows.groupby("fold", sort=False)
                by_fold, seconds = (
                    folds[measure].mean().to_dict(),
                    folds["seconds"].first().median(),
                )
                of_training = {"rounds": folds["rounds"].first().mean(), "seconds": seconds}
            table.append(
                {kind: name, "metric": measure, "mean": mean, **by_fold, **tests, **of_training}
            )
    frame = pd.DataFrame(table)
    return frame.assign(p_holm=frame.groupby("metric", sort=False)["p_value"].transform(holm))


def rows_by_name(per_query: pd.DataFrame, kind: str, unit: str = "fold") -> dict[Any, pd.DataFrame]:
    """The rows of each ranker or run; where folds are repeated, their means over each `unit`:
    "fold" or "query".
    """
    if "repetition" in per_query:
        per_query = (
            per_query.groupby([kind, unit], sort=False).mean(numeric_only=True).reset_index()
        )
    return {name: rows.reset_index(drop=True) for name, rows in per_query.groupby(kind, sort=False)}


def paired_test(values: Floats, baseline: Floats, repeats: int, **settings: Any) -> PairedTest:
    """The test of the values of queries, or, if `repeats` is not 0, of folds that were drawn so
    often.
    """
    if repeats == 0:
        return randomization_test(values, baseline, None, **settings)
    return corrected_resampled_t_test(
        values, baseline, test_to_train=repeats / (len(values) - repeats)
    )


def _tests(values: Floats, baseline: Floats, repeats: int, **settings: Any) -> dict[str, float]:
    """The columns of a ranker or run in one measure that are results of tests; "p_holm" is not
    known yet.
    """
    test = paired_test(values, baseline, repeats, **settings)
    # Test queries of one of k folds by its other queries, 1 / (k - 1); 0 if folds are not repeated.
    low, high = confidence_interval(
        values, baseline, test_to_train=repeats / (len(values) - repeats)
    )
    return {
        **test._asdict(),
        "p_holm": np.nan,
        "low": low,
        "high": high,
        "effect": effect_size(values, baseline),
    }
