"""Predictions of a fitted ranker: scores, leaves of trees and contributions of features, by all rounds or by some."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from boostrank.backends.base import Backend
from boostrank.inputs.checks import check_count, check_flag, is_count
from boostrank.inputs.frames import QID, without_column
from boostrank.rankers.features import check_features


class PredictionMixin:
    """The methods of a ranker that predict."""

    _backend: ClassVar[Backend]
    booster_: Any

    def predict(
        self,
        X: Any,
        *,
        num_iteration: int | None = None,
        start_iteration: int = 0,
        iteration_range: tuple[int, int] | None = None,
        raw_score: bool = False,
        output_margin: bool = False,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
    ) -> Any:
        """Predict the score of each row, or, on demand, its leaves or the contributions of the features to its score.

        The document with the highest score of a query has rank 1. Scores of different queries need not be comparable.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or FeatureFiles, shape (n_documents, n_features)
            As in `fit`.
        num_iteration : int, optional
            Number of boosting rounds to use. None, 0 and negative numbers mean all rounds from `start_iteration` on, up
            to `best_iteration_`: the model has no later ones.
        start_iteration : int, default 0
            The first round to use, counted from 0.
        iteration_range : (int, int), optional
            The same in XGBoost's notation: the first round, and the one after the last, where 0 means all. Give either
            this or `num_iteration` and `start_iteration`.
        raw_score, output_margin : bool, default False
            With these options, LightGBM and XGBoost return scores that are not transformed. Rankers never transform
            scores, so that the result is the same for True and False.
        pred_leaf : bool, default False
            Return the leaf of each tree in which the row ends, as the boosting library numbers leaves.
        pred_contrib : bool, default False
            Return the SHAP values of the features.

        Returns
        -------
        ndarray
            Scores, float64, of shape (n_documents,). With `pred_leaf`, leaves, int32, of shape (n_documents, n_trees).
            With `pred_contrib`, float64 of shape (n_documents, n_features + 1), in CSR format if `X` is sparse: the
            last column is the expected score, and the sum of each row is its score. XGBoost computes scores and
            contributions in float32, and counts `base_score` of a model that it trained itself once in every
            prediction, also in one that starts after the first round.

        Raises
        ------
        ValueError
            For rounds that the model does not have, and for features that differ from those of the training. Linear
            models (`booster="gblinear"`) have no leaves, and their rounds cannot be chosen. For leaves with linear
            models (`linear_tree`), LightGBM has no contributions.

        Examples
        --------
        >>> from boostrank import LightGBMRanker, make_ranking
        >>> X, y, qid = make_ranking(n_queries=20, random_state=0)
        >>> ranker = LightGBMRanker(n_estimators=20).fit(X, y, qid)
        >>> first, others = ranker.predict(X, num_iteration=5), ranker.predict(X, start_iteration=5)
        >>> bool(np.allclose(first + others, ranker.predict(X)))
        True
        >>> contributions = ranker.predict(X, pred_contrib=True)
        >>> contributions.shape[1] == X.shape[1] + 1, bool(np.allclose(contributions.sum(axis=1), ranker.predict(X)))
        (True, True)
        """
        check_is_fitted(self, "booster_")
        _check_flags(raw_score=raw_score, output_margin=output_margin, pred_leaf=pred_leaf, pred_contrib=pred_contrib)
        rounds = self._select_rounds(num_iteration, start_iteration, iteration_range)
        backend = self._backend
        function = backend.leaves if pred_leaf else backend.contributions if pred_contrib else backend.predict
        return function(self.booster_, self._checked_features(X), rounds)

    def staged_predict(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Predict the scores after each boosting round.

        The scores of single rounds are added up, so that the time is linear in the number of rounds. Each round reads
        all features again, so that this takes several times as long as `predict`.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or FeatureFiles, shape (n_documents, n_features)
            As in `fit`.

        Returns
        -------
        iterator of ndarray, shape (n_documents,)
            The scores after the first round, the second, ..., as `predict` gives them with `num_iteration`. With
            LightGBM they are equal to these; with XGBoost they differ by the precision of float32.

        Examples
        --------
        >>> from boostrank import XGBoostRanker, make_ranking, ndcg_score
        >>> X, y, qid = make_ranking(n_queries=50, random_state=0)
        >>> ranker = XGBoostRanker(n_estimators=10).fit(X, y, qid)
        >>> values = [ndcg_score(y, scores, qid, k=10) for scores in ranker.staged_predict(X)]
        >>> len(values), values[-1] > values[0]
        (10, True)
        """
        check_is_fitted(self, "booster_")
        # Errors in X are raised by the call itself, and not when the first scores are asked for.
        return _add_rounds(self._backend, self.booster_, self._checked_features(X))

    def apply(self, X: Any, iteration_range: tuple[int, int] | None = None) -> NDArray[np.int32]:
        """Return the leaf of each tree in which each row ends: ``predict(X, pred_leaf=True)``.

        Parameters
        ----------
        X, iteration_range
            As in :meth:`predict`.

        Returns
        -------
        ndarray of int32, shape (n_documents, n_trees)
        """
        return self.predict(X, pred_leaf=True, iteration_range=iteration_range)

    def _checked_features(self, X: Any) -> Any:
        """The features of `X`, checked, without the column of query ids unless the model has a feature of this name."""
        names = getattr(self, "feature_names_in_", ())
        for name in {QID, getattr(self, "_qid_column", QID)}:
            X = X if name in names else without_column(X, name)
        return check_features(self, X)

    def _select_rounds(self, num_iteration: Any, start_iteration: Any, iteration_range: Any) -> range | None:
        """The rounds that these arguments of `predict` mean; None for all."""
        if num_iteration is None and iteration_range is None and start_iteration == 0 and is_count(start_iteration):
            return None
        n_rounds = self._backend.n_rounds(self.booster_)
        if iteration_range is None:
            rounds = _rounds_of_lightgbm(n_rounds, num_iteration, start_iteration)
        elif num_iteration is not None or start_iteration != 0:
            raise ValueError("give either iteration_range, or num_iteration and start_iteration, not both")
        else:
            rounds = _rounds_of_xgboost(n_rounds, iteration_range)
        return None if rounds == range(n_rounds) else rounds


