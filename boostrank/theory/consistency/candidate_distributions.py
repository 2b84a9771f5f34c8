"""Label distributions among which counterexamples to consistency are searched.

All probabilities are whole hundredths, so that a report can print a counterexample exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostrank.core.dcg import DCG
from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Floats
from boostrank.theory.consistency.label_distributions import PAPER_DISTRIBUTIONS, DistributionBatch, LabelDistribution

# Largest label, unless a table of gains ends at a smaller one.
MAX_LABEL = 5
# Numbers of documents.
SIZES = (2, 3, 4, 5)
# Differences, in hundredths, from the probability at which the expected normalized gains of two documents are equal.
NEAR_TIES = (1, 3, 6, 10)


def max_label(dcg: DCG) -> int:
    """The largest label of the distributions that are drawn for the gain of `dcg`."""
    tabled = not isinstance(dcg.gain, str) and not callable(dcg.gain)
    return min(MAX_LABEL, len(np.asarray(dcg.gain)) - 1) if tabled else MAX_LABEL


def candidates(n_distributions: int, dcg: DCG, top: int, random: np.random.Generator) -> Iterator[DistributionBatch]:
    """Draw `n_distributions` distributions of labels up to `top`, in one batch for each number of documents.

    The numbers of documents have equal shares, and so have the four kinds. What is left over goes to the first of them,
    and a number of documents without a share has no batch.
    """
    n_cells = 4 * len(SIZES)
    for i, m in enumerate(SIZES):
        # The remainder goes to the first kind with every number of documents, then to the second kind, and so on.
        places = np.arange(4) * len(SIZES) + i
        counts = n_distributions // n_cells + (places < n_distributions % n_cells)
        grades, binary = (
            random.integers(0, highest + 1, size=(count, 3, m))
            for count, highest in zip(counts[:2], (top, min(top, 1)), strict=True)
        )
        drawn = [labels for labels in (grades, binary) if len(labels)]
        batches = [_batch(labels, random.dirichlet(np.ones(3), size=len(labels))) for labels in drawn]
        batches += [_rare_gains(counts[2], m, top, random)] if counts[2] else []
        batches += [_near_ties(counts[3], m, top, dcg, random)] if counts[3] else []
        if counts.any():
            yield DistributionBatch.concatenate(batches)


def paper_distributions(top: int) -> list[LabelDistribution]:
    """The counterexamples of the paper that have no labels above `top`."""
    return [distribution for distribution in PAPER_DISTRIBUTIONS if distribution.labels.max() <= top]


def neighbours(distribution: LabelDistribution, n: int, top: int, random: np.random.Generator) -> DistributionBatch:
    """Draw `n` distributions similar to a given one.

    The probabilities are changed at random, some labels are changed by 1, and a few labels are replaced by random ones
    up to `top`.
    """
    shape = (n, *distribution.labels.shape)
    steps = random.integers(-1, 2, size=shape) * (random.random(shape) < 0.3)
    moved = np.clip(distribution.labels + steps, 0, max(top, distribution.labels.max()))
    labels = np.where(random.random(shape) < 0.1, random.integers(0, top + 1, size=shape), moved)
    noise = np.exp(0.5 * random.normal(size=(n, distribution.n_outcomes)))
    weights = distribution.probabilities * noise
    return _batch(labels, weights / weights.sum(axis=1, keepdims=True))


def _rare_gains(n: int, m: int, top: int, random: np.random.Generator) -> DistributionBatch:
    """Draw `n` distributions with small labels in the usual outcome and large labels in a rare one."""
    usual, rare = random.integers(0, min(top, 2) + 1, size=(n, m)), random.integers(0, top + 1, size=(n, m))
    rare = np.where(random.random((n, m)) < 0.5, np.maximum(rare, top - 1), rare)
    probability = random.uniform(0.03, 0.4, size=n)
    return _batch(np.stack([rare, usual], axis=1), np.stack([probability, 1.0 - probability], axis=1))


def _near_ties(n: int, m: int, top: int, dcg: DCG, random: np.random.Generator) -> DistributionBatch:
    """Draw `n` distributions with two outcomes that sort two documents in opposite ways.

    The probabilities are near those at which the expected normalized gains of the two documents are equal.
    """
    labels = random.integers(0, top + 1, size=(n, 2, m)).astype(np.float64)
    # In the first outcome document 0 has the larger label, in the second outcome document 1.
    labels[:, 0, :2] = -np.sort(-labels[:, 0, :2], axis=1)
    labels[:, 1, :2] = np.sort(labels[:, 1, :2], axis=1)
    targets = _batch(labels, np.full((n, 2), 0.5)).targets("dcg", dcg).reshape(n, 2, m)
    for_first, for_second = targets[:, 0, 0] - targets[:, 0, 1], targets[:, 1, 1] - targets[:, 1, 0]
    total = for_first + for_second
    tie = np.divide(for_second, total, out=np.full(n, 0.5), where=total > 0)
    shift = random.choice(NEAR_TIES, size=n) * random.choice([-1, 1], size=n) / 100.0
    probability = np.clip(tie + shift, 0.01, 0.99)
    return _batch(labels, np.stack([probability, 1.0 - probability], axis=1))


def _batch(labels: NDArray[Any], probabilities: Floats) -> DistributionBatch:
    n, n_outcomes, m = labels.shape
    outcomes = Segments.from_sizes([n_outcomes] * n)
    return DistributionBatch(labels.reshape(-1, m).astype(np.float64), _hundredths(probabilities).ravel(), outcomes)


def _hundredths(probabilities: Floats) -> Floats:
    """Round probabilities to whole hundredths of at least one hundredth, such that their sum stays 1."""
    counts = np.maximum(1, np.round(100.0 * probabilities))
    largest = np.arange(len(counts)), counts.argmax(axis=1)
    counts[largest] += 100 - counts.sum(axis=1)
    return counts / 100.0
