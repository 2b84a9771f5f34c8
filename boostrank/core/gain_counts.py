"""Counts of the documents of queries by their gain, from which ideal DCGs are computed without sorting."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from boostrank.core.segments import Block, Segments
from boostrank.core.threads import for_each
from boostrank.inputs.arrays import Floats, Ints

# Up to this number of different gains, counting the documents of each gain takes less time than sorting documents.
MAX_COUNTED_LEVELS = 8
# Number of gains in the sample that shows whether there are few different gains.
LEVEL_SAMPLE_SIZE = 2048


class LevelCounts(NamedTuple):
    """Counts of the documents of each query by their gain.

    Attributes
    ----------
    levels : ndarray, shape (n_levels,)
        Different gains, decreasing.
    last : ndarray of int64, shape (n_queries, n_levels)
        Number of documents with at least this gain.
    """

    levels: Floats
    last: Ints


def count_levels(gains: Floats, queries: Segments) -> LevelCounts | None:
    """Count the documents of each gain, which takes less time than sorting; None if there are many different gains."""
    levels = np.unique(gains[:: max(1, len(gains) // LEVEL_SAMPLE_SIZE)])[::-1]
    if len(levels) > MAX_COUNTED_LEVELS:
        return None
    counts = np.empty((queries.n_segments, len(levels)), dtype=np.int64)

    def count(block: Block) -> None:
        own = gains[block.rows]
        for i, level in enumerate(levels):
            counts[block.segments, i] = block.part.sum((own == level).view(np.int8).astype(np.int64))

    for_each(count, queries.blocks())
    last = np.cumsum(counts, axis=1)
    return LevelCounts(levels, last) if np.array_equal(last[:, -1], queries.sizes) else None
