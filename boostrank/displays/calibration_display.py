"""Plot of the mean gain of documents by their score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from boostrank.core.dcg import DCG, Discount, Gain
from boostrank.core.targets import Normalize, make_targets
from boostrank.core.weights import query_weights, weighted_means
from boostrank.displays.bins import equal_bins
from boostrank.displays.display import Display
from boostrank.displays.predictions import predictions
from boostrank.displays.style import BLUE, GREY, axes, light_grid, wrapped
from boostrank.inputs.arrays import Floats, Ints, as_floats
from boostrank.inputs.checks import check_count, check_flag
from boostrank.metrics.input_checks import labels_scores_queries
from boostrank.metrics.query_groups import mean_margin

# Titles of the targets in the plot.
TITLES = {
    "dcg": "normalized gain",
    "none": "gain",
    "l2": "gain / L2 norm of the query",
    "sum": "gain / sum of the query",
    "softmax": "softmax of the labels",
}


@dataclass
class GainCalibrationDisplay(Display):
    """Mean gain of documents with about the same score, with 95% intervals.

    It shows whether the gain grows with the score. Created by :meth:`from_predictions` or :meth:`from_estimator`.

    Scores rank best if they sort documents like the expected normalized gain E[G / Z] (Ravikumar, Tewari and Yang,
    AISTATS 2011, Lemma 4), so that the curve of scores that rank well increases everywhere. A bin whose interval is
    below that of the bin before has documents that should be ranked lower. The curve need not be a straight line,
    because scores need only sort like gains. Where scores predict gains, `transform` says how, and the diagonal is
    drawn too.

    The mean of a bin is that of its documents. Documents of a query depend on each other, so that the interval is that
    of a ratio of sums over queries: ``m -+ t sqrt(n / (n - 1) sum_q (T_q - m c_q)^2) / C``, with the sum ``T_q`` of the
    gains of the ``c_q`` documents of query ``q`` in the bin, ``C`` the number of documents in the bin, and the quantile
    ``t`` of Student's distribution for the ``n`` queries in the bin (Cochran, "Sampling techniques", 1977, chapter 6).

    Attributes
    ----------
    score, gain, low, high : ndarray, shape (n_bins,)
        Mean score of each bin, after `transform`; mean gain, and the ends of its interval, which are NaN for a bin with
        documents of one query only.
    n_documents, n_queries : ndarray of int, shape (n_bins,)
        Number of documents of each bin, and of queries that they belong to.
    normalize : str
        Kind of gain: a normalization of :func:`boostrank.make_targets`.
    within_queries : bool
        Whether the mean of each query is subtracted from scores and gains.
    has_diagonal : bool
        Whether scores are predictions of gains.
    name : str or None
        Name of the ranker.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> labels, scores, qid = [0, 1, 0, 1], [0.1, 0.8, 0.3, 0.9], ["a", "a", "b", "b"]
    >>> display = GainCalibrationDisplay.from_predictions(labels, scores, qid, n_bins=2, ax=Figure().subplots())
    >>> display.score.round(2).tolist(), display.gain.tolist(), display.n_documents.tolist()
    ([0.2, 0.85], [0.0, 1.0], [2, 2])
    """

    score: Floats
    gain: Floats
    low: Floats
    high: Floats
    n_documents: Ints
    n_queries: Ints
    normalize: str
    within_queries: bool
    has_diagonal: bool
    name: str | None = None

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        n_bins: int = 10,
        within_queries: bool = False,
        transform: Callable[[Floats], Floats] | None = None,
        k: int | float | None = None,
        gain: Gain = "exp2",
        discount: Discount = "log2",
        normalize: Normalize = "dcg",
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Any = None,
    ) -> GainCalibrationDisplay:
        """Compute the mean gain by score, and plot it.

        Parameters
        ----------
        y_true, y_score, qid, sample_weight
            As in :func:`boostrank.ndcg_score`.
        n_bins : int, default 10
            Largest number of bins. Each has about the same number of documents, and documents of equal scores are in
            the same bin.
        within_queries : bool, default False
            Subtract the mean over the documents of its query from each score and from each gain. Do so for losses that
            do not change if the same number is added to all scores of a query, such as "softmax" and "lambdarank":
            their scores need not be comparable between queries.
        transform : callable, optional
            Function of an array of scores that returns predictions of the gains, such as ``scipy.special.expit`` for a
            classifier of clicks that predicts log odds, or ``lambda scores: scores`` for a regressor of gains. The
            scores of boostrank's rankers leave out the constant that boosting starts with, which no ranking depends on:
            for "squared", whose scores predict gains up to it, set `within_queries` too.
        k, gain, discount, normalize
            Gains are those of :func:`boostrank.make_targets`, with these settings of
            :class:`boostrank.DCG`. The default, "dcg", is ``G / Z``.
        name : str, optional
            Name of the ranker, for the title.
        ax : matplotlib axes, optional

        Raises
        ------
        ValueError
            For labels, scores, query ids, weights or settings that are invalid, and if `transform` does not return one
            finite number for each score.
        """
        check_count("n_bins", n_bins)
        check_flag("within_queries", within_queries)
        labels, _, queries = labels_scores_queries(y_true, y_score, qid, "GainCalibrationDisplay")
        # Measures may replace integers by their ranks, but here their values count.
        scores = queries.group(as_floats(y_score, "y_score"))
        weights = queries.repeat(query_weights(sample_weight, queries, grouped=False))
        if transform is not None:
            scores = _transformed(transform, scores)
        gains = make_targets(labels, queries, DCG(k, gain, discount), normalize)
        if within_queries:
            scores, gains = (values - queries.repeat(queries.mean(values)) for values in (scores, gains))
        query = queries.repeat(np.arange(queries.n_queries))[weights > 0]
        scores, gains, weights = (values[weights > 0] for values in (scores, gains, weights))
        bins = equal_bins(scores, n_bins)
        size = int(bins.max()) + 1
        # The sums over the documents of one query in one bin are the terms of the mean of a bin.
        cells, of_cell = np.unique(bins * queries.n_queries + query, return_inverse=True)
        total = np.bincount(of_cell, weights).astype(np.float64)
        means = np.bincount(of_cell, weights * gains) / total
        n_queries, mean, error = weighted_means(means, total, cells // queries.n_queries, size)
        margin = mean_margin(n_queries, error)
        score = np.bincount(bins, weights * scores) / np.bincount(bins, weights)
        ends = (mean - margin, mean + margin)
        counts = (np.bincount(bins), n_queries)
        return cls(score, mean, *ends, *counts, normalize, within_queries, transform is not None, name).plot(ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, qid: ArrayLike | None = None, **settings: Any
    ) -> GainCalibrationDisplay:
        """Predict with a fitted estimator, and plot the mean gain by score.

        `qid` may be a column or the index of `X`, as in the rankers' `fit`. `settings` are the other parameters of
        :meth:`from_predictions`; the default of `name` is the name of the estimator's class.
        """
        scores, found = predictions(estimator, X, qid, f"{cls.__name__}.from_estimator", settings.pop("name", None))
        if len(scores) > 1:
            raise ValueError(
                f"estimator must be one ranker, because scores of rankers have different scales; got {len(scores)}"
            )
        ((name, values),) = scores.items()
        return cls.from_predictions(y, values, found, name=name, **settings)

    def _draw(self, ax: Any) -> Any:
        ax = axes(ax)
        sides = np.abs([self.gain - self.low, self.high - self.gain])
        label = "mean of a bin, 95% interval"
        ax.errorbar(self.score, self.gain, yerr=sides, fmt="o-", color=BLUE, ecolor=BLUE, capsize=3, label=label)
        if self.has_diagonal:
            ends = [self.score.min(), self.score.max()]
            ax.plot(ends, ends, "--", color=GREY, label="gain = prediction", zorder=1)
            ax.legend(frameon=False)
        centred = ", minus the mean of its query" if self.within_queries else ""
        prediction = "gain predicted by the score" if self.has_diagonal else "score"
        ax.set_xlabel(f"{prediction}{centred}")
        ax.set_ylabel(f"{TITLES[self.normalize]}{',' if centred else ''}\n{centred.removeprefix(', ')}".strip())
        documents = self.n_documents
        counts = f"{documents.min()} to {documents.max()}" if documents.min() < documents.max() else f"{documents[0]}"
        documents_text = "1 document" if counts == "1" else f"{counts} documents"
        title = f"mean {TITLES[self.normalize]} by score, 95% intervals; {documents_text} a bin"
        ax.set_title(f"{wrapped(self.name)}\n{title}" if self.name else title, fontsize="medium")
        light_grid(ax)
        return ax


def _transformed(transform: Callable[[Floats], Floats], scores: Floats) -> Floats:
    """The predictions of gains that `transform` makes of scores, checked."""
    if not callable(transform):
        raise ValueError(f"transform must be a function of an array of scores; got {transform!r}")
    values = as_floats(transform(scores), "the result of transform")
    if values.shape != scores.shape or not np.isfinite(values).all():
        raise ValueError(
            f"transform must return one finite number for each of the {len(scores)} scores; got shape {values.shape} "
            f"with {int((~np.isfinite(values)).sum())} numbers that are not finite"
        )
    return values
