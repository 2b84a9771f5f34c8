"""Style of all plots: colours, line styles, axes, grids, legends, intervals; and the import of matplotlib on use."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from typing import Any, NamedTuple

import numpy as np

from boostrank.inputs.arrays import Floats
from boostrank.metrics.names import printed_name

# The palette of Okabe and Ito, "Color universal design" (2008), which people of any colour vision can distinguish.
BLUE = "#0072B2"
ORANGE = "#D55E00"
GREEN = "#009E73"
PINK = "#CC79A7"
YELLOW = "#E69F00"
SKY = "#56B4E9"
BLACK = "#000000"
COLORS = (BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, BLACK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":")
GREY = "0.6"
DARK = "0.35"
# In inches. At matplotlib's 100 dots per inch this is a width of 700 pixels, which fits into a README.
WIDTH, HEIGHT = 7.0, 4.0
# Lines with more points than this have no markers.
MAX_MARKERS = 25
# Height of the tick labels and the label of an x axis, in inches.
LABELS_HEIGHT = 0.5
# Height of a row of a legend, in inches.
LEGEND_ROW = 0.21
# About as many characters are as wide as a figure, and as the symbol of a legend with its gaps.
COLUMN_CHARACTERS, HANDLE_CHARACTERS = 88, 8
# Share of the height of a row that its points are distributed over.
ROW_SHARE = 0.6


class Style(NamedTuple):
    """Colour, marker and line style of one line."""

    color: str
    marker: str
    linestyle: str


def import_pyplot() -> Any:
    """The module matplotlib.pyplot; an error that says how to install it where it is missing."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install matplotlib") from error
    return plt


def axes(ax: Any, height: float = HEIGHT) -> Any:
    """`ax`, or the axes of a new figure, `height` inches high."""
    plt = import_pyplot()
    if ax is None:
        _, ax = plt.subplots(figsize=(WIDTH, height), layout="constrained")
    elif not hasattr(ax, "plot"):
        raise TypeError(f"ax must be matplotlib axes; got {type(ax).__name__}")
    return ax


def styles(n: int, n_points: int = 0) -> list[Style]:
    """Styles of `n` lines of `n_points` points each; lines with more than `MAX_MARKERS` points have no markers."""
    colors, markers, dashes = (islice(cycle(values), n) for values in (COLORS, MARKERS, DASHES))
    return [
        Style(color, "" if n_points > MAX_MARKERS else marker, dash)
        for color, marker, dash in zip(colors, markers, dashes, strict=True)
    ]


def whole_ticks(ax: Any) -> None:
    """Put the ticks of the x axis at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=2, steps=[1, 2, 5, 10]))


def light_grid(ax: Any, axis: str = "y") -> None:
    """Draw thin grid lines behind the data, and no frame at the top and at the right."""
    ax.grid(axis=axis, color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def legend_below(ax: Any, handles: Any = None, *, rows_above: int = 0, n_columns: int | None = None) -> int:
    """Draw the legend below the axes and their labels, where it covers no data.

    Parameters
    ----------
    ax : matplotlib Axes
    handles : list of artists, optional
        By default those of `ax` that have labels.
    rows_above : int, default 0
        Number of rows of legends that have been drawn between the axes and this legend, which they keep.
    n_columns : int, optional
        By default as many as fit into the width of a figure.

    Returns
    -------
    int
        Number of rows of this legend.
    """
    from matplotlib.transforms import ScaledTranslation

    handles = ax.get_legend_handles_labels()[0] if handles is None else handles
    labels = [handle.get_label() for handle in handles]
    columns = legend_columns(labels) if n_columns is None else n_columns
    if rows_above:
        ax.add_artist(ax.get_legend())
    # In inches, because the height of labels does not depend on that of the axes.
    drop = LABELS_HEIGHT + LEGEND_ROW * rows_above
    below = ax.transAxes + ScaledTranslation(0, -drop, ax.figure.dpi_scale_trans)
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "bbox_transform": below}
    ax.legend(handles=handles, ncols=columns, frameon=False, **place)
    return legend_rows(labels, columns)


def legend_columns(labels: Sequence[str]) -> int:
    """Number of columns of a legend below the axes: fewer if a label is long."""
    longest = max(len(part) for label in labels for part in label.split("\n"))
    return max(1, min(len(labels), COLUMN_CHARACTERS // (longest + HANDLE_CHARACTERS)))


def legend_rows(labels: Sequence[str], columns: int) -> int:
    """Number of lines of a legend below the axes."""
    n_lines = [label.count("\n") + 1 for label in labels]
    n_rows = -(-len(labels) // columns)
    return n_rows * max(n_lines) if columns > 1 else sum(n_lines)


def legend_height(*legends: Sequence[str], n_columns: int | None = None) -> float:
    """Height in inches that a figure needs for legends below its axes, by the labels of each of them."""
    return LEGEND_ROW * sum(legend_rows(labels, n_columns or legend_columns(labels)) for labels in legends if labels)


def interval_rows(ax: Any, rows: Mapping[str, Floats]) -> None:
    """Draw rows of points with horizontal intervals, the first row at the top.

    Parameters
    ----------
    ax : matplotlib Axes
        Its y axis gets the limits of the rows, which are at 0, 1, ...
    rows : mapping of str to ndarray, shape (n_rows, 3)
        Point, low and high end of each row, by the label of the points in the legend. Points of one row are drawn one
        below the other. An interval that is NaN is not drawn.
    """
    n = len(rows)
    offsets = (np.arange(n) - (n - 1) / 2) * ROW_SHARE / max(n, 1)
    for (label, values), offset, style in zip(rows.items(), offsets, styles(n), strict=True):
        center, low, high = values.T
        # `abs` is for rounding errors where an end equals the point.
        sides = np.abs([center - low, high - center])
        look: dict[str, Any] = {"fmt": style.marker, "color": style.color, "capsize": 3}
        ax.errorbar(center, np.arange(len(center)) + offset, xerr=sides, label=label, **look)
    ax.set_ylim(len(center) - 0.4, -0.6)


def shortened(name: Any, n_characters: int = 40) -> str:
    """A name as text, its middle replaced by "…" if it is longer than `n_characters`.

    Examples
    --------
    >>> shortened("consistent-lambdarank", 11)
    'consi…arank'
    """
    text = str(name)
    if len(text) <= n_characters:
        return text
    n_kept = n_characters - 1
    return f"{text[: n_kept - n_kept // 2]}…{text[len(text) - n_kept // 2 :]}"


def wrapped(name: Any, n_characters: int = 76) -> str:
    r"""A name as lines of at most `n_characters`, so that names that differ stay different.

    Examples
    --------
    >>> wrapped("softmax, 60 rounds", 10)
    'softmax,\n60 rounds'
    """
    return "\n".join(textwrap.wrap(str(name), n_characters)) or str(name)


def measure_name(measure: str) -> str:
    """Name of a measure in a plot: "NDCG@10" for "ndcg@10", and "nDCG@10 (linear gain)" for "nDCG@10"."""
    return printed_name(measure).replace("ndcg", "NDCG")
