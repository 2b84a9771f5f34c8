"""Minimizers of expected losses: numeric against closed forms, against scipy, and against any other
scores."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from broken_surrogates import Descent, SignError, variant
from oracles import Arc

from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.targets import make_targets
from boostrank.queries.queries import Queries
from boostrank.surrogates import (
    SURROGATES,
    Cosine,
    Logistic,
    NormalizedPNorm,
    PNorm,
    Poisson,
    Profiled,
)
from boostrank.surrogates.base import Surrogate, closed_form
from boostrank.surrogates.registry import get_surrogate
from boostrank.theory import SECTION_3_2_1, LabelDistribution, excess_loss, minimizer
from boostrank.theory.distributions import DistributionBatch
from boostrank.theory.minimizers import minimize_numerically

CENTERED_SQUARED, CENTERED_LOGISTIC = (
    get_surrogate("centered-squared"),
    get_surrogate("centered-logistic"),
)
OTHER_SETTINGS = [Profiled(Poisson()), PNorm(q=2), PNorm(q=3.5), Cosine(epsilon=0.2)]
WITH_CLOSED_FORM = [
    surrogate
    for surrogate in [*SURROGATES.values(), *OTHER_SETTINGS]
    if closed_form(surrogate, np.full((1, 2), 0.5)) is not None
]
NUMERIC = [CENTERED_LOGISTIC, Arc(), Profiled(Arc())]
CONSISTENT = [surrogate for surrogate in SURROGATES.values() if surrogate.consistent]


def some(m, n=60, max_label=4, seed=0):
    """Distributions in which every document is relevant now and then."""
    random = np.random.default_rng([m, seed])
    found = []
    while len(found) < n:
        labels = random.integers(0, max_label + 1, size=(3, m))
        if labels.max(axis=0).min() > 0:
            found.append(LabelDistribution(labels, random.dirichlet(np.ones(3))))
    return found


def loss_by_outcome(surrogate, distribution, scores, normalize="dcg", dcg=None):
    """The expected loss, one outcome after the other."""
    query, total = Queries.from_sizes([distribution.n_documents]), 0.0
    for labels, probability in zip(distribution.labels, distribution.probabilities, strict=True):
        total += (
            probability
            * surrogate.loss(np.array(scores), make_targets(labels, query, dcg, normalize), query)[
                0
            ]
        )
    return total


@pytest.mark.slow
@pytest.mark.usefixtures("few_starts")
@pytest.mark.parametrize("normalize", ["dcg", "none"])
@pytest.mark.parametrize("surrogate", WITH_CLOSED_FORM, ids=repr)
def test_the_numeric_minimizer_is_the_closed_form(surrogate, normalize):
    for m in (2, 5):
        targets = DistributionBatch.of(some(m, n=4)).targets(normalize)
        if targets.values.max() > surrogate.target_bounds[1]:
            continue
        solution = minimize_numerically(surrogate, targets)
        assert solution.solved.all()
        expected = closed_form(surrogate, targets.mean())
        np.testing.assert_allclose(
            surrogate.representative(solution.scores), expected, rtol=1e-5, atol=1e-6
        )


def test_minimizers_at_infinity_are_infinite_in_closed_form():
    never = LabelDistribution([[1, 0, 2], [2, 0, 0]], [0.5, 0.5])
    assert np.isneginf(minimizer("poisson", never)).tolist() == [False, True, False]
    assert np.isneginf(minimizer("softmax", never)).tolist() == [False, True, False]
    assert minimizer("softmax", never)[[0, 2]].sum() == pytest.approx(0.0, abs=1e-15)
    certain = LabelDistribution([[1, 0]], [1.0])
    assert minimizer("logistic", certain).tolist() == [np.inf, -np.inf]
    assert minimizer("softmax", certain).tolist() == [0.0, -np.inf]
    assert (
        minimizer("pnorm", certain).tolist() == minimizer("cosine", certain).tolist() == [1.0, 0.0]
    )
    # Rounding may bring an expected target above its bound.
    above = np.nextafter(1.0, 2.0)
    assert Logistic().minimizer(np.array([[above, 0.5]])).tolist() == [[np.inf, 0.0]]


@pytest.mark.usefixtures("few_starts")
@pytest.mark.parametrize("surrogate", CONSISTENT, ids=repr)
@pytest.mark.parametrize("labels", [[0, 0, 0], [2, 2], [2] * 6, [2]], ids=str)
def test_equal_labels_have_equal_minimizers(surrogate, labels):
    """With the cutoff 1 all targets are at their upper bound 1, or 0."""
    distribution = LabelDistribution([labels], [1.0])
    for method in ("auto", "numeric"):
        scores = minimizer(surrogate, distribution, dcg=DCG(k=1), method=method)
        assert not np.isnan(scores).any()
        if surrogate.convex:
            np.testing.assert_allclose(np.ptp(np.clip(scores, -20.0, 20.0)), 0.0, atol=1e-3)


def test_excess_loss_is_the_expected_loss_less_its_infimum():
    random = np.random.default_rng(0)
    for surrogate in [*(each for each in CONSISTENT if not each.reweighted), Arc()]:
        for distribution in some(3, n=3):
            scores = random.normal(size=3)
            best = minimizer(surrogate, distribution) * (
                1e8 if isinstance(surrogate, NormalizedPNorm) else 1.0
            )
            values = [loss_by_outcome(surrogate, distribution, each) for each in (scores, best)]
            assert excess_loss(surrogate, distribution, scores) == pytest.approx(
                values[0] - values[1], abs=1e-9
            )
            assert excess_loss(surrogate, distribution, best) == pytest.approx(0.0, abs=1e-12)
    certain = LabelDistribution([[1, 0]], [1.0])
    assert excess_loss("logistic", certain, [0.0, 0.0]) == pytest.approx(2 * np.log(2))
    assert excess_loss("softmax", certain, [0.0, 0.0]) == pytest.approx(np.log(2))
    assert excess_loss("poisson", certain, [0.0, 0.0]) == pytest.approx(1.0)
    assert excess_loss("cosine", certain, [0.0, 0.0]) == pytest.approx(1.0)


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_the_precision_does_not_depend_on_the_unit_of_the_loss(factor):
    def scaled_derivatives(self, *sample):
        gradient, hessian = Poisson.gradient_hessian(self, *sample)
        return factor * gradient, factor * hessian

    def scaled_loss(self, *sample):
        return factor * Poisson.loss(self, *sample)

    scaled = variant(Poisson, loss=scaled_loss, gradient_hessian=scaled_derivatives)
    scores = minimizer(scaled, SECTION_3_2_1, method="numeric")
    np.testing.assert_allclose(scores, np.log(SECTION_3_2_1.bayes_scores()), atol=1e-9)


@dataclass(frozen=True)
class Waves(Surrogate):
    """Not convex, with many local minima; the least is near the targets."""

    consistent: ClassVar[bool] = False
    convex: ClassVar[bool] = False

    def loss(self, scores, targets, queries):
        return queries.sum((scores - targets) ** 2 - 0.3 * np.cos(6 * (scores - targets)))

    def gradient_hessian(self, scores, targets, queries):
        error = scores - targets
        return 2 * error + 1.8 * np.sin(6 * error), np.full_like(scores, 13.0)


def test_losses_that_are_not_convex_are_minimized_from_several_starts():
    certain = LabelDistribution([[2, 1]], [1.0])
    np.testing.assert_allclose(
        minimizer(Waves(), certain), minimizer("squared", certain), atol=1e-8
    )


@pytest.mark.parametrize("surrogate", [Descent(), SignError()], ids=repr)
def test_where_there_is_no_minimum_an_error_says_so(surrogate):
    with pytest.raises(RuntimeError, match="found no minimum"):
        minimizer(surrogate, SECTION_3_2_1, method="numeric")


def test_bad_input_is_an_error():
    with pytest.raises(ValueError, match=r"needs targets in \[0, 1\]"):
        minimizer("logistic", SECTION_3_2_1, normalize="none")
    with pytest.raises(ValueError, match="method"):
        minimizer("squared", SECTION_3_2_1, method="exact")
    with pytest.raises(ValueError, match="scores must be 2 numbers"):
        excess_loss("squared", SECTION_3_2_1, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="has no excess loss: its weights depend on the scores"):
        excess_loss("consistent-lambdarank", SECTION_3_2_1, [1.0, 2.0])
    with pytest.raises(
        ValueError, match="and finite: use large numbers in place of infinite ones; got"
    ):
        excess_loss("poisson", SECTION_3_2_1, [0.0, -np.inf])
