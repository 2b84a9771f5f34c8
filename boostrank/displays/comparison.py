"""Pictures of a comparison, of its differences in the mean and query by query, and its report as
one HTML file.
"""

from __future__ import annotations

import base64
import html
import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from boostrank.comparison import Comparison
from boostrank.comparison.differences import rows_by_name
from boostrank.displays import style
from boostrank.displays.style import Display
from boostrank.inputs.checks import check_choice
from boostrank.significance.paired_tests import LEVEL
from boostrank.tables import html_table

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
body { font: 1rem/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 48rem; margin: auto }
body { padding: 0 1rem 2rem; overflow-wrap: anywhere } h1 { font-size: 1.5rem } h2 { font-size: 1.15rem }
table { font-size: 0.9rem; font-variant-numeric: tabular-nums } td, th { vertical-align: top; overflow-wrap: normal }
td[style*="left"] { overflow-wrap: anywhere } td[style*="right"] { white-space: nowrap }
td:first-child { min-width: 7.5em } img { max-width: 100%; display: block }
@media (max-width: 480px) { table { font-size: 0.7rem } td, th { padding: 0.2em !important } }
@media print { @page { margin: 15mm } body { font-size: 10pt; max-width: none; padding: 0 } img { max-height: 220mm } }
@media print { h2 { break-after: avoid } img, table { break-inside: avoid } div { overflow: visible !important } }
"""
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>\
<style>{style}</style></head>
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
        and `high` are the ends of the 95% interval of the mean difference over queries or repeated
        folds, as in :func:`boostrank.compare`; they and the p-value are NaN for the baseline.
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
        cls, comparison: Comparison, measure: Any = None, ax: Any = None
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
        kind, baseline, measure = (
            comparison.kind,
            comparison.baseline,
            comparison.find_measure(measure),
        )
        rows = comparison.rows_of(measure).reset_index().sort_values("difference", kind="stable")
        columns = [kind, "mean", "difference", "low", "high", "p_holm"]
        return cls(rows[columns].reset_index(drop=True), measure, baseline).plot(ax)

    def _draw(self, ax: Any) -> Any:
        table, measure = self.table, style.literal(style.measure_name(self.measure))
        names, difference, rows = (
            table.iloc[:, 0],
            table["difference"].to_numpy(),
            np.arange(len(table)),
        )
        labels = [
            f"{style.wrapped(name, 40)}  ({mean:.4f})"
            for name, mean in zip(names, table["mean"], strict=True)
        ]
        ax = style.axes(
            ax, 1.5 + 0.15 * len(table) + 0.15 * sum(label.count("\n") + 1 for label in labels)
        )
        is_baseline = (names == self.baseline).to_numpy()
        ax.axvline(0.0, color=style.GREY, linewidth=1)
        # The interval need not be symmetric. `abs` is for rounding errors where an end equals the
        # difference.
        sides = np.abs(table[["low", "high"]].to_numpy().T - difference)[:, ~is_baseline]
        look = {"fmt": "o", "color": style.BLUE, "capsize": 3, "markerfacecolor": "white"}
        ax.errorbar(difference[~is_baseline], rows[~is_baseline], xerr=sides, **look)
        filled = ~is_baseline & (table["p_holm"] < LEVEL).to_numpy()
        ax.plot(difference[filled], rows[filled], "o", color=style.BLUE, zorder=3)
        ax.plot(difference[is_baseline], rows[is_baseline], "D", color=style.BLACK)
        ax.locator_params(axis="x", nbins=5)
        ax.set_yticks(rows, labels)
        ax.set_ylim(-0.6, len(table) - 0.4)
        # Two lines, because the names of rankers take much of the width.
        ax.set_xlabel(f"difference in {measure}\n(mean, 95% interval; filled: significant)")
        title = (
            f"{measure} (mean in brackets)\n{style.wrapped(f'compared with {self.baseline}', 40)}"
        )
        ax.set_title(title, fontsize="medium")
        style.light_grid(ax, "x")
        return ax


@dataclass
class QueryDifferencesDisplay(Display):
    """Differences of one ranker or run to a baseline on each query, sorted, with the names of the
    worst queries.

    Created by :meth:`from_comparison` or :meth:`boostrank.comparison.Comparison.plot_queries`.

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
        cls, comparison: Comparison, name: str | None = None, measure: Any = None, ax: Any = None
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
        kind, baseline, measure = (
            comparison.kind,
            comparison.baseline,
            comparison.find_measure(measure),
        )
        means = comparison.rows_of(measure)["mean"].drop(baseline)
        if means.empty:
            raise ValueError(f"there is no {kind} to compare with {baseline}")
        name = str(means.idxmax()) if name is None else name
        check_choice("name", name, list(means.index))
        values = rows_by_name(comparison.per_query, kind, "query")
        difference = values[name][measure] - values[baseline][measure]
        table = pd.DataFrame({"query": values[name]["query"], "difference": difference}).dropna()
        table = table.sort_values("difference", kind="stable").reset_index(drop=True)
        return cls(table, measure, name, baseline).plot(ax)

    def _draw(self, ax: Any) -> Any:
        ax = style.axes(ax)
        difference, measure = (
            self.table["difference"].to_numpy(),
            style.literal(style.measure_name(self.measure)),
        )
        colors = np.where(difference < 0.0, style.ORANGE, style.BLUE)
        ax.bar(np.arange(len(difference)), difference, width=1.0, color=colors, linewidth=0)
        ax.axhline(0.0, color=style.GREY, linewidth=1)
        worst = self.table[difference < 0.0].head(N_NAMED)
        if len(worst):
            # At the left there are only bars that go down, from a line in the lower half.
            low, high = ax.get_ylim()
            ax.set_ylim(low, max(high, -low))
            lines = [
                f"{row.difference:+.3f}  {style.shortened(row.query, 24)}"
                for row in worst.itertuples()
            ]
            text = style.literal("\n".join(["worst queries", *lines]))
            ax.text(
                0.01,
                0.99,
                text,
                transform=ax.transAxes,
                va="top",
                fontsize="small",
                linespacing=1.3,
            )
        share, ties = np.mean(difference > 0.0), np.mean(difference == 0.0)
        ax.set_xlabel(
            f"{len(difference)} queries, sorted: {share:.0%} better, {ties:.0%} equal, "
            f"{1 - share - ties:.0%} worse"
        )
        ax.set_ylabel(f"difference in {measure}")
        ax.set_title(
            style.wrapped(f"{self.name}, compared with {self.baseline}", 60), fontsize="medium"
        )
        style.light_grid(ax)
        return ax


