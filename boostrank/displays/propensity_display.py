"""Plot of propensities by position."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from boostrank.clicks import Propensities, get_click_model
from boostrank.displays.display import Display
from boostrank.displays.predictions import named
from boostrank.displays.style import BLACK, MAX_MARKERS, axes, legend_below, light_grid, styles, whole_ticks
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_number

# Several estimates are drawn beside each other, in this share of the distance of two positions.
WIDTH_OF_POSITION = 0.5


@dataclass
class PropensityDisplay(Display):
    """Propensities by position, of one estimate or several, with confidence intervals, and with the truth if known.

    Created by :meth:`from_propensities`. All values are divided by the value at position 1. Extrapolated values have
    hollow markers, and a position without a value has a cross at the bottom.

    Attributes
    ----------
    propensities : dict of str to Propensities
    truth : ndarray, shape (n_positions,), or None
        True propensities relative to position 1.
    level : float
        Confidence level of the intervals.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> import boostrank as br
    >>> simulated = br.simulate_clicks(
    ...     [2, 0, 1, 0], [4, 3, 2, 1], [1, 1, 1, 1], policy=("plackett-luce", 1.0), random_state=0
    ... )
    >>> estimate = br.clicks.harvest_propensities(simulated.log)
    >>> from matplotlib.figure import Figure
    >>> display = PropensityDisplay.from_propensities(estimate, truth=simulated.model, ax=Figure().subplots())
    >>> display.truth.round(3).tolist(), list(display.propensities)
    ([1.0, 0.5, 0.333, 0.25], ['all pairs'])
    """

    propensities: dict[str, Propensities]
    truth: Floats | None = None
    level: float = 0.95

    @classmethod
    def from_propensities(
        cls,
        propensities: Propensities | Mapping[str, Propensities],
        *,
        truth: Any | ArrayLike = None,
        level: float = 0.95,
        name: str | None = None,
        ax: Any = None,
    ) -> PropensityDisplay:
        """Plot propensities.

        Parameters
        ----------
        propensities : Propensities, or mapping of name to Propensities
        truth : ClickModel, str, or array-like, shape (n_positions,), optional
            The click model that clicks were simulated with, or the true propensities of at least as many positions as
            those of `propensities`. Of a model with trust bias, it is the factor ``a_r`` of relevance
            (:meth:`boostrank.clicks.ClickModel.affine`).
        level : float in (0, 1), default 0.95
            Confidence level of the intervals.
        name : str, optional
            Name of a single estimate in the legend; by default its method.
        ax : matplotlib axes, optional

        Raises
        ------
        ValueError
            For a `level` that is not between 0 and 1, a `name` beside a mapping, or a `truth` with too few positions or
            without propensities.
        TypeError
            If `propensities` are not :class:`boostrank.clicks.Propensities`.
        """
        check_number("level", level, above=0, below=1)
        by_name = named(propensities, name, getattr(propensities, "method", ""), "propensities")
        for value in by_name.values():
            if not isinstance(value, Propensities):
                raise TypeError(
                    f"propensities must be Propensities; got {type(value).__name__}: use Propensities.given"
                )
        true_values = None
        if truth is not None:
            n_positions = max(value.n_positions for value in by_name.values())
            true_values = get_click_model(truth).affine(n_positions)[0]
            true_values = true_values / true_values[0]
        return cls(by_name, true_values, level).plot(ax)

    def _draw(self, ax: Any) -> Any:
        ax = axes(ax)
        if self.truth is not None:
            ax.plot(np.arange(1, len(self.truth) + 1), self.truth, color=BLACK, linewidth=1, label="truth")
        n, n_positions = len(self.propensities), max(value.n_positions for value in self.propensities.values())
        shifts = WIDTH_OF_POSITION * (np.arange(n) - (n - 1) / 2) / n
        has_intervals = False
        for (name, found), style, shift in zip(self.propensities.items(), styles(n), shifts, strict=True):
            low, high = found.interval(self.level)
            x, y = found.positions + shift, found.values / found.values[0]
            sides = np.stack([y - low / found.values[0], high / found.values[0] - y])
            has_intervals |= bool((sides > 0).any())
            size = 5 if n_positions <= MAX_MARKERS else 3
            look = {"color": style.color, "markersize": size, "capsize": 2, "linewidth": 1}
            extra = np.isin(found.positions, found.extrapolated)
            kept = ~extra & ~np.isnan(y)
            ax.errorbar(
                x[kept], y[kept], np.nan_to_num(sides[:, kept]), fmt=style.marker, linestyle="", label=name, **look
            )
            kinds = [(extra, y, style.marker, "extrapolated"), (np.isnan(y), np.zeros_like(y), "x", "no estimate")]
            for mask, values, marker, text in kinds:
                if mask.any():
                    label = f"{name}: {text}"
                    points = {"color": style.color, "markersize": size, "markerfacecolor": "white", "label": label}
                    ax.plot(x[mask], values[mask], marker=marker, linestyle="", clip_on=False, **points)
        ax.set_xlabel("position")
        ax.set_ylabel("propensity, relative to position 1")
        if has_intervals:
            ax.set_title(f"bars: {self.level * 100:g}% confidence intervals", fontsize="medium")
        ax.set_ylim(bottom=0.0)
        whole_ticks(ax)
        light_grid(ax)
        legend_below(ax)
        return ax
