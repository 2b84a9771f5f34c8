"""A comparison as one HTML file: tables, pictures, worst queries and settings, for a browser, a phone and paper."""

from __future__ import annotations

import base64
import html
import io
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from boostrank.displays import QueryGroupDisplay, TrainingCurveDisplay
from boostrank.displays.base import Display
from boostrank.displays.groups import GROUPINGS, MAX_GROUPS, ranges
from boostrank.displays.style import import_pyplot, measure_name
from boostrank.metrics.query_groups import GROUP, QueryGroups, group_means
from boostrank.tables.html import html_table

if TYPE_CHECKING:
    from boostrank.comparison.comparison import Comparison

# The width of pictures in inches: on a phone they are shrunk to it, and their texts stay readable.
WIDTH = 5.2
# Number of rankers in the picture of groups, which has a row for each of them in each group, and of worst queries.
N_BEST, N_WORST = 4, 10
COLUMNS = (
    "<p>diff: difference to the baseline. p (Holm): p-value of a two-sided paired randomization test over all queries, "
    "adjusted for the number of comparisons. w/t/l: queries won, tied and lost. Intervals are those of 95%.</p>"
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


def html_report(comparison: Comparison, measure: str) -> str:
    """The text of the file of :meth:`Comparison.save_html`, with the pictures in it."""
    name, title = measure_name(measure), f"{comparison.kind.capitalize()}s compared with {comparison.baseline}"
    queries = comparison.per_query[comparison.per_query[comparison.kind] == comparison.baseline]
    queries = queries.assign(weight=queries.get("weight", 1.0)).reset_index(drop=True)
    values = _values(comparison, measure)
    sections = {
        f"{len(queries):,} queries": comparison._repr_html_() + COLUMNS,
        f"Differences in {name}": _picture(comparison.plot(measure), f"Differences to {comparison.baseline}"),
        f"{name} by group of queries": _groups(queries, values, measure),
        f"Queries with the lowest difference in {name}": _worst(queries, values),
        "Validation during training": _curves(comparison),
        "Settings": html_table([*comparison.settings.items()], n_texts=2, has_head=False),
    }
    title, body = html.escape(title), [f"<h2>{html.escape(one)}</h2>\n{text}" for one, text in sections.items() if text]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    start = f'<!DOCTYPE html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>'
    return "\n".join([start, f"<body><h1>{title}</h1>", *body, "</body></html>\n"])


def _values(comparison: Comparison, measure: str) -> pd.DataFrame:
    """The values of queries in a measure, a column per ranker or run: the baseline, then by decreasing mean."""
    rows = comparison.table[comparison.table["metric"] == measure].set_index(comparison.kind)
    others = rows["mean"].drop(comparison.baseline).sort_values(ascending=False, kind="stable").index
    by_name = dict(list(comparison.per_query.groupby(comparison.kind)[measure]))
    return pd.DataFrame({name: by_name[name].to_numpy() for name in [comparison.baseline, *others]})


def _groups(queries: pd.DataFrame, values: pd.DataFrame, measure: str) -> str:
    """A picture of means by group of queries, or by a number that is known of them; empty if there are many groups."""
    title, of_queries = GROUP, queries.get(GROUP)
    if of_queries is None and "relevant" in queries:
        title, of_queries = GROUPINGS["relevant"], pd.Series(ranges(queries["relevant"].to_numpy(), 4))
    if of_queries is None or of_queries.nunique() > MAX_GROUPS:
        return ""
    groups, best = QueryGroups.from_values(of_queries), values.iloc[:, :N_BEST]
    table = group_means(best, groups, queries["weight"].to_numpy()).rename(columns={"metric": "ranker"})
    display = QueryGroupDisplay(table, best, groups.of_queries, table[:0], measure, title)
    return _picture(display.plot(), f"Means by {title}")


def _worst(queries: pd.DataFrame, values: pd.DataFrame) -> str:
    """A table of the queries on which the other ranker or run of the highest mean loses most against the baseline."""
    if len(values.columns) == 1:
        return ""
    baseline, best = values.columns[:2]
    difference = (values[best] - values[baseline])[queries["weight"] > 0].rename("diff")
    lost = difference[difference < 0].nsmallest(N_WORST)
    known = queries[[name for name in ("query", GROUP, "relevant") if name in queries]]
    shown = known.join(values[[baseline, best]].map("{:.4f}".format)).join(lost.map("{:+.4f}".format), how="right")
    n_lost = f"{best} is below {baseline} on {(difference < 0).sum():,} of {len(difference):,} queries."
    return html_table([list(shown), *shown.to_numpy().tolist()], n_lost, n_texts=known.shape[1] - ("relevant" in known))


def _curves(comparison: Comparison) -> str:
    """A picture for each metric on validation queries: its mean over folds, for the rounds that all of them have."""
    found: dict[str, dict[str, list[list[float]]]] = {}
    for (ranker, _), curve in comparison.curves.items():
        for metric, values in curve.items():
            found.setdefault(metric, {}).setdefault(ranker, []).append(values)
    pictures = []
    for metric, curves in found.items():
        means = {(name, ""): np.mean(list(zip(*folds, strict=False)), axis=1) for name, folds in curves.items()}
        pictures.append(_picture(TrainingCurveDisplay(means, {}, metric).plot(), f"{metric} by boosting round"))
    return "".join(pictures)


def _picture(display: Display, text: str) -> str:
    """The figure of a display as SVG in an element that is an image for itself; the figure is closed."""
    figure, file = display.figure_, io.BytesIO()
    figure.set_size_inches(WIDTH, figure.get_figheight())
    display.ax_.locator_params(axis="x", nbins=4)
    figure.savefig(file, format="svg", bbox_inches="tight")
    import_pyplot().close(figure)
    data = base64.b64encode(file.getvalue()).decode()
    return f'<img alt="{html.escape(text)}" src="data:image/svg+xml;base64,{data}">'
