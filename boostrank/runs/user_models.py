"""Measures of the C/W/L framework: the gain that a user of a model collects from each document on average.

A user reads the documents in the sequence of their ranks. After the document of rank i he reads the next one with the
continuation probability C(i), which may depend on the gains up to rank i. The weight of rank i is

    W(i) = C(1) C(2) ... C(i - 1) / V,      V = sum over ranks i of C(1) C(2) ... C(i - 1),

where V is the expected number of documents read, and the measure is ``sum over ranks of W(i) gain(i)``: the expected
gain, divided by the expected number of documents. All measures of this module are this sum, with other C.

References
----------
Moffat, Bailey, Scholer and Thomas, "Incorporating user expectations and behavior into the measurement of search
effectiveness", TOIS 2017. Azzopardi, Thomas and Moffat, "cwl_eval: an evaluation tool for information retrieval", SIGIR
2019.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
import scipy

from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.checks import check_count, check_number, setting
from boostrank.metrics.base import PreparedRanks, RunMeasure, ranked_documents
from boostrank.metrics.labels import GroupedLabels
from boostrank.queries.dcg import DCG, TIES, Ties, discount_function
from boostrank.queries.discounts import N_ADDED, sums_over_ranks
from boostrank.queries.rankings import RankedBlock
from boostrank.queries.segments import Segments

# A sum of gains that is below a goal by less than this, relative to the goal, reaches it.
ROUNDING = 1e-9


class UserModelMeasure(RunMeasure):
    """A measure of a user model; a subclass defines the continuation probabilities.

    The gain of a document is ``(relevance - min_grade) / (max_grade - min_grade)``, and 0 below `min_grade`. Documents
    after the last one of a run have no gain, and the user goes on to read them.

    Parameters
    ----------
    k : int, optional
        The user stops at this rank. Without it the list has no end, if the measure is defined for such a list.
    max_grade : float, optional
        Relevance of which the gain is 1. The default is the largest relevance in the judgments, which may differ
        between sets of queries.
    min_grade : float, default 0
        Relevance up to which the gain is 0.
    ties : {"average", "stable", "best", "worst"}
        As in :func:`boostrank.ndcg_score`. Only "stable" if the continuation depends on gains, since the value then is
        no mean over the documents at each rank.
    """

    reason: ClassVar[str] = "has no document with a gain (a relevance above {0.min_grade:g})"
    k: int | None = setting(None, check_count, optional=True)
    max_grade: float | None = setting(None, check_number, optional=True)
    min_grade: float = setting(0.0, check_number)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("max_grade", self.max_grade, above=self.min_grade, optional=True)

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        largest = float(labels.values.max())
        highest = largest if self.max_grade is None else self.max_grade
        if self.max_grade is None and largest <= self.min_grade:
            highest = self.min_grade + 1.0  # No document has a gain.
        check_number("max_grade, at least the largest relevance,", self.max_grade, smallest=largest, optional=True)
        grades, unit = np.maximum(labels.values - self.min_grade, 0.0), highest - self.min_grade
        cutoffs = DCG(self.k).cutoffs(labels.queries)

        def per_block(ranked: RankedBlock) -> Floats:
            documents = ranked_documents(ranked, grades, cutoffs, self.ties)
            quality = documents.quality
            if self.ties == "average":
                quality = documents.tied.repeat(documents.tied.mean(quality))
            counts = documents.counts
            return self._values(Segments.from_sizes(documents.part.sum(counts.astype(np.int64))), quality[counts], unit)

        return PreparedRanks(labels.largest <= self.min_grade, cutoffs, per_block, self.ties != "average")

    def _values(self, part: Segments, grades: Floats, unit: float) -> Floats:
        """Value of each query, from the grades of its documents, by rank."""
        totals = part.sum_before(grades) + grades
        goes_on = self.continuation(part.positions + 1, grades / unit, totals, unit)
        reading, last = part.product_before(goes_on), part.ends - 1
        # The documents that follow have no gain.
        left = np.inf if self.k is None else float(self.k) - part.sizes
        more = self.expected_more(part.sizes, totals[last] / unit, left)
        n_read = part.sum(reading) + reading[last] * goes_on[last] * more
        return part.sum(reading * grades) / (unit * n_read)

    @abstractmethod
    def continuation(self, ranks: Ints, gains: Floats, totals: Floats, unit: float) -> Floats:
        """Probability that a user who reads the document of a rank reads the next one.

        Parameters
        ----------
        ranks, gains : ndarray, shape (n_ranked,)
        totals : ndarray, shape (n_ranked,)
            Sum of the gains up to each rank, times `unit`.
        unit : float
        """

    def expected_more(self, ranks: Ints, totals: Floats, left: Floats | float) -> Floats:
        """Expected number of documents that a user reads who goes on after the last rank, without further gains.

        Parameters
        ----------
        ranks : ndarray of int64, shape (n_queries,)
            The last rank with a document.
        totals : ndarray, shape (n_queries,)
            Sum of the gains up to this rank.
        left : ndarray, shape (n_queries,), or infinity
            Number of the ranks that follow. Without any, the result is 0. The default is that the user reads them all.
        """
        return np.asarray(left, dtype=np.float64)


def _sum_of_squares(first: Floats, left: Floats | float) -> Floats:
    """``sum over j < left of (first / (first + j))^2``, where `left` may be infinity."""
    return first**2 * (scipy.special.polygamma(1, first) - scipy.special.polygamma(1, first + left))


class INSQ(UserModelMeasure):
    """INSQ as a measure: ``C(i) = ((i + 2T - 1) / (i + 2T))^2``.

    Parameters
    ----------
    k, max_grade, min_grade, ties
        See :class:`UserModelMeasure`. INSQ is defined for a list without end.
    goal : float, default 1
        The gain T that the user looks for, above 0.

    References
    ----------
    Moffat, Scholer and Thomas, "Models and metrics: IR evaluation as a user process", ADCS 2012.
    """

    name: ClassVar[str] = "insq"
    tie_rules: ClassVar[tuple[str, ...]] = TIES
    ties: Ties = "average"
    goal: float = setting(1.0, check_number, above=0.0)

    def continuation(self, ranks: Ints, gains: Floats, totals: Floats, unit: float) -> Floats:
        after = ranks + 2.0 * self.goal
        return ((after - 1.0) / after) ** 2

    def expected_more(self, ranks: Ints, totals: Floats, left: Floats | float) -> Floats:
        return _sum_of_squares(ranks + 2.0 * self.goal, left)


class INST(UserModelMeasure):
    """INST as a measure: ``C(i) = ((i + T + T_i - 1) / (i + T + T_i))^2``, where T_i is T minus the gains up to i.

    Parameters
    ----------
    k, max_grade, min_grade, ties
        See :class:`UserModelMeasure`. INST is defined for a list without end.
    goal : float, default 1
        The gain T that the user looks for, at least 0.5: with less, C may be above 1.

    References
    ----------
    Moffat, Bailey, Scholer and Thomas, "INST: an adaptive metric for information retrieval evaluation", ADCS 2015.
    """

    name: ClassVar[str] = "inst"
    goal: float = setting(1.0, check_number, smallest=0.5)

    def continuation(self, ranks: Ints, gains: Floats, totals: Floats, unit: float) -> Floats:
        after = ranks + 2.0 * self.goal - totals / unit
        return ((after - 1.0) / after) ** 2

    def expected_more(self, ranks: Ints, totals: Floats, left: Floats | float) -> Floats:
        return _sum_of_squares(ranks + 2.0 * self.goal - totals, left)


class BejeweledPlayer(UserModelMeasure):
    """The static Bejeweled player model as a measure: the mean gain up to the rank where the user stops.

    The user stops when the sum of gains is at least T, and at rank `k`.

    Parameters
    ----------
    k, max_grade, min_grade, ties
        See :class:`UserModelMeasure`. `k` is needed.
    goal : float, default 1
        The gain T with which the user is satisfied, above 0.

    References
    ----------
    Zhang et al., "Evaluating web search with a Bejeweled player model", SIGIR 2017.
    """

    name: ClassVar[str] = "bpm"
    needs_cutoff: ClassVar[bool] = True
    goal: float = setting(1.0, check_number, above=0.0)

    def continuation(self, ranks: Ints, gains: Floats, totals: Floats, unit: float) -> Floats:
        return (totals < self.goal * unit * (1.0 - ROUNDING)).astype(np.float64)


class ScaledDCG(UserModelMeasure):
    """Scaled DCG as a measure: DCG@k with linear gains, divided by that of `k` documents with a gain of 1.

    ``C(i) = log2(i + 1) / log2(i + 2)`` for i < k. `k` is needed. ``SDCG@k`` of ir_measures.
    """

    name: ClassVar[str] = "sdcg"
    needs_cutoff: ClassVar[bool] = True
    tie_rules: ClassVar[tuple[str, ...]] = TIES
    ties: Ties = "average"

    def continuation(self, ranks: Ints, gains: Floats, totals: Floats, unit: float) -> Floats:
        discount = discount_function("log2")
        return discount(ranks + 1.0) / discount(ranks.astype(np.float64))

    def expected_more(self, ranks: Ints, totals: Floats, left: Floats | float) -> Floats:
        assert self.k is not None
        discount = discount_function("log2")
        sums = sums_over_ranks(discount, np.append(ranks, float(self.k)), max(N_ADDED, int(ranks.max())))
        return (sums[-1] - sums[:-1]) / discount(ranks + 1.0)


class NERR8(UserModelMeasure):
    """The first variant of nearly expected reciprocal rank as a measure: ``C(i) = 1 - gain(i)`` for i < k.

    `k` is needed. Without gains it is precision: each rank has the same weight.

    References
    ----------
    Azzopardi, Mackenzie and Moffat, "ERR is not C/W/L: exploring the relationship between expected reciprocal rank and
    other metrics", ICTIR 2021, Equation 8.
    """

    name: ClassVar[str] = "nerr8"
    needs_cutoff: ClassVar[bool] = True

    def continuation(self, ranks: Ints, gains: Floats, totals: Floats, unit: float) -> Floats:
        return 1.0 - gains


class NERR9(UserModelMeasure):
    """The second variant of nearly expected reciprocal rank: ``C(i) = (1 - gain(i)) i / (i + 1)`` for i < k.

    `k` is needed.

    References
    ----------
    Azzopardi, Mackenzie and Moffat, ICTIR 2021, Equation 9; see :class:`NERR8`.
    """

    name: ClassVar[str] = "nerr9"
    needs_cutoff: ClassVar[bool] = True

    def continuation(self, ranks: Ints, gains: Floats, totals: Floats, unit: float) -> Floats:
        return (1.0 - gains) * ranks / (ranks + 1.0)

    def expected_more(self, ranks: Ints, totals: Floats, left: Floats | float) -> Floats:
        # The sum of 1 / i over the ranks that follow.
        return (ranks + 1.0) * (scipy.special.digamma(ranks + left + 1.0) - scipy.special.digamma(ranks + 1.0))


class NERR10(UserModelMeasure):
    """The third variant of nearly expected reciprocal rank as a measure: ``C(i) = p (1 - gain(i))``.

    Parameters
    ----------
    k, max_grade, min_grade, ties
        See :class:`UserModelMeasure`. It is defined for a list without end.
    p : float, default 0.9
        In (0, 1).

    References
    ----------
    Azzopardi, Mackenzie and Moffat, ICTIR 2021, Equation 10; see :class:`NERR8`.
    """

    name: ClassVar[str] = "nerr10"
    p: float = setting(0.9, check_number, above=0.0, below=1.0)

    def continuation(self, ranks: Ints, gains: Floats, totals: Floats, unit: float) -> Floats:
        return self.p * (1.0 - gains)

    def expected_more(self, ranks: Ints, totals: Floats, left: Floats | float) -> Floats:
        return np.asarray((1.0 - self.p**left) / (1.0 - self.p))


class NERR11(INSQ):
    """The fourth variant: ``C(i) = (1 - gain(i)) ((i + 2T - 1) / (i + 2T))^2``, with that of :class:`INSQ`.

    Parameters
    ----------
    k, max_grade, min_grade, ties
        See :class:`UserModelMeasure`. It is defined for a list without end.
    goal : float, default 1
        As in :class:`INSQ`.

    References
    ----------
    Azzopardi, Mackenzie and Moffat, ICTIR 2021, Equation 11; see :class:`NERR8`.
    """

    name: ClassVar[str] = "nerr11"
    tie_rules: ClassVar[tuple[str, ...]] = ("stable",)
    ties: Ties = "stable"

    def continuation(self, ranks: Ints, gains: Floats, totals: Floats, unit: float) -> Floats:
        return (1.0 - gains) * super().continuation(ranks, gains, totals, unit)
