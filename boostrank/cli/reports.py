"""Tables and paragraphs that commands print."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from boostrank.cli.options import console
from boostrank.comparison import Comparison
from boostrank.metrics import Measure, Reconciliation
from boostrank.tables.text import text_lines

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
