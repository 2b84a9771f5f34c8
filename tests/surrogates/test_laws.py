"""`boostrank.surrogates.check`: it passes all surrogates, and finds those that break a law."""

import re

import numpy as np
import pytest
from surrogate_samples import ALL

import boostrank as br
from boostrank.surrogates import Logistic, Poisson, Power, Separable, Squared, check


@pytest.mark.parametrize("surrogate", ALL, ids=repr)
def test_surrogates_obey_the_laws(surrogate):
    check(surrogate)


class LikelyOnly(Logistic):
    """Targets are 1/2 or more, so that targets from 0 to 1 are not all within the bounds."""

    target_bounds = (0.5, 1.0)


def test_a_lower_bound_above_zero_is_within_the_laws():
    check(LikelyOnly())


def test_check_takes_instances_only():
    with pytest.raises(TypeError, match="instance of Surrogate"):
        check(Squared)


class SignError(Squared):
    def gradient_hessian(self, scores, targets, queries):
        gradient, hessian = super().gradient_hessian(scores, targets, queries)
        return -gradient, hessian


class WrongGradientOfLongQueries(Squared):
    def gradient_hessian(self, scores, targets, queries):
        gradient, hessian = super().gradient_hessian(scores, targets, queries)
        return np.where(queries.repeat(queries.sizes) > 5, 1.01 * gradient, gradient), hessian


class HalfHessian(Squared):
    def gradient_hessian(self, scores, targets, queries):
        gradient, hessian = super().gradient_hessian(scores, targets, queries)
        return gradient, hessian / 2


class HalfMajorant(HalfHessian):
    hessian = "majorant"


class NotConvex(Separable):
    def potential(self, scores):
        return np.cos(scores)

    def slope_curvature(self, scores):
        return -np.sin(scores), -np.cos(scores)


class NotShiftInvariant(Squared):
    shift_invariant = True


class NotSeparable(Power):
    separable = True


class NotLinear(Squared):
    linear_in_targets = True


class Unbounded(Logistic):
    target_bounds = (0.0, 2.0)


class ForgottenBounds(Separable):
    """Its slope is below 1, but its bounds are those of the base class."""

    def potential(self, scores):
        return np.hypot(1.0, scores)

    def slope_curvature(self, scores):
        return scores / np.hypot(1.0, scores), np.hypot(1.0, scores) ** -3


class TooLowBound(Poisson):
    target_bounds = (-1.0, 1.0)


class WrongSignOfDual(Poisson):
    def dual(self, targets):
        return -super().dual(targets)


class InverseOfTheSign(Logistic):
    def inverse_slope(self, slopes):
        return -super().inverse_slope(slopes)

    def best_constant(self, targets, queries, weights):
        return -super().best_constant(targets, queries, weights)


class WrongConstant(Squared):
    def best_constant(self, targets, queries, weights):
        return 3.0


class TooLowConstant(Squared):
    def best_constant(self, targets, queries, weights):
        return super().best_constant(targets, queries, weights) - 0.2


class TooHighConstant(Squared):
    def best_constant(self, targets, queries, weights):
        return super().best_constant(targets, queries, weights) + 0.2


class ChangesArguments(Squared):
    def gradient_hessian(self, scores, targets, queries):
        scores -= targets
        return scores, np.ones_like(scores)


class OneLoss(Squared):
    def loss(self, scores, targets, queries):
        return super().loss(scores, targets, queries).sum()


class NotFinite(Squared):
    def gradient_hessian(self, scores, targets, queries):
        gradient, hessian = super().gradient_hessian(scores, targets, queries)
        return gradient, np.where(targets == 0.0, np.nan, hessian)


class GradientNotFinite(Squared):
    def gradient_hessian(self, scores, targets, queries):
        gradient, hessian = super().gradient_hessian(scores, targets, queries)
        return np.where(targets == 0.0, np.nan, gradient), hessian


class MixesQueries(Squared):
    """The loss of a query depends on its own scores only, but its Hessian does not."""

    hessian = "majorant"

    def gradient_hessian(self, scores, targets, queries):
        gradient, hessian = super().gradient_hessian(scores, targets, queries)
        return gradient, hessian + np.abs(scores).sum()


class FirstRowCounts(Squared):
    """Its loss depends on the position of a document."""

    def loss(self, scores, targets, queries):
        first = queries.positions == 0
        return queries.sum((1 + first) * (scores - targets) ** 2 / 2)

    def gradient_hessian(self, scores, targets, queries):
        first = queries.positions == 0
        return (1 + first) * (scores - targets), 1.0 + first


class SortsByPowers(Squared):
    """Its minimizer is the mean of the fourth powers of the targets, which does not sort like that of the targets."""

    target_bounds = (0.0, 1.0)

    def loss(self, scores, targets, queries):
        return super().loss(scores, targets**4, queries)

    def gradient_hessian(self, scores, targets, queries):
        return super().gradient_hessian(scores, targets**4, queries)

    def best_constant(self, targets, queries, weights):
        return super().best_constant(targets**4, queries, weights)


