"""Fixtures for the tests of data sets."""

import pytest

from boostrank.datasets import letor_parser


@pytest.fixture(params=[1 << 19, 40])
def block(request, monkeypatch):
    """Read in blocks of the default size, and in blocks of one or two lines."""
    monkeypatch.setattr(letor_parser, "BLOCK_BYTES", request.param)
