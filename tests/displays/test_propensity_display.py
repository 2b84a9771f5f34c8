"""Plot of propensities: points, intervals, the truth, extrapolated values and positions without a value."""

import numpy as np
import pytest
from artists import legend_texts, line
from propensity_logs import several_rankers

from boostrank import displays
from boostrank.clicks import ClickLog, Propensities, TrustBias, harvest_propensities


@pytest.fixture(scope="module")
def estimate():
    return harvest_propensities(several_rankers(9000, 0))


def bars(display, index=0):
    """Points and the ends of the bars of an estimate."""
    container = display.ax_.containers[index]
    ends = np.array([segment[:, 1] for segment in container.lines[2][0].get_segments()])
    return *container.lines[0].get_data(), ends


def test_points_and_intervals_are_those_of_the_estimate(estimate):
    display = displays.PropensityDisplay.from_propensities(estimate, truth="position-based", level=0.8)
    x, y, ends = bars(display)
    np.testing.assert_allclose(x, np.arange(1, 9))
    np.testing.assert_allclose(y, estimate.values)
    np.testing.assert_allclose(ends.T, estimate.interval(0.8))
    np.testing.assert_allclose(line(display.ax_, "truth").get_ydata(), 1 / np.arange(1, 9.0))
    assert legend_texts(display.ax_) == ["truth", "all pairs"]
    assert display.ax_.get_title() == "bars: 80% confidence intervals"
    assert display.ax_.get_ylim()[0] == 0
    assert display.figure_ is display.ax_.figure


def test_several_estimates_are_beside_each_other_and_relative_to_position_1(estimate):
    both = {"found": estimate, "known": Propensities.given([0.5, 0.25])}
    display = displays.PropensityDisplay.from_propensities(both, truth=TrustBias([0.8, 0.4] + [0.1] * 6, 0.9, 0.1))
    x, y, _ = bars(display, 1)
    assert y.tolist() == [1.0, 0.5]
    assert (x > bars(display, 0)[0][:2]).all()
    assert display.truth[:3].tolist() == [1.0, 0.5, 0.125]
    assert legend_texts(display.ax_) == ["truth", "found", "known"]


def test_extrapolated_values_and_gaps_are_marked():
    log = ClickLog([1, 1], [0, 0, 1, 1], [1, 2, 1, 4], [90, 50, 40, 11], [200] * 4)
    found = harvest_propensities(log)
    display = displays.PropensityDisplay.from_propensities(found, name="mine")
    assert line(display.ax_, "mine: no estimate").get_xydata().tolist() == [[3.0, 0.0]]
    longer = found.extended(5)
    display = displays.PropensityDisplay.from_propensities(longer)
    hollow = line(display.ax_, "all pairs: extrapolated")
    np.testing.assert_allclose(hollow.get_xydata(), np.c_[[3, 5], longer.values[[2, 4]]])
    assert hollow.get_markerfacecolor() == "white"
    assert bars(display)[0].tolist() == [1, 2, 4]
    assert len(display.plot().ax_.get_lines()) == len(display.ax_.get_lines())


def test_given_values_have_no_bars():
    display = displays.PropensityDisplay.from_propensities(Propensities.given([1.0, 0.5]))
    assert display.ax_.get_title() == ""
    assert legend_texts(display.ax_) == ["given"]


def test_errors(estimate):
    make = displays.PropensityDisplay.from_propensities
    with pytest.raises(TypeError, match=r"propensities must be Propensities; got list: use Propensities\.given"):
        make([1.0, 0.5])
    with pytest.raises(ValueError, match="name is for a single"):
        make({"a": estimate}, name="b")
    with pytest.raises(ValueError, match="level must be"):
        make(estimate, level=0.0)
    with pytest.raises(ValueError, match="propensities has 2 positions, but position 8 is used"):
        make(estimate, truth=[1.0, 0.5])
    with pytest.raises(ValueError, match="has no affine correction"):
        make(estimate, truth="cascade")
