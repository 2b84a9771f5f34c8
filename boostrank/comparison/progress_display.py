"""The progress of a comparison: a bar with the time left on a terminal, and a line for each fold elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column

from boostrank.backends.progress import can_show_bar, duration
from boostrank.comparison.trainings import FinishedTraining

# Characters of the name of a training, at most; and of the rest of the line, whose bar has at least five.
_NAME, _REST = 40, 42


class ProgressDisplay:
    """Shows on standard error how many trainings are finished, and how long the others will take.

    It is a context manager: at the end, and after an error, the bar is stopped and the cursor of the terminal is shown.
    It is called with each training that is finished.

    Parameters
    ----------
    n_folds, n_rankers : int
        The trainings are those of each ranker on each fold.
    """

    def __init__(self, n_folds: int, n_rankers: int) -> None:
        self._n_folds, self._n_rankers = n_folds, n_rankers
        self._finished, self._trained, self._n_trained = Counter[str](), Counter[str](), 0
        # Names of rankers and folds may contain brackets or colons, which are no markup.
        self._console = Console(stderr=True, markup=False, emoji=False, highlight=False)
        self._bar = Progress(
            TextColumn("{task.description}", markup=False, table_column=self._name_column()),
            BarColumn(table_column=Column(ratio=1)),
            MofNCompleteColumn(table_column=Column(no_wrap=True)),
            TimeElapsedColumn(table_column=Column(no_wrap=True)),
            TextColumn("left"),
            TimeRemainingColumn(table_column=Column(no_wrap=True)),
            console=self._console,
            disable=not can_show_bar(self._console),
        )
        self._task = self._bar.add_task("", total=n_folds * n_rankers)
        self._start = time.monotonic()

    def _name_column(self) -> Column:
        """The column of the name of a training, which is cut on a narrow terminal: numbers and times stay whole."""
        width = min(_NAME, max(1, self._console.width - _REST))
        return Column(width=width, no_wrap=True, overflow="ellipsis")

    def __enter__(self) -> Self:
        self._start = time.monotonic()
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def __call__(self, training: FinishedTraining) -> None:
        """Show that one more training is finished."""
        self._finished[training.fold] += 1
        if training.is_saved:
            # It took no time, which says nothing about the time of the others: the measured speed starts anew.
            self._bar.reset(self._task, completed=training.n_finished, description=_name(training))
        else:
            self._n_trained += 1
            self._trained[training.fold] += 1
            self._bar.update(self._task, completed=training.n_finished, description=_name(training))
        if self._finished[training.fold] == self._n_rankers and self._bar.disable:
            self._console.print(self._line(training), soft_wrap=True)

    def _line(self, training: FinishedTraining) -> str:
        """One line of text on a fold that is finished."""
        n_folds = sum(count == self._n_rankers for count in self._finished.values())
        n_trained = self._trained[training.fold]
        n_saved = self._n_rankers - n_trained
        text = f"{training.fold} is finished ({n_folds} of {self._n_folds}): "
        if not n_trained:
            return f"{text}{n_saved} saved {_plural(n_saved)}"
        text += f"{n_trained} {_plural(n_trained)}" + (f", {n_saved} saved" if n_saved else "")
        seconds = time.monotonic() - self._start
        n_left = training.n_trainings - training.n_finished
        left = f", about {duration(seconds / self._n_trained * n_left)} left" if n_left else ""
        return f"{text}, {duration(seconds)} since the start{left}"


def _plural(count: int) -> str:
    return "training" if count == 1 else "trainings"


def _name(training: FinishedTraining) -> str:
    return f"{training.fold}: {training.ranker}"
