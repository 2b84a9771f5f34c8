"""Reports of the command line: tables for the terminal, and files with the table or the plot of a comparison."""

from __future__ import annotations

from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table

from boostrank.comparison import Comparison
from boostrank.metrics import Measure, Reconciliation

SUFFIXES = (".csv", ".json", ".md")


def write_table(comparison: Comparison, path: str | Path) -> None:
    """Write the table as CSV, JSON or Markdown, by the suffix of `path`; CSV and JSON have all columns, unrounded."""
    suffix = check_table_suffix(path)
    if suffix == ".md":
        Path(path).write_text(comparison.to_markdown(), encoding="utf-8")
    elif suffix == ".json":
        comparison.table.to_json(path, orient="records", indent=1)
    else:
        comparison.table.to_csv(path, index=False)


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


def measure_table(measures: list[Measure], values: list[float]) -> Table:
    """Values and settings of measures, a row each."""
    table = Table()
    table.add_column("measure", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("settings")
    for measure, value in zip(measures, values, strict=True):
        table.add_row(str(measure), f"{value:.6f}", _settings_text(measure))
    return table


def _settings_text(measure: Measure) -> str:
    """The settings of a measure but its cutoff, which is part of its name."""
    settings = {name: value for name, value in vars(measure).items() if name != "k" and value is not None}
    if not settings.get("judged_only"):
        settings.pop("judged_only", None)
    return ", ".join(f"{name} {value}" for name, value in settings.items())


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
