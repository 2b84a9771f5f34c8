"""Tables of results as plain text, in Markdown, in LaTeX and in HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import zip_longest
from typing import Literal, NamedTuple
from unicodedata import category, east_asian_width

# Categories of Unicode of combining marks, and of characters that only format others.
_NO_WIDTH = ("Mn", "Me", "Cf")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


class Marked(NamedTuple):
    """A cell of a Markdown or LaTeX table with a superscript behind its text, which may be bold."""

    text: str
    mark: str = ""
    bold: bool = False


def text_lines(
    rows: Sequence[Sequence[str]], n_texts: int = 1, *, last_is_text: bool = False
) -> list[str]:
    r"""Lines of plain text of a table, with a line of "─" below its head.

    Parameters
    ----------
    rows : sequence of sequences of str
        All of the same length; the first one is the head. Cells below it may have several lines.
    n_texts : int, default 1
        Number of the first columns that are texts, and are aligned left; the others are numbers,
        and aligned right.
    last_is_text : bool, default False
        Whether the last column has texts too.

    Examples
    --------
    >>> print("\n".join(text_lines([["run", "AP"], ["a", "0.5"]])))
    run   AP
    ────────
    a    0.5
    """
    last = len(rows[0]) - 1
    is_text = [i < n_texts or (last_is_text and i == last) for i in range(last + 1)]
    # A cell is a list of lines.
    cells = [[cell.expandtabs().splitlines() or [""] for cell in row] for row in rows]
    widths = [
        max(_width(line) for lines in column for line in lines)
        for column in zip(*cells, strict=True)
    ]
    lines = []
    for row in cells:
        for parts in zip_longest(*row, fillvalue=""):
            padded = map(_padded, parts, widths, is_text)
            lines.append("  ".join(padded).rstrip())
    lines.insert(1, "─" * (sum(widths) + 2 * last))
    return lines


def _padded(text: str, width: int, is_text: bool) -> str:
    """A line of a cell with spaces up to the width of its column, behind a text or before it."""
    spaces = " " * (width - _width(text))
    return text + spaces if is_text else spaces + text


def _width(text: str) -> int:
    """The width of a text on a terminal.

    East Asian characters are twice as wide as others, and combining ones have no width.
    """
    return sum(
        0 if category(character) in _NO_WIDTH else 1 + (east_asian_width(character) in "WF")
        for character in text
    )


def markdown_table(rows: Sequence[Sequence[str | Marked]], n_texts: int = 1) -> str:
    r"""Make a Markdown table of rows of text, the first of which is the head.

    Parameters
    ----------
    rows : sequence of sequences of str or Marked
        All of the same length.
    n_texts : int, default 1
        Number of the first columns that are texts, and are aligned left; the others are numbers.

    Examples
    --------
    >>> print(markdown_table([["run", "AP"], ["a|b\nc", "0.5"]]), end="")
    | run | AP |
    |---|---:|
    | a\|b<br>c | 0.5 |
    """
    line = "|" + "---|" * n_texts + "---:|" * (len(rows[0]) - n_texts)
    texts = ["| " + " | ".join(map(_markdown_cell, row)) + " |" for row in rows]
    return "\n".join([texts[0], line, *texts[1:]]) + "\n"


def latex_table(rows: Sequence[Sequence[str | Marked]], n_texts: int = 1) -> str:
    r"""Make a LaTeX table of rows of text, the first of which is the head.

    Parameters are those of :func:`markdown_table`. The table needs the package booktabs. Characters
    that have a meaning in LaTeX are escaped, and numbers with a sign are in math mode, so that a
    minus is no hyphen.

    Examples
    --------
    >>> print(latex_table([["run", "diff"], ["a_1", "-0.5"]]), end="")
    \begin{tabular}{lr}
    \toprule
    run & diff \\
    \midrule
    a\_1 & $-0.5$ \\
    \bottomrule
    \end{tabular}
    """
    columns = "l" * n_texts + "r" * (len(rows[0]) - n_texts)
    head, *lines = (_latex_line(row, n_texts) for row in rows)
    parts = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        head,
        r"\midrule",
        *lines,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(parts) + "\n"


def escape_latex(text: str) -> str:
    r"""Escape the characters that have a meaning in LaTeX.

    Examples
    --------
    >>> print(escape_latex("50% of a_b"))
    50\% of a\_b
    """
    one_line = " ".join(text.splitlines())
    return "".join(_LATEX.get(character, character) for character in one_line)


def _alignment(is_text: bool) -> Literal["left", "right"]:
    return "left" if is_text else "right"


def _as_marked(cell: str | Marked) -> Marked:
    return Marked(cell) if isinstance(cell, str) else cell


def _markdown_cell(cell: str | Marked) -> str:
    text, mark, bold = _as_marked(cell)
    text = "<br>".join(text.replace("|", "\\|").splitlines())
    if bold:
        text = f"**{text}**"
    if mark:
        text += f"<sup>{mark}</sup>"
    return text


def _latex_line(row: Sequence[str | Marked], n_texts: int) -> str:
    cells = [_latex_cell(cell, is_number=i >= n_texts) for i, cell in enumerate(row)]
    return " & ".join(cells) + r" \\"


def _latex_cell(cell: str | Marked, *, is_number: bool) -> str:
    raw, mark, bold = _as_marked(cell)
    text = escape_latex(raw)
    if is_number and raw[:1] in ("+", "-", "<"):
        text = f"${raw}$"
    if bold:
        text = rf"\textbf{{{text}}}"
    if mark:
        text += rf"$^{{\mathrm{{{mark}}}}}$"
    return text


# Only borders and spaces are styled, and no colours, so that tables have those of a notebook, dark
# or light.
_CELL = "padding: 0.2em 0.8em; text-align: {}"


def html_table(
    rows: Sequence[Sequence[object]],
    caption: str = "",
    *,
    n_texts: int = 1,
    notes: Sequence[str] = (),
) -> str:
    """Make an HTML table of rows of text.

    Parameters
    ----------
    rows : sequence of sequences
        All of the same length; the first one is the head. Their elements are converted to text, and
        characters that have a meaning in HTML are escaped.
    caption : str, optional
        Text above the table.
    n_texts : int, default 1
        Number of the first columns that are texts, and are aligned left; the others are numbers.
    notes : sequence of str, optional
        Sentences below the table; those that are empty are left out.

    Examples
    --------
    >>> table = html_table([["run", "AP"], ["<a>", 0.5]], "runs")
    >>> table.count("<th "), table.count("<td "), "&lt;a&gt;" in table
    (2, 2, True)
    """
    # Notebooks align and shade cells by their own rules, unless an element says otherwise.
    caption_style = "caption-side: top; text-align: left; font-weight: bold; color: inherit"
    # A table that is wider than the notebook gets a scroll bar of its own.
    parts = ['<div style="overflow-x: auto">', '<table style="border-collapse: collapse">']
    if caption:
        parts.append(f'<caption style="{caption_style}">{html.escape(caption)}</caption>')
    parts += ['<thead style="border-bottom: 1px solid">', _row(rows[0], "th", n_texts), "</thead>"]
    parts.append("<tbody>")
    parts += [_row(row, "td", n_texts) for row in rows[1:]]
    parts += ["</tbody>", "</table>"]
    parts += [f"<p>{html.escape(note)}</p>" for note in notes if note]
    parts.append("</div>")
    return "\n".join(parts)


def _row(row: Sequence[object], tag: str, n_texts: int) -> str:
    cells = []
    for i, cell in enumerate(row):
        style = _CELL.format(_alignment(i < n_texts))
        text = html.escape(str(cell)).replace("\n", "<br>")
        cells.append(f'<{tag} style="{style}">{text}</{tag}>')
    return "<tr>" + "".join(cells) + "</tr>"
