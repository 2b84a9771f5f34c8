"""Losses bound to labels that are given as arrays, preferences or clicks, as users give them."""

from boostrank.backends.objectives.labels import as_labels
from boostrank.backends.objectives.objective import Objective, bind


def make_objective(surrogate, labels, *arguments, **settings):
    return Objective(surrogate, as_labels(labels), *arguments, **settings)


def bind_loss(loss, labels, *arguments, **settings):
    return bind(loss, as_labels(labels), *arguments, **settings)
