"""Training on several workers, whatever engine starts them: Dask, Ray or Spark.

Four modules know no engine. :mod:`~boostrank.clusters.driver` is the part of the driver, the
process that calls ``fit``: it checks the settings, chooses the queries to hold out, and gives the
trained model to the ranker. :mod:`~boostrank.clusters.worker` is what each worker runs.
:mod:`~boostrank.clusters.rows` checks the rows of a partition, and says which of them must move so
that each query is in one partition. :mod:`~boostrank.clusters.collective` adds up numbers of all
workers.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules={"dask", "ray", "spark"})


@contextmanager
def required(engine: str, packages: str) -> Iterator[None]:
    """Let an ImportError of an engine say what to install; that of XGBoost does already."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").startswith("xgboost"):
            raise
        name = f"boostrank.{engine.lower()}"
        raise ImportError(f"{name} needs {engine} ({error}): pip install '{packages}'") from error
