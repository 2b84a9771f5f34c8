"""The base class of displays, and their style: colours, lines, axes, grids and legends.

matplotlib is imported on use.
"""

from __future__ import annotations

import textwrap
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from boostrank.metrics.names import printed_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
WIDTH = 7.0
HEIGHT = 4.0
# Lines with more points than this have no markers.
MAX_MARKERS = 25
# Height of the tick labels and the label of an x axis, in units of the size of the font.
LABELS_HEIGHT = 3.6
# Height of a row of a legend, in inches.
LEGEND_ROW = 0.21
# About as many characters are as wide as a figure, and as the symbol of a legend with its gaps.
COLUMN_CHARACTERS = 88
HANDLE_CHARACTERS = 8


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

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw onto `ax`, or onto the axes of a new figure."""
        self.ax_ = self._draw(ax)
        self.figure_ = self.ax_.figure
        return self

    @abstractmethod
    def _draw(self, ax: Axes | None) -> Axes:
        """Draw onto `ax`, or onto the axes of a new figure if it is None; returns the axes."""


class Style(NamedTuple):
    """Colour, marker and line style of one line."""

    color: str
    marker: str
    linestyle: str


def import_pyplot() -> ModuleType:
    """The module matplotlib.pyplot; an error that says how to install it where it is missing."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install matplotlib") from error
    return plt


def axes(ax: Axes | None, height: float = HEIGHT) -> Axes:
    """`ax`, or the axes of a new figure, `height` inches high."""
    plt = import_pyplot()
    if ax is None:
        _, ax = plt.subplots(figsize=(WIDTH, height), layout="constrained")
    return ax


def styles(n: int, n_points: int = 0) -> list[Style]:
    """Styles of `n` lines of `n_points` points each; above `MAX_MARKERS` points without markers."""
    markers = ("",) if n_points > MAX_MARKERS else MARKERS
    looks = zip(cycle(COLORS), cycle(markers), cycle(DASHES), strict=True)
    return [Style(*look) for look in islice(looks, n)]


def whole_ticks(ax: Axes) -> None:
    """Put the ticks of the x axis at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=2, steps=[1, 2, 5, 10]))


def light_grid(ax: Axes, axis: Literal["x", "y"] = "y") -> None:
    """Draw thin grid lines behind the data, and no frame at the top and at the right."""
    ax.grid(axis=axis, color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def legend_below(ax: Axes, n_columns: int | None = None) -> None:
    """Draw the legend below the axes and their labels, where it covers no data.

    Parameters
    ----------
    ax : matplotlib Axes
    n_columns : int, optional
        By default as many as fit into the width of a figure.
    """
    _, labels = ax.get_legend_handles_labels()
    columns = n_columns or legend_columns(labels)
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "borderaxespad": LABELS_HEIGHT}
    ax.legend(ncols=columns, frameon=False, **place)


def legend_columns(labels: Sequence[str]) -> int:
    """Number of columns of a legend below the axes: fewer if a label is long."""
    lines = "\n".join(labels).split("\n")
    width = max(map(len, lines)) + HANDLE_CHARACTERS
    n_fitting = COLUMN_CHARACTERS // width
    return max(1, min(len(labels), n_fitting))


def legend_height(labels: Sequence[str]) -> float:
    """Height in inches that a figure needs for a legend below its axes."""
    n_lines = [label.count("\n") + 1 for label in labels]
    columns = legend_columns(labels)
    if columns == 1:
        return LEGEND_ROW * sum(n_lines)
    n_rows = -(-len(labels) // columns)
    return LEGEND_ROW * (n_rows * max(n_lines))


def shortened(name: object, n_characters: int = 40) -> str:
    """A name as text, its middle replaced by "…" if it is longer than `n_characters`.

    Examples
    --------
    >>> shortened("consistent-lambdarank", 11)
    'consi…arank'
    """
    text = str(name)
    if len(text) <= n_characters:
        return text
    n_last = (n_characters - 1) // 2
    n_first = n_characters - 1 - n_last
    return f"{text[:n_first]}…{text[len(text) - n_last :]}"


def wrapped(name: object, n_characters: int = 76) -> str:
    r"""A name as lines of at most `n_characters`, so that names that differ stay different.

    Examples
    --------
    >>> wrapped("softmax, 60 rounds", 10)
    'softmax,\n60 rounds'
    """
    text = str(name)
    lines = textwrap.wrap(text, n_characters)
    return literal("\n".join(lines) or text)


def literal(text: str) -> str:
    r"""A text that matplotlib draws as it is.

    Dollars begin no formula, and "_" at the beginning hides no line of a legend.

    Examples
    --------
    >>> print(literal("$5 or $6"))
    \$5 or \$6
    """
    shown = text.replace("$", r"\$")
    if shown[:1] in ("", "_"):
        return f" {shown}"
    return shown


def measure_name(measure: str) -> str:
    """Name of a measure in a plot.

    It is "NDCG@10" for "ndcg@10", and "nDCG@10 (linear gain)" for "nDCG@10".
    """
    return printed_name(measure).replace("ndcg", "NDCG")


def by_name(values: object, default: str) -> dict[str, Any]:
    """The values of a mapping by name; a single value has the name `default`."""
    if not isinstance(values, Mapping):
        return {default: values}
    return {str(name): value for name, value in values.items()}
