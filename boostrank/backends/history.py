"""Measures of validation sets by round, and early stopping."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostrank.backends.base import Training


class History:
    """The measure of each validation set by round, and the decision when to stop early.

    Parameters
    ----------
    training : Training
        Its validation sets and its specification are used.
    """

    def __init__(self, training: Training) -> None:
        self._measures = [measure for _, measure in training.validation]
        self._values: list[list[float]] = [[] for _ in self._measures]
        self._patience = training.specification.early_stopping_rounds

    def record(self, i: int, scores: NDArray[Any]) -> tuple[str, float]:
        """Evaluate validation set `i` at these scores, and return the name of its measure and the value."""
        self._values[i].append(self._measures[i].mean(scores))
        return str(self._measures[i]), self._values[i][-1]

    def best_round(self) -> int:
        """The round, counted from 0, in which the measure of the last validation set first had its largest value."""
        return int(np.argmax(self._values[-1]))

    def should_stop(self) -> bool:
        """Whether the measure of the last validation set has not improved for `early_stopping_rounds` rounds."""
        return self._patience is not None and len(self._values[-1]) - 1 - self.best_round() >= self._patience

    def as_dict(self) -> dict[str, dict[str, list[float]]]:
        """Values by validation set and measure, ``{"valid_0": {"ndcg@10": [value of each round]}, ...}``."""
        return {
            f"valid_{i}": {str(measure): values}
            for i, (measure, values) in enumerate(zip(self._measures, self._values, strict=True))
        }
