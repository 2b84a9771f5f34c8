"""Reads from matplotlib's axes what is drawn on them."""

import pytest

Text = pytest.importorskip("matplotlib.text").Text


def legend_texts(ax):
    """Texts of the legend; none without a legend."""
    legend = ax.get_legend()
    return [text.get_text() for text in legend.get_texts()] if legend else []


def line(ax, label):
    """The line of that label."""
    (found,) = (one for one in ax.get_lines() if one.get_label() == label)
    return found


def tick_texts(axis):
    """Texts of the tick labels of an x axis or y axis."""
    return [label.get_text() for label in axis.get_ticklabels()]


def overlapping_texts(figure):
    """Pairs of visible texts of a figure that overlap, and texts that end outside of it."""
    figure.draw_without_rendering()
    hidden, overlaps = _hidden_tick_labels(figure), []
    shown = [
        text
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text() and text not in hidden
    ]
    boxes = [
        (text.get_text(), text.get_window_extent(figure.canvas.get_renderer())) for text in shown
    ]
    for i, (name, box) in enumerate(boxes):
        if box.x0 < -1 or box.y0 < -1 or box.x1 > figure.bbox.x1 + 1 or box.y1 > figure.bbox.y1 + 1:
            overlaps.append((name, "outside of the figure"))
        for other, second in boxes[:i]:
            width = min(box.x1, second.x1) - max(box.x0, second.x0)
            height = min(box.y1, second.y1) - max(box.y0, second.y0)
            overlaps += [(other, name)] if width > 1 and height > 1 else []
    return overlaps


def _hidden_tick_labels(figure):
    """Labels of ticks beyond the limits of their axis, which are not drawn."""
    hidden = set()
    for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)):
        low, high = sorted(axis.get_view_interval())
        for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
            if not low - 1e-9 <= tick.get_loc() <= high + 1e-9:
                hidden |= {tick.label1, tick.label2}
    return hidden
