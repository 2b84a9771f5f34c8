"""Training on several workers, whatever engine starts them: Dask, Ray or Spark.

Nothing here knows an engine. :mod:`~boostrank.clusters.fitting` is the part of the driver, the process that calls
``fit``: it checks the settings, makes the specification that workers get, and gives the trained model to the local
ranker. :mod:`~boostrank.clusters.training` is what each worker runs, on :mod:`~boostrank.clusters.rows` of whole
queries; :mod:`~boostrank.clusters.colocation` says which of them must move for that, and
:mod:`~boostrank.clusters.collective` adds up numbers of all workers.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules={"dask", "ray", "spark"})
