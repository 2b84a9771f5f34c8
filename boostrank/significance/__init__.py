"""Statistics of differences between rankers: paired tests, intervals, effect sizes, and power.

Tests, intervals and effect sizes take the values of a metric on each query, of a ranker and of a
baseline, and use the differences ``d_q = values_q - baseline_q``. Queries whose values are both
NaN, because they were skipped, are left out. With `groups`, queries of one group depend on each
other, and only groups are independent. The corrected resampled t-test takes the values of
repeated folds in their place, and so counts the training.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
