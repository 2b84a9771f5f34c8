"""Propensities from randomized swaps of the first document with one at another position."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from boostrank.clicks.click_columns import whole_numbers
from boostrank.clicks.click_errors import propensities_with_errors
from boostrank.clicks.click_log import ClickLog
from boostrank.clicks.interventions import Shown
from boostrank.clicks.propensities import Propensities
from boostrank.inputs.arrays import Bools, Floats, Ints


def swap_propensities(log: ClickLog, ranks: ArrayLike) -> Propensities:
    """Estimate propensities from an experiment that exchanges the first document with one at a random position.

    In the experiment, a ranker ranks the documents of a query. Before the list is shown, the document at position 1 and
    that at a randomly drawn position are exchanged with some probability. So the documents of rank 1, and those of rank
    ``k``, are shown at position 1 in some sessions and at position ``k`` in others, and their relevance is the same in
    both. The propensity ``p_k`` is the ratio of their click-through rates,

        p_k = sum_s C_sk N_s1 / (N_sk + N_s1)  /  sum_s C_s1 N_sk / (N_sk + N_s1)

    (Mantel and Haenszel's ratio) with the clicks ``C`` and the impressions ``N`` at the positions ``k`` and 1 in each
    stratum ``s``. The strata are the documents of rank 1, and those of rank ``k``, of all queries with the same length
    of result lists, because the probability of a swap may depend on the length. In one stratum, ``p_k`` is the ratio of
    rates ``(C_sk / N_sk) / (C_s1 / N_s1)``.

    *Assumptions.* The position-based model (no trust bias, no cascade). Swaps are random: whether and where a document
    is moved is independent of its relevance. And their probabilities are the same for all queries with result lists of
    the same length. If they are not, use :func:`harvest_propensities`, which compares each document with itself only.
    It needs no `ranks`, but several sessions of each query; here, every query may have only one.

    Parameters
    ----------
    log : ClickLog
        With sessions or with counts; the result is the same. It must have all documents that were shown, with and
        without clicks.
    ranks : array-like of int, shape (n_documents,)
        Rank of each row of `X` in its query before swaps, from 1. Those of rows that were never shown do not matter.

    Returns
    -------
    Propensities
        Standard errors are those of :class:`boostrank.clicks.click_errors.ClickErrors`, with ``C (1 - C / N)`` as the
        variance of the clicks at a position in a stratum, and ``c_i - n_i C / N`` in place of ``c_i`` in the sums over
        queries.

    Raises
    ------
    ValueError
        If a row was shown at a position to which no swap with position 1 moves it; if two rows of a query that were
        shown have the same rank; or if no position has clicks on the same documents as position 1.

    References
    ----------
    Joachims, Swaminathan and Schnabel, "Unbiased learning-to-rank with biased feedback", WSDM 2017, Section 5, where
    the documents of rank 1 are used. Mantel and Haenszel, "Statistical aspects of the analysis of data from
    retrospective studies of disease", 1959.

    Examples
    --------
    >>> import boostrank as br
    >>> qid, y, scores = [1] * 3 + [2] * 3, [2, 0, 1, 1, 2, 0], [3, 2, 1, 3, 2, 1]
    >>> log = br.simulate_clicks(y, scores, qid, n_sessions=30_000, policy=("swap", 0.5), random_state=0).log
    >>> swap_propensities(log, ranks=[1, 2, 3, 1, 2, 3])
    Propensities(1: 1, 2: 0.51, 3: 0.34; method='swaps', n_impressions=90000, n_clicks=26186)
    """
    shown = Shown.of_log(log, None)
    rank = whole_numbers(ranks, "ranks", len(log))[shown.row]
    _check_swaps(log, shown, rank)
    # Either the rank or the position is 1, or both are equal: the larger one is k.
    k = np.maximum(rank, shown.position) - 1
    n = int(k.max()) + 1
    length = _list_lengths(shown)
    is_top, is_first = rank == 1, shown.position == 1
    top = _Cells.of_entries(shown, is_top, length, k, n)
    own = _Cells.of_entries(shown, ~is_top & ~is_first, length, k, n)
    moved = _Cells.of_entries(shown, ~is_top & is_first, length, k, n)
    # The documents of rank 1 that stayed at position 1 are compared with those at every other position.
    stayed = _Cells(top.clicks[:, :1], top.impressions[:, :1])
    at_k = top.share(stayed) * top.clicks + own.share(moved) * own.clicks
    at_first = stayed.share(top) * stayed.clicks + moved.share(own) * moved.clicks
    at_k, at_first = at_k.sum(axis=0), at_first.sum(axis=0)
    supported = (at_k > 0) & (at_first > 0)
    supported[0] = True
    reasons = _reasons(shown, supported, at_k)
    if supported.sum() == 1:
        text = "; ".join(f"position {r}: {reason}" for r, reason in list(reasons.items())[:3])
        raise ValueError(f"no position can be compared with position 1 ({text or 'nothing was shown elsewhere'})")
    # Influences of clicks on the logarithms of propensities, 0 at positions without one.
    compared = supported & (np.arange(n) > 0)
    above, below = (np.divide(1.0, total, out=np.zeros(n), where=compared) for total in (at_k, at_first))
    influences = [
        (top, top.share(stayed) * above),
        (own, own.share(moved) * above),
        (moved, -moved.share(own) * below),
        (stayed, -stayed.share(top) * below),
    ]
    independent = sum((weight**2 * cells.variance).sum(axis=0) for cells, weight in influences)
    queries, query = np.unique(shown.query, return_inverse=True)
    scores = np.zeros((len(queries), n))
    for mask, (cells, weight) in zip((is_top, ~is_top & ~is_first, ~is_top & is_first), influences, strict=False):
        at = length[mask], k[mask]
        excess = shown.clicks[mask] - cells.rate[at] * shown.impressions[mask]
        np.add.at(scores, (query[mask], k[mask]), weight[at] * excess)
    mask = is_top & is_first
    excess = shown.clicks[mask] - stayed.rate[length[mask], 0] * shown.impressions[mask]
    scores[query[mask]] += influences[3][1][length[mask]] * excess[:, None]
    values = np.divide(at_k, at_first, out=np.full(n, np.nan), where=compared)
    values[0] = 1.0
    used = supported[k]
    return propensities_with_errors(values, independent, scores, shown.where(used), "swaps", reasons)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Sums of clicks and impressions by length of the result list and position ``k``, each of shape (n_lengths, n)."""

    clicks: Floats
    impressions: Floats

    @classmethod
    def of_entries(cls, shown: Shown, mask: Bools, length: Ints, k: Ints, n: int) -> _Cells:
        cell, size = (length * n + k)[mask], (int(length.max()) + 1) * n
        clicks, impressions = (
            np.bincount(cell, column[mask], size).astype(np.float64) for column in (shown.clicks, shown.impressions)
        )
        return cls(clicks.reshape(-1, n), impressions.reshape(-1, n))

    def share(self, other: _Cells) -> Floats:
        """``N_other / (N + N_other)``, the weight of a click in the ratio; 0 without impressions of both."""
        return _divide(other.impressions * (self.impressions > 0), self.impressions + other.impressions)

    @property
    def rate(self) -> Floats:
        """Click-through rate; 0 without impressions."""
        return _divide(self.clicks, self.impressions)

    @property
    def variance(self) -> Floats:
        """Estimated variance of the number of clicks, if they are independent."""
        return self.clicks * (1.0 - self.rate)


def _divide(values: Floats, divisor: Floats) -> Floats:
    values, divisor = np.broadcast_arrays(values, divisor)
    return np.divide(values, divisor, out=np.zeros(values.shape), where=divisor > 0)


def _list_lengths(shown: Shown) -> Ints:
    """Length of the result lists of the query of each entry, as numbers 0, 1, ... of the different lengths."""
    length = np.zeros(int(shown.query.max()) + 1, dtype=np.int64)
    np.maximum.at(length, shown.query, shown.position)
    return np.unique(length[shown.query], return_inverse=True)[1]


def _check_swaps(log: ClickLog, shown: Shown, rank: Ints) -> None:
    """Raise ValueError if the entries cannot come from swaps with position 1, given the rank of each."""
    if (rank < 1).any():
        entry = int(np.argmax(rank < 1))
        raise ValueError(f"ranks[{shown.row[entry]}] is {rank[entry]}, but the first rank is 1")
    impossible = (rank != shown.position) & (rank != 1) & (shown.position != 1)
    if impossible.any():
        entry = int(np.argmax(impossible))
        raise ValueError(
            f"{log.name_of_row(int(shown.row[entry]))} has the rank {rank[entry]} and was shown at position "
            f"{shown.position[entry]}: a swap with position 1 moves it to position 1 only. If the log has other "
            "changes of positions, use harvest_propensities"
        )
    keys = np.unique(np.stack([shown.query, rank, shown.row]), axis=1)
    same = (keys[:2, 1:] == keys[:2, :-1]).all(axis=0)
    if same.any():
        rows = keys[2, int(np.argmax(same)) :][:2]
        raise ValueError(f"{log.name_of_row(int(rows[0]))} and row {rows[1]} have the same rank")


def _reasons(shown: Shown, supported: Bools, clicks: Floats) -> dict[int, str]:
    """Why each position without an estimate has none."""
    shown_at = np.bincount(shown.position - 1, minlength=len(supported))
    reasons = {}
    for k in np.flatnonzero(~supported).tolist():
        if not shown_at[k]:
            reasons[k + 1] = "nothing was shown there"
        elif clicks[k]:
            reasons[k + 1] = "no clicks at position 1 on documents that swaps moved between both positions"
        else:
            reasons[k + 1] = "no clicks there on documents that swaps moved between this position and position 1"
    return reasons
