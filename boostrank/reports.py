"""Comparisons as text: tables for the terminal, CSV, JSON, Markdown, and the picture beside them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from boostrank.comparison import Comparison

SUFFIXES = (".csv", ".json", ".md")


def comparison_table(comparison: Comparison) -> Table:
    """A row per ranker; for each metric the mean, the difference to the baseline and the p-value."""
    rankers, metrics, rows = _by_ranker(comparison)
    table = Table(title=f"difference to {comparison.baseline}, p of a paired randomization test over queries")
    table.add_column("ranker", no_wrap=True)
    for metric in metrics:
        table.add_column(metric, justify="right")
        table.add_column("diff", justify="right")
        table.add_column("p", justify="right")
    table.add_column(f"win/tie/loss {metrics[-1]}", justify="right")
    table.add_column("rounds", justify="right")
    for ranker in rankers:
        table.add_row(ranker, *_cells(rows, ranker, metrics), style="bold" if ranker == comparison.baseline else None)
    return table


def markdown_table(comparison: Comparison) -> str:
    """The same as a Markdown table."""
    rankers, metrics, rows = _by_ranker(comparison)
    head = ["ranker", *(title for metric in metrics for title in (metric, "diff", "p"))]
    head += [f"win/tie/loss {metrics[-1]}", "rounds"]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    lines += ["| " + " | ".join([ranker, *_cells(rows, ranker, metrics)]) + " |" for ranker in rankers]
    return "\n".join(lines) + "\n"


def write_table(comparison: Comparison, path: str | Path) -> None:
    """Write the table as CSV, JSON or Markdown, by the suffix of `path`; the first two with every number in full."""
    suffix = check_suffix(path)
    if suffix == ".md":
        Path(path).write_text(markdown_table(comparison), encoding="utf-8")
    elif suffix == ".json":
        comparison.table.to_json(path, orient="records", indent=1)
    else:
        comparison.table.to_csv(path, index=False)


def check_suffix(path: str | Path | None) -> str:
    """The suffix of `path`, or an error if no kind of table is written by that name."""
    suffix = SUFFIXES[0] if path is None else Path(path).suffix
    if suffix not in SUFFIXES:
        raise ValueError(f"a table is written as {', '.join(SUFFIXES)}; got {str(path)!r}")
    return suffix


def write_plot(comparison: Comparison, path: str | Path) -> None:
    """Draw the differences of the last metric into an image file."""
    from boostrank.displays import ComparisonDisplay, import_pyplot

    metric = comparison.table["metric"].iloc[-1]
    figure = ComparisonDisplay.from_comparison(comparison, metric).figure_
    figure.savefig(path, dpi=150)
    import_pyplot().close(figure)


def key_value_table(values: Mapping[str, Any], title: str) -> Table:
    """NDCG by cutoff."""
    table = Table(title=title, title_justify="left")
    table.add_column("k")
    table.add_column("NDCG@k", justify="right")
    for name, value in values.items():
        table.add_row(name, f"{value:.6f}")
    return table


def _by_ranker(comparison: Comparison) -> tuple[list[str], list[str], Any]:
    table = comparison.table
    return list(table["ranker"].unique()), list(table["metric"].unique()), table.set_index(["ranker", "metric"])


def _cells(rows: Any, ranker: str, metrics: list[str]) -> list[str]:
    cells = []
    for metric in metrics:
        row = rows.loc[(ranker, metric)]
        is_baseline = np.isnan(row["p_value"])
        cells += [
            f"{row['mean']:.4f}",
            *(("", "") if is_baseline else (f"{row['difference']:+.4f}", _p(row["p_value"]))),
        ]
    wins = "" if is_baseline else f"{row['wins']:.0f}/{row['ties']:.0f}/{row['losses']:.0f}"
    return [*cells, wins, f"{row['rounds']:.0f}"]


def _p(value: float) -> str:
    return "<.001" if value < 0.001 else f"{value:.3f}"
