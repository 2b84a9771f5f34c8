"""Files that commands write besides models and scores: tables, plots, and the values of queries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from boostrank.cli.options import console, require_folder_of
from boostrank.comparison import Comparison
from boostrank.inputs.files import write_atomically
from boostrank.tables.text import latex_table, markdown_table

SUFFIXES = (".csv", ".json", ".md", ".tex")


class OutputFiles(NamedTuple):
    """Files to write; None where nothing is asked for.

    Attributes
    ----------
    table, plot, per_query : Path or None
    """

    table: Path | None
    plot: Path | None
    per_query: Path | None = None

    def check(self) -> None:
        """Raise an error if a file cannot be written: before the data are read, not after it."""
        for path in self:
            if path is not None:
                require_folder_of(path)
        if self.table is not None:
            check_table_suffix(self.table)
        if self.per_query is not None and self.per_query.suffix != ".csv":
            raise ValueError(f"--per-query must be a file that ends in .csv; got {str(self.per_query)!r}")
        if self.plot is not None:
            check_plot_suffix(self.plot)

    def write_table(self, table: pd.DataFrame, rows: list[list[str]], n_texts: int) -> None:
        """Write a table, if a file for it was given; see :func:`write_rows`."""
        _write("table", self.table, lambda path: write_rows(table, rows, n_texts, path))

    def write_plot(self, draw: Callable[[], Any]) -> None:
        """Write the figure of matplotlib that `draw` returns, if a file for it was given."""
        _write("plot", self.plot, lambda path: write_figure(draw(), path))

    def write_per_query(self, table: pd.DataFrame) -> None:
        """Write the values of queries as CSV, unrounded, if a file for them was given."""
        _write("values of queries", self.per_query, lambda path: table.to_csv(path, index=False))

    def write_comparison(self, comparison: Comparison, measure: str) -> None:
        """Write the table of a comparison, the values of queries, and a plot of the differences in a measure."""
        _write("table", self.table, lambda path: write_comparison_table(comparison, path))
        self.write_per_query(comparison.per_query)
        self.write_plot(lambda: comparison.plot(measure).figure_)


def _write(what: str, path: Path | None, write: Callable[[str], object]) -> None:
    if path is not None:
        write_atomically(path, write)
        console.print(f"{what}: {path}", soft_wrap=True)


def check_table_suffix(path: str | Path) -> str:
    """The suffix of `path`; an error if no format of a table has this suffix."""
    suffix = Path(path).suffix
    if suffix not in SUFFIXES:
        raise ValueError(f"the file of a table must end in one of {', '.join(SUFFIXES)}; got {str(path)!r}")
    return suffix


def check_plot_suffix(path: Path) -> None:
    """Refuse the file of a plot if matplotlib is missing, or writes no file with this suffix."""
    from boostrank.displays.style import import_pyplot

    plt = import_pyplot()
    figure = plt.figure()
    known = figure.canvas.get_supported_filetypes()
    plt.close(figure)
    if path.suffix.removeprefix(".") not in known:
        raise ValueError(f"the file of a plot must end in one of {', '.join(known)}; got {str(path)!r}")


def write_comparison_table(comparison: Comparison, path: str | Path) -> None:
    """Write the table of a comparison, by group if it has groups: see :func:`write_rows`."""
    by_group = comparison.groups is not None
    table = comparison.table if comparison.groups is None else comparison.groups
    _write_table(table, path, {".md": comparison.to_markdown, ".tex": comparison.to_latex}, by_group=by_group)


def write_rows(table: pd.DataFrame, rows: list[list[str]], n_texts: int, path: str | Path) -> None:
    """Write a table as CSV, JSON, Markdown or LaTeX, by the suffix of `path`.

    CSV and JSON have all columns of `table`, unrounded; Markdown and LaTeX have `rows` of text, the first of which is
    the head, and whose first `n_texts` columns are no numbers.
    """
    _write_table(table, path, {".md": markdown_table, ".tex": latex_table}, rows=rows, n_texts=n_texts)


def _write_table(table: pd.DataFrame, path: str | Path, texts: dict[str, Callable[..., str]], **options: Any) -> None:
    """Write the numbers of a table, or the text that the function for the suffix of `path` returns for the options."""
    suffix = check_table_suffix(path)
    if suffix in texts:
        Path(path).write_text(texts[suffix](**options), encoding="utf-8")
    elif suffix == ".json":
        table.to_json(path, orient="records", indent=1, double_precision=15)
    else:
        table.to_csv(path, index=False)


def write_figure(figure: Any, path: str | Path) -> None:
    """Write a figure of matplotlib into an image file, and close it."""
    from boostrank.displays.style import import_pyplot

    # Without a format, matplotlib adds a suffix to a path that has none.
    figure.savefig(path, dpi=150, format=Path(path).suffix[1:] or "png")
    import_pyplot().close(figure)
