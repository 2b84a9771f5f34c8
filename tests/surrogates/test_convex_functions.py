"""Margins: convex functions of the difference of two scores."""

import numpy as np
import pytest

from boostrank.surrogates.convex_functions import MARGINS, get_margin


@pytest.mark.parametrize("margin", MARGINS)
def test_margins_are_convex_and_their_derivatives_right(margin):
    d = np.linspace(-4, 4, 41) + 0.01
    phi, step = get_margin(margin), 1e-4
    slope, curvature = phi.slope_curvature(d)
    np.testing.assert_allclose(slope, (phi.value(d + step) - phi.value(d - step)) / (2 * step), rtol=1e-5, atol=1e-6)
    second = (phi.value(d + step) - 2 * phi.value(d) + phi.value(d - step)) / step**2
    assert (second > -1e-5).all()
    if margin != "hinge":
        np.testing.assert_allclose(curvature, second, rtol=1e-4, atol=1e-5)
    far = np.array([-1e6, -800.0, 800.0, 1e6])
    assert all(np.isfinite(part).all() for part in (phi.value(far), *phi.slope_curvature(far)))
