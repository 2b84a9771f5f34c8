"""`boostrank.surrogates.check`: each part of each law, and each tolerance, from both sides."""

from collections import Counter

import numpy as np
import pytest
from broken_surrogates import (
    Concave,
    DiagonalAsMajorant,
    EqualScores,
    ForgottenBounds,
    HalfMajorant,
    LargestTarget,
    Saddle,
    SortsByPowersOfHighTargets,
    SquaredTargets,
    WrongMinimizer,
    changed,
    variant,
)

from boostrank.core.segments import Segments
from boostrank.surrogates import Power, Squared, check


def assert_breaks(surrogate, complaint):
    with pytest.raises(ValueError, match=complaint):
        check(surrogate)


@pytest.mark.parametrize(
    "surrogate",
    [
        changed(Squared, loss=lambda s, u, q: s.sum()),
        changed(Squared, loss=lambda s, u, q: u.sum()),
        changed(Squared, gradient=lambda s, u, q: s.sum()),
        changed(Squared, gradient=lambda s, u, q: u.sum()),
        changed(Squared, diagonal=lambda s, u, q: (s**2).sum(), hessian="majorant"),
        changed(Squared, diagonal=lambda s, u, q: u.sum(), hessian="majorant"),
    ],
)
def test_queries_must_not_change_one_result_of_others(surrogate):
    assert_breaks(surrogate, "the loss, gradient or Hessian of a query depends on the other queries$")


# The terms of gradients are less than the tolerance of derivatives.
@pytest.mark.parametrize(
    "surrogate",
    [
        changed(Squared, loss=lambda s, u, q: u[q.starts], separable=False),
        changed(Squared, gradient=lambda s, u, q: 5e-5 * (q.positions == 0)),
        changed(Squared, diagonal=lambda s, u, q: q.positions == 0, hessian="majorant"),
    ],
)
def test_permutations_must_permute_every_result(surrogate):
    assert_breaks(surrogate, "permuting the documents of a query changes its loss, or does not permute its derivatives")


@pytest.mark.parametrize(
    "surrogate",
    [
        changed(Power, loss=lambda s, u, q: 5e-5 * q.sum(s)),
        changed(Power, gradient=lambda s, u, q: 5e-5 * np.tanh(s)),
        changed(Power, diagonal=lambda s, u, q: s**2),
    ],
)
def test_shifts_must_change_no_result(surrogate):
    assert_breaks(surrogate, "adding a constant to the scores of a query changes the results")


@pytest.mark.parametrize(
    "surrogate",
    [
        changed(Squared, loss=lambda s, u, q: 1.0),
        changed(Squared, gradient=lambda s, u, q: 5e-5 * q.repeat(q.sizes > 1)),
        changed(Squared, diagonal=lambda s, u, q: q.repeat(q.sizes), hessian="majorant"),
    ],
)
def test_every_result_of_a_separable_surrogate_must_be_separable(surrogate):
    assert_breaks(surrogate, "the loss of a query is not the sum of the losses of its documents")


def test_linearity_is_more_than_homogeneity():
    assert_breaks(LargestTarget(), "the gradients of two parts of the targets do not add up")
    check(variant(LargestTarget, linear_in_targets=False))


def test_the_gradient_must_be_linear_where_the_hessian_is():
    assert_breaks(SquaredTargets(), "the gradients of two parts of the targets do not add up")


# Where the gradient is wrong, among the scores, targets and queries that are tried.
@pytest.mark.parametrize(
    "where",
    [
        lambda s, u, q: q.repeat((q.sizes == 6) & (q.max(np.abs(s)) < 0.5)),
        lambda s, u, q: np.abs(s) > 4.0,
        lambda s, u, q: q.repeat(q.sizes == 1),
        lambda s, u, q: q.repeat((q.sizes == 6) & (q.max(u) == 0.0)),
        lambda s, u, q: q.repeat((q.min(u) == 0.0) & (q.max(u) > 0.0)),
        lambda s, u, q: q.repeat((q.sizes <= 3) & (q.min(u) > 0.0) & (q.max(u) > q.min(u))),
    ],
    ids=["small scores", "large scores", "one document", "no gain", "some gains", "different gains"],
)
def test_errors_in_rare_cases_are_found(where):
    assert_breaks(changed(Squared, gradient=lambda *sample: 0.1 * where(*sample)), "gradient is not the derivative")


