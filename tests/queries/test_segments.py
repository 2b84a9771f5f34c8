"""Segments: every reduction, sort and search equals a loop over segments, and on a device that of
NumPy."""

import itertools
import math

import device_arrays
import numpy as np
import pytest
from device_arrays import DeviceArray, to_host
from hypothesis import given
from hypothesis import strategies as st
from oracles import per_query, slices

from boostrank.queries.device_segments import DeviceSegments
from boostrank.queries.segments import Segments

RAGGED = st.lists(st.integers(1, 7), min_size=1, max_size=12)
REDUCTIONS = {
    "sum": math.fsum,
    "mean": lambda values: math.fsum(values) / len(values),
    "max": max,
    "min": min,
    "logsumexp": lambda values: math.log(math.fsum(math.exp(value) for value in values)),
}


def slow_sort(scores, sizes):
    """Row numbers sorted by decreasing score, then row."""
    return [
        row
        for part in slices(sizes)
        for row in sorted(range(part.start, part.stop), key=lambda i: -scores[i])
    ]


def ragged(sizes, levels=None):
    random = np.random.default_rng(0)
    n = sum(sizes)
    return random.normal(size=n) if levels is None else random.integers(0, levels, n).astype(float)


@pytest.mark.parametrize(
    "sizes", [[], [[1, 2]], [1.0, 2.0], ["1"], [True], None, 3, [3, 1, 0], [3, -1]], ids=str
)
def test_sizes_must_be_integers_of_at_least_1(sizes):
    with pytest.raises(ValueError, match="sizes must be"):
        Segments.from_sizes(sizes)


@given(RAGGED)
def test_positions_repeat_and_starts(sizes):
    segments = Segments.from_sizes(sizes)
    assert segments.positions.tolist() == [position for size in sizes for position in range(size)]
    assert segments.repeat(np.arange(len(sizes))).tolist() == [
        i for i, size in enumerate(sizes) for _ in range(size)
    ]
    assert segments.starts.tolist() == [part.start for part in slices(sizes)]


