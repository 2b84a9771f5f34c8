"""Propensities of positions: the probability that a user examines a position, relative to position 1.

They are those of the position-based model, in which the probability of a click is ``p_r g``. With trust bias, clicks do
not determine them; see the page "Propensities from clicks" of the guide.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from boostrank.clicks.models import PositionBased
from boostrank.inputs.arrays import Floats, Ints, as_floats
from boostrank.inputs.checks import check_count, check_number

if TYPE_CHECKING:
    import pandas as pd

# Messages name at most this many positions.
MAX_NAMED = 8


@dataclass(frozen=True, eq=False, repr=False)
class Propensities:
    """Propensities of the positions 1, 2, ..., with standard errors.

    Made by :func:`boostrank.clicks.harvest_propensities` and :meth:`given`.

    Clicks determine propensities only up to a common factor, which changes no ranking by estimated relevance. Estimates
    are relative to position 1, which has the value 1. Because of chance, an estimate may be above 1. For NDCG and
    ``normalize="sessions"``, which need the factor, multiply `values` by the probability that position 1 is examined.

    Functions that take a click model take propensities in its place (:func:`boostrank.clicks.get_click_model`).

    A position for which the log has no evidence has the value NaN, and a reason in `not_estimated`. No value is made up
    for it, unless :meth:`extended` is called.

    Attributes
    ----------
    values : ndarray of float64, shape (n_positions,)
        Propensity of each position; NaN where there is none.
    standard_errors : ndarray of float64, shape (n_positions,)
        Standard errors of `values`; 0 for position 1 of an estimate, and NaN where they are not known.
    method : str
        How the values were found, such as "all pairs".
    clicks, impressions : ndarray of int64, shape (n_positions,)
        Numbers of clicks and impressions at each position that the estimate uses.
    n_queries : int
        Number of queries that the estimate uses.
    not_estimated : dict of int to str
        Reasons by position, for the positions without a value.
    extrapolated : tuple of int
        Positions with a value from :meth:`extended`.

    Examples
    --------
    >>> import boostrank as br
    >>> qid = [1] * 4 + [2] * 4
    >>> y, scores = [2, 0, 1, 0, 1, 2, 0, 2], [4, 3, 2, 1, 4, 3, 2, 1]
    >>> log = br.simulate_clicks(
    ...     y, scores, qid, n_sessions=20_000, policy=("plackett-luce", 1.0), random_state=0
    ... ).log
    >>> propensities = br.clicks.harvest_propensities(log)
    >>> propensities
    Propensities(1: 1, 2: 0.503, 3: 0.339, 4: 0.264; method='all pairs', n_impressions=80000, n_clicks=20823)
    >>> propensities.values.round(3).tolist()
    [1.0, 0.503, 0.339, 0.264]
    """

    values: Floats
    standard_errors: Floats
    method: str
    clicks: Ints
    impressions: Ints
    n_queries: int
    not_estimated: dict[int, str] = field(default_factory=dict)
    extrapolated: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("values", "standard_errors", "clicks", "impressions"):
            view = getattr(self, name).view()
            view.setflags(write=False)
            object.__setattr__(self, name, view)

    @classmethod
    def given(cls, values: ArrayLike) -> Propensities:
        """Propensities that are known, for example from the design of an experiment or from another log.

        Parameters
        ----------
        values : array-like, shape (n_positions,)
            Propensities of the positions 1, 2, ..., numbers in (0, 1]. They are kept as they are, and not divided by
            the propensity of position 1.

        Raises
        ------
        ValueError
            If a propensity is not in (0, 1].

        Examples
        --------
        >>> Propensities.given([0.9, 0.5])
        Propensities(1: 0.9, 2: 0.5; method='given')
        """
        numbers = np.array(PositionBased(as_floats(values, "values")).propensities)
        none = np.zeros(len(numbers), dtype=np.int64)
        return cls(numbers, np.full(len(numbers), np.nan), "given", none, none, 0)

    @property
    def n_positions(self) -> int:
        """The largest position, with or without a value."""
        return len(self.values)

    @property
    def positions(self) -> Ints:
        """The positions 1 to `n_positions`."""
        return np.arange(1, self.n_positions + 1)

    def click_model(self) -> PositionBased:
        """The position-based click model with these propensities, which are `relative` unless they were given.

        Its propensities must not be above 1. If an estimate is, all of them are divided by the largest.

        Raises
        ------
        ValueError
            If a position has no propensity.
        """
        if self.not_estimated:
            gaps = list(self.not_estimated)
            reasons = "; ".join(f"position {r}: {self.not_estimated[r]}" for r in gaps[:MAX_NAMED])
            raise ValueError(
                f"there is no propensity for the positions {_named(gaps)} ({reasons}); leave out these positions, or "
                "extrapolate with extended(n_positions)"
            )
        values = self.values / max(1.0, float(self.values.max()))
        return PositionBased(values, relative=self.method != "given")

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """The ends of a confidence interval of each propensity, each of shape (n_positions,).

        It is ``p exp(-z e / p)`` to ``p exp(z e / p)`` with the standard error ``e``: the normal approximation of the
        logarithm, so that both ends are positive. Both are NaN where there is no standard error.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
        """
        check_number("level", level, above=0, below=1)
        factor = np.exp(special.ndtri((1.0 + level) / 2.0) * self.standard_errors / self.values)
        return self.values / factor, self.values * factor

    def extended(self, n_positions: int) -> Propensities:
        """Propensities with values for all of the positions 1 to `n_positions`, by extrapolation where there are none.

        The value at position ``r`` is ``p_1 r^-eta``. ``eta`` is the least-squares fit to the logarithms of the values,
        weighted with the inverse of their variances, or equally if one has no standard error. This is an assumption and
        no estimate. Extrapolated values have no standard error, and `extrapolated` names their positions.

        Parameters
        ----------
        n_positions : int
            The largest position of the result; not below that of these propensities.

        Raises
        ------
        ValueError
            If `n_positions` is too small, or if no position but the first has a value.

        Examples
        --------
        >>> longer = Propensities.given([1.0, 0.5]).extended(4)
        >>> longer
        Propensities(1: 1, 2: 0.5, 3: 0.333, 4: 0.25; method='given', extrapolated=[3, 4])
        >>> longer.extrapolated
        (3, 4)
        """
        check_count("n_positions", n_positions, self.n_positions)
        added = n_positions - self.n_positions
        values = np.append(self.values, np.full(added, np.nan))
        missing = np.flatnonzero(np.isnan(values))
        if len(missing):
            known = np.flatnonzero(~np.isnan(values))
            if len(known) < 2:
                raise ValueError("only position 1 has a propensity, and a power cannot be fitted to it")
            values[missing] = values[0] * (missing + 1.0) ** -self._exponent(known[1:])
        none = np.zeros(added, dtype=np.int64)
        return replace(
            self,
            values=values,
            standard_errors=np.append(self.standard_errors, np.full(added, np.nan)),
            clicks=np.append(self.clicks, none),
            impressions=np.append(self.impressions, none),
            not_estimated={},
            extrapolated=tuple(sorted({*self.extrapolated, *(missing + 1).tolist()})),
        )

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """A table with one line for each position.

        Its columns are position, propensity, standard_error, low and high (:meth:`interval`), clicks, impressions, and
        source, which is the method, "extrapolated", or the reason why there is no value.
        """
        import pandas as pd

        low, high = self.interval(level)
        source = [
            "extrapolated" if position in self.extrapolated else self.not_estimated.get(position, self.method)
            for position in self.positions.tolist()
        ]
        columns = {"position": self.positions, "propensity": self.values, "standard_error": self.standard_errors}
        columns |= {"low": low, "high": high, "clicks": self.clicks, "impressions": self.impressions}
        return pd.DataFrame({**columns, "source": source})

    def __repr__(self) -> str:
        known = [(r, value) for r, value in enumerate(self.values.tolist(), 1) if value == value]
        shown = ", ".join(f"{r}: {value:.3g}" for r, value in known[:10]) + ", ..." * (len(known) > 10)
        counts = f", n_impressions={self.impressions.sum()}, n_clicks={self.clicks.sum()}" * bool(self.n_queries)
        gaps = f", not_estimated={_named(list(self.not_estimated))}" * bool(self.not_estimated)
        more = f", extrapolated={_named(list(self.extrapolated))}" * bool(self.extrapolated)
        return f"Propensities({shown}; method={self.method!r}{counts}{gaps}{more})"

    def _exponent(self, known: NDArray[np.intp]) -> float:
        """``eta`` of the power law that is fitted to the values at some positions (their indices)."""
        relative = self.standard_errors[known] / self.values[known]
        weight = relative**-2.0 if np.isfinite(relative).all() and (relative > 0).all() else np.ones(len(known))
        x = np.log(known + 1.0)
        return float(-(weight * x * np.log(self.values[known] / self.values[0])).sum() / (weight * x * x).sum())


def _named(positions: list[int]) -> str:
    return f"[{', '.join(map(str, positions[:MAX_NAMED]))}{', ...' * (len(positions) > MAX_NAMED)}]"
