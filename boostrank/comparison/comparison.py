"""The result of a comparison: paired tests of differences to a baseline, and tables as data and as text."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from boostrank.comparison.marked_tables import LAYOUTS, marked_rows, table_note
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_choice
from boostrank.inputs.files import write_atomically
from boostrank.metrics.names import printed_name
from boostrank.metrics.query_groups import ALL_QUERIES
from boostrank.queries.weights import weighted_means
from boostrank.significance import confidence_interval, effect_size, holm, permutation_test
from boostrank.significance.paired_tests import LEVEL, shown_p
from boostrank.tables.html import html_table
from boostrank.tables.text import escape_latex, latex_table, markdown_table, text_lines

if TYPE_CHECKING:
    from boostrank.displays import ComparisonDisplay, QueryDifferencesDisplay

# Width of a line of text.
WIDTH = 80


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Result of :func:`boostrank.compare` and :func:`boostrank.compare_runs`; printed, it shows a table per measure.

    Columns of the printed tables are the mean over queries, its difference to that of the baseline, the p-value of the
    difference after Holm's correction for the number of rankers or runs ("p (Holm)"), the numbers of queries won, tied
    and lost against the baseline ("w/t/l"), and the mean number of boosting rounds, where rankers were trained.

    Attributes
    ----------
    table : DataFrame
        One row per ranker or run and measure, with the columns:

        ranker or run, metric
            Names of the ranker or the run, and of the measure.
        mean
            Mean over the queries, for rankers those of all folds.
        one column per fold, with its name (only for rankers)
            Mean over the queries of the fold.
        difference, p_value, wins, ties, losses
            Result of :func:`boostrank.permutation_test` against the baseline.
        p_holm
            p-value after the correction :func:`boostrank.significance.holm` for the rankers or runs in this measure.
        low, high
            95% interval of the difference, of :func:`boostrank.significance.confidence_interval`.
        effect
            :func:`boostrank.significance.effect_size` of the difference.
        rounds (only for rankers)
            Mean over folds of the number of boosting rounds.

        In rows of the baseline `p_value`, `p_holm`, `low`, `high` and `effect` are NaN.
    per_query : DataFrame
        One row per ranker, fold and query, with the number of boosting rounds, "relevant", the number of documents with
        a label above 0 if the labels are relevance, and a column for each measure; or one row per run and query, with
        the columns "run", "query", "relevant", "group" and "weight" where these were given, and a column for each
        measure.
    baseline : str
        Name of the baseline.
    kind : {"ranker", "run"}, default "ranker"
        Kind of the things that are compared, and name of their column.
    groups : DataFrame or None
        The same as `table` by group of queries, where groups were given: one row per group, run and measure, with the
        columns "group" and "queries", the number of queries in the mean, before the others. The last rows are those of
        "all queries", which are rows of `table`; the other p-values are corrected for the number of all groups and
        runs in a measure.
    curves : dict of (str, str) to dict of str to list of float
        By the names of ranker and fold, the first metric that the training recorded on the validation queries: its name
        and its values after each round. An estimator that recorded none has an empty dict.
    settings : dict of str to str
        Parameters of the rankers, seeds, and versions, as text.
    n_permutations : int
    random_state : int or None
        Those of the permutation tests.

    Examples
    --------
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=30, random_state=0)
    >>> rankers = {"LambdaMART": br.LightGBMRanker("lambdarank"), "default": br.LightGBMRanker()}
    >>> result = br.compare(rankers, X, y, qid, cv=3, measures=["ndcg@5", "map"])
    >>> result.names, result.measures, result.baseline, len(result.per_query)
    (['LambdaMART', 'default'], ['ndcg@5', 'map'], 'LambdaMART', 60)
    >>> ours = result.table.set_index(["ranker", "metric"]).loc[("default", "ndcg@5")]
    >>> bool(ours["low"] < ours["difference"] < ours["high"])
    True
    """

    table: pd.DataFrame
    per_query: pd.DataFrame
    baseline: str
    kind: str = "ranker"
    groups: pd.DataFrame | None = None
    curves: Mapping[tuple[str, str], Mapping[str, list[float]]] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    n_permutations: int = 10_000
    random_state: Any = 0

    @property
    def names(self) -> list[str]:
        """Names of the rankers or runs."""
        return list(self.table[self.kind].unique())

    @property
    def measures(self) -> list[str]:
        """Names of the measures."""
        return list(self.table["metric"].unique())

    @property
    def heads(self) -> list[str]:
        """Names of the columns of the printed table of a measure, which has a row for each ranker or run."""
        return ["mean", "diff", "p (Holm)", "w/t/l", *(["rounds"] if "rounds" in self.table else [])]

    def cells(self, name: str, measure: str) -> list[str]:
        """The cells of a row of the printed table of a measure, as text: mean, diff, p (Holm), w/t/l and rounds.

        The cells diff, p (Holm) and w/t/l of the baseline are empty. Runs have no cell for rounds.
        """
        rows = self.table[(self.table[self.kind] == name) & (self.table["metric"] == measure)]
        return _cells(rows.iloc[0])

    def conclusion(self, measure: str) -> str:
        """Say in words which rankers or runs differ significantly from the baseline in a measure, at the level 0.05.

        The p-values are those after Holm's correction. The text is empty if there is only the baseline.
        """
        rows = self.table[(self.table["metric"] == measure) & (self.table[self.kind] != self.baseline)]
        if rows.empty:
            return ""
        significant = rows["p_holm"] < LEVEL
        if not significant.any():
            who = f"{rows[self.kind].iloc[0]} does not differ" if len(rows) == 1 else f"No {self.kind} differs"
            return f"{who} significantly from {self.baseline}."
        parts = []
        for word, signed in (("better", rows["difference"] > 0), ("worse", rows["difference"] < 0)):
            names = ", ".join(rows[self.kind][significant & signed])
            if names:
                parts.append(f"Significantly {word} than {self.baseline}: {names}.")
        n_others = int((~significant).sum())
        if n_others:
            others = "The other does" if n_others == 1 else f"The other {n_others} do"
            parts.append(f"{others} not differ significantly.")
        return " ".join(parts)

    def __repr__(self) -> str:
        texts = []
        for title, rows, n_texts, conclusion in self.text_tables():
            # Names of rankers have hyphens, and stay whole.
            words = textwrap.wrap(conclusion, WIDTH, break_on_hyphens=False, break_long_words=False)
            texts.append("\n".join([title, *text_lines(rows, n_texts), *words]))
        return "\n\n".join(texts)

    def _repr_html_(self) -> str:
        """The printed tables as HTML, for notebooks."""
        return "\n".join(
            html_table(rows, title, n_texts=n_texts, notes=[conclusion])
            for title, rows, n_texts, conclusion in self.text_tables()
        )

    def text_tables(self) -> Iterator[tuple[str, list[list[str]], int, str]]:
        """The printed tables: one for each measure, and then one by group for each measure if there are groups.

        Each has a title above it, rows with the head, a number of columns that are texts, and a conclusion below it.
        """
        for measure in self.measures:
            rows = [[self.kind, *self.heads], *([name, *self.cells(name, measure)] for name in self.names)]
            title = f"{printed_name(measure)}, compared with {self.baseline}"
            yield title, rows, 1, self.conclusion(measure)
        for measure in self.measures if self.groups is not None else []:
            head, *rows = [row[1:] for row in self._group_rows([measure])]
            # The name of a group stands only in the first line of the group.
            shown = [["", "", *row[2:]] if i % len(self.names) else row for i, row in enumerate(rows)]
            # Three columns of text: the number of queries, which is between two texts, is aligned like them.
            yield f"{printed_name(measure)} by group, compared with {self.baseline}", [head, *shown], 3, ""

    def to_markdown(self, layout: str = "marks", *, by_group: bool = False) -> str:
        """Return a Markdown table of the means of rankers or runs, and a note below it.

        Parameters
        ----------
        layout : {"marks", "pairs", "differences"}, default "marks"
            "marks": means, the best in bold, with the sign + or - where they differ significantly from the baseline.
            "pairs": the same with letters for the rankers or runs than which they are significantly better.
            "differences": one row per measure and ranker or run, with the columns of the printed tables.
        by_group : bool, default False
            Return a table with one row per measure, group and run instead, in the layout "differences".

        Raises
        ------
        ValueError
            If the layout is unknown, or if `by_group` is True and the comparison has no groups.
        """
        rows, n_texts, note = self.text_rows(layout, by_group=by_group)
        return f"{markdown_table(rows, n_texts)}\n{note}\n"

    def to_latex(self, layout: str = "marks", *, by_group: bool = False) -> str:
        """Return the table of :meth:`to_markdown` for LaTeX with the package booktabs; its caption is the note."""
        rows, n_texts, note = self.text_rows(layout, by_group=by_group)
        head = [r"\begin{table}", r"\centering\small", rf"\caption{{{escape_latex(note)}}}", r"\medskip"]
        return "\n".join([*head, latex_table(rows, n_texts) + r"\end{table}"]) + "\n"

    def text_rows(self, layout: str = "marks", *, by_group: bool = False) -> tuple[list[list[Any]], int, str]:
        """The rows of :meth:`to_markdown`, below the head, how many of the first columns are texts, and the note."""
        check_choice("layout", layout, LAYOUTS)
        if by_group:
            return self._group_rows(self.measures), 4, table_note(self, "differences")
        if layout != "differences":
            # Means with marks are aligned left, so that their digits are below each other.
            return marked_rows(self, layout), 1 + len(self.measures), table_note(self, layout)
        rows = [["measure", self.kind, *self.heads]]
        for measure in self.measures:
            names = [printed_name(measure), *[""] * (len(self.names) - 1)]
            rows += [[text, name, *self.cells(name, measure)] for text, name in zip(names, self.names, strict=True)]
        return rows, 2, table_note(self, layout)

    def pairwise(self, measure: Any = None) -> pd.DataFrame:
        """Test the differences of all pairs of rankers or runs in a measure, by the paired randomization test.

        Parameters
        ----------
        measure : str or Measure, optional
            A measure of the comparison, such as "ndcg@10"; the last one by default.

        Returns
        -------
        DataFrame
            One row per pair: the names, the results of :func:`boostrank.permutation_test`, where the first of the two
            has the larger value in `wins`, and "p_holm", the p-value after Holm's correction for the number of pairs.

        Raises
        ------
        ValueError
            If the comparison has no such measure.

        Examples
        --------
        >>> from boostrank import compare_runs
        >>> qrels = {str(i): {"a": 1, "b": 0} for i in range(8)}
        >>> good, bad = ({query: {"a": score, "b": 0.5} for query in qrels} for score in (1.0, 0.0))
        >>> comparison = compare_runs(qrels, {"good": good, "same": good, "bad": bad}, "RR")
        >>> comparison.pairwise()[["run", "other_run", "difference", "p_holm"]].round(3)
            run other_run  difference  p_holm
        0  good      same         0.0   1.000
        1  good       bad         0.5   0.023
        2  same       bad         0.5   0.023
        """
        column, kind = self._measure(measure), self.kind
        values = {name: rows[column].to_numpy() for name, rows in self.per_query.groupby(kind, sort=False)}
        settings: dict[str, Any] = {"n_permutations": self.n_permutations, "random_state": self.random_state}
        if "weight" in self.per_query:
            of_baseline = self.per_query[kind] == self.baseline
            settings["sample_weight"] = self.per_query.loc[of_baseline, "weight"].to_numpy()
        rows = [
            {kind: one, f"other_{kind}": other, **permutation_test(values[one], values[other], **settings)._asdict()}
            for one, other in combinations(self.names, 2)
        ]
        table = pd.DataFrame(rows)
        return table.assign(p_holm=holm(table["p_value"])) if rows else table

    def plot(self, measure: Any = None, ax: Any = None, *, by_group: bool = False) -> ComparisonDisplay:
        """Plot the differences to the baseline with their intervals; those that are significant are filled.

        Parameters
        ----------
        measure : str or Measure, optional
            A measure of the comparison, such as "ndcg@10"; the last one by default.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        by_group : bool, default False
            Draw the differences in each group of queries.

        Returns
        -------
        boostrank.displays.ComparisonDisplay

        Raises
        ------
        ValueError
            If the comparison has no such measure, or if `by_group` is True and it has no groups.
        """
        from boostrank.displays import ComparisonDisplay

        name, table = self._measure(measure), self._grouped() if by_group else self.table
        columns = [self.kind, "mean", "difference", "low", "high", "p_holm"]
        if by_group:
            table = table[table[self.kind] != self.baseline]
            table = table.assign(**{self.kind: table["group"].astype(str) + ": " + table[self.kind]})
            # The first group is at the top.
            rows = table.loc[table["metric"] == name, columns].iloc[::-1]
        else:
            rows = table.loc[table["metric"] == name, columns].sort_values("difference", kind="stable")
        return ComparisonDisplay(rows.reset_index(drop=True), name, self.baseline).plot(ax)

    def plot_queries(self, name: str | None = None, measure: Any = None, ax: Any = None) -> QueryDifferencesDisplay:
        """Plot the differences of one ranker or run to the baseline query by query, with the worst queries named.

        Parameters
        ----------
        name : str, optional
            Name of the ranker or run; by default that with the largest mean beside the baseline.
        measure, ax
            As in :meth:`plot`.

        Returns
        -------
        boostrank.displays.QueryDifferencesDisplay

        Raises
        ------
        ValueError
            If the comparison has no such measure, ranker or run, or nothing beside the baseline.
        """
        from boostrank.displays import QueryDifferencesDisplay

        measure = self._measure(measure)
        others = self.table[(self.table["metric"] == measure) & (self.table[self.kind] != self.baseline)]
        if others.empty:
            raise ValueError(f"there is no {self.kind} to compare with {self.baseline}")
        name = others.loc[others["mean"].idxmax(), self.kind] if name is None else name
        check_choice("name", name, list(others[self.kind]))
        values = {key: rows.reset_index(drop=True) for key, rows in self.per_query.groupby(self.kind)}
        difference = values[name][measure] - values[self.baseline][measure]
        table = pd.DataFrame({"query": values[name]["query"], "difference": difference}).dropna()
        table = table.sort_values("difference", kind="stable").reset_index(drop=True)
        return QueryDifferencesDisplay(table, measure, name, self.baseline).plot(ax)

    def save_html(self, path: str | os.PathLike[str], measure: Any = None) -> None:
        """Write a report as one HTML file, which needs no other files: for a browser, a phone and paper.

        It has the printed tables; for one measure a plot of the differences, means by group of queries, and the queries
        on which the best ranker or run loses most against the baseline; the metric on validation queries during the
        trainings, and the settings. Queries are grouped by `by` of :func:`boostrank.compare_runs` or by their number of
        relevant documents. It needs matplotlib.

        Parameters
        ----------
        path : str or os.PathLike
        measure : str or Measure, optional
            A measure of the comparison, such as "ndcg@10"; the last one by default.

        Raises
        ------
        ValueError
            If the comparison has no such measure.
        """
        from boostrank.comparison.report import html_report

        text = html_report(self, self._measure(measure))
        write_atomically(path, lambda temporary: Path(temporary).write_text(text, encoding="utf-8"))

    def _measure(self, measure: Any) -> str:
        """Name of a measure of the comparison, by default the last one."""
        name = self.measures[-1] if measure is None else str(measure)
        check_choice("measure", name, self.measures)
        return name

    def _grouped(self) -> pd.DataFrame:
        if self.groups is None:
            raise ValueError("this comparison has no groups: pass by= to compare_runs")
        return self.groups

    def _group_rows(self, measures: list[str]) -> list[list[str]]:
        """Rows of text, a row per measure, group and run, below the head."""
        groups = self._grouped()
        rows = [["measure", "group", "queries", self.kind, *self.heads]]
        for measure in measures:
            for _, row in groups[groups["metric"] == measure].iterrows():
                texts = [printed_name(measure), *map(str, row[["group", "queries", self.kind]])]
                rows.append([*texts, *_cells(row)])
        return rows


