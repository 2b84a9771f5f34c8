"""Rank-biased precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from boostrank.core.dcg import DCG, Gain, Ties, check_cutoff
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_number, setting
from boostrank.metrics.base import PreparedRanks, QueryMeasure, as_value
from boostrank.metrics.grouped_labels import GroupedLabels
from boostrank.metrics.query_mean import Empty


@dataclass(frozen=True, kw_only=True, repr=False)
class RankBiasedPrecision(QueryMeasure):
    """Rank-biased precision as a measure; see :func:`rbp_score`."""

    name: ClassVar[str] = "rbp"
    p: float = setting(0.8, check_number, above=0, below=1)
    k: int | float | None = setting(None, check_cutoff)
    gain: Gain | None = None
    threshold: float = setting(1, check_number, above=0)
    ties: Ties = "average"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gain is not None and self.threshold != 1:
            raise ValueError(
                f"threshold acts only on binary gains, gain=None; got threshold={self.threshold!r} with "
                f"gain={self.gain!r}"
            )
        _ = self.dcg  # Raises ValueError for a gain that is invalid.
        object.__setattr__(self, "gain", as_value(self.gain))

    @property
    def dcg(self) -> DCG:
        """Gain, discount and cutoff."""
        p = self.p
        return DCG(self.k, "exp2" if self.gain is None else self.gain, lambda ranks: (1.0 - p) * p ** (ranks - 1.0))

    @property
    def undefined_reason(self) -> str:
        if self.gain is None:
            return f"has no relevant document (a label of at least {self.threshold:g})"
        return super().undefined_reason

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        dcg = self.dcg
        gains = labels.binary(self.threshold)[0] if self.gain is None else dcg.gains_of(labels.values)
        return PreparedRanks.of_dcg(dcg, gains, labels.queries, self.ties)


def rbp_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    p: float = 0.8,
    k: int | float | None = None,
    gain: Gain | None = None,
    threshold: float = 1,
    ties: Ties = "average",
    empty: Empty = "zero",
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
) -> float | Floats:
    """Mean rank-biased precision over queries.

    ``RBP@k = (1 - p) sum over ranks r <= k of G(y) p^(r-1)``. A user reads the document of rank 1, and after each
    document reads the next one with probability `p`. RBP is the expected total gain of the documents read, divided by
    their expected number in an endless list. It is not normalized: if ``n`` documents are relevant, the ideal ranking
    has the value ``1 - p^n``.

    Parameters
    ----------
    y_true, y_score, qid, k, ties, empty, sample_weight, per_query
        See :func:`boostrank.ndcg_score`.
    p : float, default 0.8
        Probability that the user reads the next document, in (0, 1).
    gain : {"exp2", "linear"}, sequence of float, or callable, optional
        None: the gain is 1 for labels of at least `threshold`, and 0 for others. Otherwise as in
        :class:`boostrank.DCG`, such as the table ``[0, 0.25, 0.5, 1]`` of gains by label. If all gains are in
        [0, 1], RBP is at most 1.
    threshold : float, default 1
        Labels of at least this are relevant. Used only if `gain` is None.

    Returns
    -------
    float, or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        For labels, scores, ids, weights or settings that are invalid; the message names the argument.

    References
    ----------
    Moffat and Zobel, "Rank-biased precision for measurement of retrieval effectiveness", TOIS 2008.

    Examples
    --------
    >>> rbp_score([1, 0, 1], [0.9, 0.5, 0.1], qid=[7, 7, 7], p=0.5)
    0.625
    >>> rbp_score([2, 0, 1], [0.9, 0.5, 0.1], qid=[7, 7, 7], p=0.5, gain=[0, 0.5, 1])
    0.5625
    """
    measure = RankBiasedPrecision(p=p, k=k, gain=gain, threshold=threshold, ties=ties, empty=empty)
    return measure(y_true, y_score, qid, sample_weight=sample_weight, per_query=per_query)
