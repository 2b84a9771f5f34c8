"""Pictures of a comparison, of its differences in the mean and query by query, and its report.

The report is one HTML file.
"""

from __future__ import annotations

import base64
import html
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from boostrank.comparison import Comparison
from boostrank.comparison.differences import rows_by_name
from boostrank.displays import style
from boostrank.displays.style import Display
from boostrank.inputs.checks import check_choice
from boostrank.significance.paired_tests import LEVEL
from boostrank.text.tables import html_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from boostrank.metrics import Measure

# Number of the worst queries that a picture names.
N_NAMED = 8
# The width of pictures in inches: on a phone they are shrunk to it, and their texts stay readable.
REPORT_WIDTH = 5.2
# Number of the worst queries in a report.
N_LISTED = 10
EXPLANATION = (
    "<p>diff: difference to the baseline. p (Holm): p-value of a two-sided {0} over all {1}, "
    "adjusted for the number of comparisons. w/t/l: {1} won, tied and lost. Intervals are those of "
    "95%.</p>"
)
STYLE = """
body { font: 1rem/1.5 system-ui, sans-serif; color: #222; background: #fff }
body { max-width: 48rem; margin: auto; padding: 0 1rem 2rem; overflow-wrap: anywhere }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem }
table { font-size: 0.9rem; font-variant-numeric: tabular-nums }
td, th { vertical-align: top; overflow-wrap: normal }
td[style*="left"] { overflow-wrap: anywhere } td[style*="right"] { white-space: nowrap }
td:first-child { min-width: 7.5em } img { max-width: 100%; display: block }
@media (max-width: 480px) {
  table { font-size: 0.7rem } td, th { padding: 0.2em !important }
}
@media print {
  @page { margin: 15mm } body { font-size: 10pt; max-width: none; padding: 0 }
  img { max-height: 220mm } h2 { break-after: avoid } img, table { break-inside: avoid }
  div { overflow: visible !important }
}
"""
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">\
<title>{title}</title><style>{style}</style></head>
<body><h1>{title}</h1>
{body}
</body></html>
"""


@dataclass
class ComparisonDisplay(Display):
    """Differences of rankers or runs to a baseline, with intervals: a forest plot.

    Created by :meth:`from_comparison` or :meth:`boostrank.comparison.Comparison.plot`. Points of
    differences that are significant after Holm's correction are filled.

    Attributes
    ----------
    table : DataFrame
        Columns ranker or run, mean, difference, low, high and p_holm, sorted by difference. `low`
        and `high` are the ends of the 95% interval of the mean difference over queries, by groups
        or repeated folds, as in :func:`boostrank.compare`; they and the p-value are NaN for the
        baseline.
    measure : str
    baseline : str
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import boostrank as br
    >>> data = br.Dataset(*br.make_ranking(n_queries=60, random_state=0))
    >>> folds = br.query_folds(data, n_splits=3)
    >>> rankers = {
    ...     name: br.LightGBMRanker(name, n_estimators=5, n_jobs=1)
    ...     for name in ("lambdarank", "softmax")
    ... }
    >>> comparison = br.compare(rankers, folds, measures=["ndcg@10"])
    >>> display = comparison.plot("ndcg@10", ax=Figure().subplots())
    >>> display.baseline, sorted(display.table["ranker"])
    ('lambdarank', ['lambdarank', 'softmax'])
    """

    table: pd.DataFrame
    measure: str
    baseline: str

    @classmethod
    def from_comparison(
        cls,
        comparison: Comparison,
        measure: str | Measure | None = None,
        ax: Axes | None = None,
    ) -> ComparisonDisplay:
        """Plot the differences of a comparison.

        Parameters
        ----------
        comparison : Comparison
        measure : str or Measure, optional
            A measure of the comparison, such as "ndcg@10"; the last one by default.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.

        Raises
        ------
        ValueError
            If the comparison has no such measure.
        """
        name = comparison.find_measure(measure)
        rows = comparison.rows_of(name).reset_index().sort_values("difference", kind="stable")
        columns = [comparison.kind, "mean", "difference", "low", "high", "p_holm"]
        table = rows[columns].reset_index(drop=True)
        return cls(table, name, comparison.baseline).plot(ax)

    def _draw(self, ax: Axes | None) -> Axes:
        table = self.table
        measure = style.literal(style.measure_name(self.measure))
        names = table.iloc[:, 0]
        difference = table["difference"].to_numpy()
        rows = np.arange(len(table))
        labels = [
            f"{style.wrapped(name, 40)}  ({mean:.4f})"
            for name, mean in zip(names, table["mean"], strict=True)
        ]
        n_lines = sum(label.count("\n") + 1 for label in labels)
        ax = style.axes(ax, 1.5 + 0.15 * len(table) + 0.15 * n_lines)
        is_baseline = (names == self.baseline).to_numpy()
        others = ~is_baseline
        ax.axvline(0.0, color=style.GREY, linewidth=1)
        # The interval need not be symmetric. `abs` is for rounding errors where an end equals the
        # difference.
        ends = table[["low", "high"]].to_numpy().T
        sides = np.abs(ends - difference)[:, others]
        ax.errorbar(
            difference[others],
            rows[others],
            xerr=sides,
            fmt="o",
            color=style.BLUE,
            capsize=3,
            markerfacecolor="white",
        )
        filled = others & (table["p_holm"] < LEVEL).to_numpy()
        ax.plot(difference[filled], rows[filled], "o", color=style.BLUE, zorder=3)
        ax.plot(difference[is_baseline], rows[is_baseline], "D", color=style.BLACK)
        ax.locator_params(axis="x", nbins=5)
        ax.set_yticks(rows, labels)
        ax.set_ylim(-0.6, len(table) - 0.4)
        # Two lines, because the names of rankers take much of the width.
        ax.set_xlabel(f"difference in {measure}\n(mean, 95% interval; filled: significant)")
        compared = style.wrapped(f"compared with {self.baseline}", 40)
        ax.set_title(f"{measure} (mean in brackets)\n{compared}", fontsize="medium")
        style.light_grid(ax, "x")
        return ax


@dataclass
class QueryDifferencesDisplay(Display):
    """Differences of one ranker or run to a baseline on each query, sorted.

    The worst queries are named. Created by :meth:`from_comparison` or
    :meth:`boostrank.comparison.Comparison.plot_queries`.

    Attributes
    ----------
    table : DataFrame
        Columns query and difference, the smallest difference first; a mean over repetitions if
        folds are repeated.
    measure, name, baseline : str
        Names of the measure, of the ranker or run, and of the baseline.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import boostrank as br
    >>> qrels = {str(i): {"a": 1, "b": 0} for i in range(4)}
    >>> first, second = (
    ...     {query: {"a": float(query), "b": score} for query in qrels} for score in (0.5, 2.5)
    ... )
    >>> comparison = br.compare_runs(qrels, {"first": first, "second": second}, "RR")
    >>> display = comparison.plot_queries(ax=Figure().subplots())
    >>> display.table["difference"].tolist()
    [-0.5, -0.5, 0.0, 0.0]
    """

    table: pd.DataFrame
    measure: str
    name: str
    baseline: str

    @classmethod
    def from_comparison(
        cls,
        comparison: Comparison,
        name: str | None = None,
        measure: str | Measure | None = None,
        ax: Axes | None = None,
    ) -> QueryDifferencesDisplay:
        """Plot the differences of a ranker or run of a comparison to the baseline.

        Parameters
        ----------
        comparison : Comparison
        name : str, optional
            Name of the ranker or run; by default that with the largest mean beside the baseline.
        measure, ax
            As in :meth:`ComparisonDisplay.from_comparison`.

        Raises
        ------
        ValueError
            If the comparison has no such measure, ranker or run, or nothing beside the baseline.
        """
        kind = comparison.kind
        baseline = comparison.baseline
        measure = comparison.find_measure(measure)
        means = comparison.rows_of(measure)["mean"].drop(baseline)
        if means.empty:
            raise ValueError(f"there is no {kind} to compare with {baseline}")
        if name is None:
            name = str(means.idxmax())
        check_choice("name", name, list(means.index))
        values = rows_by_name(comparison.per_query, kind, "query")
        difference = values[name][measure] - values[baseline][measure]
        table = pd.DataFrame({"query": values[name]["query"], "difference": difference}).dropna()
        table = table.sort_values("difference", kind="stable").reset_index(drop=True)
        return cls(table, measure, name, baseline).plot(ax)

    def _draw(self, ax: Axes | None) -> Axes:
        ax = style.axes(ax)
        difference = self.table["difference"].to_numpy()
        measure = style.literal(style.measure_name(self.measure))
        colors = np.where(difference < 0.0, style.ORANGE, style.BLUE)
        ax.bar(np.arange(len(difference)), difference, width=1.0, color=colors, linewidth=0)
        ax.axhline(0.0, color=style.GREY, linewidth=1)
        self._name_worst(ax)
        better = np.mean(difference > 0.0)
        equal = np.mean(difference == 0.0)
        ax.set_xlabel(
            f"{len(difference)} queries, sorted: {better:.0%} better, {equal:.0%} equal, "
            f"{1 - better - equal:.0%} worse"
        )
        ax.set_ylabel(f"difference in {measure}")
        title = style.wrapped(f"{self.name}, compared with {self.baseline}", 60)
        ax.set_title(title, fontsize="medium")
        style.light_grid(ax)
        return ax

    def _name_worst(self, ax: Axes) -> None:
        """Name the worst queries at the left, if there are queries with a negative difference."""
        worst = self.table[self.table["difference"] < 0.0].head(N_NAMED)
        if worst.empty:
            return
        # At the left there are only bars that go down, from a line in the lower half.
        low, high = ax.get_ylim()
        ax.set_ylim(low, max(high, -low))
        lines = ["worst queries"]
        for row in worst.itertuples():
            lines.append(f"{row.difference:+.3f}  {style.shortened(row.query, 24)}")
        text = style.literal("\n".join(lines))
        place = ax.transAxes
        ax.text(0.01, 0.99, text, transform=place, va="top", fontsize="small", linespacing=1.3)


def html_report(comparison: Comparison, measure: str) -> str:
    """The text of the file of :meth:`Comparison.save_html`, with the pictures in it."""
    name = style.measure_name(measure)
    baseline = comparison.baseline
    title = f"{comparison.kind.capitalize()}s compared with {baseline}"
    tables = comparison._repr_html_() + EXPLANATION.format(*comparison.test)
    differences = ComparisonDisplay.from_comparison(comparison, measure)
    settings = [("setting", "value"), *comparison.settings.items()]
    sections = {
        comparison.counts: tables,
        f"Differences in {name}": _picture(differences, f"Differences to {baseline}"),
        f"Queries with the lowest difference in {name}": _worst(comparison, measure),
        "Settings": html_table(settings, n_texts=2),
    }
    body = [f"<h2>{html.escape(head)}</h2>\n{text}" for head, text in sections.items() if text]
    return PAGE.format(title=html.escape(title), style=STYLE, body="\n".join(body))


def _worst(comparison: Comparison, measure: str) -> str:
    """A table of the queries on which the best other ranker or run loses most to the baseline."""
    baseline = comparison.baseline
    means = comparison.rows_of(measure)["mean"].drop(baseline)
    if means.empty:
        return ""
    best = str(means.idxmax())
    rows_of = rows_by_name(comparison.per_query, comparison.kind, "query")
    queries = rows_of[baseline]
    values = pd.DataFrame({name: rows_of[name][measure] for name in (baseline, best)})
    difference = (values[best] - values[baseline]).rename("diff")
    negative = difference[difference < 0]
    lost = negative.nsmallest(N_LISTED).map("{:+.4f}".format)
    labels = queries[[name for name in ("query", "relevant") if name in queries]]
    rows = labels.join(values.map("{:.4f}".format)).join(lost, how="right")
    caption = f"{best} is below {baseline} on {len(negative):,} of {len(difference):,} queries."
    return html_table([list(rows), *rows.to_numpy().tolist()], caption)


def _picture(display: Display, text: str) -> str:
    """The figure of a display, which is closed, as SVG in an element for images."""
    figure = display.figure_
    file = io.BytesIO()
    figure.set_size_inches(REPORT_WIDTH, figure.get_figheight())
    display.ax_.locator_params(axis="x", nbins=4)
    figure.savefig(file, format="svg", bbox_inches="tight")
    style.import_pyplot().close(figure)
    data = base64.b64encode(file.getvalue()).decode()
    return f'<img alt="{html.escape(text)}" src="data:image/svg+xml;base64,{data}">'
