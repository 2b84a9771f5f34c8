"""Propensities by maximum likelihood of the position-based model, with the EM algorithm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from boostrank.clicks.click_errors import ClickErrors
from boostrank.clicks.click_log import ClickLog
from boostrank.clicks.harvesting import harvest_propensities
from boostrank.clicks.interventions import Shown
from boostrank.clicks.propensities import Propensities
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_count, check_number
from boostrank.inputs.warnings import warn

# Largest relevance at the start. EM never changes a probability of exactly 1.
START = 0.99
SMALLEST = 1e-12
# Propensities above this, relative to the one that is fixed to 1, may be limited by the bound of 1.
NEAR_ONE = 0.999
# In standard errors.
MAX_DIFFERENCE = 3
# Probabilities of a click above this are replaced by it in standard errors, which divide by the opposite probability.
MAX_RATE = 0.999


def em_propensities(
    log: ClickLog, *, max_position: int | None = None, max_iterations: int = 2000, tolerance: float = 1e-6
) -> Propensities:
    """Estimate propensities and the relevance of every document together, by the EM algorithm.

    The log-likelihood of the position-based model is, with ``c`` clicks in ``n`` impressions of row ``d`` at position
    ``k``,

        sum_dk c_dk log(p_k g_d) + (n_dk - c_dk) log(1 - p_k g_d)

    EM maximizes it over propensities ``p_k`` and relevances ``g_d``, all in [0, 1]. An impression without a click was
    examined with the probability ``p (1 - g) / (1 - p g)``, and its document was relevant with the probability
    ``g (1 - p) / (1 - p g)``. The next ``p_k`` is the mean probability of examination over the impressions at position
    ``k``, and the next ``g_d`` the mean probability of relevance over those of ``d``. Steps are accelerated by
    extrapolation (SQUAREM), and start from the estimate of :func:`harvest_propensities`.

    *What identifies propensities.* A row that was shown at one position has a relevance that explains its clicks for
    any propensity. So rows that were shown at one position, and those without clicks, do not count, and a log of one
    ranker without randomization is an error. With many impressions of each row, the estimate has the smallest error.

    *Few impressions.* Every row has a relevance of its own, which is estimated from its clicks. If rows have few
    impressions at each position, and clicks are not rare, the estimate has a bias that does not vanish with more rows.
    Mostly, propensities of lower positions are too large. Standard errors do not include this bias. It is not only one
    of small logs: if a ranker moves documents seldom, they have few impressions at some of their positions, and 95%
    intervals contain the truth in much less than 95% of all logs. :func:`harvest_propensities` has no such bias. There
    is a warning if both differ by more than three standard errors, but none for a smaller bias.

    *Assumptions* are those of :func:`harvest_propensities`.

    Parameters
    ----------
    log : ClickLog
        With sessions or with counts; the result is the same.
    max_position : int, optional
        Entries at larger positions are not used. By default, all entries are.
    max_iterations : int, default 2000
        Maximal number of EM steps.
    tolerance : float, default 1e-6
        EM has converged when an extrapolated step changes no propensity by more than this, relative to the propensity.

    Returns
    -------
    Propensities
        Relative to position 1. Standard errors are those of :class:`boostrank.clicks.click_errors.ClickErrors`.

    Raises
    ------
    ValueError
        As for :func:`harvest_propensities`.

    Warns
    -----
    ConvergenceWarning
        If EM did not converge in `max_iterations` steps.
    UserWarning
        If the result differs from that of :func:`harvest_propensities` by more than three standard errors.

    References
    ----------
    Wang, Golbandi, Bendersky, Metzler and Najork, "Position bias estimation for unbiased learning to rank in personal
    search", WSDM 2018, Section 4.1. Varadhan and Roland, "Simple and globally convergent methods for accelerating the
    convergence of any EM algorithm", Scandinavian Journal of Statistics, 2008.

    Examples
    --------
    >>> log = ClickLog(
    ...     qid=[1, 1, 2, 2], row=[0, 1, 1, 0, 2, 3, 3, 2], position=[1, 2, 1, 2, 1, 2, 1, 2],
    ...     clicks=[8, 2, 4, 4, 6, 1, 2, 3], impressions=[10, 10, 10, 10, 20, 20, 20, 20],
    ... )
    >>> em_propensities(log)
    Propensities(1: 1, 2: 0.5; method='EM', n_impressions=120, n_clicks=30)
    """
    check_count("max_iterations", max_iterations)
    check_number("tolerance", tolerance, above=0)
    harvested = harvest_propensities(log, max_position=max_position)
    supported = ~np.isnan(harvested.values)
    shown, start = _informative(Shown.of_log(log, max_position).at_positions(supported)), harvested.values[supported]
    found = _maximize(shown, start / start.max(), max_iterations, tolerance)
    others = np.where(np.arange(len(start)) == np.argmax(start), 0.0, found.state.propensity)
    if others.max() > NEAR_ONE:
        # The largest propensity of the start may not be the largest one of the maximum.
        swapped = np.where(others == others.max(), 1.0, np.minimum(found.state.propensity, 0.99))
        other = _maximize(shown, swapped, max_iterations, tolerance)
        found = max(found, other, key=lambda maximum: maximum.value)
    if not found.converged:
        from sklearn.exceptions import ConvergenceWarning

        warn(
            f"EM did not converge in {max_iterations} steps: increase max_iterations or tolerance",
            ConvergenceWarning,
        )
    result = _errors(shown, found.state).propensities(supported, "EM", harvested.not_estimated)
    _warn_of_bias(result, harvested)
    return result


def _warn_of_bias(result: Propensities, harvested: Propensities) -> None:
    """Warn if the estimate differs from that of harvesting, which has no bias, by more than chance explains."""
    errors = np.hypot(result.standard_errors / result.values, harvested.standard_errors / harvested.values)
    difference = np.abs(np.log(result.values / harvested.values))
    far = difference > MAX_DIFFERENCE * errors
    if far.any():
        k = int(np.nanargmax(np.where(far, difference / np.maximum(errors, SMALLEST), np.nan)))
        warn(
            f"the propensity of position {k + 1} is {result.values[k]:.3g} by EM and {harvested.values[k]:.3g} by "
            f"harvesting, a difference of more than {MAX_DIFFERENCE} standard errors. EM has a bias if rows have few "
            "impressions and many clicks: use harvest_propensities"
        )


class _State(NamedTuple):
    """Propensities by position, and relevances by row."""

    propensity: Floats
    relevance: Floats

    def extrapolated(self, first: _State, second: _State) -> _State:
        """The point to which the logarithms of this state and of two EM steps from it seem to tend."""
        before, after = [
            np.concatenate([np.log(y) - np.log(x) for x, y in zip(one, other, strict=True)])
            for one, other in ((self, first), (first, second))
        ]
        # No `norm` and no `@` of long vectors: their threads take longer than the sum.
        change = float(np.sqrt(((after - before) ** 2).sum()))
        length = max(1.0, float(np.sqrt((before**2).sum())) / change) if change > 0 else 1.0
        logs = np.log(np.concatenate(self)) + 2.0 * length * before + length**2 * (after - before)
        values = np.exp(np.clip(logs, np.log(SMALLEST), 0.0))
        return _State(values[: len(self.propensity)], values[len(self.propensity) :])


def _informative(shown: Shown) -> Shown:
    """The entries of the rows that were shown at several positions and have clicks."""
    rows = shown.rows
    return shown.where(rows.repeat((rows.sizes > 1) & (rows.sum(shown.clicks) > 0)))


class _Maximum(NamedTuple):
    state: _State
    value: float
    converged: bool


def _maximize(shown: Shown, propensity: Floats, max_iterations: int, tolerance: float) -> _Maximum:
    """The fixed point of EM, which keeps propensities of exactly 1."""
    rows, position = shown.rows, shown.position - 1
    clicks = rows.sum(shown.clicks) / rows.sum(shown.impressions * propensity[position])
    state, value = _State(propensity, np.clip(clicks, SMALLEST, START)), -np.inf
    for _ in range(0, max_iterations, 3):
        first, _ = em_step(shown, state)
        second, value = em_step(shown, first)
        third, value_there = em_step(shown, state.extrapolated(first, second))
        # EM never lowers the likelihood, and an extrapolation may.
        following = third if value_there >= value else second
        change = np.log(following.propensity / following.propensity[0])
        change -= np.log(state.propensity / state.propensity[0])
        state = following
        if np.abs(change).max() <= tolerance:
            return _Maximum(state, value, True)
    return _Maximum(state, value, False)


def em_step(shown: Shown, state: _State) -> tuple[_State, float]:
    """The state after one EM step, and the log-likelihood before it."""
    rows, position = shown.rows, shown.position - 1
    p, g = state.propensity[position], rows.repeat(state.relevance)
    without = (shown.impressions - shown.clicks).astype(np.float64)
    rate = p * g
    # With a probability of 1 all impressions are clicks, or the likelihood would be 0.
    rest = np.maximum(1.0 - rate, SMALLEST)
    value = float((shown.clicks * np.log(rate) + without * np.log(rest)).sum())
    without /= rest
    examined = np.bincount(position, shown.clicks + without * (p - rate), shown.n_positions)
    relevant = rows.sum(shown.clicks + without * (g - rate))
    impressions = np.bincount(position, shown.impressions, shown.n_positions)
    following = _State(examined / impressions, relevant / rows.sum(shown.impressions))
    return _State(*(np.clip(x, SMALLEST, 1.0) for x in following)), value


def _errors(shown: Shown, state: _State) -> ClickErrors:
    """Errors of the logarithms of the propensities.

    Let ``h = n x / (1 - x)`` with the probability of a click ``x = p_k g_d``. This is minus the expected second
    derivative by ``log p_k`` and by ``log g_d``. The derivative of the likelihood by ``log p_k`` is the sum of ``s = (c
    - n x) / (1 - x)`` over the rows ``d``. With the best ``g_d`` it is the sum of ``s_dk - h_dk sum_l s_dl / sum_l
    h_dl``, and minus its expected derivatives are ``diag(sum_d h_d) - sum_d h_d h_d^T / sum_l h_dl``.
    """
    n_positions = shown.n_positions
    rate = np.minimum(state.propensity[shown.position - 1] * shown.rows.repeat(state.relevance), MAX_RATE)
    h = shown.impressions * rate / (1.0 - rate)
    share = h / shown.rows.repeat(shown.rows.sum(h))
    errors = ClickErrors(shown, state.propensity / state.propensity[0])
    information: Floats = np.diag(np.bincount(shown.position - 1, h, n_positions))
    for entries, part in errors.blocks():
        information -= _by_position(part, h[entries]).T @ _by_position(part, share[entries])
    inverse = np.zeros_like(information)
    inverse[1:, 1:] = np.linalg.inv(information[1:, 1:])
    for entries, part in errors.blocks():
        coefficients = -np.repeat(_by_position(part, share[entries]), part.rows.sizes, axis=0)
        coefficients[np.arange(len(part.row)), part.position - 1] += 1.0
        errors.add(entries, coefficients @ inverse / (1.0 - rate[entries, None]))
    return errors


def _by_position(shown: Shown, values: Floats) -> Floats:
    """Values of entries as a matrix of shape (n_rows, n_positions)."""
    rows = shown.rows
    matrix = np.zeros((rows.n_segments, shown.n_positions))
    matrix[rows.repeat(np.arange(rows.n_segments)), shown.position - 1] = values
    return matrix
