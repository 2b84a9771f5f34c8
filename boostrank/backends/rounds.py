"""The rounds of a training: metrics of validation sets, left-out queries, and the last round."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostrank.backends.interrupts import interruptible
from boostrank.backends.left_out_queries import QuerySample
from boostrank.backends.records import (
    BAR,
    GroupedData,
    Result,
    TrainingSpecification,
    ValidationSet,
)
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import did_you_mean, refuse
from boostrank.surrogates.loss import BoundLoss

if TYPE_CHECKING:
    from boostrank.backends.progress import ProgressBar


class Rounds:
    """The rounds of one training, of which both libraries say when one has ended.

    Parameters
    ----------
    specification : TrainingSpecification
    data : GroupedData
    validation : sequence of ValidationSet
    loss : BoundLoss or None
        None if the library computes its own objective.
    changes_trees : bool
        Whether a round changes trees of earlier ones, as DART does. Then the best model is not the
        first rounds of the last one, and what a round adds is not its tree.

    Attributes
    ----------
    sample : QuerySample or None
        Gradients of the loss, with the queries that each round leaves out.
    history : History
    stops_early : bool
        Whether a metric of a validation set decides when the training ends.
    print_period : int
        Metrics are printed after each so many rounds; 0 if they are not printed.
    best_model : object or None
        The model after the best round, if rounds change earlier trees and a metric decides.
    bar : context manager
        In it, the progress bar is shown if `verbose` asks for it.
    """

    def __init__(
        self,
        specification: TrainingSpecification,
        data: GroupedData,
        validation: Sequence[ValidationSet],
        loss: BoundLoss | None,
        changes_trees: bool,
    ) -> None:
        self.sample: QuerySample | None = None
        if loss is not None:
            is_measured = not changes_trees
            self.sample = QuerySample(loss, specification, data, is_measured=is_measured)
        self.history = History(validation, specification)
        self.stops_early = bool(validation) and specification.early_stopping_rounds is not None
        self._keeps_best = changes_trees and self.stops_early
        self.best_model: Any = None
        self.print_period = 0
        self._bar: ProgressBar | None = None
        if specification.verbose == BAR:
            # Imported on use: few trainings show it.
            from boostrank.backends.progress import ProgressBar

            self._bar = ProgressBar(specification.n_rounds, True, self.history.last_value)
        else:
            self.print_period = int(specification.verbose)
        self.bar: AbstractContextManager[object] = self._bar or nullcontext()

    @property
    def improvement(self) -> Sequence[float]:
        """Improvements on left-out queries, which :class:`QuerySample` measures."""
        return () if self.sample is None else self.sample.improvement

    def evaluate(self, scores: Floats, scored: object, data_sets: Sequence[object]) -> list[Result]:
        """The metrics of one of the library's data sets, those of the validation sets."""
        number = next(i for i, data_set in enumerate(data_sets) if data_set is scored)
        return self.history.record(number, scores)

    def end_round(self, copy_model: Callable[[], object]) -> bool:
        """Count a round that has ended, and say whether the training ends with it.

        Here, signals that wait are handled. `copy_model` returns a copy of the present model.
        """
        interruptible(self._show_round)
        if not self.stops_early:
            return self.sample is not None and self.sample.should_stop()
        if self._keeps_best and self.history.improved():
            self.best_model = copy_model()
        return self.history.should_stop()

    def _show_round(self) -> None:
        if self._bar is not None:
            self._bar.advance(self.sample)


class History:
    """The metrics of each validation set in every round, and the decision when to stop early.

    One metric of one validation set decides: `early_stopping_metric` of the last validation set
    that is not the training data.

    Parameters
    ----------
    validation : sequence of ValidationSet
    specification : TrainingSpecification
    """

    def __init__(
        self, validation: Sequence[ValidationSet], specification: TrainingSpecification
    ) -> None:
        self._sets = validation
        self._values: list[dict[str, list[float]]] = [{} for _ in validation]
        self._patience = specification.early_stopping_rounds
        self._names = specification.metric_names
        # The name of the deciding metric. A place among the results becomes a name with the first
        # results.
        self._metric: str | None = None
        self._deciding_result = 0
        deciding = specification.early_stopping_metric
        if isinstance(deciding, str):
            self._metric = deciding
        else:
            self._deciding_result = deciding or 0
        self._deciding_set = len(validation) - 1
        for i, validation_set in enumerate(validation):
            if not validation_set.is_training:
                self._deciding_set = i
        self._sign = 1.0

    def record(self, i: int, scores: Floats) -> list[Result]:
        """Evaluate the metrics of validation set `i` at grouped scores, and record them.

        Returns the name of each metric, its value, and whether higher is better.
        """
        results = []
        for metric in self._sets[i].metrics:
            for name, value, better in interruptible(metric.results, scores):
                results.append((self._names.get(name, name), value, better))
        is_higher_better = {name: better for name, _, better in results}
        values = self._values[i]
        names_changed = bool(values) and values.keys() != is_higher_better.keys()
        if not results or len(is_higher_better) < len(results) or names_changed:
            got = str([name for name, _, _ in results])
            if values:
                got += f" after {list(values)}"
            raise ValueError(
                "eval_metric must have at least one value, each with a name of its own, and the "
                f"same names in every round; got {got}"
            )
        for name, value, _ in results:
            values.setdefault(name, []).append(value)
        if i == self._deciding_set:
            if self._metric is None:
                self._metric = results[self._deciding_result][0]
            self._sign = _sign_of(self._metric, is_higher_better)
        return results

    def best_round(self) -> int:
        """The round, counted from 0, in which the deciding metric first had its best value."""
        return int(np.argmax(self._deciding()))

    def best_value(self) -> float:
        """The value of the deciding metric in that round."""
        return self._sign * float(self._deciding()[self.best_round()])

    def improved(self) -> bool:
        """Whether the deciding metric is better in the last round than in all rounds before."""
        return self.best_round() == len(self._deciding()) - 1

    def should_stop(self) -> bool:
        """Whether the deciding metric has not improved for `early_stopping_rounds` rounds."""
        if self._patience is None:
            return False
        return len(self._deciding()) - 1 - self.best_round() >= self._patience

    def last_value(self) -> str:
        """The deciding metric and its value in the last round; empty without validation sets."""
        if self._metric is None or not self._sets:
            return ""
        return f"{self._metric} {self._values[self._deciding_set][self._metric][-1]:.4f}"

    def as_dict(self) -> dict[str, dict[str, list[float]]]:
        """Values by validation set, metric and round: ``{"valid_0": {"ndcg@10": [...]}}``."""
        return {
            validation_set.name: values
            for validation_set, values in zip(self._sets, self._values, strict=True)
        }

    def _deciding(self) -> NDArray[np.float64]:
        """Values of the deciding metric by round, with the other sign if lower is better."""
        assert self._metric is not None
        return self._sign * np.asarray(self._values[self._deciding_set][self._metric])


def _sign_of(metric: str, is_higher_better: Mapping[str, bool]) -> float:
    """1 if higher values of the metric are better, otherwise -1; ValueError for an unknown one."""
    if metric not in is_higher_better:
        expected = f"one of {', '.join(is_higher_better)}, the metrics of eval_metric"
        advice = did_you_mean(metric, is_higher_better)
        refuse("early_stopping_metric", metric, expected, advice)
    return 1.0 if is_higher_better[metric] else -1.0
