"""HTML tables of results, for notebooks."""

from __future__ import annotations

import html
from collections.abc import Sequence

# Only borders and spaces are styled, and no colours, so that tables have those of a notebook, dark or light.
_CELL = "padding: 0.2em 0.8em; text-align: {}"
_BELOW_HEAD = "; border-bottom: 1px solid"


def html_table(
    rows: Sequence[Sequence[object]],
    caption: str = "",
    *,
    n_texts: int = 1,
    has_head: bool = True,
    notes: Sequence[str] = (),
) -> str:
    """Make an HTML table of rows of text.

    Parameters
    ----------
    rows : sequence of sequences
        All of the same length. Their elements are converted to text, and characters that have a meaning in HTML are
        escaped.
    caption : str, optional
        Text above the table.
    n_texts : int, default 1
        Number of the first columns that are texts, and are aligned left; the others are numbers.
    has_head : bool, default True
        Whether the first row is the head.
    notes : sequence of str, optional
        Sentences below the table; those that are empty are left out.

    Examples
    --------
    >>> table = html_table([["run", "AP"], ["<a>", 0.5]], "runs")
    >>> table.count("<th "), table.count("<td "), "&lt;a&gt;" in table
    (2, 2, True)
    """
    head, body = (rows[:1], rows[1:]) if has_head else ([], rows)
    # Notebooks align and shade cells by their own rules, unless an element says otherwise.
    caption_style = "caption-side: top; text-align: left; font-weight: bold; color: inherit"
    parts = ['<table style="border-collapse: collapse">']
    if caption:
        parts.append(f'<caption style="{caption_style}">{html.escape(caption)}</caption>')
    parts += ["<thead>", *(_row(row, "th", n_texts, _BELOW_HEAD) for row in head), "</thead>"] if head else []
    parts += ["<tbody>", *(_row(row, "td", n_texts) for row in body), "</tbody>", "</table>"]
    parts += [f"<p>{html.escape(note)}</p>" for note in notes if note]
    # A table that is wider than the notebook gets a scroll bar of its own.
    return "\n".join(['<div style="overflow-x: auto">', *parts, "</div>"])


def _row(row: Sequence[object], tag: str, n_texts: int, more: str = "") -> str:
    cells = []
    for i, cell in enumerate(row):
        style = _CELL.format("left" if i < n_texts else "right") + more
        text = html.escape(str(cell)).replace("\n", "<br>")
        cells.append(f'<{tag} style="{style}">{text}</{tag}>')
    return "<tr>" + "".join(cells) + "</tr>"
