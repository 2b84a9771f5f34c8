"""The rankers on a Dask cluster.

They have the same parameters, objectives and attributes as :class:`boostrank.LightGBMRanker` and
:class:`boostrank.XGBoostRanker`; `fit`, `predict` and `score` take dask Arrays and DataFrames. Dask
moves the rows of each query to one worker, the backends build the trees through their own networks,
and each worker computes the gradients of its queries.
"""

from boostrank.clusters import required

with required("Dask", "dask[array,dataframe,distributed]"):
    from boostrank.clusters.dask.rankers import LightGBMRanker, XGBoostRanker

__all__ = ["LightGBMRanker", "XGBoostRanker"]
