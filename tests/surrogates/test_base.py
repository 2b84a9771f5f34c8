"""Properties of every surrogate: majorants, traits, finite results, minimizers, formulas, and
arrays of a device."""

import math

import device_arrays
import numpy as np
import pytest
from cases import for_each
from device_arrays import DeviceArray, copies_to_device, copies_to_host, to_host
from oracles import Arc, slices
from surrogate_samples import ALL, SIZES, assert_finite, least_eigenvalue, ragged

from boostrank.queries.device_segments import DeviceSegments
from boostrank.queries.queries import Queries
from boostrank.surrogates import (
    SURROGATES,
    Cosine,
    Logistic,
    NormalizedPNorm,
    PNorm,
    Poisson,
    Power,
    Profiled,
    Squared,
)
from boostrank.surrogates.base import closed_form

every = for_each("surrogate", ALL, ids=repr)


@pytest.mark.parametrize(
    ("surrogate", "scores"),
    [
        (Squared(), [0.3, -0.2]),
        (Poisson(), [0.3, -0.2]),
        (Logistic(), [0.3, -0.2]),
        (Profiled(Squared()), [0.3, -0.2]),
        (PNorm(q=2), [0.3, -0.2]),
        (PNorm(q=3.5), [1.0, 1.0]),
        (PNorm(), [1.0, 1.0]),
    ],
    ids=lambda value: "scores" if isinstance(value, list) else repr(value),
)
def test_half_a_sharp_majorant_does_not_dominate(surrogate, scores):
    data = np.array(scores), np.array([0.8, 0.0]), Queries.from_sizes([2])
    assert least_eigenvalue(surrogate, data) >= -1e-6
    assert least_eigenvalue(surrogate, data, factor=0.5) < -1e-3


@every
def test_extreme_scores_have_finite_results(surrogate):
    targets = [1.0, 0.0, 0.4, 0.0, 0.0, 0.7]
    for size in (1e4, 1e6):
        assert_finite(surrogate, [size, -size, 0.0, -size, size, 1.0], targets, [3, 3])
        assert_finite(surrogate, [-size, size, -0.0, size, size, size], targets, [3, 3])
        assert_finite(surrogate, [size, -size], [1.0, 0.0], [1, 1])
        assert_finite(surrogate, [size, -size], [0.0, 1.0], [1, 1])


@every
def test_zero_and_tiny_scores_have_finite_results(surrogate):
    targets, queries = np.array([1.0, 0.0, 0.4]), Queries.from_sizes([3])
    # Weights that depend on the scores jump where ties end.
    fixed = surrogate.at(np.zeros(3), queries)
    zero = surrogate.gradient_hessian(np.zeros(3), targets, queries)
    for tiny in (0.0, -0.0, 5e-324, -5e-324, 1e-310, 1e-300, 1e-160):
        assert_finite(surrogate, [tiny, tiny, -tiny, 0.0], [1.0, 0.0, 0.4, 0.2], [3, 1])
        near = fixed.gradient_hessian(np.array([tiny, tiny, -tiny]), targets, queries)
        np.testing.assert_allclose(near[0], zero[0], atol=1e-9)


class OtherLoss(Squared):
    def loss(self, scores, targets, queries):
        return 2.0 * super().loss(scores, targets, queries)


class OtherGradient(Squared):
    def gradient_hessian(self, scores, targets, queries):
        gradient, hessian = super().gradient_hessian(scores, targets, queries)
        return 2.0 * gradient, hessian


class OwnMinimizer(OtherLoss, OtherGradient):
    def minimizer(self, expected):
        return expected


def test_a_closed_form_that_belongs_to_another_loss_is_not_used():
    expected = np.array([[0.5, 0.1]])
    assert closed_form(OtherLoss(), expected) is None
    assert closed_form(OtherGradient(), expected) is None
    for surrogate in (Squared(), OwnMinimizer()):
        np.testing.assert_array_equal(closed_form(surrogate, expected), expected)


def test_losses_by_formula():
    scores, targets, queries = ragged()
    parts = [(scores[part], targets[part]) for part in slices(SIZES)]

    def kl(u, p):
        return sum(
            (a * math.log(a / b) if a > 0 else 0.0) - a + b for a, b in zip(u, p, strict=True)
        )

    def softmax_kl(s, u):
        return kl(u, sum(u) * np.exp(s) / sum(np.exp(s))) if sum(u) > 0 else 0.0

    formulas = {
        Squared(): lambda s, u: sum((s - u) ** 2) / 2,
        Poisson(): lambda s, u: kl(u, np.exp(s)),
        Power(0): lambda s, u: -sum(u * np.log(np.exp(s) / sum(np.exp(s)))),
        Profiled(Poisson()): softmax_kl,
        Profiled(Squared()): lambda s, u: sum((s - s.mean() - u + u.mean()) ** 2) / 2,
        Cosine(): lambda s, u: -sum(s * u) / math.sqrt(sum(s**2) + 1.0),
        NormalizedPNorm(q=3): lambda s, u: -sum(s * u) / (sum(abs(s) ** 3) + 1.0) ** (1 / 3),
        PNorm(q=3): lambda s, u: (
            sum(abs(s) ** 3) ** (2 / 3) / 2 - sum(s * u) + sum(u**1.5) ** (4 / 3) / 2
        ),
        Arc(): lambda s, u: sum(np.sqrt(1 + s**2) + s**2 / 8 - s * u),
    }
    for surrogate, formula in formulas.items():
        expected = [formula(s, u) for s, u in parts]
        np.testing.assert_allclose(
            surrogate.loss(scores, targets, queries), expected, atol=1e-9, err_msg=repr(surrogate)
        )


ON_DEVICE = [surrogate for surrogate in ALL if surrogate.takes_device_arrays]
# Families for surrogates of users: they take arrays of a device if the functions of the user do.
ON_DEVICE += [Arc(), Profiled(Arc())]
LONG = [70, 1, 33, 2, 5, 64]


def on_device(scores, targets, queries):
    copies = device_arrays.asarray(scores), device_arrays.asarray(targets)
    return *copies, DeviceSegments.copy_of(queries, device_arrays.asarray)


def test_the_fast_losses_take_arrays_of_a_device():
    on_device = {name for name, surrogate in SURROGATES.items() if surrogate.takes_device_arrays}
    assert on_device >= {
        "squared",
        "centered-squared",
        "poisson",
        "logistic",
        "centered-logistic",
        "softmax",
        "power",
    }
    assert on_device >= {
        "pnorm",
        "cosine",
        "normalized-pnorm",
        "pairwise-exponential",
        "pairwise-squared",
    }


@pytest.mark.slow
@for_each("scale", [0.0, 40.0, 1e4])
@for_each("sizes", [SIZES, LONG], ids=str)
@for_each("surrogate", ON_DEVICE, ids=repr)
def test_gradients_equal_those_of_numpy_stay_on_the_device_and_do_not_overwrite_arguments(
    surrogate, sizes, scale
):
    data = ragged(sizes, scale=scale)
    arguments = on_device(*data)
    expected = surrogate.gradient_hessian(*data)
    copies_to_device.clear()
    copies_to_host.clear()
    results = surrogate.gradient_hessian(*arguments)
    assert copies_to_device == []
    assert set(copies_to_host) <= {1}
    for argument, values in zip(arguments, data[:2], strict=False):
        assert to_host(argument).tolist() == values.tolist()
    for result, values in zip(results, expected, strict=True):
        assert isinstance(result, DeviceArray)
        assert (result.dtype, result.shape) == (np.float64, values.shape)
        np.testing.assert_allclose(
            to_host(result), values, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(values).max())
        )
