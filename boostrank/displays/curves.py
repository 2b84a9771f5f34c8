"""Curves: NDCG@k by the cutoff, a metric by boosting round, and propensities by position."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from boostrank.clicks import Propensities, get_click_model
from boostrank.displays import style
from boostrank.displays.base import Display, PredictionDisplay, named
from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.checks import check_choice
from boostrank.metrics import ndcg_curve
from boostrank.metrics.labels import require_ids
from boostrank.metrics.ndcg_analysis import check_ks
from boostrank.metrics.query_groups import mean_margin
from boostrank.queries.queries import Queries
from boostrank.queries.weights import query_weights, weighted_means

# Points of several rankers at one cutoff, and of several estimates at one position, are beside each other in this share
# of the distance of two cutoffs or positions, so that their intervals do not cover each other.
WIDTH_OF_PLACE = 0.5


@dataclass
class NDCGCurveDisplay(PredictionDisplay):
    """Mean NDCG@k over queries by the cutoff k, of one ranker or several, with 95% confidence intervals.

    Created by :meth:`from_predictions` or :meth:`from_estimator`. A single ranker is drawn with a band, the intervals
    of its mean. Of several rankers, the means are drawn without bands, because intervals of single rankers say nothing
    about differences on the same queries; below them are the differences to the first ranker, paired by query, with
    their intervals.

    Each interval is ``mean -+ t s / sqrt(n)`` with the standard deviation ``s`` over the ``n`` queries that are not
    skipped, and the quantile ``t`` of Student's distribution with ``n - 1`` degrees of freedom. Those of means are
    clipped to [0, 1], and those of differences to [-1, 1]. If queries have weights, means and intervals are those of
    the weighted mean. The intervals are pointwise: each holds for its own cutoff and ranker, and among many of them
    some are wrong by chance. To test one difference use :func:`boostrank.permutation_test`, and for several rankers
    :func:`boostrank.compare`.

    Attributes
    ----------
    names : list of str
        Names of the rankers.
    ks : ndarray of int, shape (n_ks,)
        Cutoffs, increasing.
    mean, low, high : ndarray, shape (n_rankers, n_ks)
        Mean NDCG@k, and the ends of its interval, which are NaN for a single query.
    difference, difference_low, difference_high : ndarray, shape (n_rankers - 1, n_ks)
        Mean over queries of NDCG@k minus that of the first ranker, and the ends of its interval.
    n_queries : int
        Number of queries in the mean: those that are neither skipped nor of weight 0.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.
    difference_ax_ : matplotlib Axes or None
        Axes of the differences, which are drawn in a new figure only; otherwise None.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> labels, qid = [0, 1, 2, 1, 0], ["a", "a", "a", "b", "b"]
    >>> scores = {"up": [1, 2, 3, 1, 2], "down": [3, 2, 1, 2, 1]}
    >>> display = NDCGCurveDisplay.from_predictions(labels, scores, qid, ks=[1, 3], ax=Figure().subplots())
    >>> display.names, display.mean.round(4).tolist()
    (['up', 'down'], [[0.5, 0.8155], [0.5, 0.7934]])
    """

    names: list[str]
    ks: Ints
    mean: Floats
    low: Floats
    high: Floats
    difference: Floats
    difference_low: Floats
    difference_high: Floats
    n_queries: int
    difference_ax_: Any = None

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike | Mapping[str, ArrayLike],
        qid: ArrayLike | None = None,
        *,
        ks: Iterable[int] = range(1, 11),
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Any = None,
        **settings: Any,
    ) -> NDCGCurveDisplay:
        """Compute NDCG@k of scores, and plot it.

        Parameters
        ----------
        y_true, qid, sample_weight, **settings
            As in :func:`boostrank.ndcg_score`; `settings` are `gain`, `discount`, `ties` and `empty`.
        y_score : array-like, shape (n_documents,), or mapping of name to scores
        ks : iterable of int, default 1 to 10
            Cutoffs, 1 or more, in any sequence.
        name : str, optional
            Name of a single ranker in the legend.
        ax : matplotlib axes, optional
            Only the means are drawn there. The default is a new figure, which also has axes of the differences if
            there are several rankers.

        Raises
        ------
        ValueError
            As :func:`boostrank.metrics.ndcg_curve`; and for a `name` beside a mapping.
        """
        scores = named(y_score, name, "scores")
        cutoffs = np.unique(check_ks(ks))
        settings |= {"ks": cutoffs, "per_query": True}
        values = np.stack([ndcg_curve(y_true, one, qid, **settings) for one in scores.values()])
        weights = query_weights(sample_weight, Queries.from_qid(require_ids(qid, "ndcg_curve")), grouped=False)
        n_queries, means = _means(values, weights, smallest=0.0)
        _, differences = _means(values[1:] - values[0], weights, smallest=-1.0)
        return cls(list(scores), cutoffs, *means, *differences, n_queries).plot(ax)

    def _draw(self, ax: Any) -> Any:
        several = len(self.names) > 1
        labels, looks = [style.wrapped(name) for name in self.names], style.styles(len(self.names), len(self.ks))
        below = None
        if ax is None and several:
            size = style.WIDTH, 5.5 + style.legend_height(labels)
            figure = style.import_pyplot().figure(figsize=size, layout="constrained")
            ax, below = figure.subplots(2, 1, sharex=True)
        ax = style.axes(ax)
        for label, mean, line in zip(labels, self.mean, looks, strict=True):
            ax.plot(self.ks, mean, label=label, markersize=5, **line._asdict())
        title = f"mean over {self.n_queries} queries" if self.n_queries > 1 else "one query"
        if not several and self.n_queries > 1:
            ax.fill_between(self.ks, self.low[0], self.high[0], color=looks[0].color, alpha=0.15, linewidth=0)
            title += ", with 95% confidence intervals"
        ax.set_title(title, fontsize="medium")
        ax.set_ylabel("NDCG@k")
        lowest = ax
        if below is not None:
            self._draw_differences(below, looks)
            lowest = below
        for one in {ax, lowest}:
            style.whole_ticks(one)
            style.light_grid(one)
        lowest.set_xlabel("cutoff k")
        if several:
            style.legend_below(lowest, ax.get_legend_handles_labels()[0])
        elif self.names != ["scores"]:
            ax.legend(frameon=False)
        self.difference_ax_ = below
        return ax

    def _draw_differences(self, ax: Any, looks: list[style.Style]) -> None:
        ax.axhline(0.0, color=looks[0].color, linestyle=looks[0].linestyle, linewidth=1.5)
        gap = np.diff(self.ks).min() if len(self.ks) > 1 else 1.0
        shifts = gap * _shifts(len(self.names) - 1)
        for i, line in enumerate(looks[1:]):
            center, low, high = self.difference[i], self.difference_low[i], self.difference_high[i]
            # Without markers, many cutoffs would have only the lines of their intervals.
            look: dict[str, Any] = {"fmt": line.marker or "o", "markersize": 4, "elinewidth": 1.2}
            look |= {"color": line.color, "label": self.names[i + 1]}
            ax.errorbar(self.ks + shifts[i], center, yerr=np.abs([center - low, high - center]), **look)
        title = f"difference to {self.names[0]}, with 95% intervals, paired by query"
        ax.set_title(style.wrapped(title), fontsize="medium")
        ax.set_ylabel("difference in NDCG@k")


def _means(values: Floats, weights: Floats, smallest: float) -> tuple[int, tuple[Floats, Floats, Floats]]:
    """Number of queries that count, means over them, and the ends of their intervals within [smallest, 1].

    `values` are of shape (n_rankers, n_queries, n_ks). Which queries are skipped depends on labels only, so that their
    number is the same for every ranker and every k.
    """
    found = [[weighted_means(column, weights) for column in one.T] for one in values]
    shape = (len(values), values.shape[2], 3)
    count, mean, error = np.moveaxis(np.reshape(np.array(found, dtype=np.float64), shape), 2, 0)
    margin = mean_margin(count.astype(np.int64), error)
    low, high = np.clip(mean - margin, smallest, 1.0), np.clip(mean + margin, smallest, 1.0)
    return int(count.max(initial=0)), (mean, low, high)


@dataclass
class TrainingCurveDisplay(Display):
    """A metric on validation sets by boosting round, of one fitted ranker or several.

    Created by :meth:`from_estimator`. A marker shows the last round that predictions use; it is on the curve of
    the ranker's last validation set, which decides on early stopping.

    Attributes
    ----------
    curves : dict of (str, str) to ndarray, shape (n_rounds,)
        Values after each round, by name of the ranker and title of the validation set.
    best : dict of str to int
        The last round that the predictions of each ranker use; rankers that do not record it are left out.
    metric : str
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from boostrank import LightGBMRanker, make_ranking
    >>> data = make_ranking(n_queries=50, random_state=0)
    >>> ranker = LightGBMRanker(n_estimators=20, n_jobs=1).fit(*data, eval_set=[data])
    >>> from matplotlib.figure import Figure
    >>> titles = {"training": "queries to train on"}
    >>> display = TrainingCurveDisplay.from_estimator(ranker, datasets=titles, ax=Figure().subplots())
    >>> curve = display.curves["LightGBMRanker", "queries to train on"]
    >>> len(curve), bool(curve[-1] > curve[0])
    (20, True)
    """

    curves: dict[tuple[str, str], Floats]
    best: dict[str, int]
    metric: str

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        metric: str | None = None,
        datasets: Mapping[str, str] | None = None,
        name: str | None = None,
        ax: Any = None,
    ) -> TrainingCurveDisplay:
        """Plot `evals_result_` of a fitted estimator, or of several.

        Parameters
        ----------
        estimator : fitted estimator, or mapping of name to fitted estimator
            They were fitted with an `eval_set` or a `validation_fraction`.
        metric : str, optional
            Name of a metric in `evals_result_`, such as "ndcg@10"; the first one there by default.
        datasets : mapping of str to str, optional
            Titles in the plot of the validation sets to show, by their names in `evals_result_`; by default all sets
            are shown under those names.
        name : str, optional
            Name of a single estimator in the legend.
        ax : matplotlib axes, optional

        Raises
        ------
        ValueError
            For an estimator without `evals_result_`, for a metric or validation set that is not in it, and for a `name`
            beside a mapping.
        """
        rankers = named(estimator, name, type(estimator).__name__)
        curves: dict[tuple[str, str], Floats] = {}
        for ranker, fitted in rankers.items():
            results = getattr(fitted, "evals_result_", None)
            if not results:
                raise ValueError(
                    f"estimator {ranker!r} has no evals_result_; fit it with eval_set= or validation_fraction=, so "
                    "that it records a metric"
                )
            for key, title in (datasets or {key: key for key in results}).items():
                check_choice(f"datasets of {ranker!r}", key, results)
                metric = next(iter(results[key])) if metric is None else metric
                check_choice(f"metric of {ranker!r}", metric, results[key])
                curves[ranker, title] = np.asarray(results[key][metric], dtype=np.float64)
        # Our own rankers know the round of these curves. `best_iteration_` also counts the rounds of earlier models.
        best = {
            ranker: getattr(fitted, "_best_round", None) or getattr(fitted, "best_iteration_", None)
            for ranker, fitted in rankers.items()
        }
        rounds = {ranker: len(curve) for (ranker, _), curve in curves.items()}
        # In LightGBM's own estimators 0 or -1 means that there is no best round.
        known = {ranker: int(value) for ranker, value in best.items() if value and 1 <= value <= rounds[ranker]}
        return cls(curves, known, str(metric)).plot(ax)

    def _draw(self, ax: Any) -> Any:
        by_ranker: dict[str, dict[str, Floats]] = {}
        for (ranker, title), values in self.curves.items():
            by_ranker.setdefault(ranker, {})[title] = values
        titles = list(dict.fromkeys(title for _, title in self.curves))
        labels = [self._label(ranker, list(curves.values())[-1]) for ranker, curves in by_ranker.items()]
        # Lines differ by data set if there are several of them, and otherwise by ranker.
        sets = [style.wrapped(title) for title in titles] if len(titles) > 1 else []
        ax = style.axes(ax, style.HEIGHT + style.legend_height(sets, labels))
        from matplotlib.lines import Line2D

        dashes = dict(zip(titles[::-1], cycle(style.DASHES), strict=False))
        handles = []
        for (ranker, curves), label, line in zip(by_ranker.items(), labels, style.styles(len(by_ranker)), strict=True):
            best = self.best.get(ranker)
            look: dict[str, Any] = {"color": line.color, "marker": line.marker, "markersize": 8}
            for title, values in curves.items():
                dash = dashes[title] if sets else line.linestyle
                # The marker is drawn at the points that `markevery` lists.
                marked = [best - 1] if best is not None and title == list(curves)[-1] else []
                rounds = np.arange(1, len(values) + 1)
                ax.plot(rounds, values, label=f"{ranker}, {title}", linestyle=dash, markevery=marked, **look)
            # Without a marker on a curve, there is none in the legend.
            shown = look if best is not None else look | {"marker": ""}
            handles.append(Line2D([], [], label=label, linestyle="-" if sets else line.linestyle, **shown))
        of_sets = [
            Line2D([], [], label=label, color=style.DARK, linestyle=dashes[title])
            for title, label in zip(titles, sets, strict=False)
        ]
        rows = style.legend_below(ax, of_sets) if sets else 0
        style.legend_below(ax, handles, rows_above=rows)
        style.whole_ticks(ax)
        style.light_grid(ax)
        marker = " (marker: last round that predictions use)" if self.best else ""
        ax.set_xlabel(f"boosting round{marker}")
        ax.set_ylabel(f"{style.measure_name(self.metric)}, mean over queries")
        return ax

    def _label(self, ranker: str, values: Floats) -> str:
        """Name of a ranker, and its value after the number of rounds that predictions use."""
        best = self.best.get(ranker)
        if best is None:
            return style.wrapped(ranker)
        rounds = "1 round" if best == 1 else f"{best} rounds"
        return style.wrapped(f"{ranker}: {values[best - 1]:.4f} after {rounds}")


@dataclass
class PropensityDisplay(Display):
    """Propensities by position, of one estimate or several, with 95% confidence intervals, and with the truth if known.

    Created by :meth:`from_propensities`. All values are divided by the value at position 1. Extrapolated values have
    hollow markers, and a position without a value has a cross at the bottom.

    Attributes
    ----------
    propensities : dict of str to Propensities
    truth : ndarray, shape (n_positions,), or None
        True propensities relative to position 1.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> import boostrank as br
    >>> simulated = br.simulate_clicks(
    ...     [2, 0, 1, 0], [4, 3, 2, 1], [1, 1, 1, 1], policy=("plackett-luce", 1.0), random_state=0
    ... )
    >>> estimate = br.clicks.harvest_propensities(simulated.log)
    >>> from matplotlib.figure import Figure
    >>> display = PropensityDisplay.from_propensities(estimate, truth=simulated.model, ax=Figure().subplots())
    >>> display.truth.round(3).tolist(), list(display.propensities)
    ([1.0, 0.5, 0.333, 0.25], ['all pairs'])
    """

    propensities: dict[str, Propensities]
    truth: Floats | None = None

    @classmethod
    def from_propensities(
        cls,
        propensities: Propensities | Mapping[str, Propensities],
        *,
        truth: Any | ArrayLike = None,
        name: str | None = None,
        ax: Any = None,
    ) -> PropensityDisplay:
        """Plot propensities.

        Parameters
        ----------
        propensities : Propensities, or mapping of name to Propensities
        truth : ClickModel, str, or array-like, shape (n_positions,), optional
            The click model that clicks were simulated with, or the true propensities of at least as many positions as
            those of `propensities`. Of a model with trust bias, it is the factor ``a_r`` of relevance
            (:meth:`boostrank.clicks.ClickModel.affine`).
        name : str, optional
            Name of a single estimate in the legend; by default its method.
        ax : matplotlib axes, optional

        Raises
        ------
        ValueError
            For a `name` beside a mapping, or a `truth` with too few positions or without propensities.
        TypeError
            If `propensities` are not :class:`boostrank.clicks.Propensities`.
        """
        by_name = named(propensities, name, getattr(propensities, "method", ""))
        for value in by_name.values():
            if not isinstance(value, Propensities):
                raise TypeError(
                    f"propensities must be Propensities; got {type(value).__name__}: use Propensities.given"
                )
        true_values = None
        if truth is not None:
            n_positions = max(value.n_positions for value in by_name.values())
            true_values = get_click_model(truth).affine(n_positions)[0]
            true_values = true_values / true_values[0]
        return cls(by_name, true_values).plot(ax)

    def _draw(self, ax: Any) -> Any:
        ax = style.axes(ax)
        if self.truth is not None:
            ax.plot(np.arange(1, len(self.truth) + 1), self.truth, color=style.BLACK, linewidth=1, label="truth")
        n, n_positions = len(self.propensities), max(value.n_positions for value in self.propensities.values())
        size = 5 if n_positions <= style.MAX_MARKERS else 3
        has_intervals = False
        for (name, found), line, shift in zip(self.propensities.items(), style.styles(n), _shifts(n), strict=True):
            first = found.values[0]
            x, y = found.positions + shift, found.values / first
            low, high = found.interval()
            sides = np.stack([y - low / first, high / first - y])
            has_intervals |= bool((sides > 0).any())
            look = {"color": line.color, "markersize": size, "linestyle": ""}
            is_extra, is_missing = np.isin(found.positions, found.extrapolated), np.isnan(y)
            kept = ~is_extra & ~is_missing
            sides = np.nan_to_num(sides[:, kept])
            ax.errorbar(x[kept], y[kept], sides, fmt=line.marker, label=name, capsize=2, linewidth=1, **look)
            kinds = [(is_extra, y, line.marker, "extrapolated"), (is_missing, np.zeros_like(y), "x", "no estimate")]
            for mask, values, marker, text in kinds:
                if mask.any():
                    points = look | {"marker": marker, "markerfacecolor": "white", "label": f"{name}: {text}"}
                    ax.plot(x[mask], values[mask], clip_on=False, **points)
        ax.set_xlabel("position")
        ax.set_ylabel("propensity, relative to position 1")
        if has_intervals:
            ax.set_title("bars: 95% confidence intervals", fontsize="medium")
        ax.set_ylim(bottom=0.0)
        style.whole_ticks(ax)
        style.light_grid(ax)
        style.legend_below(ax)
        return ax


def _shifts(n: int) -> Floats:
    """The shifts of `n` points at one place of an axis whose places are 1 apart."""
    return WIDTH_OF_PLACE * (np.arange(n) - (n - 1) / 2) / n
