"""One deterministic hypothesis profile for the whole suite."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "boostrank",
    derandomize=True,
    deadline=None,
    max_examples=50,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("boostrank")
