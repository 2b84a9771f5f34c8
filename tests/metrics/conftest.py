"""Data for the tests of measures."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def ragged():
    """Shuffled queries of 1 to 6 documents, most with ties, some without relevance."""
    random = np.random.default_rng(0)
    qid = random.permutation(np.repeat(np.arange(40), random.integers(1, 7, 40)))
    y = random.integers(0, 4, len(qid)) * (random.random(len(qid)) < 0.6)
    return y, random.integers(0, 4, len(qid)) / 4.0, qid


@pytest.fixture(scope="session")
def tied():
    """Labels, tied scores and shuffled ids of queries of 1 to 12 documents, some without relevant ones."""
    random = np.random.default_rng(0)
    qid = np.repeat(np.arange(40), random.integers(1, 13, 40))
    permutation = random.permutation(len(qid))
    labels = random.integers(0, 4, len(qid)) * (qid % 7 > 0)
    return labels, random.integers(0, 5, len(qid)).astype(float), qid[permutation]
