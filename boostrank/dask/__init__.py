"""Beyond one machine: the rankers on Dask.

The same parameters, objectives and attributes as :class:`boostrank.LightGBMRanker` and
:class:`boostrank.XGBoostRanker`; `fit`, `predict` and `score` take dask Arrays and DataFrames. Dask moves the data,
such that every query is on one worker; the backends build the trees, over their own networks; each worker has the
objective of its queries.
"""

try:
    import dask.array
    import dask.dataframe  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"boostrank.dask needs Dask with arrays, DataFrames and distributed ({error}): pip install 'boostrank[dask]'"
    ) from error

from boostrank.dask.lightgbm import LightGBMRanker
from boostrank.dask.xgboost import XGBoostRanker

__all__ = ["LightGBMRanker", "XGBoostRanker"]
