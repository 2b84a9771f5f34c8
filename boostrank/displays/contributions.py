"""Contributions of features to scores: why one rank of a query is above another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from boostrank.displays import style
from boostrank.displays.base import Display
from boostrank.inputs.checks import check_count
from boostrank.rankers.explanations import Explanation, explain, feature_text, number_format, value_text

# Longer names and values of features are shortened.
MAX_NAME, MAX_VALUE = 24, 10
# Share of an axis that is left free at both ends, for the numbers at the bars.
MARGIN = 0.2


@dataclass
class ContributionDisplay(Display):
    """Contributions of the features to the difference of the scores of two documents, as bars that add up to it.

    Created by :meth:`from_estimator`, or for an explanation by ``ContributionDisplay(boostrank.explain(...)).plot()``.
    Each bar begins where the one above it ends. The last bar is the difference of the scores, or the score where one
    document is explained, whose first bar begins at the expected score.

    Attributes
    ----------
    explanation : Explanation
        The values; see :class:`boostrank.rankers.Explanation`.
    n_features : int
        Maximum number of features that are drawn; the others are one bar.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from boostrank import LightGBMRanker, make_ranking
    >>> from matplotlib.figure import Figure
    >>> X, y, qid = make_ranking(n_queries=40, random_state=0)
    >>> ranker = LightGBMRanker(n_estimators=5, n_jobs=1).fit(X, y, qid)
    >>> display = ContributionDisplay.from_estimator(ranker, X, qid, query=3, ax=Figure().subplots())
    >>> display.ax_.get_title()
    'query 3: why rank 1 is above rank 2'
    """

    explanation: Explanation
    n_features: int = 10

    @classmethod
    def from_estimator(
        cls, ranker: Any, X: Any, qid: ArrayLike | None = None, *, n_features: int = 10, ax: Any = None, **settings: Any
    ) -> ContributionDisplay:
        """Explain the difference of two scores, and plot it.

        Parameters
        ----------
        ranker, X, qid, **settings
            As in :func:`boostrank.explain`; `settings` are `query`, `ranks`, `y` and `feature_names`.
        n_features : int, default 10
            Maximum number of features to draw, those with the largest differences.
        ax : matplotlib axes, optional

        Raises
        ------
        ValueError, TypeError
            As that function, and if `n_features` is not an integer of at least 1.
        """
        check_count("n_features", n_features)
        return cls(explain(ranker, X, qid, **settings), n_features).plot(ax)

    def _draw(self, ax: Any) -> Any:
        found, summary = self.explanation, self.explanation.summary(self.n_features)
        is_pair, query = len(found.ranks) == 2, f"query {style.shortened(found.query, 30)}"
        differences = summary["difference"].to_numpy(dtype=np.float64)
        start, total = (0.0, found.difference) if is_pair else (found.expected_score, found.scores[0])
        ends = start + np.cumsum(differences)
        starts = np.append(start, ends[:-1])
        last = len(ends)
        ax = style.axes(ax, 1.5 + 0.32 * (last + 1))
        hatched = {"facecolor": "none", "edgecolor": style.ORANGE, "hatch": "////"}
        for sign, look in ((1, {"color": style.BLUE}), (-1, hatched)):
            rows = np.flatnonzero(differences * sign > 0)
            ax.barh(rows, differences[rows], left=starts[rows], height=0.6, **look)
        ax.barh(last, total, height=0.6, color=style.DARK)
        # Thin lines show that a bar begins where the one above it ends.
        ax.vlines(ends, np.arange(last), np.arange(1, last + 1), color=style.GREY, linewidth=0.8)
        ax.axvline(0.0, color=style.GREY, linewidth=1)
        if is_pair:
            a, b = found.ranks
            title = f"{query}: why rank {a} is {'above' if a < b else 'below'} rank {b}"
            label = f"score of rank {a} minus score of rank {b}\n(in brackets: values at rank {a} | rank {b})"
        else:
            ax.axvline(start, color=style.GREY, linewidth=1, linestyle="--")
            title = f"{query}: the score of the document at rank {found.ranks[0]}"
            label = "score; dashed: the expected score\n(in brackets: value of the feature)"
        number = number_format([*differences, total])
        for row, (end, difference) in enumerate(zip(ends, differences, strict=True)):
            _write_number(ax, end, row, number(difference, "+"))
        _write_number(ax, total, last, number(total, "+" if is_pair else ""))
        points = [*ends, start, 0.0, total]
        margin = MARGIN * (np.ptp(points) or 1.0)
        ax.set_xlim(min(points) - margin, max(points) + margin)
        ax.locator_params(axis="x", nbins=5)
        labels = [_feature_label(row) for row in summary.itertuples()]
        ax.set_yticks(range(last + 1), [*labels, "difference of scores" if is_pair else "score"])
        ax.set_ylim(last + 0.5, -0.5)
        ax.set_title(style.wrapped(title, 64), fontsize="medium")
        ax.set_xlabel(label)
        style.light_grid(ax, "x")
        return ax


def _feature_label(row: Any) -> str:
    """Name of a feature with its values; the sum of the others has none."""
    values = [value for value in (row.value_a, row.value_b) if value is not None]
    name = style.shortened(feature_text(row.feature), MAX_NAME)
    texts = " | ".join(style.shortened(value_text(value), MAX_VALUE) for value in values)
    return f"{name} ({texts})" if texts else name


def _write_number(ax: Any, end: float, row: int, text: str) -> None:
    """Write a number at the end of its bar, on the side to which the bar goes; that of a bar without length, right."""
    is_right = not text.startswith(("-", "\N{MINUS SIGN}"))
    ax.annotate(
        text,
        (end, row),
        (4 if is_right else -4, 0),
        textcoords="offset points",
        ha="left" if is_right else "right",
        va="center",
        fontsize="small",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
    )
