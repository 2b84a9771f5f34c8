"""Rankers that the workers of a Ray cluster train together, on the rows of a Ray Dataset.

:func:`train` gives back the ordinary fitted ranker. Each worker computes the gradients of its queries, and the backends
build the trees through their own networks.
"""

try:
    import ray.data  # noqa: F401
except ImportError as error:
    raise ImportError(f"boostrank.ray needs Ray ({error}): pip install 'ray[data]'") from error

from boostrank.clusters.ray.training import train

__all__ = ["train"]
