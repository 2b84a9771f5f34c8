"""Tables of cells as plain text, in Markdown and in LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def text_lines(rows: Sequence[Sequence[str]], n_texts: int = 1) -> list[str]:
    """Lines of plain text with aligned columns; parameters are those of :func:`markdown_table`.

    Examples
    --------
    >>> text_lines([["run", "AP"], ["a", "0.5"]])
    ['run   AP', 'a    0.5']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) if i < n_texts else cell.rjust(width) for i, (cell, width) in cells).rstrip()
        for cells in (enumerate(zip(row, widths, strict=True)) for row in rows)
    ]


def markdown_table(rows: Sequence[Sequence[str]], n_texts: int = 1) -> str:
    r"""Make a Markdown table of rows of text, the first of which is the head.

    Parameters
    ----------
    rows : sequence of sequences of str
        All of the same length.
    n_texts : int, default 1
        Number of the first columns that are texts, and are aligned left; the others are numbers.

    Examples
    --------
    >>> print(markdown_table([["run", "AP"], ["a|b", "0.5"]]), end="")
    | run | AP |
    |---|---:|
    | a\|b | 0.5 |
    """
    line = "|" + "---|" * n_texts + "---:|" * (len(rows[0]) - n_texts)
    texts = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([texts[0], line, *texts[1:]]) + "\n"


def latex_table(rows: Sequence[Sequence[str]], n_texts: int = 1) -> str:
    r"""Make a LaTeX table of rows of text, the first of which is the head; parameters are those of `markdown_table`.

    It needs the package booktabs. Characters that have a meaning in LaTeX are escaped, and numbers with a sign are in
    math mode, so that a minus is no hyphen.

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
    lines = [
        " & ".join([*map(escape_latex, row[:n_texts]), *map(_latex_number, row[n_texts:])]) + r" \\" for row in rows
    ]
    columns = "l" * n_texts + "r" * (len(rows[0]) - n_texts)
    parts = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"]
    return "\n".join([*parts, r"\end{tabular}"]) + "\n"


def escape_latex(text: str) -> str:
    r"""Escape the characters that have a meaning in LaTeX.

    Examples
    --------
    >>> print(escape_latex("50% of a_b"))
    50\% of a\_b
    """
    return "".join(_LATEX.get(character, character) for character in text)


def _latex_number(text: str) -> str:
    return f"${text}$" if text[:1] in ("+", "-", "<") else escape_latex(text)
