"""What pictures share: matplotlib on use, axes to draw on, and styles that are told apart without colour."""

from __future__ import annotations

from itertools import cycle, islice
from typing import Any, NamedTuple

from boostrank.dcg import DCG

# The palette of Okabe and Ito, "Color universal design" (2008), made to be told apart with any colour vision.
BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, BLACK = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"),
    "#000000",
)
COLORS = (BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, BLACK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":")
GREY = "0.6"
# Inches; at matplotlib's 100 dots per inch 700 pixels wide, the width of a README.
WIDTH, HEIGHT = 7.0, 4.0
# More points than this are drawn as a line without markers.
MAX_MARKERS = 25


class Style(NamedTuple):
    """Colour, marker and dashes of one line."""

    color: str
    marker: str
    linestyle: str


def import_pyplot() -> Any:
    """Import matplotlib's pyplot, or say how to install it."""
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
    """Styles of `n` lines of `n_points` points; without markers where these are many."""
    colors, markers, dashes = (islice(cycle(values), n) for values in (COLORS, MARKERS, DASHES))
    return [
        Style(color, "" if n_points > MAX_MARKERS else marker, dash)
        for color, marker, dash in zip(colors, markers, dashes, strict=True)
    ]


def whole_ticks(ax: Any) -> None:
    """Ticks of x at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=2, steps=[1, 2, 5, 10]))


def light_grid(ax: Any, axis: str = "y") -> None:
    """Thin lines behind the data, no frame above and to the right."""
    ax.grid(axis=axis, color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def legend_below(ax: Any, handles: Any = None, n_columns: int = 2) -> None:
    """Legend under the axes, where no data can run through it."""
    handles = ax.get_legend_handles_labels()[0] if handles is None else handles
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14)}
    ax.legend(handles=handles, ncols=min(n_columns, len(handles)), frameon=False, **place)


def ndcg_name(k: Any) -> str:
    """NDCG@k as one writes it."""
    return metric_name(str(DCG(k)))


def metric_name(metric: str) -> str:
    """A metric's name in a table as one writes it."""
    return metric.replace("ndcg", "NDCG")
