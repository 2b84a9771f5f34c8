"""Surrogates that break a law, and functions that change surrogates."""

import numpy as np

from boostrank.surrogates import Separable, Squared


def nothing(scores, targets, queries):
    return 0.0


def changed(base, loss=nothing, gradient=nothing, diagonal=nothing, **members):
    """A surrogate like `base`, with other members, and terms added to its loss, gradient and
    diagonal Hessian."""

    class Changed(base):
        def loss(self, *sample):
            return super().loss(*sample) + loss(*sample)

        def gradient_hessian(self, *sample):
            unchanged = super().gradient_hessian(*sample)
            return unchanged[0] + gradient(*sample), unchanged[1] + diagonal(*sample)

    return variant(Changed, **members)


def variant(base, **members):
    """A surrogate like `base`, with other members."""
    return type("Variant", (base,), members)()


class SignError(Squared):
    def gradient_hessian(self, scores, targets, queries):
        gradient, hessian = super().gradient_hessian(scores, targets, queries)
        return -gradient, hessian


class Descent(Separable):
    """Its loss is not bounded below."""

    def potential(self, scores):
        return -scores

    def slope_curvature(self, scores):
        return np.full_like(scores, -1.0), np.zeros_like(scores)
