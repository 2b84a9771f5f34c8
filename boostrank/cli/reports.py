"""Tables and texts that commands print, and files that they write besides models and scores."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pandas as pd
import typer

from boostrank.cli import tables
from boostrank.cli.options import require_folder_of
from boostrank.comparison import Comparison
from boostrank.displays.style import Display, import_pyplot
from boostrank.inputs.checks import refuse
from boostrank.inputs.files import write_atomically

# Endings of files of tables and images, and of the files of each option.
VALUES = (".csv", ".tsv")
IMAGES = (".png", ".svg", ".pdf", ".jpg", ".eps", ".webp")
TABLES = (*VALUES, ".json", ".md", ".tex")
ENDINGS = {
    "output": TABLES,
    "per_query": VALUES,
    "html": (".html",),
    "plot": IMAGES,
    "plot_queries": IMAGES,
}

# Longer lines are hard to read.
MAX_TEXT_WIDTH = 80


def counted(count: int, name: str, plural: str | None = None) -> str:
    """A number of things in words.

    Examples
    --------
    >>> counted(1, "round"), counted(3, "query", "queries")
    ('1 round', '3 queries')
    """
    if count == 1:
        return f"1 {name}"
    return f"{count} {plural or name + 's'}"


def show_comparison(comparison: Comparison) -> None:
    """Print the tables of a comparison, and what their columns mean.

    The lines of the text have at most 80 characters.
    """
    test, units = comparison.test
    meaning = (
        f"diff: to the baseline. p (Holm): {test} over {units}, adjusted by Holm's method; "
        f"significant below 0.05. w/t/l: {units} won, tied, lost."
    )
    times = comparison.kind == "ranker"
    if times:
        meaning += " rounds: mean number. time: of a training, as a multiple of the baseline's."
    width = min(shutil.get_terminal_size().columns, MAX_TEXT_WIDTH)
    typer.echo(f"{comparison.to_text(times=times)}\n\n{textwrap.fill(meaning, width)}")


def check_files(**paths: Path | None) -> None:
    """Raise an error if the file of an option cannot be written, before the data are read."""
    for name, path in paths.items():
        if path is None:
            continue
        require_folder_of(path)
        endings = ENDINGS[name]
        if path.suffix not in endings:
            option = f"--{name.replace('_', '-')}"
            refuse(option, str(path), f"a file that ends in {', '.join(endings)}")
        if endings == IMAGES or name == "html":
            import_pyplot()


def write_table(
    path: Path | None, table: pd.DataFrame, markdown: Callable[[], str], latex: Callable[[], str]
) -> None:
    """Write a table, if there is a path, by the ending of its name.

    `markdown` and `latex` return texts of rounded numbers.
    """
    texts = {".md": markdown, ".tex": latex}
    if path is not None and path.suffix in texts:
        text = texts[path.suffix]()
        _write("table", path, lambda name: Path(name).write_text(text, encoding="utf-8"))
    elif path is not None and path.suffix == ".json":
        to_json = partial(table.to_json, orient="records", indent=1, double_precision=15)
        _write("table", path, to_json)
    else:
        write_unrounded("table", path, table)


def write_unrounded(content: str, path: Path | None, table: pd.DataFrame) -> None:
    """Write a table as CSV or TSV, if there is a path."""
    _write(content, path, lambda name: tables.write_table(table, name))


def write_image(path: Path | None, draw: Callable[[], Display]) -> None:
    """Write the image of the display that `draw` returns, if there is a path."""

    def write(name: str) -> None:
        figure = draw().figure_
        figure.savefig(name, dpi=150)
        import_pyplot().close(figure)

    _write("plot", path, write)


def write_comparison(
    comparison: Comparison, measure: str, layout: str, files: Mapping[str, Path | None]
) -> None:
    """Write the files of a comparison.

    They are its table, the values of queries, images of differences in a measure, and a report.
    """
    to_markdown = partial(comparison.to_markdown, layout)
    to_latex = partial(comparison.to_latex, layout)
    write_table(files["output"], comparison.table, to_markdown, to_latex)
    write_unrounded("values of queries", files.get("per_query"), comparison.per_query)
    write_image(files["plot"], lambda: comparison.plot(measure))
    write_image(files.get("plot_queries"), lambda: comparison.plot_queries(measure=measure))
    _write("report", files.get("html"), lambda path: comparison.save_html(path, measure))


def _write(content: str, path: Path | None, write: Callable[[str], object]) -> None:
    if path is not None:
        write_atomically(path, write)
        typer.echo(f"{content}: {path}")
