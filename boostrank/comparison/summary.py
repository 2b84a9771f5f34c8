"""Tables of a comparison: means, and paired tests of the differences to a baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from boostrank.segments import Floats
from boostrank.significance import bootstrap_interval, effect_size, holm, permutation_test

if TYPE_CHECKING:
    import pandas as pd


def summarize(
    per_query: pd.DataFrame,
    measures: list[str],
    rankers: list[str],
    baseline: str,
    n_permutations: int,
    random_state: Any,
) -> pd.DataFrame:
    """The attribute `table` of a :class:`Comparison`, from its attribute `per_query`."""
    import pandas as pd

    by_ranker = {name: per_query[per_query["ranker"] == name] for name in rankers}
    folds = {name: rows.groupby("fold", sort=False) for name, rows in by_ranker.items()}
    rows: list[dict[Any, Any]] = []
    for measure in measures:
        values = {name: by_ranker[name][measure].to_numpy() for name in rankers}
        tests = _tests(values, baseline, n_permutations, random_state)
        for name in rankers:
            row: dict[Any, Any] = {"ranker": name, "metric": measure, "mean": np.nanmean(values[name])}
            row.update(folds[name][measure].mean().to_dict())
            row.update(tests[name])
            row["rounds"] = folds[name]["rounds"].first().mean()
            rows.append(row)
    return pd.DataFrame(rows)


def _tests(
    values: dict[str, Floats], baseline: str, n_permutations: int, random_state: Any
) -> dict[str, dict[str, Any]]:
    """The columns of a comparison that are results of tests, for each ranker in one measure."""
    of_baseline = values[baseline]
    # In one call for all rankers the bootstrap draws its resamples only once.
    ends = bootstrap_interval(np.stack(list(values.values())), of_baseline, random_state=random_state)
    tests: dict[str, dict[str, Any]] = {}
    for name, low, high in zip(values, ends.low, ends.high, strict=True):
        test = permutation_test(values[name], of_baseline, n_permutations=n_permutations, random_state=random_state)
        effect = effect_size(values[name], of_baseline)
        tests[name] = {**test._asdict(), "p_holm": np.nan, "low": low, "high": high, "effect": effect}
    # The baseline is not tested against itself.
    tests[baseline].update(dict.fromkeys(("p_value", "low", "high", "effect"), np.nan))
    for row, p_holm in zip(tests.values(), holm([row["p_value"] for row in tests.values()]), strict=True):
        row["p_holm"] = p_holm
    return tests
