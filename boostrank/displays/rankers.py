"""Pictures of fitted rankers: a metric by boosting round, and why ranks are above others."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from boostrank.displays import style
from boostrank.displays.style import Display, by_name
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_choice
from boostrank.rankers.explanations import Explanation, feature_text, number_format, value_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from sklearn.base import BaseEstimator

# Longer names and values of features are shortened.
MAX_NAME = 24
MAX_VALUE = 10
# Share of the width of the bars that is left free at both ends, for the numbers at the bars.
MARGIN = 0.2
# Colours of the area and of the edge, and hatch, of bars that go down or up, and of the sum.
DOWN = ("none", style.ORANGE, "////")
UP = (style.BLUE, "none", "")
TOTAL = (style.DARK, "none", "")


@dataclass
class TrainingCurveDisplay(Display):
    """A metric on validation sets by boosting round, of one fitted ranker or several.

    Created by :meth:`from_estimator`. A marker shows the last round that predictions use; it is on
    the curve of the ranker's last validation set, which decides on early stopping.

    Attributes
    ----------
    curves : dict of (str, str) to ndarray, shape (n_rounds,)
        Values after each round, by name of the ranker and title of the validation set.
    best : dict of str to int
        The last round that the predictions of each ranker use; rankers that do not record it are
        left out.
    metric : str
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import boostrank as br
    >>> data = br.make_ranking(n_queries=50, random_state=0)
    >>> ranker = br.LightGBMRanker(n_estimators=20, n_jobs=1).fit(*data, eval_set=[data])
    >>> display = br.displays.TrainingCurveDisplay.from_estimator(ranker, ax=Figure().subplots())
    >>> curve = display.curves["LightGBMRanker", "training"]
    >>> len(curve), bool(curve[-1] > curve[0])
    (20, True)
    """

    curves: dict[tuple[str, str], Floats]
    best: dict[str, int]
    metric: str

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator | Mapping[str, BaseEstimator],
        *,
        metric: str | None = None,
        ax: Axes | None = None,
    ) -> TrainingCurveDisplay:
        """Plot `evals_result_` of a fitted estimator, or of several.

        Parameters
        ----------
        estimator : fitted estimator, or mapping of name to fitted estimator
            They were fitted with an `eval_set` or a `validation_fraction`.
        metric : str, optional
            Name of a metric in `evals_result_`, such as "ndcg@10"; the first one there by default.
        ax : matplotlib axes, optional

        Raises
        ------
        ValueError
            For an estimator without `evals_result_`, and for a metric that is not in it.
        """
        rankers = by_name(estimator, type(estimator).__name__)
        curves: dict[tuple[str, str], Floats] = {}
        for name, fitted in rankers.items():
            results = getattr(fitted, "evals_result_", None)
            if not results:
                raise ValueError(
                    f"{name!r} has no evals_result_; fit it with eval_set or validation_fraction"
                )
            for title, values in results.items():
                metric = next(iter(values)) if metric is None else metric
                check_choice(f"metric of {name!r}", metric, values)
                curves[name, title] = np.asarray(values[metric], dtype=np.float64)
        best = {}
        for (name, _), values in curves.items():
            last = _last_round(rankers[name])
            # In LightGBM's own estimators 0 or -1 means that there is no best round.
            if 1 <= last <= len(values):
                best[name] = int(last)
        return cls(curves, best, str(metric)).plot(ax)

    def _draw(self, ax: Axes | None) -> Axes:
        lines = self._lines()
        ax = style.axes(ax, style.HEIGHT + style.legend_height([line["label"] for line in lines]))
        for values, line in zip(self.curves.values(), lines, strict=True):
            ax.plot(np.arange(1, len(values) + 1), values, **line)
        style.legend_below(ax)
        style.whole_ticks(ax)
        style.light_grid(ax)
        x_label = "boosting round"
        if self.best:
            x_label += " (marker: last round that predictions use)"
        ax.set_xlabel(x_label)
        ax.set_ylabel(style.literal(f"{style.measure_name(self.metric)}, mean over queries"))
        return ax

    def _lines(self) -> list[dict[str, Any]]:
        """The label, the colours and the marker of the line of each curve."""
        rankers, titles = (list(dict.fromkeys(names)) for names in zip(*self.curves, strict=True))
        looks = dict(zip(rankers, style.styles(len(rankers)), strict=True))
        dashes = dict(zip(titles[::-1], cycle(style.DASHES), strict=False))
        last_title = dict(self.curves.keys())
        lines = []
        for (ranker, title), values in self.curves.items():
            look = looks[ranker]
            label = ranker
            # Lines differ by data set if there are several of them, and otherwise by ranker.
            if len(titles) > 1:
                look = look._replace(linestyle=dashes[title])
                label += f", {title}"
            line: dict[str, Any] = {"color": look.color, "linestyle": look.linestyle}
            if ranker in self.best and title == last_title[ranker]:
                best = self.best[ranker]
                rounds = "round" if best == 1 else "rounds"
                label += f": {values[best - 1]:.4f} after {best} {rounds}"
                line |= {"marker": look.marker, "markersize": 8, "markevery": [best - 1]}
            lines.append({"label": style.wrapped(label), **line})
        return lines


@dataclass
class ContributionDisplay(Display):
    """Contributions of features to the difference of two scores, as bars that add up to it.

    Draw it by ``ContributionDisplay(boostrank.explain(...)).plot()``. Each bar begins where the one
    above it ends. The last bar is the difference of the scores, or the score where one document is
    explained, whose first bar begins at the expected score.

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
    >>> from matplotlib.figure import Figure
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=40, random_state=0)
    >>> ranker = br.LightGBMRanker(n_estimators=5, n_jobs=1).fit(X, y, qid)
    >>> why = br.explain(ranker, X, qid, query=3)
    >>> display = br.displays.ContributionDisplay(why).plot(Figure().subplots())
    >>> display.ax_.get_title()
    'query 3: why rank 1 is above rank 2'
    """

    explanation: Explanation
    n_features: int = 10

    def _draw(self, ax: Axes | None) -> Axes:
        explanation = self.explanation
        summary = explanation.summary(self.n_features)
        is_pair = len(explanation.ranks) == 2
        differences = summary["difference"].to_numpy(dtype=np.float64)
        last = len(differences)
        if is_pair:
            first = 0.0
            total = explanation.difference
        else:
            first = explanation.expected_score
            total = explanation.scores[0]
        ends = first + np.cumsum(differences)
        # The last bar is the sum of the others.
        starts = np.concatenate([[first], ends[:-1], [0.0]])
        number = number_format([*differences, total])
        texts = [number(difference, "+") for difference in differences]
        texts.append(number(total, "+" if is_pair else ""))
        is_down = np.array([text.startswith(("-", "\N{MINUS SIGN}")) for text in texts])
        # What is 0 after rounding has its number at the right.
        widths = np.where(is_down, -1.0, 1.0) * np.abs([*differences, total])
        looks = [DOWN if down else UP for down in is_down[:-1]]
        colors, edges, hatches = zip(*looks, TOTAL, strict=True)
        ax = style.axes(ax, 1.5 + 0.32 * (last + 1))
        bars = ax.barh(
            np.arange(last + 1), widths, 0.6, starts, color=colors, edgecolor=edges, hatch=hatches
        )
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
        ax.bar_label(bars, texts, padding=4, fontsize="small", bbox=box)
        # Thin lines show that a bar begins where the one above it ends.
        ax.vlines(ends, np.arange(last), np.arange(1, last + 1), color=style.GREY, linewidth=0.8)
        ax.axvline(0.0, color=style.GREY, linewidth=1)
        if not is_pair:
            ax.axvline(first, color=style.GREY, linewidth=1, linestyle="--")
        points = [*ends, first, 0.0, total]
        margin = MARGIN * (np.ptp(points) or 1.0)
        ax.set_xlim(min(points) - margin, max(points) + margin)
        ax.locator_params(axis="x", nbins=5)
        labels = [
            _feature_label(row.feature, row.value_a, row.value_b) for row in summary.itertuples()
        ]
        self._draw_texts(ax, labels)
        style.light_grid(ax, "x")
        return ax

    def _draw_texts(self, ax: Axes, labels: list[str]) -> None:
        """Draw the title, and the labels of the features and of the axes."""
        ranks = self.explanation.ranks
        query = f"query {style.shortened(self.explanation.query, 30)}"
        if len(ranks) == 2:
            a, b = ranks
            place = "above" if a < b else "below"
            title = f"{query}: why rank {a} is {place} rank {b}"
            sum_label = "difference of scores"
            x_label = (
                f"score of rank {a} minus score of rank {b}\n"
                f"(in brackets: values at rank {a} | rank {b})"
            )
        else:
            title = f"{query}: the score of the document at rank {ranks[0]}"
            sum_label = "score"
            x_label = "score; dashed: the expected score\n(in brackets: value of the feature)"
        ax.set_yticks(range(len(labels) + 1), [*labels, sum_label])
        ax.set_ylim(len(labels) + 0.5, -0.5)
        ax.set_title(style.wrapped(title, 64), fontsize="medium")
        ax.set_xlabel(x_label)


def _last_round(ranker: BaseEstimator) -> int:
    """The last round that predictions use; 0 or less if the ranker does not record it."""
    # Our rankers know the round of these curves. `best_iteration_` also counts the rounds of
    # earlier models.
    best_round = getattr(ranker, "_best_round", None)
    return best_round or getattr(ranker, "best_iteration_", None) or 0


def _feature_label(feature: object, *values: object) -> str:
    """Name of a feature with its values; the sum of the others has none."""
    label = style.shortened(feature_text(feature), MAX_NAME)
    texts = [style.shortened(value_text(value), MAX_VALUE) for value in values if value is not None]
    if texts:
        label += f" ({' | '.join(texts)})"
    return style.literal(label)