def html_report(comparison: Comparison, measure: str) -> str:
    """The text of the file of :meth:`Comparison.save_html`, with the pictures in it."""
    name, title = (
        style.measure_name(measure),
        f"{comparison.kind.capitalize()}s compared with {comparison.baseline}",
    )
    n_queries = len(
        rows_by_name(comparison.per_query, comparison.kind, "query")[comparison.baseline]
    )
    differences = ComparisonDisplay.from_comparison(comparison, measure)
    sections = {
        f"{n_queries:,} queries": comparison._repr_html_() + EXPLANATION.format(*comparison.test),
        f"Differences in {name}": _picture(differences, f"Differences to {comparison.baseline}"),
        f"Queries with the lowest difference in {name}": _worst(comparison, measure),
        "Settings": html_table([("setting", "value"), *comparison.settings.items()], n_texts=2),
    }
    body = [f"<h2>{html.escape(head)}</h2>\n{text}" for head, text in sections.items() if text]
    return PAGE.format(title=html.escape(title), style=STYLE, body="\n".join(body))


def _worst(comparison: Comparison, measure: str) -> str:
    """A table of the queries on which the other ranker or run of the highest mean loses most
    against the baseline.
    """
    baseline, means = (
        comparison.baseline,
        comparison.rows_of(measure)["mean"].drop(comparison.baseline),
    )
    if means.empty:
        return ""
    best = str(means.idxmax())
    rows_of = rows_by_name(comparison.per_query, comparison.kind, "query")
    queries, values = (
        rows_of[baseline],
        pd.DataFrame({name: rows_of[name][measure] for name in (baseline, best)}),
    )
    difference = (values[best] - values[baseline]).rename("diff")
    lost = difference[difference < 0].nsmallest(N_LISTED).map("{:+.4f}".format)
    labels = queries[[name for name in ("query", "relevant") if name in queries]]
    rows = labels.join(values[[baseline, best]].map("{:.4f}".format)).join(lost, how="right")
    caption = (
        f"{best} is below {baseline} on {(difference < 0).sum():,} of {len(difference):,} queries."
    )
    return html_table([list(rows), *rows.to_numpy().tolist()], caption)


def _picture(display: Display, text: str) -> str:
    """The figure of a display as SVG in an element that is an image for itself; the figure is
    closed.
    """
    figure, file = display.figure_, io.BytesIO()
    figure.set_size_inches(REPORT_WIDTH, figure.get_figheight())
    display.ax_.locator_params(axis="x", nbins=4)
    figure.savefig(file, format="svg", bbox_inches="tight")
    style.import_pyplot().close(figure)
    data = base64.b64encode(file.getvalue()).decode()
    return f'<img alt="{html.escape(text)}" src="data:image/svg+xml;base64,{data}">'
