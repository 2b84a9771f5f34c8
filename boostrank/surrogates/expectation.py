"""Random distributions of the targets of one query, and the expected loss of a surrogate, for the check of its laws."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Floats
from boostrank.surrogates.base import Surrogate

# Levels of the targets whose expected loss is minimized. Few and different levels find inconsistent losses soonest.
TARGET_LEVELS = [0.02, 0.3, 0.6, 0.95]


class Expectation(NamedTuple):
    """A surrogate and a distribution of the targets of one query.

    `targets` has shape (n_outcomes, n_documents), `probabilities` has shape (n_outcomes,). `weights_at` are the scores
    to which the weights of a reweighted surrogate belong, shape (n_documents,).
    """

    surrogate: Surrogate
    targets: Floats
    probabilities: Floats
    weights_at: Floats

    @property
    def targets_mean(self) -> Floats:
        """Expected targets, shape (n_documents,)."""
        return self.probabilities @ self.targets

    def loss_gradient(self) -> Callable[[Floats], tuple[float, Floats]]:
        """A function of scores: expected loss and its gradient. The weights of a reweighted surrogate stay the same."""
        n_outcomes, n_documents = self.targets.shape
        outcomes = Segments.from_sizes(np.full(n_outcomes, n_documents))
        targets, fixed = self.targets.ravel(), self.surrogate.at(np.tile(self.weights_at, n_outcomes), outcomes)

        def compute(scores: Floats) -> tuple[float, Floats]:
            tiled = np.tile(scores, n_outcomes)
            loss = self.probabilities @ fixed.loss(tiled, targets, outcomes)
            gradient = fixed.gradient_hessian(tiled, targets, outcomes)[0]
            return float(loss), self.probabilities @ gradient.reshape(self.targets.shape)

        return compute

    def minimize(self) -> Floats:
        """Scores with the least expected loss; without constraints, SciPy uses the method BFGS."""
        return np.asarray(minimize(self.loss_gradient(), np.zeros(self.targets.shape[1]), jac=True).x)


def draw_expectation(
    surrogate: Surrogate, n_documents: int, n_outcomes: int, random: np.random.Generator
) -> Expectation:
    """Draw targets of a few levels within the bounds, their probabilities, and the scores of the weights."""
    low, high = finite_bounds(surrogate)
    targets = low + (high - low) * random.choice(TARGET_LEVELS, (n_outcomes, n_documents))
    probabilities = random.dirichlet(np.ones(n_outcomes))
    weights_at = random.normal(size=n_documents) if surrogate.reweighted else np.zeros(n_documents)
    return Expectation(surrogate, targets, probabilities, weights_at)


def finite_bounds(surrogate: Surrogate) -> tuple[float, float]:
    """The part of the surrogate's target bounds that is in [0, 1]."""
    low, high = surrogate.target_bounds
    return max(low, 0.0), min(high, 1.0)
