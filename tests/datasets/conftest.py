"""Fixtures for the tests of data sets."""

import pytest

from boostrank.compiled import is_available
from boostrank.datasets import letor_parser


@pytest.fixture(params=["compiled", "numpy"])
def parser(request, monkeypatch):
    """Parse with the compiled library, and with NumPy."""
    if request.param == "numpy":
        monkeypatch.setenv("BOOSTRANK_COMPILED", "0")
    elif not is_available():
        pytest.skip("boostrank was installed without a C compiler")
    return request.param


@pytest.fixture(params=[1 << 19, 40])
def block(request, monkeypatch):
    """Read in blocks of the default size, and in blocks of one or two lines."""
    monkeypatch.setattr(letor_parser, "BLOCK_BYTES", request.param)
