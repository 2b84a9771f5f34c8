"""Checks of what a click log can tell, with the reasons and the remedies where it cannot.

A log with missing impressions, or with documents whose positions follow from their features, gives estimates that are
wrong although their standard errors are small. Estimators call these checks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from boostrank.clicks.log import ClickLog
from boostrank.inputs.arrays import Floats
from boostrank.inputs.warnings import warn

if TYPE_CHECKING:
    from boostrank.clicks.propensities import Shown

# A complete list ends with a click by chance only. Fewer sessions than the second number say nothing.
MAX_ENDING_WITH_CLICK, MIN_SESSIONS = 0.9, 20
# Estimates that are above 1 by more than this number of standard errors are reported.
MAX_ERRORS_ABOVE_ONE = 4.0
# Above this share of the variance of positions, simulated propensities of the last ones were wrong by a factor of 2.
MAX_EXPLAINED, MIN_VARIANCE = 0.2, 1e-30


def require_impressions_without_click(log: ClickLog) -> None:
    """Raise ValueError if all impressions of a log were clicked, so that those without a click are missing."""
    if log.n_clicks == log.n_impressions:
        raise ValueError(
            f"all {log.n_impressions} impressions of the log were clicked, so that all propensities would be 1. Log "
            "every document that was shown, with 0 clicks if it was not clicked"
        )


def ending_with_click(log: ClickLog) -> tuple[int, int]:
    """Number of the sessions with a click whose list ends with one, and of all of these.

    Lists of one document do not count. A log of counts does not have the lists, so that both are 0.
    """
    if log.sessions is None:
        return 0, 0
    chosen = (log.sessions.sizes > 1) & (log.sessions.sum(log.clicks) > 0)
    return int(log.clicks[log.sessions.ends - 1][chosen].sum()), int(chosen.sum())


def warn_of_cut_lists(log: ClickLog) -> None:
    """Warn if the lists of nearly all sessions with a click end with a click: what was shown below is missing."""
    n_ending, n_sessions = ending_with_click(log)
    if n_sessions >= MIN_SESSIONS and n_ending > MAX_ENDING_WITH_CLICK * n_sessions:
        warn(
            f"{n_ending} of {n_sessions} sessions with a click end with a click: the lists seem to be cut there, which "
            "makes propensities of low positions several times too large. Log every document that was shown"
        )


def warn_of_values_above_one(values: Floats, standard_errors: Floats) -> None:
    """Warn if a propensity relative to position 1 is above 1 by more than chance explains."""
    excess = values - 1.0 - MAX_ERRORS_ABOVE_ONE * standard_errors
    if (excess > 0.0).any():
        k = int(np.nanargmax(excess))
        warn(
            f"the propensity of position {k + 1} is {values[k]:.3g} times that of position 1. If users do not examine "
            "it more often, documents without clicks are missing in the log: are lists cut at the last click?"
        )


def explained_share(shown: Shown, predict: Callable[[Floats, Floats], Floats]) -> float:
    """Share of the variance of positions that features explain.

    The measure is the squared correlation, over impressions, of whether the position is one of the first, and the
    prediction of that from features.

    Parameters
    ----------
    shown : Shown
    predict : callable
        Called with two numbers of each row, the impressions at the first positions and all impressions, it returns the
        share of the first that is predicted from the features of the row.
    """
    by_position = np.cumsum(np.bincount(shown.position, shown.impressions))
    is_first = shown.position <= np.searchsorted(by_position, by_position[-1] / 2.0)
    counts = [shown.rows.sum(n.astype(np.float64)) for n in (shown.impressions * is_first, shown.impressions)]
    predicted = shown.rows.repeat(predict(*counts))
    covariance = np.cov(is_first, predicted, fweights=shown.impressions)
    return float(covariance[0, 1] ** 2 / max(covariance[0, 0] * covariance[1, 1], MIN_VARIANCE))


def warn_of_predicted_positions(shown: Shown, predict: Callable[[Floats, Floats], Floats]) -> None:
    """Warn if features predict positions, so that the log hardly tells propensity from relevance."""
    share = explained_share(shown, predict)
    if share > MAX_EXPLAINED:
        warn(
            f"X explains {share:.0%} of the variance of positions, so that errors of the classifier become errors of "
            f"the propensities: from {MAX_EXPLAINED:.0%} on, those of the last positions were wrong by a factor of 2 "
            "in simulations. Use harvest_propensities on a log in which documents were shown at several positions"
        )
