"""Surrogates that break one law each, and functions that change surrogates."""

import numpy as np

from boostrank.surrogates import Logistic, Poisson, Power, Separable, Squared, Surrogate


def nothing(scores, targets, queries):
    return 0.0


def changed(base, loss=nothing, gradient=nothing, diagonal=nothing, **members):
    """A surrogate like `base`, with other members, and terms added to its loss, gradient and diagonal Hessian."""

    class Changed(base):
        def loss(self, *sample):
            return super().loss(*sample) + loss(*sample)

        def gradient_hessian(self, *sample):
            unchanged = super().gradient_hessian(*sample)
            return unchanged[0] + gradient(*sample), unchanged[1] + diagonal(*sample)

    return type("Changed", (Changed,), members)()


def variant(base, **members):
    """A surrogate like `base`, with other members."""
    return type("Variant", (base,), members)()


class SignError(Squared):
    def gradient_hessian(self, scores, targets, queries):
        gradient, hessian = super().gradient_hessian(scores, targets, queries)
        return -gradient, hessian


class WrongGradientOfLongQueries(Squared):
    def gradient_hessian(self, scores, targets, queries):
        gradient, hessian = super().gradient_hessian(scores, targets, queries)
        return np.where(queries.repeat(queries.sizes) > 5, 1.01 * gradient, gradient), hessian


class Descent(Separable):
    """Its loss is not bounded below."""

    def potential(self, scores):
        return -scores

    def slope_curvature(self, scores):
        return np.full_like(scores, -1.0), np.zeros_like(scores)


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


class RanksTiesByRow(Squared):
    """Its loss depends on the ranks, and those of documents with equal scores depend on the sequence of rows."""

    separable = False

    def loss(self, scores, targets, queries):
        return queries.sum((scores - targets) ** 2 / 2 / queries.ranks(scores))

    def gradient_hessian(self, scores, targets, queries):
        weights = 1 / queries.ranks(scores)
        return weights * (scores - targets), weights


class SortsByPowers(Surrogate):
    """Its minimizer is the mean of the fourth powers of the targets, which does not sort like that of the targets."""

    consistent = True
    exponent = 4

    def loss(self, scores, targets, queries):
        return queries.sum((scores - targets**self.exponent) ** 2) / 2

    def gradient_hessian(self, scores, targets, queries):
        return scores - targets**self.exponent, np.ones_like(scores)


class EqualScores(SortsByPowers):
    """Its minimizer is 0 for all documents, because targets less than 1 to the power of infinity are 0."""

    exponent = np.inf


class SortsByRoots(SortsByPowers):
    """Its minimizer is the mean of the eighth roots of the targets."""

    exponent = 0.125


class UnknownHessian(Squared):
    hessian = "diagonal"


class ExchangedBounds(Squared):
    target_bounds = (1.0, 0.0)


class BoundsWithoutGains(Squared):
    target_bounds = (2.0, 3.0)


class EqualBounds(Squared):
    target_bounds = (0.5, 0.5)


class BoundsFromTheLargestGain(Squared):
    target_bounds = (1.0, 2.0)


class WrongMinimizer(Squared):
    def minimizer(self, expected):
        return expected + 0.01


class LargestTarget(Surrogate):
    """Multiples of all targets multiply its gradient, which is nevertheless not linear in the targets."""

    linear_in_targets = True

    def loss(self, scores, targets, queries):
        return queries.sum(np.logaddexp(0.0, scores)) * queries.max(targets)

    def gradient_hessian(self, scores, targets, queries):
        slope, largest = 1.0 / (1.0 + np.exp(-scores)), queries.repeat(queries.max(targets))
        return slope * largest, slope * (1.0 - slope) * largest


class SquaredTargets(Surrogate):
    """Its Hessian is linear in the targets, because it is 0, but its gradient is not."""

    linear_in_targets = True

    def loss(self, scores, targets, queries):
        return queries.sum(scores * targets**2)

    def gradient_hessian(self, scores, targets, queries):
        return targets**2, np.zeros_like(scores)


class Concave(Surrogate):
    """The squares of the scores times -curvature / 2, for queries of some sizes."""

    curvature = 1.0
    sizes = (1, 2, 3, 4, 6)

    def loss(self, scores, targets, queries):
        return np.isin(queries.sizes, self.sizes) * -self.curvature / 2 * queries.sum(scores**2)

    def gradient_hessian(self, scores, targets, queries):
        curvature = -self.curvature * np.isin(queries.repeat(queries.sizes), self.sizes)
        return curvature * scores, curvature


class Saddle(Surrogate):
    """The product of the scores of each pair of documents: the diagonal of its Hessian is 0."""

    def loss(self, scores, targets, queries):
        return (queries.sum(scores) ** 2 - queries.sum(scores**2)) / 2

    def gradient_hessian(self, scores, targets, queries):
        return queries.repeat(queries.sum(scores)) - scores, np.zeros_like(scores)


class DiagonalAsMajorant(Power):
    """The exact diagonal of the Hessian in place of a majorant."""

    def gradient_hessian(self, scores, targets, queries):
        return Power(hessian="exact").gradient_hessian(scores, targets, queries)


class SortsByPowersOfHighTargets(SortsByPowers):
    """Its targets are between 0.98 and 1, so that expected targets differ by less than 0.02."""

    target_bounds = (0.98, 1.0)

    def loss(self, scores, targets, queries):
        return super().loss(scores, (targets - 0.98) / 0.02, queries)

    def gradient_hessian(self, scores, targets, queries):
        return super().gradient_hessian(scores, (targets - 0.98) / 0.02, queries)


class ShortScores(Separable):
    """Least squares of scores times 100."""

    def potential(self, scores):
        return 50.0 * scores**2

    def slope_curvature(self, scores):
        return 100.0 * scores, np.full_like(scores, 100.0)
