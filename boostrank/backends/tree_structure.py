"""Check that the nodes of trees of a model file form trees: no cycle, no node with two parents, none left over."""

from __future__ import annotations

import numpy as np

from boostrank.inputs.arrays import Bools, Ints

#: Trees of this depth are no result of training; functions of the backends that are recursive overflow the stack.
MAX_DEPTH = 2_000
#: Number in place of the child of a leaf.
NO_CHILD = -1


def check_forest(left: Ints, right: Ints, sizes: Ints, expected: Bools) -> None:
    """Raise ValueError if the nodes of a model do not form trees.

    Parameters
    ----------
    left, right : ndarray of int64, shape (n_nodes,)
        Children of the nodes of all trees, as numbers of nodes within the tree; both are `NO_CHILD` for a leaf. The
        root of a tree is its node 0.
    sizes : ndarray of int64, shape (n_trees,)
        Number of nodes of each tree, at least 1.
    expected : ndarray of bool, shape (n_nodes,)
        Which nodes must belong to the tree; the others must not.
    """
    trees, starts = np.repeat(np.arange(len(sizes)), sizes), np.cumsum(sizes) - sizes
    limit, start = sizes[trees], starts[trees]
    is_leaf = left == NO_CHILD
    for children in (left, right):
        refuse_where((children == NO_CHILD) != is_leaf, trees, "a node has one child only")
        refuse_where(~is_leaf & ((children < 1) | (children >= limit)), trees, "a child does not exist")
    left, right = left + start, right + start
    inner = np.flatnonzero(~is_leaf)
    n_parents = np.bincount(np.concatenate([left[inner], right[inner]]), minlength=len(left))
    refuse_where(n_parents > 1, trees, "a node has two parents")
    # No root is a child and no node has two parents: what is reached from the roots has no cycle.
    level, depth = starts, 0
    reached = np.zeros(len(left), dtype=bool)
    while level.size:
        if depth > MAX_DEPTH:
            raise ValueError(f"tree {trees[level[0]]} is deeper than {MAX_DEPTH} levels")
        reached[level] = True
        level = level[~is_leaf[level]]
        level, depth = np.concatenate([left[level], right[level]]), depth + 1
    refuse_where(reached != expected, trees, "a node does not belong to the tree")


def refuse_where(bad: Bools, trees: Ints, fault: str) -> None:
    """Raise ValueError that names the first tree with a bad node, if there is one; `trees` has the tree of each."""
    if bad.any():
        raise ValueError(f"tree {trees[np.argmax(bad)]}: {fault}")
