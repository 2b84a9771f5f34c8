"""Pictures of probabilities: how often an event happened, by what was predicted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from boostrank.calibration.curves import calibration_curve
from boostrank.calibration.ranker import CalibratedRanker
from boostrank.displays import style
from boostrank.displays.style import Display, by_name
from boostrank.queries.queries import find_qid, require_qid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The name of probabilities that are given without a name.
PROBABILITIES = "probabilities"
# Of the width of an interval's line at its ends, in points.
CAP = 2.5


@dataclass
class CalibrationDisplay(Display):
    """How often documents were first, or relevant, by their predicted probability.

    Created by :meth:`from_predictions` or :meth:`from_estimator`. Where probabilities are right,
    the points are on the diagonal, up to chance: vertical lines are the intervals of
    :func:`boostrank.calibration.calibration_curve`, in which the queries are the independent units.

    Attributes
    ----------
    table : DataFrame
        The rows of :func:`boostrank.calibration.calibration_curve`, with the name of the
        probabilities in a first column "name".
    event : str
        What was predicted, for the labels of the axes.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import boostrank as br
    >>> labels, qid = [1, 0, 0, 1, 1, 0], [1, 1, 2, 2, 3, 3]
    >>> display = br.displays.CalibrationDisplay.from_predictions(
    ...     labels, [0.8, 0.2, 0.3, 0.7, 0.6, 0.4], qid, n_bins=2, ax=Figure().subplots()
    ... )
    >>> display.table[["predicted", "observed", "n_queries"]].round(2)
       predicted  observed  n_queries
    0        0.3       0.0          3
    1        0.7       1.0          3
    """

    table: pd.DataFrame
    event: str

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_proba: ArrayLike | Mapping[str, ArrayLike],
        qid: ArrayLike | None = None,
        *,
        threshold: float | None = None,
        unit: str = "document",
        n_bins: int = 10,
        strategy: str = "quantile",
        ax: Axes | None = None,
    ) -> CalibrationDisplay:
        """Compute the curve of probabilities, and plot it.

        Parameters
        ----------
        y_true, qid, threshold, unit, n_bins, strategy
            As in :func:`boostrank.calibration.calibration_curve`.
        y_proba : array-like, shape (n_documents,), or mapping of name to probabilities
        ax : matplotlib axes, optional

        Raises
        ------
        ValueError
            As that function.
        """
        curves = {
            name: calibration_curve(
                y_true,
                probabilities,
                qid,
                threshold=threshold,
                unit=unit,
                n_bins=n_bins,
                strategy=strategy,
            )
            for name, probabilities in by_name(y_proba, PROBABILITIES).items()
        }
        table = pd.concat(curves, names=["name"]).reset_index(level="name")
        event = "first of the list" if threshold is None else f"label of {threshold:g} or more"
        if unit == "query":
            event += ", by list"
        return cls(table.reset_index(drop=True), event).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: CalibratedRanker | Mapping[str, CalibratedRanker],
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        **settings: Any,
    ) -> CalibrationDisplay:
        """Predict probabilities with a fitted CalibratedRanker, and plot.

        Parameters
        ----------
        estimator : CalibratedRanker, or mapping of name to CalibratedRanker
            Of those with the target "relevance", the probabilities are those of `threshold`, which
            must be one of their `thresholds_`.
        X, y, qid
            `qid` may be a column or the index of `X`, as in the rankers' `fit`.
        **settings
            The other parameters of :meth:`from_predictions`.

        Raises
        ------
        ValueError
            As :func:`boostrank.calibration.calibration_curve`, and if the estimator has no
            probabilities of the event.
        """
        _, ids = find_qid(X, qid)
        ids = require_qid(ids, f"{cls.__name__}.from_estimator")
        threshold = settings.get("threshold")
        probabilities = {}
        for name, ranker in by_name(estimator, type(estimator).__name__).items():
            predicted = ranker.predict_proba(X, qid=ids)
            probabilities[name] = _of_event(predicted, ranker, threshold)
        return cls.from_predictions(y, probabilities, ids, **settings)

    def _draw(self, ax: Axes | None) -> Axes:
        curves = dict(list(self.table.groupby("name", sort=False)))
        labels = [style.wrapped(name) for name in curves]
        looks = style.styles(len(curves))
        height = style.HEIGHT
        if len(curves) > 1:
            height += style.legend_height(labels)
        ax = style.axes(ax, height)
        highest = float(np.nanmax(self.table[["predicted", "observed", "high"]].to_numpy()))
        ax.plot([0.0, highest], [0.0, highest], color=style.GREY, linewidth=1)
        for label, rows, look in zip(labels, curves.values(), looks, strict=True):
            errors = [rows["observed"] - rows["low"], rows["high"] - rows["observed"]]
            ax.errorbar(
                rows["predicted"],
                rows["observed"],
                yerr=np.nan_to_num(np.array(errors)),
                label=label,
                markersize=5,
                capsize=CAP,
                elinewidth=1,
                **look._asdict(),
            )
        style.light_grid(ax)
        ax.set_xlabel(f"mean predicted probability ({self.event})")
        ax.set_ylabel("observed share, with 95% intervals")
        if len(curves) > 1:
            style.legend_below(ax)
        return ax


def _of_event(predicted: Any, ranker: CalibratedRanker, threshold: float | None) -> Any:
    """The probabilities of one event; ValueError if the ranker does not predict it."""
    if predicted.ndim == 1 and threshold is None:
        return predicted
    known = list(getattr(ranker, "thresholds_", ()))
    if threshold in known:
        return predicted[:, known.index(threshold)]
    possible = f"one of {known}" if known else "None, with the target 'first'"
    raise ValueError(f"threshold must be {possible}; got {threshold!r}")
