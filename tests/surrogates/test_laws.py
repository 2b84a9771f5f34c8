"""`boostrank.surrogates.check`: it passes all surrogates, and finds those that break a law."""

import re

import numpy as np
import pytest
from broken_surrogates import SignError, changed, variant
from cases import for_each
from surrogate_samples import ALL

from boostrank.surrogates import (
    ConsistentLambdaRank,
    LambdaMART,
    Logistic,
    Poisson,
    Power,
    Separable,
    Squared,
    Surrogate,
    check,
)


class Hyperbola(Separable):
    """Its slope is below 1, but its bounds are those of the base class."""

    def potential(self, scores):
        return np.hypot(1.0, scores)

    def slope_curvature(self, scores):
        return scores / np.hypot(1.0, scores), np.hypot(1.0, scores) ** -3


class LargestTarget(Surrogate):
    """Multiples of all targets multiply its gradient, which is nevertheless not linear in the
    targets."""

    linear_in_targets = True

    def loss(self, scores, targets, queries):
        return queries.sum(np.logaddexp(0.0, scores)) * queries.max(targets)

    def gradient_hessian(self, scores, targets, queries):
        slope, largest = 1.0 / (1.0 + np.exp(-scores)), queries.repeat(queries.max(targets))
        return slope * largest, slope * (1.0 - slope) * largest


class Concave(Surrogate):
    """The squares of the scores times -1/2, for queries of some sizes."""

    sizes = (1, 2, 3, 4, 6)

    def loss(self, scores, targets, queries):
        return np.isin(queries.sizes, self.sizes) * -0.5 * queries.sum(scores**2)

    def gradient_hessian(self, scores, targets, queries):
        curvature = -1.0 * np.isin(queries.repeat(queries.sizes), self.sizes)
        return curvature * scores, curvature


class Saddle(Surrogate):
    """The product of the scores of each pair of documents: the diagonal of its Hessian is 0."""

    def loss(self, scores, targets, queries):
        return (queries.sum(scores) ** 2 - queries.sum(scores**2)) / 2

    def gradient_hessian(self, scores, targets, queries):
        return queries.repeat(queries.sum(scores)) - scores, np.zeros_like(scores)


LAMBDAMART = [LambdaMART(), LambdaMART(normalize=False), LambdaMART(None, divide_by_distance=False)]


@pytest.mark.slow
@for_each("surrogate", [*ALL, *LAMBDAMART], ids=repr)
def test_surrogates_obey_the_laws(surrogate):
    check(surrogate)


@for_each(
    "surrogate",
    [
        variant(Squared, target_bounds=(-np.inf, np.inf)),
        variant(LargestTarget, linear_in_targets=False),
        variant(Concave, convex=False),
        changed(Squared, diagonal=lambda *sample: 1.0, hessian="majorant"),
    ],
)
def test_what_is_not_declared_is_not_demanded(surrogate):
    check(surrogate)


def test_check_takes_instances_only():
    with pytest.raises(TypeError, match="instance of Surrogate"):
        check(Squared)


