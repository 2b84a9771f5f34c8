"""The members of a bagged ranker: samples of queries, the training of one member, and its out-of-bag scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from boostrank.backends.base import GroupedData
from boostrank.core.queries import Queries
from boostrank.core.threads import n_threads
from boostrank.inputs.arrays import Bools, Floats, Ints
from boostrank.inputs.checks import is_count, is_number, named_part
from boostrank.rankers.base import BoostedRanker


class Sample(NamedTuple):
    """The queries that were drawn for a member.

    Attributes
    ----------
    drawn : ndarray of int64, shape (n_drawn,)
        Numbers of queries, in the sequence in which they were drawn.
    counts : ndarray of int64, shape (n_queries,)
        How often each query was drawn.
    seed : int
        The `random_state` of the member.
    """

    drawn: Ints
    counts: Ints
    seed: int

    @property
    def is_out_of_bag(self) -> Bools:
        """Mask of the queries that were not drawn, shape (n_queries,)."""
        return self.counts == 0


class Member(NamedTuple):
    """A member of a bagged ranker, and the scores of the documents of its out-of-bag queries, grouped by query."""

    ranker: BoostedRanker
    scores: Floats


def number_to_draw(max_samples: int | float, n_queries: int) -> int:
    """The number of queries to draw for a member.

    Parameters
    ----------
    max_samples : int or float
        The number, or its share of the queries.
    n_queries : int

    Raises
    ------
    ValueError
        For a number that is not from 1 to `n_queries`, and for a share that is not above 0 and at most 1.

    Examples
    --------
    >>> number_to_draw(0.5, 9), number_to_draw(3, 9)
    (4, 3)
    """
    if is_count(max_samples):
        if not 1 <= max_samples <= n_queries:
            raise ValueError(
                f"max_samples must be at least 1 and at most the number of queries, {n_queries}; got {max_samples!r}"
            )
        return int(max_samples)
    if not (is_number(max_samples) and 0 < max_samples <= 1):
        raise ValueError(
            "max_samples must be a number of queries, an integer of at least 1, or their share, a float above 0 and at "
            f"most 1; got {max_samples!r}"
        )
    return max(1, int(max_samples * n_queries))


def draw_sample(n_queries: int, n_drawn: int, bootstrap: bool, random_state: np.random.RandomState) -> Sample:
    """Draw the queries of a member, with replacement if `bootstrap` is True, and its seed."""
    drawn = random_state.choice(n_queries, n_drawn, replace=bootstrap)
    counts = np.bincount(drawn, minlength=n_queries)
    return Sample(drawn, counts, int(random_state.randint(2**31 - 1)))


def threads_per_member(n_jobs: int | None, n_members: int) -> int | None:
    """The number of threads of each training if several run at the same time; None if the library may choose it.

    It is the number of processors divided by that of the trainings, and at most OMP_NUM_THREADS, which both libraries
    read where no number is given.
    """
    n_workers = min(joblib.effective_n_jobs(n_jobs), n_members)
    if n_workers == 1:
        return None
    return min(max(1, joblib.cpu_count() // n_workers), n_threads())


def train_member(
    ranker: BoostedRanker,
    data: GroupedData,
    stops_on_out_of_bag: bool,
    options: dict[str, Any],
    number: int,
    sample: Sample,
) -> Member:
    """Train member `number`, counted from 0, a clone of `ranker`, and predict the scores of its out-of-bag queries.

    `options` are arguments of `fit` on metrics. Raises ValueError if the member is to stop early on out-of-bag queries
    and there are none.
    """
    has_out_of_bag = bool(sample.is_out_of_bag.any())
    with named_part(f"member {number} of the bag, the queries that it drew"):
        part = data.take(~sample.is_out_of_bag)
    options = dict(options)
    if stops_on_out_of_bag:
        if not has_out_of_bag:
            raise ValueError(
                f"member {number} was trained on all {len(sample.counts)} queries, so that it has no out-of-bag "
                "queries for early_stopping_rounds: lower max_samples, or set validation_fraction of the ranker"
            )
        with named_part(f"member {number} of the bag, its out-of-bag queries, on which it stops early"):
            out_of_bag = data.take(sample.is_out_of_bag)
        options["eval_set"] = [(out_of_bag.X, out_of_bag.labels.values, out_of_bag.queries.qid)]
    weights = _weights(part, sample.counts[~sample.is_out_of_bag])
    if weights is not None and not weights.any():
        raise ValueError(
            f"member {number} drew only queries of sample_weight 0: leave these queries out, or raise max_samples"
        )
    member = clone(ranker).set_params(random_state=sample.seed)
    with named_part(f"member {number} of the bag"):
        member.fit(
            part.X,
            part.labels.values,
            part.queries.qid,
            sample_weight=weights,
            position=part.position,
            **options,
        )
    return Member(member, member.predict(_features(data, sample.is_out_of_bag)) if has_out_of_bag else np.zeros(0))


def _features(data: GroupedData, chosen: Bools) -> Any:
    """The features of some queries. A log of clicks need not have impressions of them."""
    return _safe_indexing(data.X, np.flatnonzero(data.queries.repeat(chosen)))


def _weights(part: GroupedData, counts: Ints) -> Floats | None:
    """The weight of each document: that of the data times how often its query was drawn; None if all are equal."""
    if part.weights is None and (counts == 1).all():
        return None
    repeated = part.queries.repeat(counts.astype(np.float64))
    return repeated if part.weights is None else repeated * part.weights


def mean_out_of_bag_scores(queries: Queries, samples: list[Sample], scores: list[Floats]) -> Floats:
    """The mean score of each document over the members that were not trained on its query.

    Parameters
    ----------
    queries : Queries
    samples : list of Sample
    scores : list of ndarray
        Scores of the out-of-bag documents of each member, grouped by query.

    Returns
    -------
    ndarray of float64, shape (n_documents,)
        Grouped by query; NaN for queries that all members were trained on.
    """
    total, n_members = np.zeros(queries.n_documents), np.zeros(queries.n_queries)
    for sample, part in zip(samples, scores, strict=True):
        total[queries.repeat(sample.is_out_of_bag)] += part
        n_members += sample.is_out_of_bag
    n_members[n_members == 0] = np.nan
    return total / queries.repeat(n_members)
