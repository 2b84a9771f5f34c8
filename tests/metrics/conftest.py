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
