"""Segments of a device: their reductions equal those of NumPy, and stay on the device."""

import device_arrays
import numpy as np
import pytest
from device_arrays import DeviceArray, to_host
from hypothesis import given
from hypothesis import strategies as st

from boostrank.queries.device_segments import DeviceSegments
from boostrank.queries.segments import Segments

SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=12)


def both(sizes):
    segments = Segments.from_sizes(sizes)
    return segments, DeviceSegments.copy_of(segments, device_arrays.asarray)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "logsumexp", "softmax"])
@given(sizes=SIZES)
def test_reductions_equal_those_of_numpy(name, dtype, sizes):
    host, device = both(sizes)
    values = np.random.default_rng(sizes).normal(size=sum(sizes)).astype(dtype)
    result, expected = getattr(device, name)(device_arrays.asarray(values)), getattr(host, name)(values)
    assert isinstance(result, DeviceArray)
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(to_host(result), expected, rtol=1e-5 if dtype == np.float32 else 1e-12, atol=1e-6)


@given(sizes=SIZES)
def test_values_are_repeated_and_sizes_are_those_of_the_segments(sizes):
    host, device = both(sizes)
    values = np.arange(float(len(sizes)))
    assert to_host(device.repeat(device_arrays.asarray(values))).tolist() == host.repeat(values).tolist()
    assert to_host(device.sizes).tolist() == sizes
    assert (device.n_segments, device.n_rows) == (len(sizes), sum(sizes))


def test_large_and_infinite_values_do_not_reach_other_segments():
    _, device = both([2, 3])
    sums = device.sum(device_arrays.asarray(np.array([1e16, 1e16, 1e-3, 2e-3, 3e-3])))
    assert to_host(sums).tolist() == [2e16, 6e-3]
    _, device = both([3, 1])
    values = device_arrays.asarray(np.array([np.inf, 1.0, -np.inf, 2.0]))
    assert to_host(device.max(values)).tolist() == [np.inf, 2.0]
    assert to_host(device.min(values)).tolist() == [-np.inf, 2.0]