def _cells(row: pd.Series) -> list[str]:
    """Mean, diff, p (Holm), w/t/l and rounds of a row of a table of results, as text."""
    mean = f"{row['mean']:.4f}"
    rounds = ["" if np.isnan(row["rounds"]) else f"{row['rounds']:.0f}"] if "rounds" in row else []
    if np.isnan(row["p_holm"]):
        return [mean, "", "", "", *rounds]
    p_value = shown_p(row["p_holm"])
    wins = f"{row['wins']:.0f}/{row['ties']:.0f}/{row['losses']:.0f}"
    return [mean, f"{row['difference']:+.4f}", p_value, wins, *rounds]


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
    by_name = {name: per_query[per_query[kind] == name] for name in names}
    weights = by_name[baseline]["weight"].to_numpy() if "weight" in per_query else None
    counted = np.ones(len(by_name[baseline])) if weights is None else weights
    rows: list[dict[Any, Any]] = []
    for measure in measures:
        values = {name: by_name[name][measure].to_numpy() for name in names}
        tests = _tests(values, baseline, weights, n_permutations, random_state)
        for name in names:
            mean, by_fold, rounds = float(weighted_means(values[name], counted).mean[0]), {}, {}
            if "fold" in per_query:
                folds = by_name[name].groupby("fold", sort=False)
                by_fold, rounds = folds[measure].mean().to_dict(), {"rounds": folds["rounds"].first().mean()}
            rows.append({kind: name, "metric": measure, "mean": mean, **by_fold, **tests[name], **rounds})
    return pd.DataFrame(rows)