def _check_flags(**flags: Any) -> None:
    for name, value in flags.items():
        check_flag(name, value)
    if flags["pred_leaf"] and flags["pred_contrib"]:
        raise ValueError("give either pred_leaf=True or pred_contrib=True, not both")


def _rounds_of_lightgbm(n_rounds: int, num_iteration: Any, start_iteration: Any) -> range:
    """The rounds that these arguments mean, as in LightGBM, for a model of `n_rounds` rounds."""
    check_count("start_iteration", start_iteration, smallest=0)
    if num_iteration is not None and not is_count(num_iteration):
        raise ValueError(f"num_iteration must be an integer, or None for all rounds; got {num_iteration!r}")
    is_limited = num_iteration is not None and num_iteration > 0
    rounds = range(start_iteration, start_iteration + num_iteration if is_limited else n_rounds)
    if start_iteration and start_iteration >= n_rounds:
        raise ValueError(f"start_iteration must be below {_describe(n_rounds)}; got {start_iteration}")
    if rounds.stop > n_rounds:
        raise ValueError(
            f"num_iteration={num_iteration} with start_iteration={start_iteration} goes beyond {_describe(n_rounds)}"
        )
    return rounds


def _rounds_of_xgboost(n_rounds: int, iteration_range: Any) -> range:
    """The rounds that this pair means, as in XGBoost, for a model of `n_rounds` rounds."""
    is_pair = isinstance(iteration_range, (tuple, list)) and len(iteration_range) == 2
    if not is_pair or not all(is_count(number) for number in iteration_range):
        raise ValueError(
            f"iteration_range must be (first, end): two integers, the round after the last one second, or 0 for all; "
            f"got {iteration_range!r}"
        )
    first, end = iteration_range
    if not 0 <= first < (end or n_rounds) <= n_rounds:
        raise ValueError(
            f"iteration_range must be (first, end) with 0 <= first < end, or end 0 for all, and end at most "
            f"{_describe(n_rounds)}; got {iteration_range!r}"
        )
    return range(first, end or n_rounds)


def _describe(n_rounds: int) -> str:
    """The number of rounds, for messages."""
    return f"the number of rounds of the model, {n_rounds} (rounds after the best one are not kept)"


def _add_rounds(backend: Backend, booster: Any, X: Any) -> Iterator[NDArray[np.float64]]:
    """Return an iterator over the scores after each round."""
    base = backend.base_score(booster)

    def add() -> Iterator[NDArray[np.float64]]:
        scores = np.full(X.shape[0], base)
        for i in range(backend.n_rounds(booster)):
            scores += backend.predict(booster, X, range(i, i + 1)) - base
            yield scores.copy()

    return add()
