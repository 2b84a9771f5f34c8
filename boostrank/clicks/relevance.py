"""Estimates of the probability of relevance from clicks, corrected for position and trust.

If a document had ``N_r`` impressions and ``C_r`` clicks at position ``r``, where ``P(click) = a_r gamma + b_r``, then
``sum_r w_r (C_r - b_r N_r) / sum_r w_r a_r N_r`` has the expectation ``gamma`` for all weights ``w_r >= 0`` that do not
depend on the clicks: 1 for the method ``"expected-clicks"``, ``1 / a_r`` for ``"inverse-propensity"``. The page
"Relevance from clicks" of the guide (examples/guide/theory/click_relevance.md) has the proofs, and the bias of `clip`
and `bounded`.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from boostrank.clicks.log import ClickLog, check_log
from boostrank.clicks.models import Cascade, ClickModel, get_click_model
from boostrank.inputs.arrays import Bools, Floats
from boostrank.inputs.checks import check_choice, check_flag, check_number
from boostrank.inputs.warnings import warn

Method = Literal["auto", "expected-clicks", "inverse-propensity"]
NotShown = Literal["error", "irrelevant"]
METHODS: tuple[str, ...] = get_args(Method)
NOT_SHOWN: tuple[str, ...] = get_args(NotShown)
# The values of `not_shown` where rows may also be left out.
NotShownOrDrop = Literal["error", "drop", "irrelevant"]
NOT_SHOWN_OR_DROP: tuple[str, ...] = get_args(NotShownOrDrop)
# Chance does not explain clicks above the largest expectation plus this number of standard deviations plus this number
# of clicks, which are added because small counts are not normally distributed.
MAX_DEVIATIONS = 4.0


class RelevanceEstimates(NamedTuple):
    """Estimates of the probability that each row of `X` is relevant.

    Attributes
    ----------
    relevance : ndarray of float64, shape (n_documents,)
        The estimate; 0 for rows that were never shown.
    variance : ndarray of float64, shape (n_documents,)
        Its variance if clicks are independent, with the estimate in place of
        ``gamma``, after adding one examined impression with half a click. Infinite for rows that were never shown.
    impressions : ndarray of int64, shape (n_documents,)
        Number of impressions of each row, without those that are known not to be examined.
    shrinkage : ndarray of float64, shape (n_documents,)
        Without trust bias, the expectation of the estimate divided by ``gamma``: 1 without clipping. NaN for rows that
        were never shown.
    shown : ndarray of bool, shape (n_documents,)
        Whether a row had an impression that may be examined. A row that had none has no support: nothing is known about
        its relevance.

    Examples
    --------
    >>> log = ClickLog([1, 1], row=[0, 1], position=[1, 2], clicks=[3, 1], impressions=[10, 10])
    >>> found = estimate_relevance(log, [1.0, 0.5])
    >>> found.relevance.round(2).tolist(), found.variance.round(3).tolist(), found.impressions.tolist()
    ([0.3, 0.2], [0.022, 0.044], [10, 10])
    """

    relevance: Floats
    variance: Floats
    impressions: NDArray[np.int64]
    shrinkage: Floats
    shown: Bools


def estimate_relevance(
    log: ClickLog,
    model: Any,
    *,
    method: Method = "auto",
    clip: float = 0.0,
    bounded: bool = True,
    not_shown: NotShown = "error",
) -> RelevanceEstimates:
    """Estimate the probability of relevance of each row of `X` from its clicks.

    Estimates are unbiased without `clip` and `bounded`; the page "Relevance from clicks" of the guide has the proofs.

    Parameters
    ----------
    log : ClickLog
    model : str, ClickModel, or array-like of propensities
        As in :func:`boostrank.clicks.get_click_model`. Its probabilities are those that were estimated or are known.
    method : {"auto", "expected-clicks", "inverse-propensity"}, default "auto"
        ``"auto"`` is ``"expected-clicks"``, and ``"inverse-propensity"`` for a cascade model in which sessions go on
        after clicks, for which only that is unbiased.
    clip : float in [0, 1), default 0
        Smallest number that divides: smaller probabilities are replaced by it.
    bounded : bool, default True
        Whether estimates are clipped to [0, 1]. Without it, they may be negative or above 1.
    not_shown : {"error", "irrelevant"}, default "error"
        What to do if a row was never shown: raise an error that names it, or estimate its relevance as 0.

    Returns
    -------
    RelevanceEstimates

    Raises
    ------
    ValueError
        If a row was never shown and `not_shown` is ``"error"``, or if an argument is invalid.

    Examples
    --------
    >>> log = ClickLog([1, 1], row=[0, 0, 1], position=[1, 2, 2], clicks=[3, 1, 2], impressions=[10, 10, 10])
    >>> estimate_relevance(log, [1.0, 0.5]).relevance.round(4).tolist()
    [0.2667, 0.4]
    >>> estimate_relevance(log, [1.0, 0.5], method="inverse-propensity").relevance.round(4).tolist()
    [0.25, 0.4]
    """
    check_log(log)
    check_choice("not_shown", not_shown, NOT_SHOWN)
    check_flag("bounded", bounded)
    chosen = get_click_model(model)
    if _by_position(chosen):
        # The corrections depend on the position only: sums over counts are the same as over sessions, and faster.
        log = log.aggregate()
    weights, a, b, clipped = entry_weights(log, chosen, method, clip)

    def total(per_entry: Floats) -> Floats:
        return np.bincount(log.row, weights=per_entry, minlength=len(log)).astype(np.float64, copy=False)

    impressions = total(np.where(a > 0.0, log.impressions, 0.0))
    shown = impressions > 0
    if not_shown == "error":
        require_shown(log, shown)
    numerator = total(weights * (log.clicks - b * log.impressions))
    exposure = total(weights * a * log.impressions)
    divisor = total(weights * clipped * log.impressions)
    estimate = _ratio(numerator, divisor, 0.0)
    # How many impressions that are examined for sure would give, if clicks are rare, the same variance.
    effective = _ratio(exposure**2, total(weights**2 * a * log.impressions), 0.0)
    smoothed = np.clip((estimate * effective + 0.5) / (effective + 1.0), 0.0, 1.0)
    probability = np.clip(a * smoothed[log.row] + b, 0.0, 1.0)
    spread = total(weights**2 * log.impressions * probability * (1.0 - probability))
    return RelevanceEstimates(
        np.clip(estimate, 0.0, 1.0) if bounded else estimate,
        _ratio(spread, divisor**2, np.inf),
        impressions.astype(np.int64),
        _ratio(exposure, divisor, np.nan),
        shown,
    )


class EntryWeights(NamedTuple):
    """The weights and the correction of each entry of a log, each of shape (n_entries,).

    Attributes
    ----------
    weights : ndarray
        ``w``; 0 for entries that are known not to be examined.
    a, b : ndarray
    clipped : ndarray
        ``max(a, clip)``.
    """

    weights: Floats
    a: Floats
    b: Floats
    clipped: Floats


def entry_weights(log: ClickLog, model: Any, method: Method, clip: float) -> EntryWeights:
    """The weight of each entry in the estimates; parameters and errors are those of :func:`estimate_relevance`."""
    check_choice("method", method, METHODS)
    check_number("clip", clip, smallest=0, below=1)
    chosen = get_click_model(model)
    goes_on = isinstance(chosen, Cascade) and chosen.satisfaction < 1.0
    if goes_on and method == "expected-clicks":
        raise ValueError(
            f"method='expected-clicks' is biased for {chosen!r}: the weights of its sessions depend on their clicks; "
            "use method='inverse-propensity'"
        )
    a, b = chosen.corrections(log)
    clipped, examined = np.maximum(a, clip), a > 0.0
    if method == "inverse-propensity" or goes_on:
        weights = np.divide(1.0, clipped, out=np.zeros_like(a), where=examined)
    else:
        weights = examined.astype(np.float64)
    return EntryWeights(weights, a, b, clipped)


def require_shown(log: ClickLog, shown: Bools, advice: str = "or pass not_shown='irrelevant'") -> None:
    """Raise ValueError that names the first row of `X` that was never shown, if there is one."""
    if not shown.all():
        row = int(np.argmin(shown))
        raise ValueError(
            f"{np.count_nonzero(~shown)} of {len(shown)} rows have no support: the log says nothing about the "
            f"relevance of {log.name_of_row(row)}, which was never shown where it may be examined. Leave such rows "
            f"out, {advice}"
        )


def warn_of_excess(log: ClickLog, model: ClickModel) -> None:
    """Warn if rows have more clicks than rows that are always relevant, by more than chance explains.

    Then the probabilities of the model are too small. There is no warning for models whose corrections depend on more
    than the position.
    """
    if not _by_position(model):
        return
    log = log.aggregate()
    a, b = model.corrections(log)
    rate = np.minimum(a + b, 1.0)
    clicks, mean, variance = (
        np.bincount(log.row, weights=values, minlength=len(log))
        for values in (log.clicks, rate * log.impressions, rate * (1.0 - rate) * log.impressions)
    )
    excess = clicks - (mean + MAX_DEVIATIONS * np.sqrt(variance) + MAX_DEVIATIONS)
    if (excess > 0.0).any():
        row = int(np.argmax(excess))
        warn(
            f"{np.count_nonzero(excess > 0.0)} of {len(log)} rows have more clicks than any relevance explains: "
            f"{log.name_of_row(row)} has {clicks[row]:.0f}, and a document that is always relevant would have "
            f"{mean[row]:.0f} with {model!r}. Its probabilities are too small, and a correction that is too strong may "
            "be worse than none: estimate the propensities, for example with boostrank.clicks.harvest_propensities"
        )


def _by_position(model: ClickModel) -> bool:
    """Whether the corrections of a click model depend on the position only."""
    return type(model).corrections is ClickModel.corrections


def _ratio(numerator: Floats, denominator: Floats, otherwise: float) -> Floats:
    return np.divide(numerator, denominator, out=np.full_like(numerator, otherwise), where=denominator > 0)
