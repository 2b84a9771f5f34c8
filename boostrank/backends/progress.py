"""The output of a training that `verbose` asks for: printed metrics, or a progress bar."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from boostrank.backends.base import TrainingSpecification
from boostrank.backends.history import History

#: The value of `verbose` that shows a progress bar.
BAR = "bar"


def printing_period(verbose: bool | int | str) -> int:
    """Number of rounds from one printing of the metrics to the next; 0 if they are not printed."""
    return 0 if verbose == BAR else int(verbose)


class RoundsBar:
    """A progress bar that shows the number of rounds, and the metric that decides on early stopping.

    It is a context manager: at the end, and after an error in the training, the bar is stopped and the cursor of the
    terminal is shown again. Without ``verbose="bar"`` in the specification it does nothing.

    Parameters
    ----------
    specification : TrainingSpecification
    history : History
    """

    def __init__(self, specification: TrainingSpecification, history: History) -> None:
        self._n_rounds, self._history = specification.n_rounds, history
        self._shown = specification.verbose == BAR

    def __enter__(self) -> Self:
        if self._shown:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._progress = Progress(
                TextColumn("rounds"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.description}"),
            )
            self._progress.start()
            self._task = self._progress.add_task("", total=self._n_rounds)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._progress.stop()

    def advance(self) -> None:
        """Count one more round."""
        if self._shown:
            last = self._history.last()
            text = "" if last is None else f"{last[0]} {last[1]:.4f}"
            self._progress.update(self._task, advance=1, description=text)
