"""The policy of defaults: rate, rounds, samples and trees of our losses and of others.

They were chosen by NDCG on held-out training queries (benchmarks/defaults.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from boostrank.backends.left_out_queries import FIXED_TOTAL_STEP, MAX_ROUNDS, MIN_TOTAL_STEP
from boostrank.training.settings import Settings

#: Rounds and learning rate of objectives of the boosting libraries and of functions.
NATIVE_ROUNDS = 100
NATIVE_LEARNING_RATE = 0.1
#: Learning rate of losses of boostrank with this number of documents or more. With fewer, it is
#: smaller in proportion, down to a rate of the library.
LARGE_LEARNING_RATE = 0.16
LARGE_DOCUMENTS = 100_000
#: Share of the queries that each round draws.
QUERY_SHARE = 0.5
#: Share of the features that each tree draws, and share of these that each node draws.
TREE_SHARE = 0.65
NODE_SHARE = 0.6
#: The smallest number of features that a node draws, if there are as many.
MIN_NODE_FEATURES = 8


class Rounds(NamedTuple):
    """Numbers of rounds, as :class:`~boostrank.backends.records.TrainingSpecification` has them."""

    largest: int
    least: int | None = None
    fixed: int | None = None


def query_share(settings: Settings) -> float:
    """Share of the queries that each round draws."""
    if settings.subsample_queries is not None:
        return float(settings.subsample_queries)
    return QUERY_SHARE if settings.loss.has_random_trees else 1.0


def rounds(settings: Settings, rate: float, stops_early: bool) -> Rounds:
    """The numbers of rounds; `stops_early` says whether validation sets decide."""
    if settings.n_estimators is not None:
        return Rounds(int(settings.n_estimators))
    if not settings.loss.has_random_trees:
        return Rounds(NATIVE_ROUNDS)
    if stops_early:
        return Rounds(MAX_ROUNDS)
    fixed = max(1, round(FIXED_TOTAL_STEP / rate))
    if query_share(settings) == 1:
        return Rounds(fixed)
    return Rounds(MAX_ROUNDS, max(1, round(MIN_TOTAL_STEP / rate)), fixed)


def parameters_of_trees(
    settings: Settings, n_documents: int, n_columns: int, n_features: int
) -> dict[str, Any]:
    """Defaults of parameters of the boosting library, by their names in the ranker.

    Parameters
    ----------
    settings : Settings
    n_documents : int
    n_columns, n_features : int
        Number of columns of X, and of features with those that `query_features` adds.
    """
    if not settings.loss.has_random_trees:
        return {"learning_rate": NATIVE_LEARNING_RATE}
    library = settings.backend.parameters
    in_proportion = LARGE_LEARNING_RATE * n_documents / LARGE_DOCUMENTS
    rate = np.clip(in_proportion, library.LOSS_LEARNING_RATE, LARGE_LEARNING_RATE)
    by_tree, by_node = _shares_of_features(settings, n_columns, n_features)
    return {
        "learning_rate": float(rate),
        **library.LOSS_DEFAULTS,
        "colsample_bytree": by_tree,
        "colsample_bynode": by_node,
        **library.tree_shape(settings.of_library, settings.unused),
    }


def _shares_of_features(settings: Settings, n_columns: int, n_features: int) -> tuple[float, float]:
    """Share of the features that a tree draws, and share of these that a node draws.

    Trees draw as many features as they would from the columns of X alone: with features of lists,
    more are not better, and take longer.
    """
    share_of_columns = min(1.0, max(TREE_SHARE * NODE_SHARE, MIN_NODE_FEATURES / n_columns))
    share = share_of_columns * n_columns / n_features
    by_tree = settings.colsample_bytree
    if by_tree is None and settings.colsample_bynode is None:
        by_tree = min(1.0, share / NODE_SHARE)
    elif by_tree is None:
        by_tree = 1.0
    return by_tree, min(1.0, share / by_tree)