@pytest.mark.parametrize("method", ["loss", "gradient_hessian"])
@pytest.mark.parametrize("argument", [0, 1])
def test_no_method_may_change_an_argument(method, argument):
    def change(self, *sample):
        result = getattr(Squared, method)(self, *(np.copy(rows) for rows in sample[:2]), sample[2])
        sample[argument][-1] += 1.0
        return result

    assert_breaks(variant(Squared, **{method: change}), "it changes the arrays of scores or targets that it is given$")


@pytest.mark.parametrize("result", ["loss", "gradient", "diagonal"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_results_must_be_finite(result, value):
    name = {"diagonal": "Hessian"}.get(result, result)
    assert_breaks(changed(Squared, **{result: lambda s, u, q: value}), f"the {name} is not finite$")


@pytest.mark.parametrize("wrong", [0, 1])
def test_gradients_and_hessians_must_have_the_shape_of_the_scores(wrong):
    def gradient_hessian(self, scores, targets, queries):
        results = [scores - targets, np.ones_like(scores)]
        results[wrong] = results[wrong][:1]
        return tuple(results)

    name = ["gradient", "Hessian"][wrong]
    assert_breaks(
        variant(Squared, gradient_hessian=gradient_hessian), rf"the {name} must have shape \(16,\); got \(1,\)"
    )


@pytest.mark.parametrize(
    ("surrogate", "complaint"),
    [
        (Concave(), "convex is True, but .* has the negative eigenvalue -1$"),
        (variant(Concave, sizes=(1,)), "convex is True, but .* has the negative eigenvalue -1$"),
        (Saddle(), "convex is True, but .* has the negative eigenvalue -1$"),
        (HalfMajorant(), "the Hessian is not a majorant: .* has eigenvalue -0.5$"),
        (
            changed(Squared, diagonal=lambda s, u, q: -0.25 * q.repeat(q.sizes == 1), hessian="majorant"),
            "the Hessian is not a majorant: .* has eigenvalue -0.25$",
        ),
        (DiagonalAsMajorant(), "the Hessian is not a majorant: .* has eigenvalue -0"),
    ],
)
def test_complaints_about_matrices_give_the_least_eigenvalue(surrogate, complaint):
    assert_breaks(surrogate, complaint)


@pytest.mark.parametrize("surrogate", [variant(Concave, convex=False), changed(HalfMajorant, diagonal=lambda *_: 1.5)])
def test_what_is_not_declared_is_not_demanded(surrogate):
    check(surrogate)


def assert_valid(scores, targets, queries):
    assert isinstance(queries, Segments)
    assert scores.shape == targets.shape == (queries.n_rows,)
    assert scores.dtype == targets.dtype == np.float64


def test_methods_get_valid_arguments():
    shapes = []

    class Recorder(Squared):
        def loss(self, scores, targets, queries):
            assert_valid(scores, targets, queries)
            return super().loss(scores, targets, queries)

        def gradient_hessian(self, scores, targets, queries):
            assert_valid(scores, targets, queries)
            return super().gradient_hessian(scores, targets, queries)

        def best_constant(self, targets, queries, weights):
            assert_valid(targets, targets, queries)
            assert weights is None
            return super().best_constant(targets, queries, weights)

        def minimizer(self, expected):
            shapes.append(expected.shape)
            return super().minimizer(expected)

    check(Recorder())
    assert Counter(shapes) == {(1, 2): 10, (1, 3): 20, (1, 4): 10}


@pytest.mark.parametrize("surrogate", [SortsByPowersOfHighTargets(), EqualScores()])
def test_gaps_of_targets_are_relative_and_equal_scores_do_not_sort(surrogate):
    assert_breaks(surrogate, "consistent is True, but for expected targets")


def test_closed_forms_of_inconsistent_surrogates_are_checked():
    assert_breaks(variant(WrongMinimizer, consistent=False), "minimizer gives .* but other scores")


def test_infinite_target_bounds_are_tried_at_a_thousand():
    surrogate = variant(ForgottenBounds, target_bounds=(-np.inf, 0.5))
    assert_breaks(
        surrogate, r"for the target -1000 .* at the score -1e\+06 its slope is still 999; raise the lower bound$"
    )
    assert_breaks(
        ForgottenBounds(), r"for the target 1000 .* at the score 1e\+06 its slope is still -999; lower the upper"
    )
    check(variant(Squared, target_bounds=(-np.inf, np.inf)))