DERIVATIVE, MAJORANT = (
    "the gradient is not the derivative",
    "the Hessian is not a majorant: .* has eigenvalue ",
)
QUERIES = "the loss, gradient or Hessian of a query depends on the other queries$"
PERMUTATION = (
    "permuting the documents of a query changes its loss, or does not permute its derivatives"
)
SHIFT = (
    "shift_invariant is True, but adding a constant to the scores of a query changes the results"
)
SEPARABLE = (
    "separable is True, but the loss of a query is not the sum of the losses of its documents"
)
LINEAR = "linear_in_targets is True, but the gradients of two parts of the targets do not add up"
NEGATIVE = "convex is True, but .* has the negative eigenvalue -1$"
AT = r"at the scores that at\(\) is given, its loss, gradient or Hessian differs"
BOUNDS = "loss is not bounded below for the target"
#: The terms of gradients are less than the tolerance of derivatives where another law is broken.
BROKEN = [
    (SignError(), DERIVATIVE),
    # Wrong among some of the scores, targets and queries that are tried.
    *(
        (changed(Squared, gradient=lambda *sample, where=where: 0.1 * where(*sample)), DERIVATIVE)
        for where in (
            lambda s, u, q: q.repeat((q.sizes == 6) & (q.max(np.abs(s)) < 0.5)),
            lambda s, u, q: np.abs(s) > 4.0,
            lambda s, u, q: q.repeat(q.sizes == 1),
            lambda s, u, q: q.repeat((q.sizes == 6) & (q.max(u) == 0.0)),
            lambda s, u, q: q.repeat((q.min(u) == 0.0) & (q.max(u) > 0.0)),
            lambda s, u, q: q.repeat((q.sizes <= 3) & (q.min(u) > 0.0) & (q.max(u) > q.min(u))),
        )
    ),
    (changed(Squared, diagonal=lambda *sample: -0.5), "the Hessian is not the exact diagonal"),
    (
        changed(
            Squared, diagonal=lambda s, u, q: -0.25 * q.repeat(q.sizes == 1), hessian="majorant"
        ),
        f"{MAJORANT}-0.25$",
    ),
    (
        variant(
            Power,
            gradient_hessian=lambda self, *sample: (
                (g := Power().gradient_hessian(*sample))[0],
                g[1] / 3,
            ),
        ),
        f"{MAJORANT}-0",
    ),
    (variant(Concave, sizes=(1,)), NEGATIVE),
    (Saddle(), NEGATIVE),
    (changed(Squared, loss=lambda s, u, q: s.sum()), QUERIES),
    (changed(Squared, loss=lambda s, u, q: u[q.starts], separable=False), PERMUTATION),
    # The ranks of documents with equal scores depend on the sequence of rows.
    (
        changed(
            Squared,
            loss=lambda s, u, q: q.sum((s - u) ** 2 / 2 / q.ranks(s)),
            gradient=lambda s, u, q: (s - u) / q.ranks(s),
            diagonal=lambda s, u, q: 1 / q.ranks(s),
            separable=False,
        ),
        PERMUTATION,
    ),
    (variant(Squared, shift_invariant=True), SHIFT),
    (changed(Power, loss=lambda s, u, q: 5e-5 * q.sum(s)), SHIFT),
    (variant(Power, separable=True), SEPARABLE),
    (changed(Squared, loss=lambda s, u, q: 1.0), SEPARABLE),
    # One function compares loss, gradient and Hessian, for this law and for those above.
    (changed(Squared, gradient=lambda s, u, q: 5e-5 * q.repeat(q.sizes > 1)), SEPARABLE),
    (changed(Squared, diagonal=lambda s, u, q: q.repeat(q.sizes), hessian="majorant"), SEPARABLE),
    (variant(Squared, linear_in_targets=True), LINEAR),
    (LargestTarget(), LINEAR),
    (variant(Logistic, target_bounds=(0.0, 2.0)), f"{BOUNDS} 2, .* at the score 1e\\+06"),
    (variant(Poisson, target_bounds=(-1.0, 1.0)), f"{BOUNDS} -1, .* at the score -1e\\+06"),
    # Infinite bounds are tried at 1000.
    (Hyperbola(), rf"{BOUNDS} 1000, .*: its slope is still -999 at the score 1e\+06$"),
    (
        variant(Hyperbola, target_bounds=(-np.inf, 0.5)),
        f"{BOUNDS} -1000, .*: its slope is still 999",
    ),
    # The weights of at() are not those of the gradient; the weights are not said to depend on the
    # scores.
    (
        variant(
            ConsistentLambdaRank,
            at=lambda self, *sample: ConsistentLambdaRank(None, False).at(*sample),
        ),
        AT,
    ),
    (
        variant(
            ConsistentLambdaRank,
            at=lambda self, *_: self,
            loss=lambda self, *s: ConsistentLambdaRank().loss(*s),
        ),
        DERIVATIVE,
    ),
    (
        variant(Squared, loss=lambda self, *sample: Squared.loss(self, *sample).sum()),
        r"loss must have shape \(5,\)",
    ),
    (
        variant(Squared, gradient_hessian=lambda self, s, u, q: (s[:1], np.ones_like(s))),
        r"gradient .* got \(1,\)",
    ),
    (
        variant(Squared, gradient_hessian=lambda self, s, u, q: (s - u, np.ones(1))),
        r"Hessian .* \(16,\); got \(1,\)",
    ),
    (changed(Squared, loss=lambda *sample: -np.inf), "loss is not finite$"),
    (
        changed(Squared, gradient=lambda s, u, q: np.where(u == 0.0, np.nan, 0.0)),
        "gradient is not finite$",
    ),
    (
        changed(Squared, diagonal=lambda s, u, q: np.where(u == 0.0, np.inf, 0.0)),
        "Hessian is not finite$",
    ),
]


@for_each(
    ("surrogate", "complaint"),
    BROKEN,
    ids=[f"{i}: {complaint}" for i, (_, complaint) in enumerate(BROKEN)],
)
def test_check_finds_what_breaks_a_law(surrogate, complaint):
    with pytest.raises(ValueError, match=rf"^{re.escape(repr(surrogate))}: (the |it )?{complaint}"):
        check(surrogate)


@for_each("method", ["loss", "gradient_hessian"])
@for_each("argument", [0, 1])
def test_no_method_may_change_an_argument(method, argument):
    def change(self, *sample):
        result = getattr(Squared, method)(self, *(np.copy(rows) for rows in sample[:2]), sample[2])
        sample[argument][-1] += 1.0
        return result

    with pytest.raises(
        ValueError, match=r"it changes the arrays of scores or targets that it is given$"
    ):
        check(variant(Squared, **{method: change}))
