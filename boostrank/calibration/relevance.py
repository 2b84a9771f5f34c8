"""The probability to be relevant, comparable between lists: the map from scores and features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from boostrank.calibration.list_level import ListFeatures, ListLevel
from boostrank.inputs.arrays import Floats, Ints, finite_numbers
from boostrank.queries.queries import Queries

#: How scores become probabilities; the first one is the default.
METHODS = ("isotonic", "sigmoid")
#: Inverse strength of the penalty of the logistic regressions, which keeps their coefficients
#: finite where labels are a function of the scores.
INVERSE_PENALTY = 1e3


@dataclass(frozen=True)
class Sigmoid:
    """``P = 1 / (1 + exp(-(intercept + slope c + level_slope l)))``.

    ``c`` is the score minus the mean of its list, and ``l`` the level of the list.
    """

    intercept: float
    slope: float
    level_slope: float

    @classmethod
    def fit(cls, centred: Floats, levels: Floats, targets: Floats, weights: Floats) -> Self:
        """Logistic regression on targets in [0, 1]."""
        from sklearn.linear_model import LogisticRegression

        columns = np.column_stack([centred, levels])
        scale = columns.std(axis=0)
        scale[scale == 0.0] = 1.0
        # A target between 0 and 1 is a relevant and an irrelevant document with shares of the
        # weight.
        both = np.concatenate([weights * targets, weights * (1.0 - targets)])
        labels = np.repeat([1, 0], len(targets))
        model = LogisticRegression(C=INVERSE_PENALTY, max_iter=1000)
        model.fit(np.vstack([columns, columns])[both > 0] / scale, labels[both > 0], both[both > 0])
        slope, level_slope = model.coef_[0] / scale
        return cls(float(model.intercept_[0]), float(slope), float(level_slope))

    def loss(self, centred: Floats, levels: Floats, targets: Floats, weights: Floats) -> float:
        """The weighted sum of log losses."""
        logits = self.logits(centred, levels)
        return float(weights @ (np.logaddexp(0.0, logits) - targets * logits))

    def logits(self, centred: Floats, levels: Floats) -> Floats:
        """The logit of each document."""
        return self.intercept + self.slope * centred + self.level_slope * levels


@dataclass(frozen=True)
class Relevance:
    """A map from scores and features of lists to probabilities that labels reach thresholds.

    Attributes
    ----------
    thresholds : list of float
        Increasing.
    level : ListLevel
    sigmoids : list of Sigmoid
        One for each threshold; with `curves` one, the logits of which they take.
    curves : list of (list of float, list of float)
        The steps of the isotonic regression of each threshold; none for the method "sigmoid".
    """

    thresholds: list[float]
    level: ListLevel
    sigmoids: list[Sigmoid]
    curves: list[tuple[list[float], list[float]]]

    @classmethod
    def fit(
        cls,
        X: Any,
        scores: Floats,
        relevance: Floats,
        queries: Queries,
        weights: Floats,
        folds: Ints,
        thresholds: list[float],
        method: str,
        n_jobs: int | None,
    ) -> Self:
        """Fit to scores of queries that the ranker was not trained on.

        The model of the level is trained in the same folds, so that the levels that the
        probabilities are fitted to are those of new lists too.

        Parameters
        ----------
        X : features
            In the sequence of the original rows.
        scores, relevance : ndarray, shape (n_documents,)
            Grouped by query.
        queries : Queries
        weights : ndarray, shape (n_queries,)
        folds : ndarray of int64, shape (n_queries,)
            The fold of each query.
        thresholds : list of float
        method : {"sigmoid", "isotonic"}
        n_jobs : int, optional

        Raises
        ------
        ValueError
            If the scores do not rank relevant documents higher than chance does.
        """
        reached = relevance[:, None] >= np.array(thresholds)
        targets = reached.mean(axis=1)
        centred = _centred(scores, queries)
        of_documents = queries.repeat(weights)
        means = queries.repeat(queries.mean(scores))
        start = Sigmoid.fit(centred, means, targets, of_documents)
        _require_order(start)
        offset = start.logits(centred, means)

        def train(lists: Ints) -> ListLevel:
            rows = queries.rows_of(lists)
            part = Queries.from_sizes(queries.sizes[lists])
            return ListLevel.fit(
                _rows_of_lists(X, queries, lists),
                scores[rows],
                offset[rows],
                targets[rows],
                part,
                weights[lists],
                start.level_slope,
                n_jobs,
            )

        levels = np.empty(queries.n_queries)
        for number in np.unique(folds):
            tested = np.flatnonzero(folds == number)
            model = train(np.flatnonzero((folds != number) & (weights > 0)))
            part = Queries.from_sizes(queries.sizes[tested])
            rows = queries.rows_of(tested)
            levels[tested] = model.predict(_rows_of_lists(X, queries, tested), scores[rows], part)
        of_lists = queries.repeat(levels)
        pooled = Sigmoid.fit(centred, of_lists, targets, of_documents)
        _require_order(pooled)
        # Scores of losses with a term for each document know the level themselves.
        if start.loss(centred, means, targets, of_documents) <= pooled.loss(
            centred, of_lists, targets, of_documents
        ):
            level = ListLevel(start.level_slope, ListFeatures(), None)
            of_lists = start.level_slope * means
            pooled = Sigmoid.fit(centred, of_lists, targets, of_documents)
        else:
            level = train(np.flatnonzero(weights > 0))
        if method == "isotonic":
            logits = pooled.logits(centred, of_lists)
            curves = [_curve(logits, one, of_documents) for one in reached.T]
            return cls(thresholds, level, [pooled], curves)
        sigmoids = []
        for one in reached.T:
            fitted = Sigmoid.fit(centred, of_lists, one.astype(np.float64), of_documents)
            if not fitted.slope > 0.0:
                # By chance, where few documents reach the threshold.
                fitted = _shifted(pooled, targets, one, of_documents)
            sigmoids.append(fitted)
        return cls(thresholds, level, sigmoids, [])

    @property
    def is_isotonic(self) -> bool:
        """Whether there is a curve for each threshold."""
        return bool(self.curves)

    def scaled(self, scores: Floats) -> Floats:
        """The scores themselves."""
        return scores

    def probabilities(self, scores: Floats, X: Any, queries: Queries) -> Floats:
        """The probability of each grouped document to reach each threshold.

        Parameters
        ----------
        scores : ndarray, shape (n_documents,)
            Grouped by query.
        X : features
            In the sequence of the original rows.
        queries : Queries

        Returns
        -------
        ndarray, shape (n_documents, n_thresholds)
            They do not increase with the threshold, and sort the documents of a list like the
            scores.
        """
        centred = _centred(scores, queries)
        levels = queries.repeat(self.level.predict(X, scores, queries))
        columns: list[Floats]
        if self.curves:
            logits = self.sigmoids[0].logits(centred, levels)
            columns = [np.interp(logits, *curve) for curve in self.curves]
        else:
            columns = [_expit(one.logits(centred, levels)) for one in self.sigmoids]
        return np.minimum.accumulate(np.column_stack(columns), axis=1)

    def as_dict(self) -> dict[str, Any]:
        """The fields for a model file."""
        return {
            "thresholds": self.thresholds,
            "level": self.level.as_dict(),
            "sigmoids": [[one.intercept, one.slope, one.level_slope] for one in self.sigmoids],
            "curves": self.curves,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """What :meth:`as_dict` returned."""
        sigmoids = [Sigmoid(*numbers) for numbers in fields["sigmoids"]]
        curves = [(before, after) for before, after in fields["curves"]]
        level = ListLevel.from_dict(fields["level"])
        return cls(fields["thresholds"], level, sigmoids, curves)


def checked_thresholds(thresholds: ArrayLike | None, relevance: Floats) -> list[float]:
    """Thresholds of labels, increasing; by default all labels but the smallest one.

    Raises ValueError for a threshold that no document reaches, or each one does.
    """
    if thresholds is None:
        labels = np.unique(relevance)
        if len(labels) < 2:
            raise ValueError(
                f"all labels are {labels[0]:g}, so that nothing can be learned about the "
                "probability to be relevant"
            )
        return labels[1:].tolist()
    values = np.unique(finite_numbers(np.atleast_1d(np.asarray(thresholds)), "thresholds"))
    for value in values:
        reached = relevance >= value
        if reached.all() or not reached.any():
            which = "each" if reached.all() else "no"
            raise ValueError(
                f"thresholds must divide the documents, but {which} label is at least {value:g}; "
                f"labels reach from {relevance.min():g} to {relevance.max():g}"
            )
    return values.tolist()


def _centred(scores: Floats, queries: Queries) -> Floats:
    """Scores minus the mean of their list."""
    return scores - queries.repeat(queries.mean(scores))


def _rows_of_lists(X: Any, queries: Queries, lists: Ints) -> Any:
    """The features of some lists, grouped by query."""
    from sklearn.utils import _safe_indexing

    rows = queries.rows_of(lists)
    if queries.permutation is not None:
        rows = queries.permutation[rows]
    return _safe_indexing(X, rows)


def _require_order(sigmoid: Sigmoid) -> None:
    """Raise ValueError unless larger scores are more probable to be relevant."""
    if not sigmoid.slope > 0.0:
        raise ValueError(
            "the scores of lists that the ranker was not trained on do not rank relevant documents "
            "higher than chance does, so that they say nothing about relevance. Train on more "
            "lists, or with other features"
        )


def _shifted(pooled: Sigmoid, targets: Floats, reached: Any, weights: Floats) -> Sigmoid:
    """The slopes of all thresholds, with an intercept for the share that reaches one of them."""
    before = np.average(targets, weights=weights)
    after = np.average(reached, weights=weights)
    change = np.log(after / (1.0 - after)) - np.log(before / (1.0 - before))
    return Sigmoid(pooled.intercept + float(change), pooled.slope, pooled.level_slope)


def _curve(logits: Floats, reached: Any, weights: Floats) -> tuple[list[float], list[float]]:
    """The steps of an isotonic regression, which are never 0 or 1."""
    from sklearn.isotonic import IsotonicRegression

    least = 1.0 / (np.count_nonzero(weights) + 2.0)
    regression = IsotonicRegression(y_min=least, y_max=1.0 - least, out_of_bounds="clip")
    regression.fit(logits, reached.astype(np.float64), weights)
    return regression.X_thresholds_.tolist(), regression.y_thresholds_.tolist()


def _expit(logits: Floats) -> Floats:
    """``1 / (1 + exp(-logits))``."""
    import scipy

    return scipy.special.expit(logits)
