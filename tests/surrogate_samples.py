"""Surrogates to test, those of the package and those of users, and data for them."""

import numpy as np
from oracles import Arc, numeric_hessians, slices

from boostrank.queries.queries import Queries
from boostrank.surrogates import (
    SURROGATES,
    Cosine,
    NormalizedPNorm,
    PNorm,
    Poisson,
    Power,
    Profiled,
)

OWN = [Arc(), Profiled(Arc())]
OTHER_SETTINGS = [
    Profiled(Poisson()),
    PNorm(q=2),
    PNorm(q=3.5),
    NormalizedPNorm(q=2.5),
    Cosine(epsilon=0.3),
    *(Power(exponent) for exponent in (-0.75, -0.25, 0.5, 2, 0, 0.25)),
    Power(0.1, max_step=0.5),
]
ALL = [*SURROGATES.values(), *OTHER_SETTINGS, *OWN]

SIZES = [4, 1, 3, 2, 6]


def ragged(sizes=SIZES, seed=0, scale=1.0):
    """Scores, and targets within [0, 1] of which the last query has none."""
    random = np.random.default_rng([seed, *sizes])
    targets = random.random(sum(sizes)) * random.integers(0, 2, sum(sizes))
    targets[-sizes[-1] :] = 0.0
    return random.normal(size=sum(sizes)) * scale, targets, Queries.from_sizes(sizes)


def assert_same(one, other, data, factor=1.0):
    """The same losses, gradients and Hessians; the Hessians up to a factor."""
    np.testing.assert_allclose(one.loss(*data), other.loss(*data), atol=1e-9)
    (gradient, hessian), (other_gradient, other_hessian) = (
        one.gradient_hessian(*data),
        other.gradient_hessian(*data),
    )
    np.testing.assert_allclose(gradient, other_gradient, atol=1e-9)
    np.testing.assert_allclose(hessian, other_hessian * factor, atol=1e-9)


def assert_finite(surrogate, scores, targets, sizes):
    """Loss, gradient and Hessian are finite, and a majorant is not negative."""
    queries = Queries.from_sizes(sizes)
    gradient, hessian = surrogate.gradient_hessian(np.array(scores), np.array(targets), queries)
    loss = surrogate.loss(np.array(scores), np.array(targets), queries)
    assert np.isfinite([*gradient, *hessian, *loss]).all()
    assert surrogate.hessian == "exact" or (hessian >= 0).all()


def least_eigenvalue(surrogate, data, factor=1.0):
    """Of ``factor * diag(h) - H``, over all queries; relative to the size of ``h``."""
    _, hessian = surrogate.gradient_hessian(*data)
    matrices = numeric_hessians(surrogate, *data)
    return min(
        np.linalg.eigvalsh(np.diag(factor * hessian[part]) - matrix)[0]
        / max(1.0, hessian[part].max())
        for part, matrix in zip(slices(data[2].sizes.tolist()), matrices, strict=True)
    )
