"""Data and rankers of the tests of clusters, with which several workers train the model of one process."""

import numpy as np
from loss_defaults import PLAIN

import boostrank as br

# LightGBM's workers estimate the number of rows of a leaf from its Hessian, and leave rare values out of their bins. In
# one process, LightGBM does not try a feature below a leaf in which no split by it has a gain, which with a penalty may
# be so although a split further down has one. With these settings none of this matters, and the trees are those of one
# process.
EXACT = {"min_child_samples": 1, "min_child_weight": 10.0, "min_data_in_bin": 1, "reg_lambda": 0.0}


def make_data(n_queries):
    """Features, labels and query ids, with few values for each feature: then bins do not depend on the worker."""
    X, y, qid = br.make_ranking(n_queries=n_queries, random_state=3)
    return np.clip(np.round(2 * X) / 2, -2, 2), y, qid


def small(ranker_class, objective="softmax", **parameters):
    """A ranker of this class, on a cluster or local, with few rounds of plain trees and one thread."""
    exact = EXACT if ranker_class.__name__ == "LightGBMRanker" else {}
    settings = {"n_estimators": 4, "random_state": 0, "n_jobs": 1, **PLAIN, **exact}
    return ranker_class(objective, **settings | parameters)


def small_local(ranker_class, *arguments, **parameters):
    """The same for the local class of a class on a cluster."""
    return small(getattr(br, ranker_class.__name__), *arguments, **parameters)


def assert_close(scores, expected, rtol=1e-5, atol=1e-6):
    """Equal up to the rounding of sums over workers."""
    np.testing.assert_allclose(scores, expected, rtol=rtol, atol=atol)
