"""Comparison of rankers on the same folds, by paired tests over queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from boostrank.datasets import Fold
from boostrank.estimators import fit_with_validation, n_rounds
from boostrank.metrics import Measure, evaluate, named_measures
from boostrank.model_selection import with_validation
from boostrank.segments import Floats
from boostrank.significance import bootstrap_interval, effect_size, holm, permutation_test

if TYPE_CHECKING:
    import pandas as pd

# p-values below this are shown as "<.001".
MIN_SHOWN_P = 0.001


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Result of :func:`compare`; if it is printed, it shows a table for each measure.

    Columns of the printed tables are the mean over queries, its difference to that of the baseline, the p-value of the
    difference after Holm's correction for the number of rankers ("p (Holm)"), the numbers of queries won, tied and lost
    against the baseline ("w/t/l"), and the mean number of boosting rounds.

    Attributes
    ----------
    table : DataFrame
        One row per ranker and measure, with the columns:

        ranker, metric
            Names of the ranker and of the measure.
        mean
            Mean over the queries of all folds.
        one column per fold, with its name
            Mean over the queries of the fold.
        difference, p_value, wins, ties, losses
            Result of :func:`boostrank.permutation_test` of the ranker against the baseline.
        p_holm
            p-value after the correction :func:`boostrank.significance.holm` for the rankers in this measure.
        low, high
            95% interval of the difference, of :func:`boostrank.significance.bootstrap_interval`.
        effect
            :func:`boostrank.significance.effect_size` of the difference.
        rounds
            Mean over folds of the number of boosting rounds.

        In rows of the baseline `p_value`, `p_holm`, `low`, `high` and `effect` are NaN.
    per_query : DataFrame
        One row per ranker, fold and query, with the number of boosting rounds and a column for each measure.
    baseline : str
        Name of the baseline.
    """

    table: pd.DataFrame
    per_query: pd.DataFrame
    baseline: str

    @property
    def rankers(self) -> list[str]:
        """Names of the rankers."""
        return list(self.table["ranker"].unique())

    @property
    def measures(self) -> list[str]:
        """Names of the measures."""
        return list(self.table["metric"].unique())

    def cells(self, ranker: str, measure: str) -> list[str]:
        """The cells of a row of the printed table of a measure: mean, diff, p (Holm), w/t/l and rounds, as text.

        The cells diff, p (Holm) and w/t/l of the baseline are empty.
        """
        of_ranker, of_measure = self.table["ranker"] == ranker, self.table["metric"] == measure
        row = self.table[of_ranker & of_measure].iloc[0]
        mean, rounds = f"{row['mean']:.4f}", "" if np.isnan(row["rounds"]) else f"{row['rounds']:.0f}"
        if np.isnan(row["p_holm"]):
            return [mean, "", "", "", rounds]
        p_value = "<.001" if row["p_holm"] < MIN_SHOWN_P else f"{row['p_holm']:.3f}"
        wins = f"{row['wins']:.0f}/{row['ties']:.0f}/{row['losses']:.0f}"
        return [mean, f"{row['difference']:+.4f}", p_value, wins, rounds]

    def __repr__(self) -> str:
        return "\n\n".join(self._text_table(measure) for measure in self.measures)

    def to_markdown(self) -> str:
        """Return a Markdown table with one row per ranker.

        It has columns for each measure; wins, ties and losses are those of the last measure.
        """
        head = ["ranker"]
        for measure in self.measures:
            head += [measure, "diff", "p (Holm)"]
        head += ["win/tie/loss", "rounds"]
        lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
        for ranker in self.rankers:
            line = [ranker]
            for measure in self.measures:
                line += self.cells(ranker, measure)[:3]
            line += self.cells(ranker, self.measures[-1])[3:]
            lines.append("| " + " | ".join(line) + " |")
        return "\n".join(lines) + "\n"

    def plot(self, measure: str | None = None, ax: Any = None) -> Any:
        """Plot the differences to the baseline with their intervals.

        Parameters
        ----------
        measure : str, optional
            Name of a measure; the last one by default.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        boostrank.displays.ComparisonDisplay
        """
        from boostrank.displays import ComparisonDisplay

        return ComparisonDisplay.from_comparison(self, self.measures[-1] if measure is None else measure, ax)

    def _text_table(self, measure: str) -> str:
        head = ["ranker", "mean", "diff", "p (Holm)", "w/t/l", "rounds"]
        rows = [head, *([ranker, *self.cells(ranker, measure)] for ranker in self.rankers)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        lines = [f"{measure}, compared with {self.baseline}"]
        for row in rows:
            cells = [
                row[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
            ]
            lines.append("  ".join(cells))
        return "\n".join(lines)


def compare(
    rankers: Mapping[str, Any],
    folds: Iterable[Fold],
    *,
    measures: str | Measure | Iterable[Any] | Mapping[str, Any] = ("ndcg@1", "ndcg@5", "ndcg@10"),
    baseline: str | None = None,
    extra_measures: Mapping[str, Callable[[Fold, Floats], Floats]] | None = None,
    n_permutations: int = 10_000,
    random_state: Any = 0,
    progress: Callable[[str, str], None] | None = None,
) -> Comparison:
    """Train rankers on folds, and compare their measures on the test queries with those of a baseline.

    Each ranker is trained on each fold, with the validation queries of the fold as `eval_set`. A ranker with
    `early_stopping_rounds` chooses its number of rounds by them. The test queries are only scored.

    Parameters
    ----------
    rankers : dict of str to estimator
        Rankers by name, of which clones are trained: those of boostrank; ``lightgbm.LGBMRanker``,
        ``xgboost.XGBRanker`` and ``catboost.CatBoostRanker``, which get the groups in the form of their library, and
        the validation queries if they stop early; and any other estimator with `fit` and `predict`, which gets query
        ids if its `fit` takes `qid`. Pipelines may end with any of these.
    folds : iterable of Fold
        Result of :func:`boostrank.read_letor_folds` or :func:`boostrank.query_folds`. If a fold has no validation data,
        a fifth of its training queries is used for validation instead of training.
    measures : list of str or Measure, or dict of str to them, default ("ndcg@1", "ndcg@5", "ndcg@10")
        As in :func:`boostrank.evaluate`. :func:`boostrank.get_measure` makes measures with other settings, such as
        ``get_measure("ndcg@10", gain="linear")``.
    baseline : str, optional
        Name of the ranker to compare with; the first one by default.
    extra_measures : dict of str to callable, optional
        More measures by name. ``function(fold, scores)`` returns the value of each test query, an array of shape
        (n_queries,), in the sequence in which the queries first appear in the test data.
    n_permutations : int, default 10_000
        As in :func:`boostrank.permutation_test`. The queries of all folds are tested together.
    random_state : int or None, default 0
        Seed of the permutation tests, of the bootstrap, and of the choice of validation queries.
    progress : callable, optional
        Called before each training with the names of the fold and of the ranker.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If `baseline` is not the name of a ranker, and as :func:`boostrank.get_measure` for `measures`.

    Examples
    --------
    >>> from boostrank import Dataset, LightGBMRanker, make_ranking, query_folds
    >>> folds = query_folds(Dataset(*make_ranking(n_queries=60, random_state=0)), n_splits=3)
    >>> rankers = {name: LightGBMRanker(name, n_estimators=10) for name in ("lambdarank", "softmax")}
    >>> comparison = compare(rankers, folds, measures=["ndcg@10"])
    >>> print(comparison)  # doctest: +ELLIPSIS
    ndcg@10, compared with lambdarank
    ranker  mean  diff  p (Holm)  w/t/l  rounds
    lambdarank  0...  10
    softmax  0...  10
    """
    import pandas as pd

    baseline = next(iter(rankers)) if baseline is None else baseline
    if baseline not in rankers:
        raise ValueError(f"baseline must be one of the rankers {', '.join(rankers)}; got {baseline!r}")
    measures, extra_measures = named_measures(measures), extra_measures or {}
    parts = []
    for fold in (with_validation(fold, random_state=random_state) for fold in folds):
        test = fold.test
        for name, ranker in rankers.items():
            if progress is not None:
                progress(fold.name, name)
            assert fold.validation is not None
            fitted = fit_with_validation(ranker, fold.train, fold.validation)
            scores = fitted.predict(test.X)
            values: Any = evaluate(test.y, scores, test.qid, measures, per_query=True)
            for measure, function in extra_measures.items():
                values[measure] = function(fold, scores)
            values = values.rename_axis("query").reset_index()
            parts.append(values.assign(ranker=name, fold=fold.name, rounds=n_rounds(fitted)))
    columns = [*measures, *extra_measures]
    per_query = pd.concat(parts, ignore_index=True)[["ranker", "fold", "query", "rounds", *columns]]
    table = _summary(per_query, columns, list(rankers), baseline, n_permutations, random_state)
    return Comparison(table, per_query, baseline)


def _summary(
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
