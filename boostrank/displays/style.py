"""The base class of displays, and their style: colours, lines, axes, grids, legends; matplotlib is
imported on use.
"""

from __future__ import annotations

import textwrap
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any, NamedTuple, Self

from boostrank.metrics.names import printed_name

# The palette of Okabe and Ito, "Color universal design" (2008), which people of any colour vision
# can distinguish.
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
# In inches. At matplotlib's 100 dots per inch this is a width of 700 pixels, which fits into a
# README.
WIDTH, HEIGHT = 7.0, 4.0
# Lines with more points than this have no markers.
MAX_MARKERS = 25
# Height of the tick labels and the label of an x axis, in units of the size of the font.
LABELS_HEIGHT = 3.6
# Height of a row of a legend, in inches.
LEGEND_ROW = 0.21
# About as many characters are as wide as a figure, and as the symbol of a legend with its gaps.
COLUMN_CHARACTERS, HANDLE_CHARACTERS = 88, 8


@dataclass
class Display(ABC):
    """Values that can be drawn; a subclass is a dataclass of them, and defines `_draw`.

    Attributes
    ----------
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.
    """

    figure_: Any = field(default=None, kw_only=True, repr=False)
    ax_: Any = field(default=None, kw_only=True, repr=False)

    def plot(self, ax: Any = None) -> Self:
        """Draw onto `ax`, or onto the axes of a new figure."""
        self.ax_ = self._draw(ax)
        self.figure_ = self.ax_.figure
        return self

    @abstractmethod
    def _draw(self, ax: Any) -> Any:
        """Draw onto `ax`, or onto the axes of a new figure if it is None; returns the axes."""


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
    return ax


def styles(n: int, n_points: int = 0) -> list[Style]:
    """Styles of `n` lines of `n_points` points each; lines with more than `MAX_MARKERS` points have
    no markers.
    """
    looks = islice(zip(cycle(COLORS), cycle(MARKERS), cycle(DASHES), strict=True), n)
    return [
        Style(color, "" if n_points > MAX_MARKERS else marker, dash)
        for color, marker, dash in looks
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


def legend_below(ax: Any, n_columns: int | None = None) -> None:
    """Draw the legend below the axes and their labels, where it covers no data.

    Parameters
    ----------
    ax : matplotlib Axes
    n_columns : int, optional
        By default as many as fit into the width of a figure.
    """
    columns = n_columns or legend_columns(ax.get_legend_handles_labels()[1])
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "borderaxespad": LABELS_HEIGHT}
    ax.legend(ncols=columns, frameon=False, **place)


def legend_columns(labels: Sequence[str]) -> int:
    """Number of columns of a legend below the axes: fewer if a label is long."""
    longest = max(len(line) for label in labels for line in label.split("\n"))
    return max(1, min(len(labels), COLUMN_CHARACTERS // (longest + HANDLE_CHARACTERS)))


def legend_height(labels: Sequence[str]) -> float:
    """Height in inches that a figure needs for a legend below its axes."""
    n_lines, columns = [label.count("\n") + 1 for label in labels], legend_columns(labels)
    n_rows = -(-len(labels) // columns)
    return LEGEND_ROW * (n_rows * max(n_lines) if columns > 1 else sum(n_lines))


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
    return literal("\n".join(textwrap.wrap(str(name), n_characters)) or str(name))


def literal(text: str) -> str:
    r"""A text such that matplotlib draws it as it is: dollars begin no formula, and "_" hides no
    line of a legend.

    Examples
    --------
    >>> print(literal("$5 or $6"))
    \$5 or \$6
    """
    shown = text.replace("$", r"\$")
    return f" {shown}" if shown[:1] in ("", "_") else shown


def measure_name(measure: str) -> str:
    """Name of a measure in a plot: "NDCG@10" for "ndcg@10", and "nDCG@10 (linear gain)" for
    "nDCG@10".
    """
    return printed_name(measure).replace("ndcg", "NDCG")


def by_name(values: Any, default: str) -> dict[str, Any]:
    """The values of a mapping by name; a single value has the name `default`."""
    return (
        {str(name): value for name, value in values.items()}
        if isinstance(values, Mapping)
        else {default: values}
    )
