"""Training on several workers, whatever engine starts them: Dask, Ray or Spark.

Nothing here knows an engine. :mod:`~boostrank.distributed.fitting` is the part of the driver, the process that calls
``fit``: it checks the settings, makes the specification that workers get, and gives the trained model to the local
ranker. :mod:`~boostrank.distributed.training` is what each worker runs, on :mod:`~boostrank.distributed.rows` of whole
queries; :mod:`~boostrank.distributed.colocation` says which of them must move for that, and
:mod:`~boostrank.distributed.collective` adds up numbers of all workers.
"""
