"""Plot of a metric by boosting round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np

from boostrank.displays.display import Display
from boostrank.displays.predictions import named_estimators
from boostrank.displays.style import (
    DARK,
    DASHES,
    HEIGHT,
    axes,
    legend_below,
    legend_height,
    light_grid,
    measure_name,
    styles,
    whole_ticks,
    wrapped,
)
from boostrank.inputs.arrays import Floats, Ints

# Number of small markers of a curve, where there are several rankers and data sets.
N_SMALL_MARKERS = 8


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
        rankers = named_estimators(estimator, name)
        curves: dict[tuple[str, str], Floats] = {}
        for ranker, fitted in rankers.items():
            results = _results(ranker, fitted)
            titles = {key: key for key in results} if datasets is None else dict(datasets)
            for key, title in titles.items():
                if key not in results:
                    raise ValueError(
                        f"datasets must be among {', '.join(results)}, the validation sets of {ranker!r}; got {key!r}"
                    )
                metric = next(iter(results[key])) if metric is None else metric
                if metric not in results[key]:
                    raise ValueError(
                        f"metric must be one of {', '.join(results[key])}, the metrics of {ranker!r}; got {metric!r}"
                    )
                curves[ranker, title] = np.asarray(results[key][metric], dtype=np.float64)
        if metric is None:
            raise ValueError("datasets must not be empty")
        # Our own rankers know the round of these curves. `best_iteration_` also counts the rounds of earlier models.
        best = {
            ranker: getattr(fitted, "_best_round", None) or getattr(fitted, "best_iteration_", None)
            for ranker, fitted in rankers.items()
        }
        rounds = {ranker: len(curve) for (ranker, _), curve in curves.items()}
        # In LightGBM's own estimators 0 or -1 means that there is no best round.
        known = {ranker: int(value) for ranker, value in best.items() if value and 1 <= value <= rounds[ranker]}
        return cls(curves, known, metric).plot(ax)

    def _draw(self, ax: Any) -> Any:
        rankers = list(dict.fromkeys(ranker for ranker, _ in self.curves))
        titles = list(dict.fromkeys(title for _, title in self.curves))
        labels = [self._label(ranker) for ranker in rankers]
        # Lines differ by data set if there are several of them, and otherwise by ranker.
        sets = [wrapped(title) for title in titles] if len(titles) > 1 else []
        # Where dashes are for data sets, small markers tell rankers from each other without colours.
        small_markers = bool(sets) and len(rankers) > 1
        ax = axes(ax, HEIGHT + legend_height(sets, labels))
        from matplotlib.lines import Line2D

        dashes = dict(zip(titles[::-1], cycle(DASHES), strict=False))
        handles = []
        for i, (ranker, label, style) in enumerate(zip(rankers, labels, styles(len(rankers)), strict=True)):
            of_titles = dashes if sets else dict.fromkeys(titles, style.linestyle)
            look: dict[str, Any] = {"color": style.color, "marker": style.marker, "markersize": 8}
            self._draw_ranker(ax, ranker, look, of_titles, i / len(rankers) if small_markers else None)
            # Without a marker on a curve, there is none in the legend.
            shown = look if ranker in self.best or small_markers else look | {"marker": ""}
            handles.append(Line2D([], [], label=label, linestyle="-" if sets else style.linestyle, **shown))
        of_sets = [
            Line2D([], [], label=label, color=DARK, linestyle=dashes[title])
            for title, label in zip(titles, sets, strict=False)
        ]
        rows = legend_below(ax, of_sets) if sets else 0
        legend_below(ax, handles, rows_above=rows)
        whole_ticks(ax)
        light_grid(ax)
        size = "large marker" if small_markers else "marker"
        marker = f" ({size}: last round that predictions use)" if self.best else ""
        ax.set_xlabel(f"boosting round{marker}")
        ax.set_ylabel(f"{measure_name(self.metric)}, mean over queries")
        return ax

    def _draw_ranker(
        self, ax: Any, ranker: str, look: dict[str, Any], dashes: Mapping[str, str], share: float | None
    ) -> None:
        """Draw the curves of a ranker, by title of the validation set.

        If `share` is not None, they have small markers, moved by this share of their distance.
        """
        curves, best = self._curves(ranker), self.best.get(ranker)
        for title, values in curves.items():
            # The marker is drawn at the points that `markevery` lists.
            marked = [best - 1] if best is not None and title == list(curves)[-1] else []
            rounds = np.arange(1, len(values) + 1)
            ax.plot(rounds, values, label=f"{ranker}, {title}", linestyle=dashes[title], markevery=marked, **look)
            if share is not None:
                between = _some_rounds(len(values), share)
                ax.plot(rounds[between], values[between], **look | {"linestyle": "", "markersize": 4})

    def _curves(self, ranker: str) -> dict[str, Floats]:
        """Values of a ranker by title of the validation set."""
        return {title: values for (name, title), values in self.curves.items() if name == ranker}

    def _label(self, ranker: str) -> str:
        """Name of a ranker, and its value after the number of rounds that predictions use."""
        best = self.best.get(ranker)
        if best is None:
            return wrapped(ranker)
        rounds = "1 round" if best == 1 else f"{best} rounds"
        return wrapped(f"{ranker}: {list(self._curves(ranker).values())[-1][best - 1]:.4f} after {rounds}")


def _some_rounds(n_rounds: int, share: float) -> Ints:
    """Indices of about `N_SMALL_MARKERS` rounds at equal distances, moved by a share of the distance."""
    distance = max(1, n_rounds // N_SMALL_MARKERS)
    return np.arange(int(share * distance), n_rounds, distance)


def _results(name: str, fitted: Any) -> Mapping[str, Mapping[str, Any]]:
    results = getattr(fitted, "evals_result_", None)
    if not results:
        raise ValueError(
            f"estimator {name!r} has no evals_result_; fit it with eval_set= or validation_fraction=, so that it "
            "records a metric"
        )
    return dict(results)
