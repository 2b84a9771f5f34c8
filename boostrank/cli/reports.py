"""Reports of the command line: tables for the terminal, and files with the table or the plot of a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from boostrank.comparison import Comparison
from boostrank.metrics import Reconciliation

SUFFIXES = (".csv", ".json", ".md")


def write_table(comparison: Comparison, path: str | Path) -> None:
    """Write the table as CSV, JSON or Markdown, by the suffix of `path`; CSV and JSON have all columns, unrounded."""
    suffix = check_suffix(path)
    if suffix == ".md":
        Path(path).write_text(comparison.to_markdown(), encoding="utf-8")
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
    from boostrank.displays import import_pyplot

    figure = comparison.plot().figure_
    # Without a format, matplotlib adds a suffix to a path that has none.
    figure.savefig(path, dpi=150, format=Path(path).suffix[1:] or "png")
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
