"""Tables and paragraphs that commands print, and files that they write besides models and scores."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from rich.text import Text

from boostrank.cli.options import console, require_folder_of
from boostrank.comparison import Comparison
from boostrank.displays.style import import_pyplot
from boostrank.inputs.files import write_atomically
from boostrank.tables.text import latex_table, markdown_table, text_lines

# Endings of files of tables.
SEPARATORS = {".csv": ",", ".tsv": "\t"}
SUFFIXES = (*SEPARATORS, ".json", ".md", ".tex")

# Longer lines are hard to read.
MAX_TEXT_WIDTH = 80


def show_table(rows: Sequence[Sequence[str]], n_texts: int = 1, *, last_is_text: bool = False) -> None:
    """Print a table in the style of all commands; see :func:`boostrank.tables.text.text_lines`.

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


class OutputFiles(NamedTuple):
    """Files to write; None where nothing is asked for.

    Attributes
    ----------
    table, plot, per_query, report, plot_queries : Path or None
    """

    table: Path | None
    plot: Path | None
    per_query: Path | None = None
    report: Path | None = None
    plot_queries: Path | None = None

    def check(self) -> None:
        """Raise an error if a file cannot be written: before the data are read, not after it."""
        for path in self:
            if path is not None:
                require_folder_of(path)
        if self.table is not None and self.table.suffix not in SUFFIXES:
            raise ValueError(f"the file of a table must end in one of {', '.join(SUFFIXES)}; got {str(self.table)!r}")
        if self.per_query is not None and self.per_query.suffix not in SEPARATORS:
            raise ValueError(f"--per-query must be a file that ends in .csv or .tsv; got {str(self.per_query)!r}")
        if self.report is not None and import_pyplot() and self.report.suffix != ".html":
            raise ValueError(f"--html must be a file that ends in .html; got {str(self.report)!r}")
        for plot in filter(None, (self.plot, self.plot_queries)):
            known = import_pyplot().Figure().canvas.get_supported_filetypes()
            if plot.suffix.removeprefix(".") not in known:
                raise ValueError(f"the file of a plot must end in one of {', '.join(known)}; got {str(plot)!r}")

    def write_table(self, table: pd.DataFrame, rows: list[list[str]], n_texts: int) -> None:
        """Write a table, if a file for it was given, by the suffix of its name.

        CSV, TSV and JSON have all columns of `table`, unrounded; Markdown and LaTeX have `rows` of text, the first of
        which is the head, and whose first `n_texts` columns are no numbers.
        """
        self._write_table(table, lambda: markdown_table(rows, n_texts), lambda: latex_table(rows, n_texts))

    def _write_table(self, table: pd.DataFrame, markdown: Callable[[], str], latex: Callable[[], str]) -> None:
        def write(path: str) -> None:
            suffix = Path(path).suffix
            if suffix == ".json":
                table.to_json(path, orient="records", indent=1, double_precision=15)
            elif suffix in SEPARATORS:
                table.to_csv(path, sep=SEPARATORS[suffix], index=False)
            else:
                Path(path).write_text(markdown() if suffix == ".md" else latex(), encoding="utf-8")

        _write("table", self.table, write)

    def write_plot(self, draw: Callable[[], Any]) -> None:
        """Write the figure of matplotlib that `draw` returns, if a file for it was given."""
        _write_figure(self.plot, draw)

    def write_per_query(self, table: pd.DataFrame) -> None:
        """Write the values of queries as CSV or TSV, unrounded, if a file for them was given."""
        separator = SEPARATORS[self.per_query.suffix] if self.per_query else ","
        _write("values of queries", self.per_query, lambda path: table.to_csv(path, sep=separator, index=False))

    def write_comparison(self, comparison: Comparison, measure: str, layout: str) -> None:
        """Write the table of a comparison, the values of queries, and plots of the differences in a measure."""
        by_group = comparison.groups is not None
        self._write_table(
            comparison.table if comparison.groups is None else comparison.groups,
            lambda: comparison.to_markdown(layout, by_group=by_group),
            lambda: comparison.to_latex(layout, by_group=by_group),
        )
        self.write_per_query(comparison.per_query)
        self.write_plot(lambda: comparison.plot(measure, by_group=by_group).figure_)
        _write_figure(self.plot_queries, lambda: comparison.plot_queries(measure=measure).figure_)
        _write("report", self.report, lambda path: comparison.save_html(path, measure))


def _write_figure(path: Path | None, draw: Callable[[], Any]) -> None:
    def write(temporary: str) -> None:
        figure = draw()
        # Without a format, matplotlib adds a suffix to a path that has none.
        figure.savefig(temporary, dpi=150, format=Path(temporary).suffix[1:] or "png")
        import_pyplot().close(figure)

    _write("plot", path, write)


def _write(what: str, path: Path | None, write: Callable[[str], object]) -> None:
    if path is not None:
        write_atomically(path, write)
        console.print(f"{what}: {path}", soft_wrap=True)
