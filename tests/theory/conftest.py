"""Fixtures of the tests of theory."""

import pytest


@pytest.fixture
def short_search(monkeypatch):
    """Search neighbours of the worst distributions once, and not five times; most of the time is spent there."""
    monkeypatch.setattr("boostrank.theory.consistency.counterexample_search.N_CLIMBS", 1)
