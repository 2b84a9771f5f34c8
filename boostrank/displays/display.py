"""The base class of displays, which are drawn again by `plot` and know the figure and axes of the last time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass
class Display(ABC):
    """Values that can be drawn; a subclass is a dataclass of them, and defines `_draw`.

    Attributes
    ----------
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.
    """

    figure_: Any = field(default=None, kw_only=True, repr=False)
    ax_: Any = field(default=None, kw_only=True, repr=False)

    def plot(self, ax: Any = None) -> Self:
        """Draw onto `ax`, or onto the axes of a new figure."""
        self.ax_ = self._draw(ax)
        self.figure_ = self.ax_.figure
        return self

    @abstractmethod
    def _draw(self, ax: Any) -> Any:
        """Draw onto `ax`, or onto the axes of a new figure if it is None; returns the axes."""
