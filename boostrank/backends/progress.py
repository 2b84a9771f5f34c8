"""The rounds of a training: metrics of validation sets, early stopping, and the output that
`verbose` asks for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from boostrank.backends.interrupts import interruptible
from boostrank.inputs.checks import did_you_mean, refuse

if TYPE_CHECKING:
    from boostrank.backends.base import TrainingSpecification, ValidationSet
    from boostrank.backends.left_out_queries import QuerySample

#: The value of `verbose` that shows a progress bar.
BAR = "bar"
#: Seconds from one line about the progress to the next, where no bar can be shown.
SECONDS_PER_LINE = 10.0


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
        self._values: list[dict[str, list[float]]] = [{} for _ in self._sets]
        self._patience = specification.early_stopping_rounds
        self._names, deciding = specification.metric_names, specification.early_stopping_metric
        self._metric = deciding if isinstance(deciding, str) else None
        self._deciding_result = 0 if isinstance(deciding, str) else deciding
        held_out = [
            i for i, validation_set in enumerate(self._sets) if not validation_set.is_training
        ]
        self._deciding_set = held_out[-1] if held_out else len(self._sets) - 1
        self._sign = 1.0

    def record(self, i: int, scores: NDArray[Any]) -> list[tuple[str, float, bool]]:
        """Evaluate the metrics of validation set `i` at grouped scores, and record them.

        Returns the name of each metric, its value, and whether higher is better.
        """
        results = [
            result
            for metric in self._sets[i].metrics
            for result in interruptible(metric.results, scores)
        ]
        results = [(self._names.get(name, name), value, better) for name, value, better in results]
        names, values = [name for name, _, _ in results], self._values[i]
        better = {name: is_higher_better for name, _, is_higher_better in results}
        if not names or len(better) < len(names) or (values and values.keys() != better.keys()):
            raise ValueError(
                "eval_metric must have at least one value, each with a name of its own, and the "
                "same names in every "
                f"round; got {names}" + (f" after {list(values)}" if values else "")
            )
        for name, value, _ in results:
            values.setdefault(name, []).append(value)
        if i == self._deciding_set:
            if self._metric is None:
                self._metric = results[self._deciding_result][0]
            if self._metric not in better:
                expected = f"one of {', '.join(better)}, the metrics of eval_metric"
                refuse(
                    "early_stopping_metric",
                    self._metric,
                    expected,
                    did_you_mean(self._metric, better),
                )
            self._sign = 1.0 if better[self._metric] else -1.0
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
        return (
            self._patience is not None
            and len(self._deciding()) - 1 - self.best_round() >= self._patience
        )

    def last_value(self) -> str:
        """The deciding metric and its value in the last round, as text; empty without validation
        sets.
        """
        if self._metric is None or not self._sets:
            return ""
        return f"{self._metric} {self._values[self._deciding_set][self._metric][-1]:.4f}"

    def as_dict(self) -> dict[str, dict[str, list[float]]]:
        """Values by validation set, metric and round: ``{"valid_0": {"ndcg@10": [value of each
        round]}, ...}``.
        """
        return {
            validation_set.name: values
            for validation_set, values in zip(self._sets, self._values, strict=True)
        }

    def _deciding(self) -> NDArray[np.float64]:
        """Values of the deciding metric by round, with the other sign if lower is better."""
        assert self._metric is not None
        return self._sign * np.asarray(self._values[self._deciding_set][self._metric])


class ProgressBar:
    """Shows on standard error how many rounds or trainings are done, and a text about the last one.

    On a terminal or in a notebook this is a bar with the time that all of them will take. Elsewhere
    it is a line for every ten seconds. It is a context manager: at the end, and after an error, the
    bar is stopped and the cursor of the terminal is shown again.

    Parameters
    ----------
    total : int
        Number at the end, unless a training stops early.
    is_shown : bool
    text : callable
        Called after each of them; returns a text such as "ndcg@10 0.4321", or "".
    title : str, default "rounds"
    """

    def __init__(
        self, total: int, is_shown: bool, text: Callable[[], str], title: str = "rounds"
    ) -> None:
        self._total, self._is_shown, self._text, self._title = total, is_shown, text, title
        self._n_done = 0

    def __enter__(self) -> Self:
        if self._is_shown:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                TextColumn,
                TimeRemainingColumn,
            )
            from rich.table import Column

            self._console = Console(stderr=True, markup=False, emoji=False, highlight=False)
            # Terminals without control codes (TERM=dumb) cannot draw a bar again in its line.
            is_terminal = self._console.is_terminal and not self._console.is_dumb_terminal
            self._progress = Progress(
                TextColumn(self._title, markup=False),
                BarColumn(bar_width=20),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                # On a narrow terminal the text is cut: numbers and times stay whole.
                TextColumn(
                    "{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True)
                ),
                expand=True,
                console=self._console,
                disable=not (is_terminal or self._console.is_jupyter),
            )
            self._last_line = time.monotonic()
            self._progress.start()
            self._task = self._progress.add_task("", total=self._total)
        return self

    def __exit__(self, *error: object) -> None:
        if self._is_shown:
            self._progress.stop()

    def advance(self, sample: QuerySample | None = None) -> None:
        """Count one more; here, signals that wait are handled. `sample` says how many rounds are to
        be expected.
        """
        if sample is not None and (expected := sample.expected_rounds()):
            self._expect(max(self._n_done + 1, expected))
        interruptible(self._advance)

    def leave_out(self) -> None:
        """Expect one less, whose result is known already, so that the time left is not
        underestimated.
        """
        self._expect(self._total - 1)

    def _expect(self, total: int) -> None:
        self._total = total
        if self._is_shown:
            self._progress.update(self._task, total=total)

    def _advance(self) -> None:
        if not self._is_shown:
            return
        self._n_done += 1
        if not self._progress.disable:
            self._progress.update(self._task, advance=1, description=self._text())
            return
        now = time.monotonic()
        if now - self._last_line >= SECONDS_PER_LINE:
            self._last_line = now
            text = f"{self._title}: {self._n_done} of {self._total}"
            self._console.print(", ".join(filter(None, [text, self._text()])), soft_wrap=True)
