"""Reads from matplotlib's axes what is drawn on them."""


def legend_texts(ax):
    """Texts of the legend; none without a legend."""
    legend = ax.get_legend()
    return [text.get_text() for text in legend.get_texts()] if legend else []


def line(ax, label):
    """The line of that label."""
    (found,) = (one for one in ax.get_lines() if one.get_label() == label)
    return found
