"""Reports of the command line: tables for the terminal, and files with the table or the plot of a comparison."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from rich.text import Text

from boostrank.cli.options import console
from boostrank.comparison import Comparison
from boostrank.metrics import Measure, Reconciliation
from boostrank.table_texts import latex_table, markdown_table, text_lines

SUFFIXES = (".csv", ".json", ".md", ".tex")
# Longer lines are hard to read.
MAX_TEXT_WIDTH = 80


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
    write_figure(comparison.plot(measure).figure_, path)


def write_figure(figure: Any, path: str | Path) -> None:
    """Write a figure of matplotlib into an image file, and close it."""
    from boostrank.displays import import_pyplot

    # Without a format, matplotlib adds a suffix to a path that has none.
    figure.savefig(path, dpi=150, format=Path(path).suffix[1:] or "png")
    import_pyplot().close(figure)


def show_table(rows: Sequence[Sequence[str]], n_texts: int = 1, *, last_is_text: bool = False) -> None:
    """Print a table in the style of all commands; see :func:`boostrank.table_texts.text_lines`.

    On a terminal long texts continue on the next line, and the head is bold. Elsewhere each row is one line, however
    long, so that other programs can read it.
    """
    width = console.width if console.is_terminal else None
    if width is None:
        rows = [[cell.replace("\n", "; ") for cell in row] for row in rows]
    lines = text_lines(rows, n_texts, width, last_is_text=last_is_text)
    n_head = next(i for i, line in enumerate(lines) if set(line) == {"─"})
    console.print(Text("\n".join(lines[:n_head]), style="bold"), soft_wrap=True)
    console.print(Text("\n".join(lines[n_head:])), soft_wrap=True)


def show_text(text: str) -> None:
    """Print a paragraph, with lines as wide as the terminal, or of 80 characters elsewhere."""
    width = min(console.width, MAX_TEXT_WIDTH) if console.is_terminal else MAX_TEXT_WIDTH
    # Names of rankers have hyphens, and stay whole; so do paths.
    lines = textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)
    console.print("\n".join(lines), soft_wrap=True)


def counted(count: int, name: str, plural: str | None = None) -> str:
    """A number of things in words.

    Examples
    --------
    >>> counted(1, "round"), counted(3, "query", "queries")
    ('1 round', '3 queries')
    """
    return f"{count} {name}" if count == 1 else f"{count} {plural or name + 's'}"


def show_comparison(comparison: Comparison) -> None:
    """Print the tables of a comparison, each with the measure above it and a conclusion in words below it."""
    for title, rows, n_texts, conclusion in comparison.text_tables():
        console.print(title)
        show_table(rows, n_texts)
        if conclusion:
            show_text(conclusion)
        console.print()


def measure_rows(
    measures: dict[str, Measure], values: list[float], changed: Mapping[str, str] | None = None
) -> list[list[str]]:
    """Values and settings of measures, a row each; `changed` replaces the values of settings that measures have."""
    rows = [["measure", "value", "settings"]]
    for (name, measure), value in zip(measures.items(), values, strict=True):
        rows.append([name, f"{value:.6f}", _settings_text(vars(measure) | _known(changed or {}, measure))])
    return rows


def _known(settings: Mapping[str, str], measure: Measure) -> dict[str, str]:
    """Those of the settings that a measure has."""
    return {name: value for name, value in settings.items() if name in vars(measure)}


def _settings_text(settings: Mapping[str, Any]) -> str:
    """The settings of a measure but its cutoff, which is part of its name."""
    shown = {name: value for name, value in settings.items() if name != "k" and value is not None}
    if not shown.get("judged_only"):
        shown.pop("judged_only", None)
    return ", ".join(f"{name} {value}" for name, value in shown.items())


def reconciliation_rows(reconciliation: Reconciliation) -> list[list[str]]:
    """Values of other libraries and why they differ, below the head; each part of a difference has its own line."""
    head = ["library", "metric", "value", "diff", "because of"]
    return [head, *([*row[:-1], row[-1].replace("; ", "\n")] for row in reconciliation.rows)]
