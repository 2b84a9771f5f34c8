"""Style of all plots: colours and line styles, axes, grids, legends; and the import of matplotlib on use."""

from __future__ import annotations

from itertools import cycle, islice
from typing import Any, NamedTuple

from boostrank.dcg import DCG

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
# In inches. At matplotlib's 100 dots per inch this is a width of 700 pixels, which fits into a README.
WIDTH, HEIGHT = 7.0, 4.0
# Lines with more points than this have no markers.
MAX_MARKERS = 25


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
        raise ImportError("plots need matplotlib: pip install 'boostrank[plot]'") from error
    return plt


def axes(ax: Any, height: float = HEIGHT) -> Any:
    """`ax`, or the axes of a new figure."""
    plt = import_pyplot()
    if ax is None:
        _, ax = plt.subplots(figsize=(WIDTH, height), layout="constrained")
    elif not hasattr(ax, "plot") or not hasattr(ax, "figure"):
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


def legend_below(ax: Any, handles: Any = None, n_columns: int = 2) -> None:
    """Draw the legend below the axes, where it covers no data."""
    handles = ax.get_legend_handles_labels()[0] if handles is None else handles
    columns = min(n_columns, len(handles))
    ax.legend(handles=handles, ncols=columns, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14))


def ndcg_name(k: Any) -> str:
    """Name of NDCG with cutoff `k` in a plot, such as "NDCG@10"."""
    return measure_name(str(DCG(k)))


def measure_name(measure: str) -> str:
    """Name of a measure in a plot: "NDCG@10" for "ndcg@10"."""
    return measure.replace("ndcg", "NDCG")
