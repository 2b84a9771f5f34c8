"""What NDCG is made of: discounts by rank, and gains by label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from boostrank.dcg import DCG, Discount, Gain
from boostrank.displays.style import axes, light_grid, styles, whole_ticks
from boostrank.segments import Floats, Ints

FORMULAS = {"log2": "1 / log2(1 + rank)", "zipf": "1 / rank", "exp2": "2^label - 1", "linear": "label"}


@dataclass
class DiscountDisplay:
    """Discounts by rank. Make it by :meth:`from_discounts`.

    Attributes
    ----------
    names : list of str
    ranks : ndarray of int, shape (n_ranks,)
    discounts : ndarray, shape (n_discounts, n_ranks)
    figure_, ax_
        Matplotlib's, after :meth:`plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> discounts = ["log2", "zipf", ("power", 0.5)]
    >>> display = DiscountDisplay.from_discounts(discounts, n_ranks=3, ax=Figure().subplots())
    >>> display.discounts.round(4).tolist()
    [[1.0, 0.6309, 0.5], [1.0, 0.5, 0.3333], [1.0, 0.7071, 0.5774]]
    """

    names: list[str]
    ranks: Ints
    discounts: Floats
    figure_: Any = None
    ax_: Any = None

    @classmethod
    def from_discounts(
        cls,
        discounts: Iterable[Discount] | Mapping[str, Discount] = ("log2", "zipf"),
        *,
        n_ranks: int = 20,
        ax: Any = None,
    ) -> DiscountDisplay:
        """Compute discounts of ranks 1 to `n_ranks`, and plot them.

        Parameters
        ----------
        discounts : iterable of discounts, or mapping of name to discount
            As in :class:`boostrank.DCG`.
        n_ranks : int, default 20
        ax : matplotlib axes, optional
        """
        if not isinstance(n_ranks, (int, np.integer)) or n_ranks < 1:
            raise ValueError(f"n_ranks must be an integer of at least 1; got {n_ranks!r}")
        chosen = _by_name(discounts, "discounts")
        values = np.stack([DCG(discount=discount).discounts(int(n_ranks)) for discount in chosen.values()])
        return cls(list(chosen), np.arange(1, n_ranks + 1), values).plot(ax)

    def plot(self, ax: Any = None) -> DiscountDisplay:
        """Draw onto `ax`, or a new figure."""
        ax = axes(ax)
        _plot_lines(ax, self.names, self.ranks, self.discounts)
        ax.set_ylim(bottom=0.0)
        ax.set_xlabel("rank")
        ax.set_ylabel("discount")
        self.figure_, self.ax_ = ax.figure, ax
        return self


@dataclass
class GainDisplay:
    """Gains by label. Make it by :meth:`from_gains`.

    Attributes
    ----------
    names : list of str
    labels : ndarray, shape (n_labels,)
    gains : ndarray, shape (n_gains, n_labels)
    figure_, ax_
        Matplotlib's, after :meth:`plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = GainDisplay.from_gains({"exp2": "exp2", "table": [0, 1, 3, 7, 10]}, ax=Figure().subplots())
    >>> display.names, display.gains.tolist()
    (['exp2', 'table'], [[0.0, 1.0, 3.0, 7.0, 15.0], [0.0, 1.0, 3.0, 7.0, 10.0]])
    """

    names: list[str]
    labels: Floats
    gains: Floats
    figure_: Any = None
    ax_: Any = None

    @classmethod
    def from_gains(
        cls,
        gains: Iterable[Gain] | Mapping[str, Gain] = ("exp2", "linear"),
        *,
        labels: ArrayLike = range(5),
        ax: Any = None,
    ) -> GainDisplay:
        """Compute gains of `labels`, and plot them.

        Parameters
        ----------
        gains : iterable of gains, or mapping of name to gain
            As in :class:`boostrank.DCG`.
        labels : array-like, default 0 to 4
        ax : matplotlib axes, optional
        """
        chosen = _by_name(gains, "gains")
        given = np.sort(np.asarray(labels, dtype=np.float64))
        values = np.stack([DCG(gain=gain).gains(given) for gain in chosen.values()])
        return cls(list(chosen), given, values).plot(ax)

    def plot(self, ax: Any = None) -> GainDisplay:
        """Draw onto `ax`, or a new figure."""
        ax = axes(ax)
        _plot_lines(ax, self.names, self.labels, self.gains)
        ax.set_xlabel("label")
        ax.set_ylabel("gain")
        self.figure_, self.ax_ = ax.figure, ax
        return self


def _plot_lines(ax: Any, names: list[str], x: Any, values: Floats) -> None:
    for name, row, style in zip(names, values, styles(len(names), len(x)), strict=True):
        ax.plot(x, row, label=name, markersize=5, **style._asdict())
    whole_ticks(ax)
    light_grid(ax)
    ax.legend(frameon=False)


def _by_name(choices: Any, argument: str) -> dict[str, Any]:
    if isinstance(choices, str) or callable(choices):
        choices = [choices]
    named = dict(choices) if isinstance(choices, Mapping) else {_name(choice): choice for choice in choices}
    if not named:
        raise ValueError(f"{argument} must not be empty")
    return named


def _name(choice: Any) -> str:
    """A choice by its formula."""
    if isinstance(choice, str):
        return f"{choice}: {FORMULAS[choice]}" if choice in FORMULAS else choice
    if isinstance(choice, tuple) and len(choice) == 2 and choice[0] in ("power", "exponential"):
        name, parameter = choice
        return f"{name}: " + (f"rank^-{parameter:g}" if name == "power" else f"{parameter:g}^-rank")
    return str(getattr(choice, "__name__", choice))
