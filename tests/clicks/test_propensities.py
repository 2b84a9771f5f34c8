"""Propensities: positions without a value, intervals, and extrapolation."""

import numpy as np
import pytest

from boostrank.clicks import ClickLog, Propensities, harvest_propensities


@pytest.fixture(scope="module")
def with_gaps():
    """Estimates at the positions 1, 2 and 4."""
    rows, positions = [0, 0, 1, 1, 2, 2], [1, 2, 1, 4, 2, 4]
    log = ClickLog([1, 1, 2], rows, positions, [90, 50, 40, 11, 30, 14], [200] * 6)
    return harvest_propensities(log)


def test_positions_without_a_value_are_never_used_silently(with_gaps):
    with pytest.raises(ValueError, match=r"no propensity for the positions \[3\], which no clicks"):
        with_gaps.click_model()


def test_extrapolation_is_marked(with_gaps):
    longer = with_gaps.extended(6)
    assert longer.values[[0, 1, 3]].tolist() == with_gaps.values[[0, 1, 3]].tolist()
    assert longer.extrapolated == (3, 5, 6)
    assert np.isnan(longer.standard_errors[[2, 4, 5]]).all()
    assert not np.isnan(longer.standard_errors[[0, 1, 3]]).any()
    assert "extrapolated=[3, 5, 6]" in repr(longer)
    assert with_gaps.extrapolated == ()
    assert longer.extended(8).extrapolated == (3, 5, 6, 7, 8)
    with pytest.raises(ValueError, match="n_positions must be an integer of at least 4; got 3"):
        with_gaps.extended(3)
    with pytest.raises(ValueError, match="only position 1 has a propensity"):
        Propensities(np.ones(1), np.zeros(1)).extended(3)


def test_the_power_law_is_the_weighted_fit(with_gaps):
    r, weight = np.array([2.0, 4.0]), (with_gaps.values[[1, 3]] / with_gaps.standard_errors[[1, 3]]) ** 2
    design, target = np.sqrt(weight) * np.log(r), -np.sqrt(weight) * np.log(with_gaps.values[[1, 3]])
    (eta,), *_ = np.linalg.lstsq(design[:, None], target, rcond=None)
    longer = with_gaps.extended(5)
    np.testing.assert_allclose(longer.values[[2, 4]], [3.0**-eta, 5.0**-eta])
    exact = Propensities(0.8 * np.arange(1, 5.0) ** -0.7, np.full(4, np.nan)).extended(9)
    np.testing.assert_allclose(exact.values, 0.8 * np.arange(1, 10.0) ** -0.7)


def test_intervals_are_those_of_the_logarithm(with_gaps):
    low, high = with_gaps.interval(0.9)
    relative = with_gaps.standard_errors / with_gaps.values
    np.testing.assert_allclose(np.log(high / with_gaps.values), 1.6448536 * relative, rtol=1e-6)
    np.testing.assert_allclose(low * high, with_gaps.values**2)
    assert low[0] == high[0] == 1.0
    assert np.isnan([low[2], high[2]]).all()
    with pytest.raises(ValueError, match="level must be"):
        with_gaps.interval(1.0)


def test_repr(with_gaps):
    assert repr(with_gaps).endswith(", not_estimated=[3])")
    assert repr(Propensities(np.full(12, 0.5), np.zeros(12))).count("0.5") == 10


def test_an_estimate_above_1_is_scaled_in_the_click_model():
    log = ClickLog([1, 1], [0, 0], [1, 2], [40, 50], [100, 100])
    found = harvest_propensities(log)
    assert found.values[1] == pytest.approx(1.25)
    assert found.click_model().propensities == pytest.approx((0.8, 1.0))