class SortsByRoots(SortsByPowers):
    """Its minimizer is the mean of the square roots of the targets."""

    def loss(self, scores, targets, queries):
        return super().loss(scores, targets**0.125, queries)

    def gradient_hessian(self, scores, targets, queries):
        return super().gradient_hessian(scores, targets**0.125, queries)

    def best_constant(self, targets, queries, weights):
        return super().best_constant(targets**0.125, queries, weights)


class UnknownHessian(Squared):
    hessian = "diagonal"


class OneBound(Squared):
    target_bounds = 1.0


class ExchangedBounds(Squared):
    target_bounds = (1.0, 0.0)


class BoundsWithoutGains(Squared):
    target_bounds = (2.0, 3.0)


class EqualBounds(Squared):
    target_bounds = (0.5, 0.5)


class BoundsFromTheLargestGain(Squared):
    target_bounds = (1.0, 2.0)


class MaybeConsistent(Squared):
    consistent = None


class WrongMinimizer(Squared):
    def minimizer(self, expected):
        return expected + 0.01


class ThreeDerivatives(Squared):
    def gradient_hessian(self, scores, targets, queries):
        return *super().gradient_hessian(scores, targets, queries), np.zeros_like(scores)


class GradientOnly(Squared):
    def gradient_hessian(self, scores, targets, queries):
        return scores - targets


@pytest.mark.parametrize(
    ("surrogate", "complaint"),
    [
        (SignError(), "gradient is not the derivative"),
        (WrongGradientOfLongQueries(), "gradient is not the derivative"),
        (HalfHessian(), "Hessian is not the exact diagonal"),
        (HalfMajorant(), "Hessian is not a majorant"),
        (NotConvex(), "convex is True"),
        (NotShiftInvariant(), "shift_invariant is True"),
        (NotSeparable(), "separable is True"),
        (NotLinear(), "linear_in_targets is True"),
        (Unbounded(), r"target_bounds is \(0.0, 2.0\).*; lower the upper bound$"),
        (ForgottenBounds(), r"target_bounds is \(0.0, inf\).*; lower the upper bound$"),
        (TooLowBound(), r"target_bounds is \(-1.0, 1.0\).*; raise the lower bound$"),
        (WrongSignOfDual(), "dual is wrong: the least losses"),
        (InverseOfTheSign(), "the slope at inverse_slope"),
        (WrongConstant(), "best_constant gives 3"),
        (TooLowConstant(), "best_constant gives .* has a smaller total loss"),
        (TooHighConstant(), "best_constant gives .* has a smaller total loss"),
        (ChangesArguments(), "changes the arrays"),
        (OneLoss(), r"loss must have shape \(5,\); got \(\)"),
        (NotFinite(), "Hessian is not finite"),
        (GradientNotFinite(), "gradient is not finite"),
        (MixesQueries(), "scores of one query change"),
        (FirstRowCounts(), "permuting the documents"),
        (SortsByPowers(), "consistent is True, but for expected targets"),
        (SortsByRoots(), "consistent is True, but for expected targets"),
        (UnknownHessian(), "hessian must be 'exact' or 'majorant'; got 'diagonal'"),
        (OneBound(), "target_bounds must be a tuple of two numbers"),
        (ExchangedBounds(), "target_bounds must be .*the smaller one first"),
        (BoundsWithoutGains(), "target_bounds must include normalized gains"),
        (EqualBounds(), "target_bounds must be .*the smaller one first"),
        (BoundsFromTheLargestGain(), "target_bounds must include normalized gains"),
        (MaybeConsistent(), "consistent must be True or False; got None"),
        (WrongMinimizer(), "minimizer gives .* but other scores"),
        (ThreeDerivatives(), "gradient_hessian must return a tuple of two arrays; got tuple"),
        (GradientOnly(), "gradient_hessian must return a tuple of two arrays; got ndarray"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_check_finds_what_breaks_a_law(surrogate, complaint):
    with pytest.raises(ValueError, match=rf"^{re.escape(repr(surrogate))}: (the |it )?{complaint}"):
        check(surrogate)


def complaint_of(surrogate, **random_state):
    with pytest.raises(ValueError, match="derivatives give") as caught:
        check(surrogate, **random_state)
    return str(caught.value)


def test_complaints_about_derivatives_give_the_largest_error():
    numbers = re.search(
        r"it is (\S+) where numeric derivatives give (\S+)$", complaint_of(WrongGradientOfLongQueries())
    )
    assert float(numbers[1]) == pytest.approx(1.01 * float(numbers[2]), rel=1e-3)


def test_the_random_state_decides_on_the_sample():
    complaints = [complaint_of(SignError(), random_state=seed) for seed in (0, 0, 1)]
    assert complaints[0] == complaints[1] == complaint_of(SignError())
    assert complaints[0] != complaints[2]


def test_check_is_reachable_from_the_package():
    assert br.surrogates.check is check
