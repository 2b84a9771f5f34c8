"""The output of a training that `verbose` asks for: printed metrics, or its progress as a bar or as lines."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.console import Console

#: The value of `verbose` that shows a progress bar.
BAR = "bar"
#: Seconds from one line about the progress to the next, where no bar can be shown.
SECONDS_PER_LINE = 10.0


def printing_period(verbose: bool | int | str) -> int:
    """Number of rounds from one printing of the metrics to the next; 0 if they are not printed."""
    return 0 if verbose == BAR else int(verbose)


class RoundsBar:
    """Shows on standard error the number of rounds, and how good the model is by then.

    On a terminal or in a notebook this is a bar with the time that all rounds will take at most. Elsewhere it is a line
    for every ten seconds. It is a context manager: at the end, and after an error in the training, the bar is stopped
    and the cursor of the terminal is shown again.

    Parameters
    ----------
    n_rounds : int
        Number of rounds at the end, unless the training stops early.
    verbose : bool, int or "bar"
        Nothing is shown unless it is "bar".
    quality : callable
        Called after each round; returns a text such as "ndcg@10 0.4321", or "".
    title : str, default "rounds"
    """

    def __init__(
        self, n_rounds: int, verbose: bool | int | str, quality: Callable[[], str], title: str = "rounds"
    ) -> None:
        self._n_rounds, self._quality, self._title = n_rounds, quality, title
        self._shown = verbose == BAR
        self._n_trained = 0

    def __enter__(self) -> Self:
        if self._shown:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._console = Console(stderr=True, markup=False, emoji=False, highlight=False)
            self._progress = Progress(
                TextColumn(self._title, markup=False),
                BarColumn(bar_width=20),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.description}", markup=False),
                console=self._console,
                disable=not can_show_bar(self._console),
            )
            self._start = self._last_line = time.monotonic()
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
        if not self._shown:
            return
        self._n_trained += 1
        if not self._progress.disable:
            self._progress.update(self._task, advance=1, description=self._quality())
            return
        now = time.monotonic()
        if now - self._last_line >= SECONDS_PER_LINE:
            self._last_line = now
            self._console.print(self._line(now - self._start), soft_wrap=True)

    def _line(self, seconds: float) -> str:
        left = seconds / self._n_trained * (self._n_rounds - self._n_trained)
        quality = self._quality()
        return (
            f"{self._title}: {self._n_trained} of {self._n_rounds}{', ' if quality else ''}{quality}, "
            f"{duration(seconds)} since the start, at most about {duration(left)} left"
        )


def metric_text(last: tuple[str, float] | None) -> str:
    """A metric with its value, as text; empty for None."""
    return "" if last is None else f"{last[0]} {last[1]:.4f}"


def can_show_bar(console: Console) -> bool:
    """Whether a bar can be drawn again in its line; terminals without control codes (``TERM=dumb``) cannot."""
    return console.is_jupyter or (console.is_terminal and not console.is_dumb_terminal)


def duration(seconds: float) -> str:
    """A duration as text.

    Examples
    --------
    >>> duration(12), duration(185), duration(7800)
    ('12 s', '3 min 05 s', '2 h 10 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
