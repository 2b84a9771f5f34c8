"""Data for the native interfaces of both libraries."""

import numpy as np
import pytest

import boostrank as br


@pytest.fixture(scope="session")
def data():
    """Features, relevance and the sizes of queries."""
    X, y, qid = br.make_ranking(n_queries=50, random_state=5)
    return X, y, np.bincount(qid)
