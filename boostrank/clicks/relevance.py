"""Estimates of the probability of relevance from clicks, corrected for position and trust.

**The estimates.** Let ``P(click) = a_r gamma + b_r`` at position ``r``, with known numbers ``a_r > 0`` and ``b_r``
(:meth:`boostrank.clicks.ClickModel.affine`; in the position-based model ``a_r`` is the propensity ``p_r``, and ``b_r =
0``). If a document had ``N_r`` impressions and ``C_r`` clicks at position ``r``, then for all weights ``w_r >= 0`` that
do not depend on the clicks,

    estimate = sum_r w_r (C_r - b_r N_r) / sum_r w_r a_r N_r

has the expectation ``gamma``, because ``E[C_r] = N_r (a_r gamma + b_r)``. That supposes that the positions at which a
document is shown depend neither on whether it is relevant in that session, nor on its clicks; they would if the ranker
had learned from clicks of the same log. No independence between documents or between sessions is needed.

In the cascade model ``a`` depends on the clicks above (:meth:`boostrank.clicks.Cascade.corrections`). With
``"inverse-propensity"`` the estimate still has the expectation ``gamma``. If every click ends a session, ``a`` is 1
down to the first click, and 0 below it. Then the estimate is the click-through rate where the document was examined.
Its expectation is ``gamma`` only if the relevances of a session are independent. Otherwise it is the probability of
relevance in sessions in which nothing above was relevant.

======================== ================== ============================================================================
method                   weights            estimate
======================== ================== ============================================================================
``"inverse-propensity"`` ``w_r = 1 / a_r``  the mean of ``(click - b_r) / a_r`` over all impressions
``"expected-clicks"``    ``w_r = 1``        in the position-based model, clicks divided by the clicks that a document
                                            would get that is always relevant
======================== ================== ============================================================================

Both are equal for a document that was shown at one position only. Let clicks be independent. *In the position-based
model, the variance of* ``"expected-clicks"`` *is never larger.* Let ``E`` be the mean over the impressions. Times
``sum_r N_r / gamma``, the two variances are ``E[1/p] - gamma`` and ``1/E[p] - gamma E[p^2] / E[p]^2``. Their difference
is ``(E[1/p] - 1/E[p]) + gamma (E[p^2] / E[p]^2 - 1)``, and both brackets are at least 0 by Jensen's inequality. So it
is the default. (The least variance of all weights belongs to ``w_r = 1 / (1 - p_r gamma)``, which is unknown, and close
to 1 where clicks are rare.)

**Clipping.** With `clip` equal to ``tau``, numbers ``a_r`` below ``tau`` are replaced by it where they divide. Then the
estimate has the expectation ``shrinkage * gamma``, without trust bias, with

    shrinkage = sum_r w_r a_r N_r / sum_r w_r max(a_r, tau) N_r <= 1.

*Bias and variance.* For a document at one position, with propensity ``p <= tau`` and ``N`` impressions, the bias
is ``-gamma (1 - x)`` and the variance ``x^2 V``, where ``x = p / tau`` and ``V = gamma (1 - p gamma) / (p N)`` is the
variance without clipping. The sum ``gamma^2 (1 - x)^2 + x^2 V`` is least for ``x = gamma^2 / (gamma^2 + V)``, which is

    x = 1 / (1 + (1 - p gamma) / (gamma p N)),

and it is then ``x V``. The denominator has ``gamma p N``, the expected number of clicks. So clipping can halve the mean
squared error if about one click is expected, and decreases it by less than a tenth from ten expected clicks on. The
bias stays for any number of clicks. Sums over documents have this bias too: they rank documents that were shown at low
positions too low, which is the error of click-through rates on a smaller scale.

**Trust bias.** Estimates may be negative, because ``C_r`` may be less than ``b_r N_r``. With ``bounded=True`` they are
clipped to [0, 1]. *Its bias:* let an estimate have the mean ``gamma`` and the variance ``V``. Since ``2 max(-X, 0) =
|X| - X`` and ``E|X| <= sqrt(gamma^2 + V)``, clipping at 0 raises the mean by at most

    (sqrt(gamma^2 + V) - gamma) / 2 <= min(sqrt(V) / 2, V / (4 gamma)),

and by the same argument for ``1 - X``, clipping at 1 lowers it by at most ``(sqrt((1 - gamma)^2 + V) - (1 -
gamma))/2``. Both tend to 0 as ``1 / N`` where ``0 < gamma < 1``. So clip sums over sessions, not single sessions: of a
single click ``(click - b_r) / a_r``, clipping at 0 removes all corrections for documents without a click, and the
estimate is ``P(click) (1 - b_r) / a_r``, which is positive for documents that are never relevant.

References: Joachims, Swaminathan and Schnabel, "Unbiased learning-to-rank with biased feedback", WSDM 2017. Vardasbi,
Oosterhuis and de Rijke, "When inverse propensity scoring does not work: affine corrections for unbiased learning to
rank", CIKM 2020. The ratio to expected clicks is known as COEC: Zhang and Jones, "Comparing click logs and editorial
labels for training query rewriting", WWW 2007 workshop on query log analysis.
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
        Its variance if clicks are independent: the formula of the module's text, with the estimate in place of
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

    The text of the module :mod:`boostrank.clicks.relevance` has the formulas, and proofs that the estimates are
    unbiased without `clip` and `bounded`.

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
    """The numbers of the module's text for each entry of a log, each of shape (n_entries,).

    Attributes
    ----------
    weights : ndarray
        ``w``; 0 for entries that are known not to be examined.
    a, b : ndarray
    clipped : ndarray
        ``max(a, tau)``.
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
