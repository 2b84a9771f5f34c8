"""The progress bar that `verbose` asks for."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from boostrank.backends.left_out_queries import QuerySample

#: Seconds from one line about the progress to the next, where no bar can be shown.
SECONDS_PER_LINE = 10.0


class ProgressBar:
    """Shows on standard error how many rounds or trainings are done, and a text about the last one.

    With the package rich, on a terminal or in a notebook, this is a bar with the time that all of
    them will take. Elsewhere it is a line for every ten seconds. It is a context manager: at the
    end, and after an error, the bar is stopped and the cursor of the terminal is shown again.

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
        self._total = total
        self._is_shown = is_shown
        self._text = text
        self._title = title
        self._n_done = 0
        self._bar: Progress | None = None
        self._task: TaskID
        self._last_line: float

    def __enter__(self) -> Self:
        if self._is_shown:
            self._last_line = time.monotonic()
            self._bar = _bar(self._title)
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("", total=self._total)
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, sample: QuerySample | None = None) -> None:
        """Count one more; `sample` says how many rounds are to be expected."""
        if not self._is_shown:
            return
        expected = None if sample is None else sample.expected_rounds()
        if expected:
            self._expect(max(self._n_done + 1, expected))
        self._n_done += 1
        if self._bar is not None:
            self._bar.update(self._task, advance=1, description=self._text())
            return
        now = time.monotonic()
        if now - self._last_line >= SECONDS_PER_LINE:
            self._last_line = now
            line = f"{self._title}: {self._n_done} of {self._total}"
            text = self._text()
            if text:
                line += f", {text}"
            sys.stderr.write(f"{line}\n")

    def leave_out(self) -> None:
        """Expect one less, which is known already and would make the time left too short."""
        self._expect(self._total - 1)

    def _expect(self, total: int) -> None:
        self._total = total
        if self._bar is not None:
            self._bar.update(self._task, total=total)


def _bar(title: str) -> Progress | None:
    """The bar of rich, which is an optional package; None where no bar can be shown."""
    try:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )
        from rich.table import Column
    except ImportError:
        return None
    console = Console(stderr=True)
    # Terminals without control codes (TERM=dumb) cannot draw a bar again in its line.
    is_terminal = console.is_terminal and not console.is_dumb_terminal
    if not (is_terminal or console.is_jupyter):
        return None
    # On a narrow terminal the text is cut: numbers and times stay whole.
    of_text = Column(ratio=1, no_wrap=True)
    return Progress(
        TextColumn(title, markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False, table_column=of_text),
        expand=True,
        console=console,
    )
