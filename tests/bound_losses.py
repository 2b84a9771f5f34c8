"""Losses bound to labels that are given as arrays, preferences or clicks, as users give them."""

from boostrank.ndcg.labels import as_labels
from boostrank.queries.weights import document_weights
from boostrank.training.losses import bind


def bind_loss(loss, labels, queries, dcg=None, normalize="dcg", weights=None):
    """The loss bound to grouped labels; weights of queries or of grouped documents are checked
    first."""
    labels = as_labels(labels)
    if weights is not None:
        weights = document_weights(weights, queries, may_differ=True)
    return bind(loss, labels, queries, dcg, normalize, labels.weighted(weights, queries))
