"""Statistics of differences between rankers: paired tests, intervals, effect sizes, many comparisons, and power.

Tests, intervals and effect sizes take the values of a metric on each query, of a ranker and of a baseline, and use the
differences ``d_q = values_q - baseline_q``. Queries whose values are both NaN, because they were skipped, are left out.
"""

from typing import TYPE_CHECKING

from boostrank.lazy_names import lazy_names

if TYPE_CHECKING:
    from boostrank.significance.bootstrap import Interval, bootstrap_interval
    from boostrank.significance.differences import effect_size
    from boostrank.significance.multiple_tests import holm
    from boostrank.significance.paired_tests import PairedTest, TTest, permutation_test, t_test
    from boostrank.significance.power import queries_needed, required_queries
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "bootstrap": ("Interval", "bootstrap_interval"),
            "differences": ("effect_size",),
            "multiple_tests": ("holm",),
            "paired_tests": ("PairedTest", "TTest", "permutation_test", "t_test"),
            "power": ("queries_needed", "required_queries"),
        },
    )

__all__ = [
    "Interval",
    "PairedTest",
    "TTest",
    "bootstrap_interval",
    "effect_size",
    "holm",
    "permutation_test",
    "queries_needed",
    "required_queries",
    "t_test",
]
