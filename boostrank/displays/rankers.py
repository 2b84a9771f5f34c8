"""Pictures of fitted rankers: a metric by boosting round, and why ranks are above others."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np

from boostrank.displays import style
from boostrank.displays.style import Display, by_name
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_choice
from boostrank.rankers.explanations import Explanation, feature_text, number_format, value_text

# Longer names and values of features are shortened.
MAX_NAME, MAX_VALUE = 24, 10
# Share of the width of the bars that is left free at both ends, for the numbers at the bars.
MARGIN = 0.2


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
        cls, estimator: Any, *, metric: str | None = None, ax: Any = None
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
            # Our rankers know the round of these curves. `best_iteration_` also counts the rounds
            # of earlier models.
            last = getattr(rankers[name], "_best_round", None) or getattr(
                rankers[name], "best_iteration_", None
            )
            # In LightGBM's own estimators 0 or -1 means that there is no best round.
            if last and 1 <= last <= len(values):
                best[name] = int(last)
        return cls(curves, best, str(metric)).plot(ax)

    def _draw(self, ax: Any) -> Any:
        rankers, titles = (list(dict.fromkeys(names)) for names in zip(*self.curves, strict=True))
        looks = dict(zip(rankers, style.styles(len(rankers)), strict=True))
        # Lines differ by data set if there are several of them, and otherwise by ranker.
        several, dashes = (
            len(titles) > 1,
            dict(zip(titles[::-1], cycle(style.DASHES), strict=False)),
        )
        last = dict(self.curves.keys())
        lines: list[dict[str, Any]] = []
        for (ranker, title), values in self.curves.items():
            label, base = f"{ranker}, {title}" if several else ranker, looks[ranker]
            look: dict[str, Any] = {
                "color": base.color,
                "linestyle": dashes[title] if several else base.linestyle,
            }
            if ranker in self.best and title == last[ranker]:
                best = self.best[ranker]
                label += (
                    f": {values[best - 1]:.4f} after {best} {'round' if best == 1 else 'rounds'}"
                )
                look |= {"marker": base.marker, "markersize": 8, "markevery": [best - 1]}
            lines.append({"label": style.wrapped(label), **look})
        ax = style.axes(ax, style.HEIGHT + style.legend_height([line["label"] for line in lines]))
        for values, line in zip(self.curves.values(), lines, strict=True):
            ax.plot(np.arange(1, len(values) + 1), values, **line)
        style.legend_below(ax)
        style.whole_ticks(ax)
        style.light_grid(ax)
        marker = " (marker: last round that predictions use)" if self.best else ""
        ax.set_xlabel(f"boosting round{marker}")
        ax.set_ylabel(style.literal(f"{style.measure_name(self.metric)}, mean over queries"))
        return ax


@dataclass
class ContributionDisplay(Display):
    """Contributions of the features to the difference of the scores of two documents, as bars that
    add up to it.

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

    def _draw(self, ax: Any) -> Any:
        explanation, summary = self.explanation, self.explanation.summary(self.n_features)
        is_pair, query = (
            len(explanation.ranks) == 2,
            f"query {style.shortened(explanation.query, 30)}",
        )
        differences = summary["difference"].to_numpy(dtype=np.float64)
        first, total = (
            (0.0, explanation.difference)
            if is_pair
            else (explanation.expected_score, explanation.scores[0])
        )
        ends, last = first + np.cumsum(differences), len(differences)
        # The last bar is the sum of the others.
        starts, number = (
            np.concatenate([[first], ends[:-1], [0.0]]),
            number_format([*differences, total]),
        )
        texts = [
            *(number(difference, "+") for difference in differences),
            number(total, "+" if is_pair else ""),
        ]
        is_down = np.array([text.startswith(("-", "\N{MINUS SIGN}")) for text in texts])
        # What is 0 after rounding has its number at the right.
        widths = np.where(is_down, -1.0, 1.0) * np.abs([*differences, total])
        looks = [
            ("none", style.ORANGE, "////") if down else (style.BLUE, "none", "")
            for down in is_down[:-1]
        ]
        colors, edges, hatches = zip(*looks, (style.DARK, "none", ""), strict=True)
        ax = style.axes(ax, 1.5 + 0.32 * (last + 1))
        bars = ax.barh(
            np.arange(last + 1), widths, 0.6, starts, color=colors, edgecolor=edges, hatch=hatches
        )
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
        ax.bar_label(bars, texts, padding=4, fontsize="small", bbox=box)
        # Thin lines show that a bar begins where the one above it ends.
        ax.vlines(ends, np.arange(last), np.arange(1, last + 1), color=style.GREY, linewidth=0.8)
        ax.axvline(0.0, color=style.GREY, linewidth=1)
        if is_pair:
            a, b = explanation.ranks
            title = f"{query}: why rank {a} is {'above' if a < b else 'below'} rank {b}"
            label = f"score of rank {a} minus score of rank {b}\n(in brackets: values at rank {a} | rank {b})"
        else:
            ax.axvline(first, color=style.GREY, linewidth=1, linestyle="--")
            title = f"{query}: the score of the document at rank {explanation.ranks[0]}"
            label = "score; dashed: the expected score\n(in brackets: value of the feature)"
        points = [*ends, first, 0.0, total]
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
    return style.literal(f"{name} ({texts})" if texts else name)