@pytest.mark.parametrize("name", REDUCTIONS)
@given(sizes=RAGGED)
def test_reductions_equal_a_loop_over_segments(name, sizes):
    values = ragged(sizes)
    result = getattr(Segments.from_sizes(sizes), name)(values)
    np.testing.assert_allclose(
        result, per_query(REDUCTIONS[name], values, sizes), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize(
    ("name", "accumulate"), [("sum_before", np.cumsum), ("product_before", np.cumprod)]
)
@given(sizes=RAGGED)
def test_sums_and_products_before_each_row(name, accumulate, sizes):
    values = ragged(sizes, 3)
    neutral = 0.0 if name == "sum_before" else 1.0
    expected = [
        value for part in slices(sizes) for value in [neutral, *accumulate(values[part])[:-1]]
    ]
    assert getattr(Segments.from_sizes(sizes), name)(values).tolist() == expected


@given(RAGGED)
def test_runs_are_rows_of_a_segment_that_have_one_value(sizes):
    values = ragged(sizes, 2)
    keys = zip(np.repeat(np.arange(len(sizes)), sizes).tolist(), values.tolist(), strict=True)
    expected = [len(list(run)) for _, run in itertools.groupby(keys)]
    assert Segments.from_sizes(sizes).runs(values).sizes.tolist() == expected


@given(RAGGED)
def test_softmax_is_that_of_each_segment(sizes):
    values = ragged(sizes)
    expected = [
        math.exp(value) / math.fsum(math.exp(other) for other in values[part])
        for part in slices(sizes)
        for value in values[part]
    ]
    segments, given_values = Segments.from_sizes(sizes), values.copy()
    np.testing.assert_allclose(segments.softmax(values), expected, rtol=1e-12)
    np.testing.assert_array_equal(values, given_values)


def test_softmax_and_logsumexp_do_not_overflow():
    segments, values = Segments.from_sizes([2, 1]), np.array([1e6, 1e6, -1e6])
    np.testing.assert_allclose(segments.softmax(values), [0.5, 0.5, 1.0])
    np.testing.assert_allclose(segments.logsumexp(values), [1e6 + math.log(2), -1e6])


@pytest.mark.parametrize("levels", [1, 3, 100])
@given(sizes=RAGGED)
def test_sort_decreases_with_ties_by_row(sizes, levels):
    segments, scores = Segments.from_sizes(sizes), ragged(sizes, levels)
    scores[::2] *= -1.0  # Zeros of both signs are tied.
    assert segments.sort(scores).tolist() == slow_sort(scores, sizes)


@given(RAGGED, st.integers(1, 20))
def test_blocks_divide_the_segments_and_are_as_long_as_asked(sizes, limit):
    segments = Segments.from_sizes(sizes)
    blocks = list(segments.blocks(limit))
    assert [i for block in blocks for i in range(segments.n_segments)[block.segments]] == list(
        range(len(sizes))
    )
    assert [i for block in blocks for i in range(sum(sizes))[block.rows]] == list(range(sum(sizes)))
    for block in blocks:
        assert block.part.sizes.tolist() == sizes[block.segments]
        assert block.part.n_rows <= limit or block.part.n_segments == 1
    for block, following in itertools.pairwise(blocks):
        assert block.part.n_rows + following.part.sizes[0] > limit


@pytest.mark.parametrize("levels", [None, 50])
def test_sorting_over_several_blocks_with_a_segment_longer_than_a_block(levels):
    sizes = [100, 1, 17_000, 1, 1, *[37] * 600, 250]
    scores = ragged(sizes, levels)
    assert len(list(Segments.from_sizes(sizes).blocks())) >= 4
    assert sum(sizes) > 39_000
    segments = Segments.from_sizes(sizes)
    assert segments.sort(scores).tolist() == slow_sort(scores, sizes)
    assert (
        segments.ranks(scores)[segments.sort(scores)].tolist() == (segments.positions + 1).tolist()
    )


def test_sorting_a_block_of_very_many_segments():
    sizes = [1, 2] * 35_000
    scores = ragged(sizes, 3)
    part = Segments.from_sizes(sizes).blocks(10**9)[0].part
    assert part.n_segments > np.iinfo(np.uint16).max
    assert part._sort_block(scores, stable=True).tolist() == slow_sort(scores, sizes)


@given(sizes=st.lists(st.integers(1, 70), min_size=1, max_size=30))
def test_size_classes_have_every_row_once_in_matrices_that_are_nearly_full(sizes):
    segments = Segments.from_sizes(sizes)
    found = {}
    widths = [size_class.rows.shape[1] for size_class in segments.size_classes]
    assert widths == sorted(set(widths))
    for numbers, rows in segments.size_classes:
        assert (np.diff(numbers) > 0).all()
        for number, own in zip(numbers.tolist(), rows.tolist(), strict=True):
            found[number] = [row for row in own if row < segments.n_rows]
            n_missing = len(own) - sizes[number]
            assert own[sizes[number] :] == [segments.n_rows] * n_missing
            assert n_missing < 0.2 * len(own)
    assert found == {
        i: list(range(segments.indptr[i], segments.indptr[i + 1])) for i in range(len(sizes))
    }


def both(sizes):
    segments = Segments.from_sizes(sizes)
    return segments, DeviceSegments.copy_of(segments, device_arrays.asarray)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "logsumexp", "softmax"])
@given(sizes=RAGGED)
def test_reductions_equal_those_of_numpy(name, dtype, sizes):
    host, device = both(sizes)
    values = np.random.default_rng(sizes).normal(size=sum(sizes)).astype(dtype)
    result, expected = (
        getattr(device, name)(device_arrays.asarray(values)),
        getattr(host, name)(values),
    )
    assert isinstance(result, DeviceArray)
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(
        to_host(result), expected, rtol=1e-5 if dtype == np.float32 else 1e-12, atol=1e-6
    )


@given(sizes=RAGGED)
def test_values_are_repeated_and_sizes_are_those_of_the_segments(sizes):
    host, device = both(sizes)
    values = np.arange(float(len(sizes)))
    assert (
        to_host(device.repeat(device_arrays.asarray(values))).tolist()
        == host.repeat(values).tolist()
    )
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
