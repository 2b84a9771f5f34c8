"""Reports of the command line: tables for the terminal, and files with the table or the plot of a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.table import Table

from boostrank.comparison import Comparison
from boostrank.comparison.table_texts import latex_table, markdown_table
from boostrank.metrics import Measure, Reconciliation

SUFFIXES = (".csv", ".json", ".md", ".tex")
MAX_METRIC_WIDTH = 23


def write_table(comparison: Comparison, path: str | Path) -> None:
    """Write the table of a comparison, by group if it has groups; see :func:`write_rows`."""
    by_group = comparison.groups is not None
    table = comparison.table if comparison.groups is None else comparison.groups
    texts = {".md": comparison.to_markdown, ".tex": comparison.to_latex}
    suffix = check_table_suffix(path)
    if suffix in texts:
        Path(path).write_text(texts[suffix](by_group=by_group), encoding="utf-8")
    else:
        _write_numbers(table, path)


def write_rows(table: pd.DataFrame, rows: list[list[str]], n_texts: int, path: str | Path) -> None:
    """Write a table as CSV, JSON, Markdown or LaTeX, by the suffix of `path`.

    CSV and JSON have all columns of `table`, unrounded; Markdown and LaTeX have `rows` of text, the first of which is
    the head, and whose first `n_texts` columns are no numbers.
    """
    texts = {".md": markdown_table, ".tex": latex_table}
    suffix = check_table_suffix(path)
    if suffix in texts:
        Path(path).write_text(texts[suffix](rows, n_texts), encoding="utf-8")
    else:
        _write_numbers(table, path)


def _write_numbers(table: pd.DataFrame, path: str | Path) -> None:
    if Path(path).suffix == ".json":
        table.to_json(path, orient="records", indent=1, double_precision=15)
    else:
        table.to_csv(path, index=False)


def check_table_suffix(path: str | Path) -> str:
    """The suffix of `path`; an error if no format of a table has this suffix."""
    suffix = Path(path).suffix
    if suffix not in SUFFIXES:
        raise ValueError(f"the file of a table must end in one of {', '.join(SUFFIXES)}; got {str(path)!r}")
    return suffix


def check_plot_suffix(path: Path) -> None:
    """Refuse the file of a plot if matplotlib is missing, or writes no file with this suffix."""
    from boostrank.displays import import_pyplot

    plt = import_pyplot()
    figure = plt.figure()
    known = figure.canvas.get_supported_filetypes()
    plt.close(figure)
    if path.suffix.removeprefix(".") not in known:
        raise ValueError(f"the file of a plot must end in one of {', '.join(known)}; got {str(path)!r}")


def write_plot(comparison: Comparison, measure: str, path: str | Path) -> None:
    """Plot the differences in a measure into an image file."""
    from boostrank.displays import import_pyplot

    figure = comparison.plot(measure).figure_
    # Without a format, matplotlib adds a suffix to a path that has none.
    figure.savefig(path, dpi=150, format=Path(path).suffix[1:] or "png")
    import_pyplot().close(figure)


def measure_table(measures: dict[str, Measure], values: list[float], changed: Mapping[str, str] | None = None) -> Table:
    """Values and settings of measures, a row each; `changed` replaces the values of settings that measures have."""
    table = Table()
    table.add_column("measure", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("settings")
    for (name, measure), value in zip(measures.items(), values, strict=True):
        table.add_row(name, f"{value:.6f}", _settings_text(vars(measure) | _known(changed or {}, measure)))
    return table


def _known(settings: Mapping[str, str], measure: Measure) -> dict[str, str]:
    """Those of the settings that a measure has."""
    return {name: value for name, value in settings.items() if name in vars(measure)}


def _settings_text(settings: Mapping[str, Any]) -> str:
    """The settings of a measure but its cutoff, which is part of its name."""
    shown = {name: value for name, value in settings.items() if name != "k" and value is not None}
    if not shown.get("judged_only"):
        shown.pop("judged_only", None)
    return ", ".join(f"{name} {value}" for name, value in shown.items())


def reconciliation_table(reconciliation: Reconciliation) -> Table:
    """Values of other libraries and why they differ, for a terminal of 80 columns."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("library", no_wrap=True)
    # Longer names continue on the next line, so that there is space for the parts of the difference.
    longest = max(map(len, reconciliation.table["metric"]))
    table.add_column("metric", overflow="fold", min_width=min(longest, MAX_METRIC_WIDTH), max_width=MAX_METRIC_WIDTH)
    for head in ("value", "diff"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("because of")
    for row in reconciliation.rows:
        # Each part has a line of its own; in one paragraph a line could break inside a part.
        table.add_row(*row[:-1], row[-1].replace("; ", "\n"))
    return table
