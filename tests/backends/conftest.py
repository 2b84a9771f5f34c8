"""Data for the native interfaces of both libraries."""

import numpy as np
import pytest
from bound_losses import make_objective

import boostrank as br
from boostrank.queries.dcg import DCG
from boostrank.queries.queries import Queries


@pytest.fixture(scope="session")
def data():
    """Features, relevance and the sizes of queries."""
    X, y, qid = br.make_ranking(n_queries=50, random_state=5)
    return X, y, np.bincount(qid)


@pytest.fixture(scope="session")
def by_hand(data):
    """Gradients of an objective from `Objective`, as functions without any of the callables under test."""
    _, y, sizes = data

    def make(objective):
        bound = make_objective(objective, y, Queries.from_sizes(sizes), DCG(10))
        return lambda scores, _: tuple(array.copy() for array in bound.gradient_hessian(scores))

    return make
