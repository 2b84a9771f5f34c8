"""Which partition each query is to be in."""

import numpy as np

from boostrank.clusters.colocation import choose_partitions


def test_queries_go_to_the_partition_with_most_of_their_rows():
    # Query 0 has most of its rows in partition 1; queries 1 and 2 lie in one partition each.
    chosen = choose_partitions(np.array([0, 1, 0, 2]), np.array([0, 0, 1, 1]), np.array([2, 50, 9, 40]), 2)
    assert chosen.tolist() == [1, 0, 1]
    # Of two partitions with equally many rows it is the first.
    assert choose_partitions(np.array([0, 1, 0, 2]), np.array([0, 0, 1, 1]), np.array([5, 9, 5, 9]), 2)[0] == 0


def test_no_partition_becomes_much_larger_than_the_others():
    # Every query has six rows in partition 0 and four in each of the others, which would end up empty.
    n_queries, n_parts = 200, 5
    query, part = np.tile(np.arange(n_queries), n_parts), np.repeat(np.arange(n_parts), n_queries)
    chosen = choose_partitions(query, part, np.where(part == 0, 6, 4), n_parts)
    assert np.bincount(chosen, minlength=n_parts).tolist() == [40] * 5
    assert (np.diff(chosen) >= 0).all()
