"""The metrics of validation sets in every round, and early stopping."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostrank.backends.base import Training


class History:
    """The metrics of each validation set in every round, and the decision when to stop early.

    One metric of one validation set decides: `early_stopping_metric`, or the first metric if this is None, of the last
    validation set that is not the training data.

    Parameters
    ----------
    training : Training
        Its validation sets and its specification are used.
    """

    def __init__(self, training: Training) -> None:
        self._sets = training.validation
        self._values: list[dict[str, list[float]]] = [{} for _ in self._sets]
        self._directions: list[dict[str, bool]] = [{} for _ in self._sets]
        self._patience = training.specification.early_stopping_rounds
        self._metric = training.specification.early_stopping_metric
        held_out = [i for i, part in enumerate(self._sets) if not part.is_training]
        self._deciding_set = held_out[-1] if held_out else len(self._sets) - 1
        self._sign = 1.0

    def record(self, i: int, scores: NDArray[Any]) -> list[tuple[str, float, bool]]:
        """Evaluate the metrics of validation set `i` at grouped scores, and record them.

        Returns the name of each metric, its value, and whether higher is better.
        """
        results = [result for metric in self._sets[i].metrics for result in metric.evaluate(scores)]
        _check_names([name for name, _, _ in results], list(self._values[i]))
        for name, value, _ in results:
            self._values[i].setdefault(name, []).append(value)
        better = self._directions[i] = {name: is_higher_better for name, _, is_higher_better in results}
        if i == self._deciding_set:
            if self._metric is None:
                self._metric = results[0][0]
            if self._metric not in better:
                raise ValueError(
                    f"early_stopping_metric must be one of {', '.join(better)}, the metrics of eval_metric; got "
                    f"{self._metric!r}"
                )
            self._sign = 1.0 if better[self._metric] else -1.0
        return results

    def is_higher_better(self, name: str, metric: str) -> bool | None:
        """Whether higher is better for a metric of the validation set of this name; None if there is no such metric."""
        by_set = {part.name: directions for part, directions in zip(self._sets, self._directions, strict=True)}
        return by_set.get(name, {}).get(metric)

    def best_round(self) -> int:
        """The round, counted from 0, in which the deciding metric first had its best value."""
        return int(np.argmax(self._deciding()))

    def improved(self) -> bool:
        """Whether the deciding metric is better in the last round than in all rounds before."""
        return self.best_round() == len(self._deciding()) - 1

    def should_stop(self) -> bool:
        """Whether the deciding metric has not improved for `early_stopping_rounds` rounds."""
        return self._patience is not None and len(self._deciding()) - 1 - self.best_round() >= self._patience

    def last(self) -> tuple[str, float] | None:
        """The deciding metric and its value in the last round; None without validation sets."""
        if self._metric is None or not self._sets:
            return None
        return self._metric, self._values[self._deciding_set][self._metric][-1]

    def as_dict(self) -> dict[str, dict[str, list[float]]]:
        """Values by validation set, metric and round: ``{"valid_0": {"ndcg@10": [value of each round]}, ...}``."""
        return {part.name: values for part, values in zip(self._sets, self._values, strict=True)}

    def _deciding(self) -> NDArray[np.float64]:
        """Values of the deciding metric by round, with the other sign if lower is better."""
        assert self._metric is not None
        return self._sign * np.asarray(self._values[self._deciding_set][self._metric])


def _check_names(names: list[str], before: list[str]) -> None:
    """Raise ValueError unless each name stands for one value, and the names are those of the rounds before."""
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise ValueError(f"eval_metric has two values of the name {repeated[0]!r}, under which they are recorded")
    if not names or (before and set(names) != set(before)):
        raise ValueError(
            f"eval_metric must have at least one value, and the same names in every round; got {names}"
            + (f" after {before}" if before else "")
        )
