"""Comparison of rankers on the same folds, with a paired test over queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from boostrank.datasets import Fold
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
    """Result of :func:`compare`; printing it shows a table for each measure.

    In the printed tables "p (Holm)" is the p-value adjusted for the number of rankers compared, and "w/t/l" are the
    numbers of queries won, tied and lost.

    Attributes
    ----------
    table : DataFrame
        A row per ranker and measure (column `metric`): mean over queries, mean of each fold, difference to the
        baseline, p-value of :func:`boostrank.permutation_test`, wins, ties, losses, `p_holm` (p-value by
        :func:`boostrank.significance.holm` over the rankers compared in this measure), `low` and `high` (95% interval
        of :func:`boostrank.significance.bootstrap_interval`), `effect` (:func:`boostrank.significance.effect_size`),
        and the mean number of boosting rounds. The baseline's tests are NaN.
    per_query : DataFrame
        A row per ranker, fold and query, a column per measure.
    baseline : str
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
        """Mean, difference, adjusted p-value, "wins/ties/losses" and rounds of a ranker, as text.

        Difference, p-value and wins of the baseline are empty.
        """
        of_ranker, of_measure = self.table["ranker"] == ranker, self.table["metric"] == measure
        row = self.table[of_ranker & of_measure].iloc[0]
        mean, rounds = f"{row['mean']:.4f}", f"{row['rounds']:.0f}"
        if np.isnan(row["p_holm"]):
            return [mean, "", "", "", rounds]
        p_value = "<.001" if row["p_holm"] < MIN_SHOWN_P else f"{row['p_holm']:.3f}"
        wins = f"{row['wins']:.0f}/{row['ties']:.0f}/{row['losses']:.0f}"
        return [mean, f"{row['difference']:+.4f}", p_value, wins, rounds]

    def __repr__(self) -> str:
        return "\n\n".join(self._text_table(measure) for measure in self.measures)

    def to_markdown(self) -> str:
        """One Markdown table, a row per ranker; with wins, ties and losses of the last measure."""
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
        """Draw the differences to the baseline with their intervals.

        Parameters
        ----------
        measure : str, optional
            Name of a measure; by default the last one.
        ax : matplotlib axes, optional

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
    """Train every ranker on every fold, and test its measures on the folds' test queries against a baseline.

    Rankers get the fold's validation queries as `eval_set`, and so choose their number of rounds there when they have
    `early_stopping_rounds`. Test queries are only scored.

    Parameters
    ----------
    rankers : mapping of name to LightGBMRanker or XGBoostRanker
        Unfitted; they are cloned.
    folds : iterable of Fold
        From :func:`boostrank.read_letor_folds` or :func:`boostrank.query_folds`. Where a fold has no validation
        queries, a fifth of its training queries is set apart as such.
    measures : list of str or Measure, or mapping of names to such, default ("ndcg@1", "ndcg@5", "ndcg@10")
        Of the test queries; see :func:`boostrank.evaluate`. For other settings give measures such as
        ``get_measure("ndcg@10", gain="linear")``.
    baseline : str, optional
        Name of a ranker; the first by default.
    extra_measures : mapping of name to function, optional
        ``function(fold, scores)`` gives further values per test query, in order of first appearance.
    n_permutations, random_state
        Of :func:`boostrank.permutation_test`, which pools the queries of all folds; `random_state` also of the
        bootstrap, and of the queries that are set apart.
    progress : callable, optional
        Called with the names of fold and ranker before each training.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If `baseline` is no ranker, and for names of measures that are not known.

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
            fitted = clone(ranker).fit(*fold.train, eval_set=[tuple(fold.validation)])  # type: ignore[arg-type]
            scores = fitted.predict(test.X)
            values: Any = evaluate(test.y, scores, test.qid, measures, per_query=True)
            for measure, function in extra_measures.items():
                values[measure] = function(fold, scores)
            values = values.rename_axis("query").reset_index()
            parts.append(values.assign(ranker=name, fold=fold.name, rounds=fitted.best_iteration_))
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
    """The table of a comparison."""
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
    """The tests of each ranker in one measure; NaN for the baseline, which is not tested against itself."""
    stack, right = np.stack(list(values.values())), values[baseline]
    # One call for all rankers, which share the resamples.
    ends = bootstrap_interval(stack, right, random_state=random_state)
    tests: dict[str, dict[str, Any]] = {}
    for name, low, high in zip(values, ends.low, ends.high, strict=True):
        test = permutation_test(values[name], right, n_permutations=n_permutations, random_state=random_state)
        effect = effect_size(values[name], right)
        tests[name] = {**test._asdict(), "p_holm": np.nan, "low": low, "high": high, "effect": effect}
    tests[baseline].update(dict.fromkeys(("p_value", "low", "high", "effect"), np.nan))
    for row, p_holm in zip(tests.values(), holm([row["p_value"] for row in tests.values()]), strict=True):
        row["p_holm"] = p_holm
    return tests
