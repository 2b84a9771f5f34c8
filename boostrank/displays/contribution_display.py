"""Plot of what the features contribute to the difference of two scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from boostrank.displays.display import Display
from boostrank.displays.style import BLUE, DARK, GREY, ORANGE, axes, few_ticks, light_grid, shortened, wrapped
from boostrank.inputs.checks import check_count
from boostrank.inspection.explanations import Explanation, explain, feature_text, number_format, value_text

# Longer texts are shortened.
_MAX_NAME, _MAX_VALUE = 24, 10
# Share of the axis that is left free at both ends, for the numbers at the bars.
_MARGIN = 0.2


@dataclass
class ContributionDisplay(Display):
    """Contributions of the features to the difference of the scores of two documents, as bars that add up to it.

    Created by :meth:`from_estimator`, or for an explanation by ``ContributionDisplay(boostrank.explain(...)).plot()``.
    Each bar begins where the one above it ends. The last bar is the difference of the scores, or the score where one
    document is explained, whose first bar begins at the expected score.

    Attributes
    ----------
    explanation : Explanation
        The values; see :class:`boostrank.inspection.explanations.Explanation`.
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
        cls,
        ranker: Any,
        X: Any,
        qid: ArrayLike | None = None,
        *,
        n_features: int = 10,
        ax: Any = None,
        **settings: Any,
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
        is_pair = len(found.ranks) == 2
        differences = summary["difference"].to_numpy(dtype=np.float64)
        start = 0.0 if is_pair else found.expected_score
        ends = start + np.cumsum(differences)
        starts = np.concatenate([[start], ends])[: len(differences)]
        total = found.difference if is_pair else found.scores[0]
        n_rows = len(differences) + 1
        ax = axes(ax, 1.5 + 0.32 * n_rows)
        for sign, look in ((1, {"color": BLUE}), (-1, {"facecolor": "none", "edgecolor": ORANGE, "hatch": "////"})):
            rows = np.flatnonzero(differences * sign > 0)
            ax.barh(rows, differences[rows], left=starts[rows], height=0.6, **look)
        ax.barh(n_rows - 1, total, height=0.6, color=DARK)
        # Thin lines show that a bar begins where the one above it ends.
        ax.vlines(ends, np.arange(n_rows - 1), np.arange(1, n_rows), color=GREY, linewidth=0.8)
        ax.axvline(0.0, color=GREY, linewidth=1)
        if not is_pair:
            ax.axvline(start, color=GREY, linewidth=1, linestyle="--")
        self._write_numbers(ax, np.append(starts, 0.0), np.append(differences, total))
        labels = [self._label(row) for row in summary.itertuples()]
        ax.set_yticks(range(n_rows), [*labels, "difference of scores" if is_pair else "score"])
        ax.set_ylim(n_rows - 0.5, -0.5)
        self._describe(ax)
        light_grid(ax, "x")
        return ax

    def _label(self, row: Any) -> str:
        """Name of a feature with its values; the sum of the others has none."""
        values = [value for value in (row.value_a, row.value_b) if value is not None]
        name = shortened(feature_text(row.feature), _MAX_NAME)
        texts = " | ".join(shortened(value_text(value), _MAX_VALUE) for value in values)
        return f"{name} ({texts})" if texts else name

    def _write_numbers(self, ax: Any, starts: Any, differences: Any) -> None:
        """Write each number at the end of its bar, on the side to which the bar goes."""
        number = number_format(differences)
        is_pair = len(self.explanation.ranks) == 2
        for row, (start, difference) in enumerate(zip(starts, differences, strict=True)):
            is_right = difference >= 0
            sign = "" if row == len(starts) - 1 and not is_pair else "+"
            ax.annotate(
                number(difference, sign),
                (start + difference, row),
                (4 if is_right else -4, 0),
                textcoords="offset points",
                ha="left" if is_right else "right",
                va="center",
                fontsize="small",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
            )
        points = np.concatenate([starts, starts + differences, [0.0]])
        low, high = points.min(), points.max()
        margin = _MARGIN * (high - low or 1.0)
        ax.set_xlim(low - margin, high + margin)
        few_ticks(ax)

    def _describe(self, ax: Any) -> None:
        found = self.explanation
        query = f"query {shortened(found.query, 30)}"
        if len(found.ranks) == 1:
            title = f"{query}: the score of the document at rank {found.ranks[0]}"
            label = "score; dashed: the expected score\n(in brackets: value of the feature)"
        else:
            a, b = found.ranks
            title = f"{query}: why rank {a} is {'above' if a < b else 'below'} rank {b}"
            label = f"score of rank {a} minus score of rank {b}\n"
            label += f"(in brackets: values at rank {a} | rank {b})"
        ax.set_title(wrapped(title, 64), fontsize="medium")
        ax.set_xlabel(label)
