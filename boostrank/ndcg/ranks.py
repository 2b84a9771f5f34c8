"""Labels of which only the order within a query counts: their ranks, and places in a race."""

from __future__ import annotations

import numpy as np

from boostrank.inputs.arrays import Floats
from boostrank.inputs.warnings import warn
from boostrank.queries.segments import Segments


def normalized_ranks(labels: Floats, queries: Segments) -> Floats:
    """Rank of each label in its query, from 0 for the smallest to 1 for the largest.

    Ties have the mean of their ranks. It is 0 in a query of one document.

    Examples
    --------
    >>> normalized_ranks(np.array([-0.5, 2.0, -0.5, 7.0]), Segments.from_sizes([3, 1])).tolist()
    [0.25, 1.0, 0.25, 0.0]
    """
    order = queries.sort(labels, stable=False)
    tied = queries.runs(labels[order])
    n_others = queries.repeat(queries.sizes - 1)
    ranks = np.empty(queries.n_rows)
    ranks[order] = n_others - tied.repeat(tied.mean(queries.positions))
    return ranks / np.maximum(n_others, 1)


def warn_of_places(labels: Floats, queries: Segments) -> None:
    """Warn of grouped labels that are the numbers 1 to n of each query, as places in a race are.

    It looks at queries of three documents or more, at least three of them, of which one in ten may
    have other labels, such as those with two second places.
    """
    is_long = queries.sizes >= 3
    n_needed = max(3, 0.9 * np.count_nonzero(is_long))
    # Most labels need not be sorted to see that they are no places.
    may_be = is_long & (queries.min(labels) == 1) & (queries.max(labels) == queries.sizes)
    if np.count_nonzero(may_be) < n_needed:
        return
    ascending = queries.sort(-labels, stable=False)
    n_right = queries.sum((labels[ascending] == queries.positions + 1).astype(np.int64))
    n_places = np.count_nonzero(is_long & (n_right == queries.sizes))
    if n_places >= n_needed:
        warn(
            f"the labels of {n_places} of {queries.n_segments} queries are the numbers 1 to n, as "
            "places in a race, and the largest is trained as the best. If 1 is the best, give "
            "gain='rank' and lower_is_better=True; if the largest is the best, give gain='rank', "
            "or lower_is_better=False, which turns this warning off"
        )
