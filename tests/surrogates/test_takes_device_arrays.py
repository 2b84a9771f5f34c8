"""Surrogates on a device: gradients and Hessians equal those of NumPy, and no array leaves the device."""

import device_arrays
import numpy as np
import pytest
from cases import for_each
from device_arrays import DeviceArray, copies_to_device, copies_to_host, to_host
from oracles import Arc
from surrogate_samples import ALL, SIZES, ragged

from boostrank.queries.device_segments import DeviceSegments
from boostrank.surrogates import SURROGATES, Profiled

pytestmark = pytest.mark.slow

ON_DEVICE = [surrogate for surrogate in ALL if surrogate.takes_device_arrays]
# Families for surrogates of users: they take arrays of a device if the functions of the user do.
ON_DEVICE += [Arc(), Profiled(Arc())]
LONG = [70, 1, 33, 2, 5, 64]


def on_device(scores, targets, queries):
    copies = device_arrays.asarray(scores), device_arrays.asarray(targets)
    return *copies, DeviceSegments.copy_of(queries, device_arrays.asarray)


def test_the_fast_losses_take_arrays_of_a_device():
    on_device = {name for name, surrogate in SURROGATES.items() if surrogate.takes_device_arrays}
    assert on_device >= {"squared", "centered-squared", "poisson", "logistic", "centered-logistic", "softmax", "power"}
    assert on_device >= {"pnorm", "cosine", "normalized-pnorm", "pairwise-exponential", "pairwise-squared"}


@for_each("scale", [0.0, 40.0, 1e4])
@for_each("sizes", [SIZES, LONG], ids=str)
@for_each("surrogate", ON_DEVICE, ids=repr)
def test_gradients_equal_those_of_numpy_stay_on_the_device_and_do_not_overwrite_arguments(surrogate, sizes, scale):
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
        np.testing.assert_allclose(to_host(result), values, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(values).max()))
