"""Attributes of fitted rankers that have the names of those of LGBMRanker and XGBRanker."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from boostrank.backends.base import Backend


class AttributesMixin:
    """Attributes computed from the model and from the recorded metrics. Before `fit`, they raise NotFittedError."""

    _backend: ClassVar[Backend]
    booster_: Any
    best_iteration_: int
    _best_round: int
    evals_result_: dict[str, dict[str, list[float]]]
    n_features_in_: int

    @property
    def best_score_(self) -> dict[str, dict[str, float]]:
        """Values of the metrics in the last round that the model has, as ``{"valid_0": {"ndcg@10": value}, ...}``.

        With ``ensemble="folds"``, it is the last round of the model of each fold.

        It is empty if there were no validation sets, and after `load_model`: a model file does not have the values.
        With `refit`, these are the values of the model that was trained without the held-out queries.
        """
        check_is_fitted(self, "booster_")
        return {
            name: {metric: values[self._best_round - 1] for metric, values in metrics.items()}
            for name, metrics in self.evals_result_.items()
        }

    @property
    def n_estimators_(self) -> int:
        """Number of boosting rounds of the model; rounds after the best one are not kept."""
        check_is_fitted(self, "booster_")
        return self._backend.n_rounds(self.booster_)

    @property
    def n_iter_(self) -> int:
        """The same as `n_estimators_`."""
        return self.n_estimators_

    @property
    def n_features_(self) -> int:
        """The same as `n_features_in_`."""
        check_is_fitted(self, "booster_")
        return self.n_features_in_

    @property
    def feature_name_(self) -> list[str]:
        """Names of the features; for features without names, those that the boosting library makes up."""
        check_is_fitted(self, "booster_")
        unnamed = [self._backend.UNNAMED_FEATURE.format(i) for i in range(self.n_features_in_)]
        return [str(name) for name in getattr(self, "feature_names_in_", unnamed)]

    @property
    def objective_(self) -> Any:
        """The parameter `objective` with which the model was trained; a model that was read from a file has none."""
        check_is_fitted(self, "booster_")
        if not hasattr(self, "_trained_objective"):
            raise AttributeError(
                f"this {type(self).__name__} has no objective_: its model was read from a file, which does not say "
                "with which loss it was trained"
            )
        return self._trained_objective

    def evals_result(self) -> dict[str, dict[str, list[float]]]:
        """Return `evals_result_`, the values of the metrics of validation sets in every round.

        Raises
        ------
        ValueError
            If there are none, because there was no validation set, or because the model was read from a file.
        """
        check_is_fitted(self, "booster_")
        if not self.evals_result_:
            raise ValueError(
                "there are no results of validation sets: give eval_set to fit, or set validation_fraction. A model "
                "that was read from a file has none"
            )
        return self.evals_result_

    def get_booster(self) -> Any:
        """Return `booster_`, the model of the boosting library."""
        check_is_fitted(self, "booster_")
        return self.booster_
