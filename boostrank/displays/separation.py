"""How scores separate documents by label: precision by recall, scores of each label, and pairs of labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from boostrank.displays import style
from boostrank.displays.base import PredictionDisplay, named
from boostrank.inputs.arrays import Floats
from boostrank.metrics import Measure, evaluate, get_measure
from boostrank.metrics.binary import LEVELS
from boostrank.metrics.correlation import count_reversed_pairs
from boostrank.metrics.labels import labels_scores_queries
from boostrank.queries.queries import Queries
from boostrank.queries.segments import Segments
from boostrank.runs import evaluate_run

# More labels cannot be read.
MAX_LABELS = 10
QUANTILES = {"whislo": 0.05, "q1": 0.25, "med": 0.5, "q3": 0.75, "whishi": 0.95}


@dataclass
class PrecisionRecallDisplay(PredictionDisplay):
    """Interpolated precision at the recall 0, 0.1, ..., 1, the mean over queries, of one ranker or run, or several.

    Created by :meth:`from_predictions`, :meth:`from_estimator` or :meth:`from_runs`. The precision at a level of recall
    is the largest at any rank with at least this recall: the measure "iprec". The mean over the levels is the
    measure "11pt_avg" of trec_eval.

    Attributes
    ----------
    precision : DataFrame, shape (11, n_rankers)
        The index has the levels of recall, and the columns are the names of the rankers or runs.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> labels, scores = [1, 0, 1, 0], [0.9, 0.8, 0.7, 0.6]
    >>> display = PrecisionRecallDisplay.from_predictions(labels, scores, [7] * 4, ax=Figure().subplots())
    >>> display.precision["scores"].round(2).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.67, 0.67, 0.67, 0.67, 0.67]
    """

    precision: pd.DataFrame

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike | Mapping[str, ArrayLike],
        qid: ArrayLike | None = None,
        *,
        threshold: float = 1,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Any = None,
    ) -> PrecisionRecallDisplay:
        """Compute the precision of scores, and plot it.

        Parameters
        ----------
        y_true, qid, sample_weight
            As in :func:`boostrank.evaluate`.
        y_score : array-like, shape (n_documents,), or mapping of name to scores
        threshold : float, default 1
            Labels of at least this are relevant.
        name : str, optional
            Name of a single ranker in the legend.
        ax : matplotlib axes, optional

        Raises
        ------
        ValueError
            As :func:`boostrank.evaluate`; and for a `name` beside a mapping.
        """
        measures, scores = _precisions(threshold), named(y_score, name, "scores")
        found = {key: evaluate(y_true, one, qid, measures, sample_weight=sample_weight) for key, one in scores.items()}
        return cls(pd.DataFrame(found).set_axis(LEVELS)).plot(ax)

    @classmethod
    def from_runs(
        cls, qrels: Any, runs: Mapping[str, Any], *, threshold: float = 1, ax: Any = None, **settings: Any
    ) -> PrecisionRecallDisplay:
        """Compute the precision of runs by name, and plot it; `settings` are those of :func:`boostrank.evaluate_run`.

        Raises
        ------
        ValueError, TypeError
            As that function.
        """
        measures = _precisions(threshold)
        found = {name: evaluate_run(qrels, run, measures, **settings) for name, run in runs.items()}
        return cls(pd.DataFrame(found).set_axis(LEVELS)).plot(ax)

    def _draw(self, ax: Any) -> Any:
        names = [style.wrapped(name) for name in self.precision]
        ax = style.axes(ax, style.HEIGHT + style.legend_height(names))
        for name, values, marks in zip(names, self.precision.to_numpy().T, style.styles(len(names)), strict=True):
            ax.plot(LEVELS, values, label=name, markersize=5, **marks._asdict())
        ax.set(xlabel="recall", ylabel="interpolated precision, mean over queries", ylim=(0.0, 1.03))
        style.light_grid(ax)
        style.legend_below(ax, ax.get_legend_handles_labels()[0])
        return ax


def _precisions(threshold: float) -> dict[str, Measure]:
    """The measure of each level of recall, by the level."""
    return {str(level): get_measure("iprec", recall=level, threshold=threshold) for level in LEVELS}


@dataclass
class LabelScoresDisplay(PredictionDisplay):
    """Scores of the documents of each label, as boxes; boxes that overlap little are labels that are told apart.

    Created by :meth:`from_predictions` or :meth:`from_estimator`. Scores of a ranker are compared within queries only,
    so the mean score of its query is subtracted from each. A box has the middle half of the documents of a label, a
    line at the median, and whiskers that end at the quantiles 5% and 95%.

    Attributes
    ----------
    table : DataFrame
        A row for each label, with the columns documents, whislo, q1, med, q3 and whishi, the quantiles.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> labels, scores, qid = [0, 1, 2, 0, 1], [1.0, 2.0, 3.0, 5.0, 6.0], ["a", "a", "a", "b", "b"]
    >>> display = LabelScoresDisplay.from_predictions(labels, scores, qid, ax=Figure().subplots())
    >>> display.table[["documents", "med"]].to_numpy().tolist()
    [[2.0, -0.75], [2.0, 0.25], [1.0, 1.0]]
    """

    table: pd.DataFrame
    _takes_one: ClassVar[bool] = True

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None = None, *, ax: Any = None
    ) -> LabelScoresDisplay:
        """Compute the quantiles of scores, and plot them.

        Parameters
        ----------
        y_true, y_score, qid
            As in :func:`boostrank.ndcg_score`, with at most ten different labels.
        ax : matplotlib axes, optional

        Raises
        ------
        ValueError
            As that function; and for more than ten labels, or a single one.
        """
        labels, scores, queries, names = _labelled(y_true, y_score, qid, cls.__name__)
        centred = scores - queries.repeat(queries.mean(scores))
        rows = [
            {"documents": int((labels == label).sum())}
            | {name: float(np.quantile(centred[labels == label], q)) for name, q in QUANTILES.items()}
            for label in names
        ]
        return cls(pd.DataFrame(rows, index=pd.Index(names, name="label"))).plot(ax)

    def _draw(self, ax: Any) -> Any:
        ax = style.axes(ax)
        boxes = [{**row, "label": f"{label:g}"} for label, row in self.table.drop(columns="documents").T.items()]
        look = {"facecolor": style.BLUE, "alpha": 0.35}
        ax.bxp(boxes, showfliers=False, patch_artist=True, boxprops=look, medianprops={"color": style.BLACK})
        ax.set(xlabel="label", ylabel="score minus the mean of its query")
        style.light_grid(ax)
        return ax


@dataclass
class LabelPairsDisplay(PredictionDisplay):
    """The share of pairs of documents that are ranked in the right order, for each two labels.

    Created by :meth:`from_predictions` or :meth:`from_estimator`. Pairs are of documents of the same query; equal
    scores count one half. For each two labels it is the mean AUC of queries, weighted by their pairs. Over all labels
    it shows what a ranker confuses: neighbouring labels, or good and bad documents.

    Attributes
    ----------
    shares, pairs : DataFrame, shape (n_labels - 1, n_labels - 1)
        Share in the right order, NaN if there is no pair, and number of pairs. The index has the larger label of a
        pair, and the columns are the smaller one.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> labels, scores, qid = [2, 1, 0, 0, 2, 1], [3.0, 4.0, 1.0, 2.0, 6.0, 5.0], ["a", "a", "a", "a", "b", "b"]
    >>> display = LabelPairsDisplay.from_predictions(labels, scores, qid, ax=Figure().subplots())
    >>> display.shares.to_numpy().tolist()
    [[1.0, nan], [1.0, 0.5]]
    """

    shares: pd.DataFrame
    pairs: pd.DataFrame
    _takes_one: ClassVar[bool] = True

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None = None, *, ax: Any = None
    ) -> LabelPairsDisplay:
        """Count the pairs in the right order, and plot their shares; see :meth:`LabelScoresDisplay.from_predictions`.

        Raises
        ------
        ValueError
            As that method.
        """
        labels, scores, queries, names = _labelled(y_true, y_score, qid, cls.__name__)
        number = queries.repeat(np.arange(queries.n_queries))
        shares, pairs = (pd.DataFrame(np.nan, names[1:], names[:-1]) for _ in range(2))
        for i, larger in enumerate(names[1:]):
            for j, smaller in enumerate(names[: i + 1]):
                rows = (labels == larger) | (labels == smaller)
                part = Segments.from_sizes(np.unique(number[rows], return_counts=True)[1])
                # Code 0 is the larger label.
                codes = (labels[rows] == smaller).astype(np.int64)
                n_smaller = part.sum(codes)
                total = float((n_smaller * (part.sizes - n_smaller)).sum())
                pairs.iloc[i, j] = total
                if total:
                    shares.iloc[i, j] = 1.0 - count_reversed_pairs(codes, scores[rows], part, "average").sum() / total
        return cls(shares, pairs).plot(ax)

    def _draw(self, ax: Any) -> Any:
        ax = style.axes(ax)
        ax.imshow(self.shares.to_numpy(), cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
        for (i, j), share in np.ndenumerate(self.shares.to_numpy()):
            if not np.isnan(share):
                ax.text(j, i, f"{share:.2f}", ha="center", va="center", color="white" if share > 0.6 else style.BLACK)
        ax.set_xticks(range(self.shares.shape[1]), [f"{label:g}" for label in self.shares.columns])
        ax.set_yticks(range(self.shares.shape[0]), [f"{label:g}" for label in self.shares.index])
        ax.set(xlabel="smaller label of the pair", ylabel="larger label")
        ax.set_title("share of pairs of documents in the right order", fontsize="medium")
        return ax


def _labelled(y_true: Any, y_score: Any, qid: Any, display: str) -> tuple[Floats, Floats, Queries, Floats]:
    """Grouped labels and scores, their queries, and the different labels, of which there are few."""
    labels, scores, queries = labels_scores_queries(y_true, y_score, qid, display)
    names = np.unique(labels)
    if not 2 <= len(names) <= MAX_LABELS:
        raise ValueError(
            f"{display} shows 2 to {MAX_LABELS} different labels; y_true has {len(names)}: round them to grades"
        )
    return labels, scores, queries, names
