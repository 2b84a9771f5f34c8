"""Shared by all tests: the real data, and one deterministic hypothesis profile."""

import os

# Tests run in two processes. The OpenMP threads of LightGBM and XGBoost wait actively by default, and where they
# outnumber the cores, training takes ten times as long. The libraries read this variable when they are first imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import boostrank as br

settings.register_profile(
    "boostrank",
    derandomize=True,
    deadline=None,
    max_examples=50,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("boostrank")


@pytest.fixture(scope="session")
def shared_data():
    """Folder of real data sets beside the repository; BOOSTRANK_REQUIRE_DATA makes its absence a failure."""
    path = Path(__file__).parents[2] / "shared" / "data"
    if not path.is_dir():
        if os.environ.get("BOOSTRANK_REQUIRE_DATA"):
            pytest.fail("real data are required, but there are none beside the repository")
        pytest.skip("no real data beside the repository")
    return path


@pytest.fixture(scope="session")
def mq2008_folds(shared_data):
    return br.read_letor_folds(shared_data / "MQ2008")


@pytest.fixture(scope="session")
def clueweb09_folds(shared_data):
    return br.read_letor_folds(shared_data / "ClueWeb09")