def summarize_groups(per_query: pd.DataFrame, table: pd.DataFrame, groups: list[Any], **settings: Any) -> pd.DataFrame:
    """The attribute `groups` of a :class:`Comparison`, from `per_query` and `table`, with settings of `summarize`."""
    kind = settings["kind"]
    measures, names = list(table["metric"].unique()), list(table[kind].unique())
    parts = []
    for group in groups:
        rows = per_query[per_query["group"] == group]
        parts.append(_with_group(summarize(rows, measures, names, **settings), group, rows, kind))
    result = pd.concat(parts, ignore_index=True)
    for _, rows in result.groupby("metric"):
        result.loc[rows.index, "p_holm"] = holm(rows["p_value"])
    return pd.concat([result, _with_group(table, ALL_QUERIES, per_query, kind)], ignore_index=True)


def _with_group(table: pd.DataFrame, group: Any, per_query: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Insert the columns "group" and "queries", the number of queries in the mean."""
    counted = per_query[per_query["weight"] > 0] if "weight" in per_query else per_query
    counts = counted.groupby(kind).count()
    numbers = [counts[metric].get(name, 0) for name, metric in zip(table[kind], table["metric"], strict=True)]
    added = pd.DataFrame({"group": np.full(len(table), group, dtype=object), "queries": numbers})
    return pd.concat([added, table], axis=1)


def _tests(
    values: dict[str, Floats], baseline: str, weights: Floats | None, n_permutations: int, random_state: Any
) -> dict[str, dict[str, Any]]:
    """The columns of a comparison that are results of tests, for each ranker or run in one measure."""
    rows, of_baseline = np.stack(list(values.values())), values[baseline]
    skipped = np.isnan(rows).all(axis=0)
    if (skipped if weights is None else skipped | (weights == 0)).all():
        nothing = {**dict.fromkeys(("difference", "p_value"), np.nan), **dict.fromkeys(("wins", "ties", "losses"), 0)}
        return {name: {**nothing, **dict.fromkeys(("p_holm", "low", "high", "effect"), np.nan)} for name in values}
    ends = confidence_interval(rows, of_baseline, sample_weight=weights)
    tests: dict[str, dict[str, Any]] = {}
    for name, low, high in zip(values, ends.low, ends.high, strict=True):
        test = permutation_test(
            values[name], of_baseline, n_permutations=n_permutations, random_state=random_state, sample_weight=weights
        )
        effect = effect_size(values[name], of_baseline, sample_weight=weights)
        tests[name] = {**test._asdict(), "p_holm": np.nan, "low": low, "high": high, "effect": effect}
    # The baseline is not tested against itself.
    tests[baseline].update(dict.fromkeys(("p_value", "low", "high", "effect"), np.nan))
    for row, p_holm in zip(tests.values(), holm([row["p_value"] for row in tests.values()]), strict=True):
        row["p_holm"] = p_holm
    return tests
