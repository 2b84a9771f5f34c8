"""Reports of the command line: tables for the terminal, and files with the table or the plot of a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from boostrank.comparison import Comparison
from boostrank.metrics import Reconciliation

SUFFIXES = (".csv", ".json", ".md")


def comparison_tables(comparison: Comparison) -> list[Table]:
    """One table per measure with one row per ranker, for a terminal of 80 columns.

    p (Holm) is the p-value adjusted for the number of rankers; w/t/l are the numbers of queries won, tied and lost.
    """
    rankers, metrics, rows = _by_ranker(comparison)
    tables = []
    for metric in metrics:
        title = f"{metric}, compared with {comparison.baseline}"
        table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        table.add_column("ranker", no_wrap=True)
        for head in ("mean", "diff", "p (Holm)", "w/t/l", "rounds"):
            table.add_column(head, justify="right", no_wrap=head != "p (Holm)")
        for ranker in rankers:
            row = rows.loc[(ranker, metric)]
            style = "bold" if ranker == comparison.baseline else None
            table.add_row(ranker, *_cells(row), f"{row['rounds']:.0f}", style=style)
        tables.append(table)
    return tables


def markdown_table(comparison: Comparison) -> str:
    """One Markdown table with one row per ranker; wins, ties and losses are those of the last measure."""
    rankers, metrics, rows = _by_ranker(comparison)
    head = ["ranker"]
    for metric in metrics:
        head += [metric, "diff", "p (Holm)"]
    head += ["win/tie/loss", "rounds"]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    for ranker in rankers:
        by_metric = [_cells(rows.loc[(ranker, metric)]) for metric in metrics]
        cells = [cell for part in by_metric for cell in part[:3]]
        cells += [by_metric[-1][3], f"{rows.loc[(ranker, metrics[-1]), 'rounds']:.0f}"]
        lines.append("| " + " | ".join([ranker, *cells]) + " |")
    return "\n".join(lines) + "\n"


def write_table(comparison: Comparison, path: str | Path) -> None:
    """Write the table as CSV, JSON or Markdown, by the suffix of `path`; CSV and JSON have all columns, unrounded."""
    suffix = check_suffix(path)
    if suffix == ".md":
        Path(path).write_text(markdown_table(comparison), encoding="utf-8")
    elif suffix == ".json":
        comparison.table.to_json(path, orient="records", indent=1)
    else:
        comparison.table.to_csv(path, index=False)


def check_suffix(path: str | Path | None) -> str:
    """The suffix of `path`, ".csv" if it is None; an error if no format of a table has this suffix."""
    suffix = SUFFIXES[0] if path is None else Path(path).suffix
    if suffix not in SUFFIXES:
        raise ValueError(f"the file of a table must end in one of {', '.join(SUFFIXES)}; got {str(path)!r}")
    return suffix


def write_plot(comparison: Comparison, path: str | Path) -> None:
    """Plot the differences in the last measure into an image file."""
    from boostrank.displays import ComparisonDisplay, import_pyplot

    figure = ComparisonDisplay.from_comparison(comparison).figure_
    figure.savefig(path, dpi=150)
    import_pyplot().close(figure)


def ndcg_table(values: Mapping[str, Any]) -> Table:
    """Table of NDCG by cutoff."""
    table = Table()
    table.add_column("k")
    table.add_column("NDCG@k", justify="right")
    for name, value in values.items():
        table.add_row(name, f"{value:.6f}")
    return table


def reconciliation_table(reconciliation: Reconciliation) -> Table:
    """NDCG of other libraries and why it differs, for a terminal of 80 columns."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("library", no_wrap=True)
    table.add_column("metric", no_wrap=True)
    for head in ("value", "diff"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("because of")
    for row in reconciliation.rows:
        # Each part has a line of its own; in one paragraph a line could break inside a part.
        table.add_row(*row[:-1], row[-1].replace("; ", "\n"))
    return table


def _by_ranker(comparison: Comparison) -> tuple[list[str], list[str], Any]:
    table = comparison.table
    return list(table["ranker"].unique()), list(table["metric"].unique()), table.set_index(["ranker", "metric"])


def _cells(row: Any) -> list[str]:
    """Mean, difference, adjusted p-value and wins/ties/losses; all but the mean are empty for the baseline."""
    if np.isnan(row["p_holm"]):
        return [f"{row['mean']:.4f}", "", "", ""]
    wins = f"{row['wins']:.0f}/{row['ties']:.0f}/{row['losses']:.0f}"
    return [f"{row['mean']:.4f}", f"{row['difference']:+.4f}", _p_value(row["p_holm"]), wins]


def _p_value(value: float) -> str:
    return "<.001" if value < 0.001 else f"{value:.3f}"
