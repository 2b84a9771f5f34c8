"""Ensembles bound to data: the loss of each round has the scores of its own model."""

import numpy as np
import pytest

import boostrank as br
from boostrank.queries.labels import as_labels
from boostrank.queries.queries import Queries
from boostrank.training.losses import bind

Y, START = np.array([0.0, 2.0, 1.0, 0.0, 1.0]), np.array([0.3, 0.1, 0.0, -1.0, 2.0])


@pytest.mark.parametrize("has_one_model", [False, True])
def test_each_training_starts_anew_and_reused_arrays_of_scores_do_no_harm(has_one_model):
    bound = bind(br.LossEnsemble(("softmax", "squared")), as_labels(Y), Queries.from_sizes([3, 2]))
    steps = np.random.default_rng(0).normal(size=(5, 5))
    for _ in range(2):
        boost = bound.boosting_function(has_one_model)
        scores, models = START.copy(), [START.copy(), START.copy()]
        for turn, step in enumerate(steps):
            # With DART, which changes earlier trees, all losses have the scores of the mean.
            expected = bound.members[turn % 2].gradient_hessian(scores if has_one_model else models[turn % 2])
            for values, other in zip(boost(scores), expected, strict=True):
                np.testing.assert_allclose(values, other, rtol=1e-6)
            scores += step
            models[turn % 2] += 2 * step


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_scores_that_are_not_finite_are_errors_in_the_same_round(bad, kind):
    bound = bind(br.LossEnsemble(("consistent-lambdarank", "softmax")), as_labels(Y[:3]), Queries.from_sizes([1, 2]))
    boost = bound.boosting_function(has_one_model=False)
    boost(np.zeros(3, kind))
    # The second round is that of the other loss.
    with pytest.raises(FloatingPointError, match="document 2 of query '1'; its scores are not finite"):
        boost(np.array([0.0, 1.0, bad], kind))


def test_errors():
    for losses in ((), ("softmax",), "softmax", br.surrogates.Power()):
        with pytest.raises(ValueError, match="losses must be a tuple of at least two losses"):
            br.LossEnsemble(losses)
    with pytest.raises(ValueError, match=r"unknown objective 'softmx' \(did you mean 'softmax'"):
        br.LossEnsemble(("softmax", "softmx"))
    for nested in ("ensemble", br.LossEnsemble(("softmax", "squared"))):
        with pytest.raises(ValueError, match="is an ensemble, which only rankers train: give one of its losses"):
            br.LossEnsemble(("softmax", nested))
        for make in (br.lightgbm_objective, br.xgboost_objective):
            with pytest.raises(ValueError, match="is an ensemble"):
                make(nested)
