"""Trust bias from a log: what clicks identify of it, and an estimate of that.

**What is identified.** In the trust-bias model ``P(click) = a_r g + b_r`` for a document of relevance ``g`` at position
``r``. For all numbers ``s`` and ``t > 0``, the numbers ``t a_r``, ``b_r + s a_r`` and ``(g - s) / t`` give the same
clicks, as long as all are probabilities. So ``a``, ``b`` and ``g`` are not identified, whatever is randomized. Features
do not help either: if ``g(x)`` predicts relevance, ``(g(x) - s) / t`` predicts the same clicks. A regression EM that
estimates trust bias returns one of these solutions, which depends on its start and on the form of its regression.

But all of these relevances are increasing linear functions of each other, so that they sort documents the same way,
and by the linearity of DCG they have the same optimal rankings. So one of them is enough to learn from, and the one in
which the relevance of a document is ``x``, its probability of a click at position 1, is identified:

    P(click at r) = slope_r x + intercept_r,    slope_r = a_r / a_1,    intercept_r = b_r - slope_r b_1.

Without trust bias the intercepts are 0, and the slopes are the propensities relative to position 1. An intercept is
negative if ``b_r / a_r = eps-_r / (eps+_r - eps-_r)`` is smaller than at position 1: examined irrelevant documents are
clicked less often there. If that ratio is the same at all positions, the intercepts are 0 too: then a log of trust bias
is a log of the position-based model, with other relevances.

**The estimate.** Rows that were shown at the positions 1 and ``r``, with ``c`` clicks in ``n`` impressions at ``r`` and
``C`` in ``N`` at 1, have the weight ``v = n N / (n + N)``. With means that are weighted with ``v``, the slope is the
covariance of ``x`` and of the click rate at ``r`` over rows, divided by the variance of ``x``:

    slope = (mean(C c / (N n)) - mean(C / N) mean(c / n)) / (mean(C (C - 1) / (N (N - 1))) - mean(C / N)^2)
    intercept = mean(c / n) - slope mean(C / N)

``C (C - 1) / (N (N - 1))`` has the expectation ``x^2`` for binomial ``C``, so that the noise of clicks does not lower
the slope as it does in a least-squares fit. Rows with one impression at position 1 are not used.

*Assumptions*: clicks of different impressions of a row are independent, and have the same probabilities at a position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from boostrank.clicks.click_log import ClickLog
from boostrank.clicks.click_models import TrustBias
from boostrank.clicks.interventions import Shown
from boostrank.inputs.arrays import Floats, Ints

if TYPE_CHECKING:
    import pandas as pd

# The variance of click rates at position 1 divides. It must be above this number of its standard errors.
MIN_VARIANCE = 3.0


@dataclass(frozen=True, eq=False, repr=False)
class TrustBiasEstimate:
    """Click rates at each position as linear functions of the click rate at position 1; made by `estimate_trust_bias`.

    Attributes
    ----------
    slopes, intercepts : ndarray of float64, shape (n_positions,)
        1 and 0 at position 1; NaN at positions without an estimate.
    slope_errors, intercept_errors : ndarray of float64, shape (n_positions,)
        Standard errors, by the jackknife over queries; 0 at position 1. An intercept that is several errors from 0 says
        that the position-based model is wrong.
    n_queries : ndarray of int64, shape (n_positions,)
        Number of queries with documents that were shown at position 1 and at this one.
    not_estimated : dict of int to str
        Reasons by position, for the positions without an estimate.
    """

    slopes: Floats
    intercepts: Floats
    slope_errors: Floats
    intercept_errors: Floats
    n_queries: Ints
    not_estimated: dict[int, str]

    def click_model(self) -> TrustBias:
        """A trust-bias model with these slopes and intercepts.

        Let ``x`` be the click rate at position 1, which is the identified relevance. The relevance ``g`` of this model
        is ``(x - low) / (high - low)``, where ``low`` is the smallest number, and ``high`` the largest one, for which
        all its numbers are probabilities. So it is an increasing linear function of the true relevance.

        Raises
        ------
        ValueError
            If a position has no estimate or a slope that is not positive, or if there are no such numbers.
        """
        if self.not_estimated:
            texts = "; ".join(f"position {r}: {reason}" for r, reason in list(self.not_estimated.items())[:3])
            raise ValueError(
                f"trust bias is not known at the positions {list(self.not_estimated)} ({texts}); leave out these "
                "positions of the log"
            )
        bad = self.slopes <= 0
        if bad.any():
            r = int(np.argmax(bad))
            raise ValueError(
                f"the slope of position {r + 1} is {self.slopes[r]:.3g} with a standard error of "
                f"{self.slope_errors[r]:.2g}, but clicks must increase with relevance: collect more clicks"
            )
        low = max(0.0, float(np.max(-self.intercepts / self.slopes)))
        high = float(np.min((1.0 - self.intercepts) / self.slopes))
        if high <= low:
            raise ValueError(
                "no probabilities of relevance explain these slopes and intercepts: the click rate at position 1 would "
                f"have to be above {low:.3g} and below {high:.3g}. Collect more clicks"
            )
        b = np.clip(self.slopes * low + self.intercepts, 0.0, 1.0)
        clicked = np.clip(self.slopes * high + self.intercepts, 0.0, 1.0)
        return TrustBias(clicked, click_relevant=1.0, click_irrelevant=b / clicked)

    def to_frame(self) -> pd.DataFrame:
        """A table with one line for each position: slope, intercept, their standard errors and number of queries."""
        import pandas as pd

        return pd.DataFrame(
            {
                "position": np.arange(1, len(self.slopes) + 1),
                "slope": self.slopes,
                "slope_error": self.slope_errors,
                "intercept": self.intercepts,
                "intercept_error": self.intercept_errors,
                "queries": self.n_queries,
            }
        )

    def __repr__(self) -> str:
        slopes, intercepts = (
            ", ".join(f"{r}: {value:.3g}" for r, value in enumerate(values.tolist(), 1) if value == value)
            for values in (self.slopes, self.intercepts)
        )
        gaps = f", not_estimated={list(self.not_estimated)}" * bool(self.not_estimated)
        return f"TrustBiasEstimate(slopes=({slopes}), intercepts=({intercepts}){gaps})"


def estimate_trust_bias(log: ClickLog, *, max_position: int | None = None) -> TrustBiasEstimate:
    """Estimate how click rates at each position follow from the click rate at position 1.

    The text of the module :mod:`boostrank.clicks.trust_estimates` has the formulas, and a proof that a log says no more
    about trust bias than this, which is enough for DCG.

    Parameters
    ----------
    log : ClickLog
        In which documents were shown at position 1 and at other positions for the same query, such as one with swaps
        (:func:`~boostrank.clicks.swap_propensities`) or of several rankers; with sessions or with counts.
    max_position : int, optional
        Entries at larger positions are not used. By default, all entries are.

    Returns
    -------
    TrustBiasEstimate

    Raises
    ------
    ValueError
        If nothing was shown at position 1, or if no other position has an estimate.

    Examples
    --------
    >>> import boostrank as br
    >>> random = np.random.default_rng(0)
    >>> y, qid = random.integers(0, 3, 1200), np.repeat(np.arange(300), 4)
    >>> log = br.simulate_clicks(
    ...     y, y, qid, model="trust-bias", policy=("plackett-luce", 1.0), n_sessions=100_000, random_state=0
    ... ).log
    >>> estimate = estimate_trust_bias(log)
    >>> estimate
    TrustBiasEstimate(slopes=(1: 1, 2: 1, 3: 0.758, 4: 0.603), intercepts=(1: 0, 2: -0.49, 3: -0.418, 4: -0.348))
    >>> relevance = br.clicks.estimate_relevance(log, estimate.click_model(), not_shown="irrelevant").relevance
    """
    shown = Shown.of_log(log, max_position)
    n_positions = shown.n_positions
    slopes, intercepts, slope_errors, intercept_errors = np.full((4, n_positions), np.nan)
    slopes[0], intercepts[0], slope_errors[0], intercept_errors[0] = 1.0, 0.0, 0.0, 0.0
    n_queries, reasons = np.zeros(n_positions, dtype=np.int64), {}
    none = np.zeros(0, dtype=np.int64)
    pairs = [(none, none), *shown.pairs("first")]
    first, second = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    kept = shown.impressions[first] > 1
    first, second = first[kept], second[kept]
    n_queries[0] = len(np.unique(shown.query[first]))
    for k in range(1, n_positions):
        chosen = shown.position[second] == k + 1
        sums = _sums_by_query(shown, first[chosen], second[chosen])
        n_queries[k] = len(sums)
        if len(sums) < 2:
            reasons[k + 1] = (
                "fewer than two queries have a document that was shown there, and at least twice at position 1"
            )
            continue
        total = sums.sum(axis=0)
        found, left_out = _line(total), _line(total - sums)
        errors = np.sqrt((len(sums) - 1) * left_out.var(axis=0))
        if not found[2] > MIN_VARIANCE * errors[2]:
            reasons[k + 1] = "click rates at position 1 differ too little between documents, compared with chance"
            continue
        slopes[k], intercepts[k] = found[:2]
        slope_errors[k], intercept_errors[k] = errors[:2]
    if len(reasons) == n_positions - 1:
        texts = "; ".join(f"position {r}: {reason}" for r, reason in list(reasons.items())[:3])
        raise ValueError(
            f"trust bias cannot be estimated ({texts or 'there is only one position'}): the log needs documents that "
            "were shown at position 1 and at other positions, as by swaps, and more clicks"
        )
    return TrustBiasEstimate(slopes, intercepts, slope_errors, intercept_errors, n_queries, reasons)


def _sums_by_query(shown: Shown, first: Ints, second: Ints) -> Floats:
    """Weighted sums over the pairs of entries of each query, shape (n_queries, 5): see :func:`_line`."""
    n, c = shown.impressions[second].astype(np.float64), shown.clicks[second]
    n_1, c_1 = shown.impressions[first].astype(np.float64), shown.clicks[first]
    weight = n * n_1 / (n + n_1)
    x, y, square = c_1 / n_1, c / n, c_1 * (c_1 - 1.0) / (n_1 * (n_1 - 1.0))
    queries, query = np.unique(shown.query[second], return_inverse=True)
    parts = [np.bincount(query, weight * values, len(queries)) for values in (np.ones_like(x), x, y, square, x * y)]
    return np.stack(parts, axis=1) if len(queries) else np.zeros((0, 5))


def _line(sums: Floats) -> Floats:
    """Slope, intercept and variance of ``x`` for sums of 1, ``x``, ``y``, ``x^2`` and ``x y`` in the last axis."""
    with np.errstate(divide="ignore", invalid="ignore"):
        x, y, square, product = np.moveaxis(sums[..., 1:] / sums[..., :1], -1, 0)
        variance = square - x * x
        slope = (product - x * y) / variance
    return np.stack([slope, y - slope * x, variance], axis=-1)
