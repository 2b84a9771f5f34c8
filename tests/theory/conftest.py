"""Fixtures of the tests of theory."""

import pytest


@pytest.fixture
def few_starts(monkeypatch):
    """Minimize losses that are not convex from two starts, and not from six."""
    monkeypatch.setattr("boostrank.theory.minimizers.N_STARTS", 2)


@pytest.fixture
def short_search(monkeypatch, few_starts):
    """Search neighbours of the worst distributions once, and not five times; most of the time is
    spent there."""
    monkeypatch.setattr("boostrank.theory.search.N_CLIMBS", 1)
